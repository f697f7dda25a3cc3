"""Reciprocal rank fusion: one ranking of several, by places alone, whatever their scores mean (spec 7.11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.rank.tie_order import Scores, in_order

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009; spec 7.11."""

_UNITS = float(2**50)
"""Terms are whole numbers of a 2^50th, so that a sum does not depend on the order of the lists: places 1, 2, 3 are
worth as much as 3, 2, 1, to the last bit."""


class Ranking(NamedTuple):
    """`rows`, best first, each once; every term is multiplied by `weight`, at least 0."""

    rows: Rows
    weight: float = 1.0


class Ranks(NamedTuple):
    """Every row of any list, best first: `scores` are sums of weight / (k + rank + 1) with ranks from 0, `normalised`
    the same with the best one at 1; shapes (rows,)."""

    rows: Rows
    scores: Scores
    normalised: Scores


def reciprocal_rank_fusion(snapshot: Snapshot, rankings: Sequence[Ranking], k: int = RRF_K) -> Ranks:
    """Fuse any number of lists. Of equal sums the more important row is first, then the newer, then the smaller id."""
    sums: dict[int, int] = {}
    for ranking in rankings:
        terms = np.rint(ranking.weight * _UNITS / (k + 1 + np.arange(len(ranking.rows)))).astype(np.int64)
        for row, term in zip(ranking.rows.tolist(), terms.tolist(), strict=True):
            sums[row] = sums.get(row, 0) + term
    if not sums:
        none = np.zeros(0)
        return Ranks(np.zeros(0, dtype=np.int64), none, none)
    rows = np.array(list(sums), dtype=np.int64)
    scores = np.array(list(sums.values()), dtype=np.int64) / _UNITS
    order = in_order(snapshot, rows, scores)
    rows, scores = rows[order], scores[order]
    return Ranks(rows, scores, scores / scores[0] if scores[0] > 0.0 else np.zeros_like(scores))
