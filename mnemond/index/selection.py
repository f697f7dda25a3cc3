"""The k best of many scores, without sorting the others, and always in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 256
"""Scores a block: one pass for the maxima of the blocks, then only blocks that can hold a winner are looked at."""

Rows = npt.NDArray[np.int64]


def at_least_kth(scores: npt.NDArray[np.float32], k: int) -> Rows:
    """Positions of every score not below the k-th largest, ascending; -inf never counts.

    More than k of them exactly when scores tie at the k-th place.
    """
    found = _candidates(scores, k)
    values = scores[found]
    if len(found) > k:
        found = found[values >= np.partition(values, len(values) - k)[len(values) - k]]
    return found


def _candidates(scores: npt.NDArray[np.float32], k: int) -> Rows:
    """Few positions among which the k best are: those not below the k-th largest maximum of a block."""
    blocks = len(scores) // BLOCK
    if blocks <= k:
        return np.flatnonzero(scores > -np.inf)
    maxima = scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
    floor = np.partition(maxima, blocks - k)[blocks - k]
    if floor == -np.inf:
        return np.flatnonzero(scores > floor)
    whole = np.flatnonzero(maxima >= floor)
    inside = scores[: blocks * BLOCK].reshape(blocks, BLOCK)[whole]
    block, column = np.nonzero(inside >= floor)
    tail = np.flatnonzero(scores[blocks * BLOCK :] >= floor) + blocks * BLOCK
    return np.concatenate([whole[block] * BLOCK + column, tail])


def not_behind_kth(keys: Sequence[npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    """Which positions are not behind the k-th when sorted by the keys: the first counts most, large values first."""
    order = np.lexsort([-key for key in reversed(keys)])
    kth = order[min(k, len(order)) - 1]
    kept = np.ones(len(order), dtype=np.bool_)
    for key in reversed(keys):
        kept = (key > key[kth]) | ((key == key[kth]) & kept)
    return kept
