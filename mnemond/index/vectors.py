"""The embeddings of a store as one matrix: a similarity is one matrix-vector product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mnemond.index.growing import Column, grown
from mnemond.model.changes import Vector

Matrix = npt.NDArray[np.float32]

UNIT_TOLERANCE = 1e-3
"""How far a length may be off 1 before a vector is scaled; float32 embedders stay a thousand times closer."""


class Vectors:
    """Rows of length 1, shape (rows, dimension), float32, C-contiguous; a missing vector is a row of zeros."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.present = Column(np.zeros(0, dtype=np.uint8))
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
        fewer.present = Column(self.present.view()[kept])
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
