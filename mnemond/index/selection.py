"""The k best of many scores, without sorting the others, and always in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 256
"""Scores a block: one pass for the largest of each place in a block, then the k-th of these bounds the k-th of all."""

FEWEST_BLOCKS = 4
"""Blocks from which on two short steps are faster than one selection among all scores (equal at 1,000 scores)."""

FEW = 48
"""Numbers up to which sorting a list takes less time than calling numpy thrice."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


def at_least_kth(scores: Floats, k: int) -> Rows:
    """Positions of every score not below the k-th largest, ascending; a negative score never counts.

    More than k of them exactly when scores tie at the k-th place.
    """
    found: Rows = (scores >= max(at_most_kth(scores, k), 0.0)).nonzero()[0]
    if len(found) > k:
        values = scores[found]
        found = found[values >= kth(values, k)]
    return found


def at_most_kth(scores: Floats, k: int) -> float:
    """A number not above the k-th largest score, and close to it: the k-th largest maximum of disjoint groups."""
    width = max(BLOCK, FEWEST_BLOCKS * k)
    blocks = len(scores) // width
    if blocks >= FEWEST_BLOCKS:
        return kth(np.maximum.reduce(scores[: blocks * width].reshape(blocks, width)), k)
    return kth(scores, k) if len(scores) > k else 0.0


def kth(scores: Floats, k: int) -> float:
    """The k-th largest of at least k scores."""
    place = len(scores) - k
    moved = scores.copy()
    moved.partition(place)
    return float(moved[place])


def not_behind_kth(keys: Sequence[npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    """Which positions are not behind the k-th when sorted by the keys: the first counts most, large values first."""
    order = np.lexsort([-key for key in reversed(keys)])
    kth = order[min(k, len(order)) - 1]
    kept = np.ones(len(order), dtype=np.bool_)
    for key in reversed(keys):
        kept = (key > key[kth]) | ((key == key[kth]) & kept)
    return kept


def top(rows: Rows, values: Floats, k: int) -> list[tuple[int, float]]:
    """The k rows with the largest values, best first, of equal ones the later row: (row, value)."""
    if len(rows) <= FEW:
        ranked = sorted(zip(values.tolist(), rows.tolist(), strict=True), reverse=True)
        return [(row, value) for value, row in ranked[:k]]
    if 0 < k < len(rows):
        kept = values >= kth(values, k)
        rows, values = rows[kept], values[kept]
    order = np.lexsort((-rows, -values))[:k]
    return list(zip(rows[order].tolist(), values[order].tolist(), strict=True))
