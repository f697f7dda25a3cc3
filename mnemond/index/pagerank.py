"""How central each memory is: PageRank (Page et al. 1999) over the links of a whole store, in both directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mnemond.config.reading import PageRankSettings
from mnemond.index.arrays import Rows, Scores
from mnemond.index.snapshot import Snapshot

DAMPING = PageRankSettings().damping

TOLERANCE = 1e-9
"""L1 change between two rounds below which PageRank has converged."""

MAX_ROUNDS = 100


class Centrality(NamedTuple):
    """`mass` of each row, summing to 1; `prominence` in [0, 1], the mass as a part of the largest. 0 for dead rows;
    shapes (rows,)."""

    mass: Scores
    prominence: Scores


def pagerank(snapshot: Snapshot, damping: float = DAMPING, max_rounds: int = MAX_ROUNDS) -> Centrality:
    """Compute the mass of a random walk that follows links in proportion to their weights and, with probability
    1 − damping, restarts anywhere.

    Of several links between two rows the heaviest counts. A row without links passes its mass on to all rows alike.
    Takes about 10 ms per round at 100,000 rows with 26 links each: for a worker thread.
    """
    alive = snapshot.alive()
    if not alive.any():
        return Centrality(np.zeros(snapshot.rows), np.zeros(snapshot.rows))
    everywhere = alive / float(np.count_nonzero(alive))
    graph = _graph(snapshot)
    linked = np.zeros(snapshot.rows, dtype=np.bool_)
    linked[graph.owners] = True
    mass = everywhere
    for _ in range(max_rounds):
        restarted = (1.0 - damping) + damping * float(mass[~linked].sum())
        moved = restarted * everywhere
        if len(graph.owners):
            moved[graph.owners] += damping * np.add.reduceat(graph.share * mass[graph.other], graph.first)
        change = float(np.abs(moved - mass).sum())
        mass = moved
        if change < TOLERANCE:
            break
    return Centrality(mass, mass / mass.max())


class _Graph(NamedTuple):
    """Links between different rows, one per pair and direction, grouped by `owner`, each group from a position in
    `first` on. `share`: of the weight of all links of the row at the other end."""

    owners: Rows
    first: Rows
    other: Rows
    share: Scores


def _graph(snapshot: Snapshot) -> _Graph:
    owner, links = snapshot.fan(range(snapshot.rows))
    keys = owner * snapshot.rows + links["row"]
    order = keys.argsort(kind="stable")
    keys = keys[order]
    pair = _starts(keys)
    if not len(pair):
        return _Graph(pair, pair, pair, np.zeros(0))
    weight = np.maximum.reduceat(links["weight"][order].astype(np.float64), pair)
    owner, other = np.divmod(keys[pair], snapshot.rows)
    heavy = weight > 0.0
    owner, other, weight = owner[heavy], other[heavy], weight[heavy]
    of_all = np.bincount(owner, weights=weight, minlength=snapshot.rows)
    first = _starts(owner)
    return _Graph(owner[first], first, other, weight / of_all[other])


def _starts(keys: Rows) -> Rows:
    """The positions in sorted keys where each different one begins."""
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    return new.nonzero()[0]
