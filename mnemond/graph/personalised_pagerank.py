"""Traversal by personalised PageRank: a walk that keeps coming back to the anchors, to the best ones most often.

Exact where no more rows can be reached than are expanded; else near the anchors, where nearly all of the walk is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mnemond.graph.best_rows import Scores, best_rows
from mnemond.graph.path_score import min_max
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.recall_policy import LocalPageRankPolicy

WEIGHT_BITS = 23
"""Bits a weight is told apart by when the links of a row are sorted: float32 has no more of them next to 1."""

_HEAVIEST = 2**WEIGHT_BITS - 1


class Spread(NamedTuple):
    """`rows` ascending, anchors included; `mass` of the walk there, summing to 1; `scores`, the same from 0 to 1."""

    rows: Rows
    mass: Scores
    scores: Scores


class _Links(NamedTuple):
    """Links of the expanded rows, the heaviest of each pair, each part of shape (links,): the position of the expanded
    row they leave from, the row they lead to, and which share of the walks at the one goes there."""

    place: Rows
    row: Rows
    share: Scores


def personalised_pagerank(
    snapshot: Snapshot,
    anchors: Rows,
    scores: Scores,
    mask: Mask | None = None,
    policy: LocalPageRankPolicy | None = None,
) -> Spread:
    """Where a walk from `anchors` (different rows, shape (anchors,)) spends its time; it begins at each as often as its
    score, at least 0, says, at all alike when none is above 0.

    `mask`: rows that may be walked through, None for all. More anchors than may be expanded: the best ones count, of
    equal ones those with the smaller ids.
    """
    policy = policy or LocalPageRankPolicy()
    if not len(anchors):
        return Spread(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
    starts = np.asarray(scores, dtype=np.float64)
    kept = np.sort(best_rows(snapshot, anchors, starts, policy.expanded))
    anchors, starts = anchors[kept], starts[kept]
    total = float(starts.sum())
    starts = starts / total if total > 0.0 else np.full(len(anchors), 1.0 / len(anchors))
    expanded, links = _expand(snapshot, anchors, starts, mask, policy)
    at_start = np.zeros(len(expanded))
    at_start[: len(anchors)] = starts
    walks = _settled(expanded, links, at_start, snapshot.rows, policy)
    mass = policy.damping * _arriving(links.row, links.share * walks[links.place], snapshot.rows)
    mass[expanded] = walks
    rows = mass.nonzero()[0]
    reached = mass[rows] / mass[rows].sum()
    return Spread(rows, reached, min_max(reached))


def _expand(
    snapshot: Snapshot, anchors: Rows, starts: Scores, mask: Mask | None, policy: LocalPageRankPolicy
) -> tuple[Rows, _Links]:
    """The rows that are expanded, anchors first, and their links: ring by ring, those first that most walks reach."""
    known = np.zeros(snapshot.rows, dtype=np.bool_)
    expanded, ring, mass = anchors, anchors, starts
    found: list[_Links] = []
    known[anchors] = True
    while len(ring):
        links = _links(snapshot, ring, mask)
        found.append(_Links(links.place + (len(expanded) - len(ring)), links.row, links.share))
        room = policy.expanded - len(expanded)
        if room <= 0 or not len(links.row):
            break
        arriving = _arriving(links.row, links.share * mass[links.place], snapshot.rows)
        arriving[known] = 0.0
        ring = arriving.nonzero()[0]
        ring = np.sort(ring[best_rows(snapshot, ring, arriving[ring], room)])
        mass = arriving[ring] * policy.damping
        known[ring] = True
        expanded = np.concatenate((expanded, ring))
    return expanded, _Links(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _links(snapshot: Snapshot, ring: Rows, mask: Mask | None) -> _Links:
    place, links = snapshot.fan(ring.tolist())
    row = links["row"].astype(np.int64)
    if mask is not None:
        seen = mask[row]
        place, row, links = place[seen], row[seen], links[seen]
    row_bits = snapshot.rows.bit_length()
    weight = np.rint(links["weight"] * np.float64(_HEAVIEST)).astype(np.int64)
    keys = np.sort((((place << row_bits) | row) << WEIGHT_BITS) | weight)
    pairs = keys >> WEIGHT_BITS
    heaviest = (keys & _HEAVIEST) != 0
    heaviest[:-1] &= pairs[1:] != pairs[:-1]
    keys, pairs = keys[heaviest], pairs[heaviest]
    place, row = pairs >> row_bits, pairs & ((1 << row_bits) - 1)
    weights = (keys & _HEAVIEST).astype(np.float64)
    of_all = np.bincount(place, weights=weights, minlength=len(ring))
    return _Links(place, row, weights / of_all[place])


def _settled(expanded: Rows, links: _Links, at_start: Scores, rows: int, policy: LocalPageRankPolicy) -> Scores:
    """How much of the walk is at each expanded row, shape (expanded,). What leaves for any other row starts anew."""
    number = np.full(rows, -1, dtype=np.int64)
    number[expanded] = np.arange(len(expanded))
    to = number[links.row]
    within = (to >= 0).nonzero()[0]
    to, place, share = to[within], links.place[within], links.share[within] * policy.damping
    mass = at_start
    for _ in range(policy.rounds):
        moved = _arriving(to, share * mass[place], len(mass))
        moved += (1.0 - float(moved.sum())) * at_start
        change = float(np.abs(moved - mass).sum())
        mass = moved
        if change < policy.tolerance:
            break
    return mass


def _arriving(at: Rows, mass: Scores, places: int) -> Scores:
    """The sum of what arrives at each place, shape (places,)."""
    sums: Scores = np.bincount(at, weights=mass, minlength=places).astype(np.float64, copy=False)
    return sums
