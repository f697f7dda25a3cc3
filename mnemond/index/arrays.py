"""Append-only arrays with capacity doubling, shared by one writer and any number of readers.

A reader holds a view of the first n rows; the writer only ever writes behind it, or into a new and larger array. So
no reader sees a row change under it, and appending a row costs nothing that grows with the store.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemond.model.changes import Vector
from mnemond.model.memory import Insight

SMALLEST_CAPACITY = 64


def grown(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """`array` itself if its first axis holds `needed` rows, else a copy of its first `used` rows of twice the size."""
    if needed <= len(array):
        return array
    larger = np.empty((max(needed, 2 * len(array), SMALLEST_CAPACITY), *array.shape[1:]), dtype=array.dtype)
    larger[:used] = array[:used]
    return larger


class GrowableArray:
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

    def patched(self, rows: Sequence[int] | npt.NDArray[np.int64], values: Sequence[float]) -> GrowableArray:
        """A copy with some rows changed; readers of this one see no difference."""
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


# The insights of all rows, as a persistent list: a changed row copies its block, and snapshots keep the old one.


BLOCK = 256
"""Rows a block. A write that changes five rows copies at most five blocks of pointers and the list of all blocks."""


class Ledger:
    """Append in place, behind every reader; change rows through `patched`, which leaves this one as it is.

    Only the newest ledger may be appended to.
    """

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
        """Append a row for each."""
        place = 0
        while place < len(insights):
            if self._used % BLOCK == 0:
                self._blocks.append([])
            room = BLOCK - self._used % BLOCK
            part = insights[place : place + room]
            self._blocks[-1].extend(part)
            self._used += len(part)
            place += len(part)

    def patched(self, changes: Mapping[int, Insight]) -> Ledger:
        """The same rows with some of them replaced."""
        if not changes:
            return self
        later = Ledger()
        later._blocks, later._used = list(self._blocks), self._used
        copied: set[int] = set()
        for row, insight in changes.items():
            number, place = divmod(row, BLOCK)
            if number not in copied:
                later._blocks[number] = list(later._blocks[number])
                copied.add(number)
            later._blocks[number][place] = insight
        return later


# The embeddings of a store as one matrix: a similarity is one matrix-vector product.


Matrix = npt.NDArray[np.float32]

UNIT_TOLERANCE = 1e-3
"""How far a length may be off 1 before a vector is scaled; float32 embedders stay a thousand times closer."""


class Vectors:
    """Rows of length 1, shape (rows, dimension), float32, C-contiguous; a missing vector is a row of zeros."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.present = GrowableArray(np.zeros(0, dtype=np.uint8))
        self._matrix: Matrix = np.zeros((0, dimension), dtype=np.float32)

    def append(self, vector: Vector | None) -> bool:
        """Append one row; whether its vector is present. The same rules as for many."""
        used = len(self.present.view())
        self._matrix = grown(self._matrix, used, used + 1)
        row = self._matrix[used]
        usable = self._usable(vector)
        squared = 0.0 if usable is None else float(np.dot(usable, usable))
        if usable is not None and abs(squared - 1.0) <= UNIT_TOLERANCE:
            row[:] = usable
            self.present.append(1)
            return True
        row[:] = 0.0 if usable is None else usable
        present = normalise(self._matrix[used : used + 1])
        self.present.extend(present)
        return bool(present[0])

    def extend(self, vectors: Sequence[Vector | None]) -> int:
        """Append a row for each; the number of those that are present.

        A vector of another dimension (another model wrote it), of length 0 or not finite counts as missing.
        """
        usable = [self._usable(vector) for vector in vectors]
        used = len(self.present.view())
        self._matrix = grown(self._matrix, used, used + len(usable))
        block = self._matrix[used : used + len(usable)]
        block[:] = 0.0
        for row, vector in zip(block, usable, strict=True):
            if vector is not None:
                row[:] = vector
        present = normalise(block)
        self.present.extend(present)
        return int(np.count_nonzero(present))

    def _usable(self, vector: Vector | None) -> Vector | None:
        return vector if vector is not None and vector.shape == (self.dimension,) else None

    def view(self) -> Matrix:
        """The rows written so far, shape (rows, dimension)."""
        return self._matrix[: len(self.present)]

    def compacted(self, kept: npt.NDArray[np.int64]) -> Vectors:
        """The rows `kept`, in that order."""
        fewer = Vectors(self.dimension)
        fewer._matrix = self._matrix[kept]
        fewer.present = GrowableArray(self.present.view()[kept])
        return fewer


def normalise(block: Matrix) -> npt.NDArray[np.uint8]:
    """Bring each row to length 1 in place, or to zeros when it has no direction; 1 for each row that has one."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float32))
    present: npt.NDArray[np.bool_] = np.isfinite(lengths) & (lengths > 0.0)
    block[~present] = 0.0
    off = present & (np.abs(lengths - 1.0) > UNIT_TOLERANCE)
    if off.any():
        block[off] /= lengths[off, np.newaxis]
    return present.view(np.uint8)
