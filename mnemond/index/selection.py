"""The k best of many scores, without sorting the others, and always in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, Mask, Rows, Scores

if TYPE_CHECKING:
    from mnemond.index.snapshot import Snapshot

BLOCK = 256
"""Scores per block: one pass for the largest of each position in a block, then the k-th of these bounds the k-th of
all."""

MIN_BLOCKS = 4
"""Blocks from which on two short steps are faster than one selection among all scores (equal at 1,000 scores)."""

MAX_SORTED = 48
"""Numbers up to which sorting a list takes less time than three calls of numpy."""


def at_least_kth(scores: Floats, k: int) -> Rows:
    """Return the positions of every score not below the k-th largest, ascending; a negative score never counts.

    More than k of them exactly when scores tie at the k-th place.
    """
    found: Rows = (scores >= max(at_most_kth(scores, k), 0.0)).nonzero()[0]
    if len(found) > k:
        values = scores[found]
        found = found[values >= kth(values, k)]
    return found


def at_most_kth(scores: Floats, k: int) -> float:
    """Return a close lower bound of the k-th largest score: the k-th largest maximum of disjoint groups."""
    width = max(BLOCK, MIN_BLOCKS * k)
    blocks = len(scores) // width
    if blocks >= MIN_BLOCKS:
        return kth(np.maximum.reduce(scores[: blocks * width].reshape(blocks, width)), k)
    return kth(scores, k) if len(scores) > k else 0.0


def kth(scores: Floats, k: int) -> float:
    place = len(scores) - k
    moved = scores.copy()
    moved.partition(place)
    return float(moved[place])


def not_behind_kth(keys: Sequence[npt.NDArray[Any]], k: int) -> Mask:
    """Mark the positions not behind the k-th when sorted by the keys: the first counts most, large values first."""
    order = np.lexsort([-key for key in reversed(keys)])
    kth = order[min(k, len(order)) - 1]
    kept = np.ones(len(order), dtype=np.bool_)
    for key in reversed(keys):
        kept = (key > key[kth]) | ((key == key[kth]) & kept)
    return kept


def top(rows: Rows, values: Floats, k: int) -> list[tuple[int, float]]:
    """Return the k rows with the largest values as (row, value), best first; of equal ones the later row first."""
    if len(rows) <= MAX_SORTED:
        ranked = sorted(zip(values.tolist(), rows.tolist(), strict=True), reverse=True)
        return [(row, value) for value, row in ranked[:k]]
    if 0 < k < len(rows):
        kept = values >= kth(values, k)
        rows, values = rows[kept], values[kept]
    order = np.lexsort((-rows, -values))[:k]
    return list(zip(rows[order].tolist(), values[order].tolist(), strict=True))


# Ties decided by ids, which do not depend on the order in which a store was written.


def best_rows(snapshot: Snapshot, rows: Rows, scores: Scores, k: int) -> Rows:
    """Return the positions of the k best `rows`, in no order; of equal ones those with smaller ids. k at least 1."""
    if k >= len(rows):
        return np.arange(len(rows))
    kth = np.partition(scores, -k)[-k]
    above, tied = (scores > kth).nonzero()[0], (scores == kth).nonzero()[0]
    room = k - len(above)
    if len(tied) > room:
        ids = {place: snapshot.insight(int(rows[place])).id for place in tied.tolist()}
        tied = np.array(sorted(ids, key=ids.__getitem__)[:room], dtype=np.int64)
    return np.concatenate((above, tied))


def best_in_order(snapshot: Snapshot, rows: Rows, scores: Scores, k: int) -> Rows:
    """Return the positions of the k best `rows`, best first; of equal ones the smaller id first. k at least 1."""
    order = (-scores).argsort()
    leading = scores[order[: k + 1]]
    if (leading[1:] != leading[:-1]).all():
        return order[:k]
    kept = best_rows(snapshot, rows, scores, k).tolist()
    keys = {place: (-scores[place], snapshot.insight(int(rows[place])).id) for place in kept}
    return np.array(sorted(keys, key=keys.__getitem__), dtype=np.int64)


def in_order(snapshot: Snapshot, rows: Rows, scores: Scores | Floats) -> Rows:
    """Return the positions of `rows` in the order of results: the best first; of equal ones the more important, the
    newer, the smaller id. Shapes (rows,). Ids are read only where scores are equal."""
    order = (-scores).argsort(kind="stable")
    ranked = scores[order]
    if (ranked[1:] != ranked[:-1]).all():
        return order
    keys = (-scores, -snapshot.columns.importance[rows], -snapshot.columns.created_us[rows])
    order = np.lexsort(keys[::-1])
    alike = np.ones(len(order) - 1, dtype=np.bool_)
    for key in keys:
        alike &= key[order[1:]] == key[order[:-1]]
    if not alike.any():
        return order
    ids = [snapshot.insight(row).id for row in rows.tolist()]
    ranks = zip(*(key.tolist() for key in keys), ids, range(len(ids)), strict=True)
    return np.array([position for *_, position in sorted(ranks)], dtype=np.int64)
