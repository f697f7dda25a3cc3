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

from mnemond.index.arrays import GrowableArray, Matrix, grown
from mnemond.index.bm25 import FEW, SelectionRows, at_least_kth, at_most_kth, kth, top
from mnemond.index.hnsw import Approximate, Graph
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
        self._scales = GrowableArray(np.zeros(0, dtype=np.float32))
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
        fewer._scales = GrowableArray(self._scales.view()[encoded])
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


# The vectors of a snapshot and the ways to search them: all of them exactly, all of them coarsely, or a graph.
#
# However rows were found, the cosines of those that come out on top are exact.


DenseMask = npt.NDArray[np.bool_]


RESCORED = 100
"""Rows whose exact cosine is computed after a coarse search: the exact best 20 are among the coarse best 30 already
(performance 3.4 for seven embedders; 100,000 sentences and 400 questions with the built-in one)."""

RESCORED_EACH = 5
"""Rows rescored for each row wanted, where more than 20 are."""


class Dense(NamedTuple):
    """`matrix`: (rows, dimension). `present`: 1 for each row that has a vector. `codes`: of the first rows, perhaps not
    of the newest. `approximate`: where a graph is or will be; None when none is wanted. `scanned`: the codes for a
    writer, who has use for them in smaller stores already."""

    matrix: Matrix
    present: npt.NDArray[np.uint8]
    codes: Codes | None = None
    approximate: Approximate | None = None
    scanned: Codes | None = None

    def similarity(self, vector: Vector, first: int = 0) -> Floats:
        """Exact cosines of all rows from `first` on, shape (rows - first,)."""
        found: Floats = np.dot(self.matrix[first:], vector)
        return found

    def similarity_of(self, vector: Vector, rows: SelectionRows) -> Floats:
        """Exact cosines of `rows`, shape (len(rows),)."""
        found: Floats = np.dot(self.matrix[rows], vector)
        return found

    def similarity_approximate(self, vector: Vector, mask: DenseMask | None) -> Floats:
        """Cosines of all rows, shape (rows,); exact for the RESCORED best of those in `mask`, else off by what codes
        are off (`Codes.cosines`)."""
        found = self._coarse(vector, 0)
        if self.codes is not None:
            rows = leading(found, RESCORED, mask)
            found[rows] = self.similarity_of(vector, rows)
        return found

    def nearest(self, vector: Vector, k: int, mask: DenseMask | None) -> tuple[SelectionRows, Floats]:
        """The k rows of `mask` with the largest positive cosine, best first, and these cosines; of equal ones the
        later row."""
        if self.codes is None:
            cosines = self.similarity(vector)
            rows = leading(cosines, k, mask)
            cosines = cosines[rows]
        else:
            rows = self._shortlist(vector, k, mask)
            cosines = self.similarity_of(vector, rows)
        best = np.lexsort((-rows, -cosines))[:k]
        best = best[cosines[best] > 0.0]
        return rows[best], cosines[best]

    @property
    def graphed(self) -> bool:
        """Whether a graph finds the nearest rows without looking at all of them."""
        return self.approximate is not None and self.approximate.graph is not None

    @property
    def graph_lacking(self) -> str | None:
        """Why there is no graph although one is wanted."""
        return None if self.approximate is None else self.approximate.lacking

    def _shortlist(self, vector: Vector, k: int, mask: DenseMask | None) -> SelectionRows:
        """Rows among which the k nearest are, found by their codes or along the graph."""
        wanted = max(RESCORED, RESCORED_EACH * k)
        graph = None if self.approximate is None else self.approximate.graph
        if graph is not None and (found := self._along(graph, vector, k, wanted, mask)) is not None:
            return found
        return leading(self._coarse(vector, 0), wanted, mask)

    def _along(self, graph: Graph, vector: Vector, k: int, wanted: int, mask: DenseMask | None) -> SelectionRows | None:
        """What a graph finds, and the best of the rows it does not cover yet; None when `mask` leaves too little of it
        to tell what is nearest."""
        found = graph.nearest(vector, wanted)
        found = found[found < len(self.matrix)]  # a graph may be newer than the snapshot
        if mask is not None:
            found = found[mask[found]]
        if len(found) < k:
            return None
        first = min(graph.covered, len(self.matrix))
        rest = leading(self._coarse(vector, first), wanted, None if mask is None else mask[first:])
        return np.concatenate([found, rest + first])

    def _coarse(self, vector: Vector, first: int) -> Floats:
        """About the cosine of every row from `first` on: from its code, exactly where it has none."""
        coded = 0 if self.codes is None else len(self.codes.scales)
        if self.codes is None or coded <= first:
            return self.similarity(vector, first)
        found = self.codes.cosines(vector, first)
        return found if coded == len(self.matrix) else np.concatenate([found, self.similarity(vector, coded)])


def leading(scores: Floats, k: int, mask: DenseMask | None) -> SelectionRows:
    """The k positions in `mask` with the largest positive scores, in no order; of equal ones the later."""
    ranked = scores if mask is None else scores * mask
    found = at_least_kth(ranked, k)
    values = ranked[found]
    found, values = found[values > 0.0], values[values > 0.0]
    if len(found) <= k:
        return found
    tied = found[values == values.min()]
    above = found[values > values.min()]
    return np.concatenate([above, tied[len(above) - k :]])


# The cosines of one vector with every row of a snapshot: exact wherever anybody looks.
#
# In a large store they are worked out from int8 codes, which is a quarter of the bytes to read, and those that are
# asked for once more from the vectors themselves. What the codes are off by has a bound, so that none is missed.


NOWHERE = np.float32(-2.0)
"""Below every cosine."""


class Cosines:
    """Of one vector with every row, as far as it is asked for."""

    __slots__ = ("_exactly", "_found", "_off")

    def __init__(self, found: Floats, exactly: tuple[Dense, Vector] | None = None, off: float = 0.0) -> None:
        """`found`: shape (rows,), the cosines themselves; with `exactly`, the vector and those it is compared with, up
        to `off` above or below them."""
        self._found = found
        self._exactly = exactly
        self._off = off

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._found)

    def __getitem__(self, row: int) -> float:
        """The cosine of one row."""
        if self._exactly is None:
            return float(self._found[row])
        dense, vector = self._exactly
        return float(np.dot(dense.matrix[row], vector))

    def continued(self, dense: Dense, vector: Vector) -> Cosines:
        """With the rows that came since, which `dense` has."""
        found = np.concatenate([self._found, dense.similarity(vector, len(self._found))])
        return Cosines(found, None if self._exactly is None else (dense, vector), self._off)

    def of(self, rows: SelectionRows) -> Floats:
        """The cosines of rows, shape (len(rows),)."""
        if self._exactly is None:
            return self._found[rows]
        dense, vector = self._exactly
        return dense.similarity_of(vector, rows)

    def best_between(self, least: float, below: float, k: int, mask: DenseMask | None) -> list[tuple[int, float]]:
        """The k rows of `mask` with the largest cosines in [least, below), best first, of equal ones the later."""
        rows: SelectionRows = (self._found >= least - self._off).nonzero()[0]
        if mask is not None:
            rows = rows[mask[rows]]
        if self._exactly is not None and len(rows) > FEW:
            about = self._found[rows]
            certain = about[(about >= least + self._off) & (about < below - self._off)]
            if len(certain) > k:
                rows = rows[about >= kth(certain, k) - 2.0 * self._off]
        cosines = self.of(rows)
        kept = (cosines >= least) & (cosines < below)
        return top(rows[kept], cosines[kept], k)

    def highest(self, k: int, mask: DenseMask | None) -> list[tuple[int, float]]:
        """The k rows of `mask` with the largest positive cosine, best first, of equal ones the later: (row, cosine)."""
        if self._exactly is None:
            best = leading(self._found, k, mask)
            return top(best, self._found[best], k)
        # Whatever is among the best is not below the worst of these by more than both are off.
        ranked = self._found if mask is None else np.where(mask, self._found, NOWHERE)
        worst = max(at_most_kth(ranked, k), 0.0) - 2.0 * self._off
        rows: SelectionRows = (ranked >= max(worst, -self._off)).nonzero()[0]
        cosines = self.of(rows)
        positive = cosines > 0.0
        return top(rows[positive], cosines[positive], k)


def cosines_of(dense: Dense, vector: Vector) -> Cosines:
    """From the codes, as far as rows have one, where there are any."""
    codes = dense.scanned
    if codes is None:
        return Cosines(dense.similarity(vector))
    found, off = codes.cosines_within(vector)
    if len(found) < len(dense.matrix):
        found = np.concatenate([found, dense.similarity(vector, len(found))])
    return Cosines(found, (dense, vector), off)


def cosines_of_all(dense: Dense, vectors: Matrix) -> list[Cosines]:
    """The same of each of `vectors`, shape (n, dimension), in less time than one by one."""
    codes = dense.scanned
    if codes is None:
        return [Cosines(found) for found in np.dot(vectors, dense.matrix.T)]
    known = [
        Cosines(found, (dense, vector), off)
        for vector, (found, off) in zip(vectors, codes.all_within(vectors), strict=True)
    ]
    if len(codes.scales) == len(dense.matrix):
        return known
    return [each.continued(dense, vector) for each, vector in zip(known, vectors, strict=True)]
