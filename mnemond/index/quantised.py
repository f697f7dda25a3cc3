"""The vectors of a store in a quarter of their bytes: int8, each row with a scale of its own.

A scan of 100,000 rows reads 26 MB instead of 102. What it finds is rescored with the float32 rows
(docs/decisions/0014-scanning-many-vectors.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numkong
import numpy as np
import numpy.typing as npt

from mnemond.index.growing import Column, grown
from mnemond.index.vectors import Matrix
from mnemond.model.changes import Vector

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.int8]

LARGEST = 127
"""The largest code. -128 is left out, so that a vector and its opposite have opposite codes."""

BLOCK = 4096
"""Rows encoded at once: what is needed besides the codes stays at 8 MB for 256 dimensions."""


class Codes(NamedTuple):
    """A row of `matrix`, (rows, dimension), times its number of `scales`, (rows,), is about the vector of that row."""

    matrix: Bytes
    scales: Floats

    def cosines(self, vector: Vector, first: int = 0) -> Floats:
        """About the cosine of every row from `first` on with `vector`, shape (rows - first,); there is at least one.

        Each component is off by at most half a scale, which with the built-in model makes .0011 of a cosine on average
        and .0075 at worst (100,000 sentences, 400 questions).
        """
        code, scale = encode(vector[np.newaxis])
        found = np.empty((1, len(self.scales) - first), dtype=np.float32)
        numkong.cdist(code, self.matrix[first:], "dot", out=found)
        found *= self.scales[first:] * scale
        cosines: Floats = found[0]
        return cosines


class Quantised:
    """Codes of a growing matrix; readers hold what `view` gave them, as they do with the matrix itself."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Bytes = np.zeros((0, dimension), dtype=np.int8)
        self._scales = Column(np.zeros(0, dtype=np.float32))

    def __len__(self) -> int:
        return len(self._scales.view())

    def keep_up(self, vectors: Matrix) -> None:
        """Encode the rows of `vectors` that have no code yet."""
        used, rows = len(self), len(vectors)
        self._matrix = grown(self._matrix, used, rows)
        for first in range(used, rows, BLOCK):
            codes, scales = encode(vectors[first : first + BLOCK])
            self._matrix[first : first + len(codes)] = codes
            self._scales.extend(scales)

    def view(self) -> Codes:
        """The rows encoded so far."""
        return Codes(self._matrix[: len(self)], self._scales.view())

    def compacted(self, kept: npt.NDArray[np.int64]) -> Quantised:
        """The rows `kept`, ascending, as far as they are encoded."""
        fewer = Quantised(self._matrix.shape[1])
        encoded = kept[: np.searchsorted(kept, len(self))]
        fewer._matrix = self._matrix[encoded]
        fewer._scales = Column(self._scales.view()[encoded])
        return fewer


def encode(block: Matrix) -> tuple[Bytes, Floats]:
    """Codes, (rows, dimension), and scales, (rows,): the largest component of a row becomes 127. Zeros stay zeros."""
    scales = np.maximum(block.max(axis=1), -block.min(axis=1)) / np.float32(LARGEST)
    codes = block * np.divide(np.float32(1.0), scales, out=np.zeros_like(scales), where=scales > 0.0)[:, np.newaxis]
    np.rint(codes, out=codes)
    return codes.clip(-LARGEST, LARGEST, out=codes).astype(np.int8), scales
