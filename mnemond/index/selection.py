"""The k best of many scores, without sorting the others, and always in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, Mask, Rows

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
