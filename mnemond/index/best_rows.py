"""The best of some rows; of equal ones those with the smaller ids, which do not depend on how a store was written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.bm25 import SelectionRows
from mnemond.index.snapshot import Snapshot

Scores = npt.NDArray[np.float64]


def best_rows(snapshot: Snapshot, rows: SelectionRows, scores: Scores, k: int) -> SelectionRows:
    """Positions of the k best `rows`, in no order; k at least 1."""
    if k >= len(rows):
        return np.arange(len(rows))
    kth = np.partition(scores, -k)[-k]
    above, tied = (scores > kth).nonzero()[0], (scores == kth).nonzero()[0]
    room = k - len(above)
    if len(tied) > room:
        ids = {place: snapshot.insight(int(rows[place])).id for place in tied.tolist()}
        tied = np.array(sorted(ids, key=ids.__getitem__)[:room], dtype=np.int64)
    return np.concatenate((above, tied))


def best_in_order(snapshot: Snapshot, rows: SelectionRows, scores: Scores, k: int) -> SelectionRows:
    """Positions of the k best `rows`, best first; of equal ones the smaller id first; k at least 1."""
    order = (-scores).argsort()
    leading = scores[order[: k + 1]]
    if (leading[1:] != leading[:-1]).all():
        return order[:k]
    kept = best_rows(snapshot, rows, scores, k).tolist()
    keys = {place: (-scores[place], snapshot.insight(int(rows[place])).id) for place in kept}
    return np.array(sorted(keys, key=keys.__getitem__), dtype=np.int64)


# The order of results: the best first; of equal ones the more important, the newer, the smaller id (spec 11.7).


TieOrderScores = npt.NDArray[np.float64]


def in_order(snapshot: Snapshot, rows: SelectionRows, scores: TieOrderScores) -> SelectionRows:
    """Positions of `rows`, best first; shapes (rows,). Ids are looked at only where scores are equal."""
    order = (-scores).argsort(kind="stable")
    ranked = scores[order]
    if (ranked[1:] != ranked[:-1]).all():
        return order
    keys = (-scores, -snapshot.importance[rows], -snapshot.created_us[rows])
    order = np.lexsort(keys[::-1])
    alike = np.ones(len(order) - 1, dtype=np.bool_)
    for key in keys:
        alike &= key[order[1:]] == key[order[:-1]]
    if not alike.any():
        return order
    ids = [snapshot.insight(row).id for row in rows.tolist()]
    ranks = zip(*(key.tolist() for key in keys), ids, range(len(ids)), strict=True)
    return np.array([position for *_, position in sorted(ranks)], dtype=np.int64)
