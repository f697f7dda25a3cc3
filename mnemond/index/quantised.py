"""The vectors of a store in a quarter of their bytes: int8, each row with a scale of its own.

A scan of 100,000 rows reads 26 MB instead of 102. What it finds is rescored with the float32 rows
(docs/decisions/0014-scanning-many-vectors.md).
"""

from __future__ import annotations

import math
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

AT_ONCE = 16
"""Vectors compared with all codes at once: for 100,000 rows, 13 MB are needed meanwhile."""

BLOCK = 4096
"""Rows encoded at once: what is needed besides the codes stays at 8 MB for 256 dimensions."""


ROUNDING = 1e-4
"""More than what float32 arithmetic adds to the error of a code: a few units in the seventh place a product."""


class Codes(NamedTuple):
    """A row of `matrix`, (rows, dimension), times its number of `scales`, (rows,), is about the vector of that row: not
    farther from it than `off`, where vectors have length 1 at most."""

    matrix: Bytes
    scales: Floats
    off: float = math.inf

    def cosines(self, vector: Vector, first: int = 0) -> Floats:
        """About the cosine of every row from `first` on with `vector`, shape (rows - first,); there is at least one.

        Each component is off by at most half a scale, which with the built-in model makes .0011 of a cosine on average
        and .0075 at worst (100,000 sentences, 400 questions).
        """
        return self._products(*encode(vector[np.newaxis]), first)

    def cosines_within(self, vector: Vector) -> tuple[Floats, float]:
        """About the cosine of every row with `vector` (length 1 at most), shape (rows,), and how far off any may be.

        |x·v − x̂·v̂| ≤ |x̂|·|v − v̂| + |x − x̂|·|v| (Cauchy and Schwarz) for a row x and what their codes say, x̂ and v̂.
        """
        scale = np.abs(vector).max() / np.float32(LARGEST)
        code = np.rint(vector / scale if scale > 0.0 else vector).astype(np.int8)
        apart = code * scale - vector
        coded = math.sqrt(np.dot(apart, apart))
        return self._products(code[np.newaxis], scale, 0), self._off_by(coded)

    def all_within(self, vectors: Matrix) -> list[tuple[Floats, float]]:
        """The same for each of `vectors`, shape (n, dimension): of 32 in a seventh of the time, as they share what it
        takes to read the codes."""
        found: list[tuple[Floats, float]] = []
        for start in range(0, len(vectors), AT_ONCE):
            block = vectors[start : start + AT_ONCE]
            codes, scales = encode(block)
            apart = codes * scales[:, np.newaxis] - block
            coded = np.sqrt(np.einsum("ij,ij->i", apart, apart)).tolist()
            cosines = _dots(codes, self.matrix).astype(np.float32)
            cosines *= self.scales
            cosines *= scales[:, np.newaxis]
            found += zip(cosines, map(self._off_by, coded), strict=True)
        return found

    def _off_by(self, coded: float) -> float:
        return (1.0 + self.off) * coded + self.off + ROUNDING

    def _products(self, code: Bytes, scale: Floats | np.float32, first: int) -> Floats:
        cosines: Floats = _dots(code, self.matrix[first:])[0].astype(np.float32)
        cosines *= self.scales[first:] * scale
        return cosines


def _dots(codes: Bytes, matrix: Bytes) -> npt.NDArray[np.int32]:
    """The products of each of `codes`, (n, dimension), with each row of `matrix`, shape (n, rows).

    As int32: what is wanted as anything else is converted number by number, which takes longer than the products
    (10,000 rows of 256, one vector: 71 µs instead of 123; 32 vectors: 17 µs each instead of 127).
    """
    if len(codes) == 1:
        turned = np.empty((len(matrix), 1), dtype=np.int32)
        numkong.cdist(matrix, codes, "dot", out=turned)
        return turned.T
    found = np.empty((len(codes), len(matrix)), dtype=np.int32)
    numkong.cdist(codes, matrix, "dot", out=found)
    return found


class Quantised:
    """Codes of a growing matrix; readers hold what `view` gave them, as they do with the matrix itself."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Bytes = np.zeros((0, dimension), dtype=np.int8)
        self._scales = Column(np.zeros(0, dtype=np.float32))
        self._off = 0.0

    def __len__(self) -> int:
        return len(self._scales)

    def keep_up(self, vectors: Matrix) -> None:
        """Encode the rows of `vectors` that have no code yet."""
        used, rows = len(self), len(vectors)
        self._matrix = grown(self._matrix, used, rows)
        if rows == used + 1:
            self._encode_one(vectors[used])
            return
        for first in range(used, rows, BLOCK):
            block = vectors[first : first + BLOCK]
            codes, scales = encode(block)
            self._off = max(self._off, _farthest(codes, scales, block))
            self._matrix[first : first + len(codes)] = codes
            self._scales.extend(scales)

    def _encode_one(self, vector: Vector) -> None:
        """What `encode` does, for one row in an eighth of the time: it comes with each write of a lone client."""
        scale = np.maximum(vector.max(), -vector.min()) / np.float32(LARGEST)
        codes = vector * (np.float32(1.0) / scale if scale > 0.0 else np.float32(0.0))
        code = np.rint(codes, out=codes).clip(-LARGEST, LARGEST, out=codes).astype(np.int8)
        apart = code * scale
        apart -= vector
        self._off = max(self._off, math.sqrt(np.dot(apart, apart)))
        self._matrix[len(self)] = code
        self._scales.append(scale)

    def view(self) -> Codes:
        """The rows encoded so far."""
        return Codes(self._matrix[: len(self)], self._scales.view(), self._off)

    def compacted(self, kept: npt.NDArray[np.int64]) -> Quantised:
        """The rows `kept`, ascending, as far as they are encoded."""
        fewer = Quantised(self._matrix.shape[1])
        encoded = kept[: np.searchsorted(kept, len(self))]
        fewer._matrix = self._matrix[encoded]
        fewer._scales = Column(self._scales.view()[encoded])
        fewer._off = self._off
        return fewer


def encode(block: Matrix) -> tuple[Bytes, Floats]:
    """Codes, (rows, dimension), and scales, (rows,): the largest component of a row becomes 127. Zeros stay zeros."""
    scales = np.maximum(block.max(axis=1), -block.min(axis=1)) / np.float32(LARGEST)
    codes = block * np.divide(np.float32(1.0), scales, out=np.zeros_like(scales), where=scales > 0.0)[:, np.newaxis]
    np.rint(codes, out=codes)
    return codes.clip(-LARGEST, LARGEST, out=codes).astype(np.int8), scales


def _farthest(codes: Bytes, scales: Floats, block: Matrix) -> float:
    """The largest distance of a row from what its code says."""
    apart = codes * scales[:, np.newaxis]
    apart -= block
    return float(np.sqrt(np.einsum("ij,ij->i", apart, apart).max()))
