"""Append-only arrays with capacity doubling, shared by one writer and any number of readers.

A reader holds a view of the first n rows; the writer only ever writes behind it, or into a new and larger array. So
no reader sees a row change under it, and appending a row costs nothing that grows with the store.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SMALLEST_CAPACITY = 64


def grown(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """`array` itself if its first axis holds `needed` rows, else a copy of its first `used` rows of twice the size."""
    if needed <= len(array):
        return array
    larger = np.empty((max(needed, 2 * len(array), SMALLEST_CAPACITY), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


class Column:
    """One number a row, shape (rows,)."""

    __slots__ = ("_array", "_used")

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._array = values
        self._used = len(values)

    def extend(self, values: npt.NDArray[Any]) -> None:
        end = self._used + len(values)
        self._array = grown(self._array, self._used, end)
        self._array[self._used : end] = values
        self._used = end

    def append(self, value: float) -> None:
        """One more row: a tenth of the time `extend` takes for it."""
        if self._used == len(self._array):
            self._array = grown(self._array, self._used, self._used + 1)
        self._array[self._used] = value
        self._used += 1

    def put(self, row: int, value: float) -> None:
        """Change a row in place, for readers as well: only where they can tell that it is not meant for them."""
        self._array[row] = value

    def put_all(self, rows: Sequence[int], values: Sequence[float]) -> None:
        """The same of several rows."""
        self._array[rows] = values

    def __len__(self) -> int:
        return self._used

    def first(self, rows: int) -> npt.NDArray[Any]:
        """So many of the rows written so far."""
        return self._array[:rows]

    def view(self) -> npt.NDArray[Any]:
        """The rows written so far, as a view that later appends do not touch."""
        return self._array[: self._used]

    def patched(self, rows: Sequence[int] | npt.NDArray[np.int64], values: Sequence[float]) -> Column:
        """A copy with some rows changed; readers of this one see no difference."""
        copy = Column(self._array.copy())
        copy._used = self._used
        copy._array[rows] = values
        return copy


class Dictionary:
    """Numbers for values, in order of first appearance; None is number 0 from the start.

    Readers look values up while the writer adds new ones: a value added later has a number no older row carries.
    """

    __slots__ = ("_codes",)

    def __init__(self) -> None:
        self._codes: dict[Hashable, int] = {None: 0}

    def encode(self, value: Hashable) -> int:
        """The number of `value`, a new one if it has none yet."""
        return self._codes.setdefault(value, len(self._codes))

    def find(self, value: Hashable) -> int | None:
        """The number of `value`, None if no row ever had it."""
        return self._codes.get(value)

    def encode_all(self, values: Iterable[Hashable]) -> npt.NDArray[np.int32]:
        """The numbers of `values`, shape (values,)."""
        return np.fromiter(map(self.encode, values), dtype=np.int32)

    def __len__(self) -> int:
        return len(self._codes)

    def values(self) -> list[Any]:
        """Every value, each at its number."""
        return list(self._codes)
