"""The order of results: the best first; of equal ones the more important, the newer, the smaller id (spec 11.7)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot

Scores = npt.NDArray[np.float64]


def in_order(snapshot: Snapshot, rows: Rows, scores: Scores) -> Rows:
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
