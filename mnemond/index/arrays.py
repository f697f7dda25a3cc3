"""Append-only containers, shared by one writer and any number of readers.

A reader holds a view of the first n rows; the writer only writes behind it, or into a new and larger array. So no
reader sees a row change under it, and appending a row costs nothing that grows with the store.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.model.memory import Insight

Floats = npt.NDArray[np.float32]
Scores = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
"""Row numbers, or positions in an array of these."""
Mask = npt.NDArray[np.bool_]
Marks = npt.NDArray[np.uint8]
"""1 for each row that has a property, else 0."""

MIN_CAPACITY = 64
BLOCK = 256
"""Rows per block of a `PersistentList`. A write that changes five rows copies at most five blocks of pointers."""


def grown(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """Return `array` itself if its first axis holds `needed` rows, else a larger copy of its first `used` rows."""
    if needed <= len(array):
        return array
    larger = np.empty((max(needed, 2 * len(array), MIN_CAPACITY), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


class GrowableArray:
    """One number per row, shape (rows,)."""

    __slots__ = ("_array", "_used")

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._array = values
        self._used = len(values)

    @classmethod
    def empty(cls, dtype: npt.DTypeLike) -> GrowableArray:
        return cls(np.zeros(0, dtype=dtype))

    def extend(self, values: npt.NDArray[Any]) -> None:
        end = self._used + len(values)
        self._array = grown(self._array, self._used, end)
        self._array[self._used : end] = values
        self._used = end

    def append(self, value: float) -> None:
        """Append one row, in a tenth of the time of `extend`."""
        if self._used == len(self._array):
            self._array = grown(self._array, self._used, self._used + 1)
        self._array[self._used] = value
        self._used += 1

    def __len__(self) -> int:
        return self._used

    def first(self, rows: int) -> npt.NDArray[Any]:
        return self._array[:rows]

    def view(self) -> npt.NDArray[Any]:
        """The rows written so far, as a view that later appends do not touch."""
        return self._array[: self._used]

    def patched(self, rows: Sequence[int] | Rows, values: Sequence[float]) -> GrowableArray:
        """Return a copy with some rows changed; readers of this one see no difference."""
        copy = GrowableArray(self._array.copy())
        copy._used = self._used
        copy._array[rows] = values
        return copy


class Interner:
    """Numbers for values, in order of first appearance; None is number 0 from the start.

    Readers look values up while the writer adds new ones: a value added later has a number no older row carries.
    """

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {None: 0}

    def encode(self, value: Hashable) -> int:
        """Return the number of `value`, a new one if it has none yet."""
        return self._codes.setdefault(value, len(self._codes))

    def encode_all(self, values: Iterable[Hashable]) -> npt.NDArray[np.int32]:
        return np.fromiter(map(self.encode, values), dtype=np.int32)

    def find(self, value: Hashable) -> int | None:
        """Return the number of `value`, None if no row ever had it."""
        return self._codes.get(value)

    def __len__(self) -> int:
        return len(self._codes)

    def values(self) -> list[Any]:
        """Every value, at the position of its number."""
        return list(self._codes)


class PersistentList:
    """The insights of all rows. Appends go behind every reader; `patched` copies the blocks it changes and leaves this
    list as it is. Only the newest list may be appended to."""

    __slots__ = ("_blocks", "_used")

    def __init__(self, insights: Iterable[Insight] = ()) -> None:
        self._blocks: list[list[Insight]] = []
        self._used = 0
        self.extend(list(insights))

    def __len__(self) -> int:
        return self._used

    def __getitem__(self, row: int) -> Insight:
        return self._blocks[row // BLOCK][row % BLOCK]

    def extend(self, insights: Sequence[Insight]) -> None:
        done = 0
        while done < len(insights):
            if self._used % BLOCK == 0:
                self._blocks.append([])
            part = insights[done : done + BLOCK - self._used % BLOCK]
            self._blocks[-1].extend(part)
            self._used += len(part)
            done += len(part)

    def patched(self, changes: Mapping[int, Insight]) -> PersistentList:
        if not changes:
            return self
        later = PersistentList()
        later._blocks, later._used = list(self._blocks), self._used
        copied: set[int] = set()
        for row, insight in changes.items():
            number, place = divmod(row, BLOCK)
            if number not in copied:
                later._blocks[number] = list(later._blocks[number])
                copied.add(number)
            later._blocks[number][place] = insight
        return later


# ---------------------------------------------------------------- the k best of many scores
#
# The k best of many scores, without sorting the others, and always in the same order.


SCORES_A_BLOCK = 256
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
    width = max(SCORES_A_BLOCK, MIN_BLOCKS * k)
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
