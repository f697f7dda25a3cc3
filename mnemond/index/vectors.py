"""The vectors of a store and the ways to search them: all of them exactly, all of them by int8 codes, or a graph.

However rows were found, the cosines of those that come out on top are exact. A scan of 100,000 rows of codes reads
26 MB instead of 102 (docs/decisions/0014-scanning-many-vectors.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numkong
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import VectorSettings
from mnemond.index.arrays import (
    MAX_SORTED,
    Floats,
    GrowableArray,
    Marks,
    Mask,
    Rows,
    at_least_kth,
    at_most_kth,
    grown,
    kth,
    top,
)
from mnemond.index.hnsw import ApproximateIndex, Graph
from mnemond.model.changes import Vector

Bytes = npt.NDArray[np.int8]

UNIT_TOLERANCE = 1e-3
"""How far a length may be off 1 before a vector is scaled; float32 embedders stay a thousand times closer."""

MAX_CODE = 127
"""The largest code. -128 is left out, so that a vector and its opposite have opposite codes."""

AT_ONCE = 16
"""Vectors compared with all codes at once: for 100,000 rows this needs 13 MB."""

BLOCK = 4096
"""Rows encoded at once: what is needed besides the codes stays at 8 MB for 256 dimensions."""

ROUNDING = 1e-4
"""More than what float32 arithmetic adds to the error of a code: a few units in the seventh place per product."""

RESCORED = 100
"""Rows whose exact cosine is computed after a coarse search: the exact best 20 are among the coarse best 30 already
(seven embedders; 100,000 sentences and 400 questions with the built-in one)."""

RESCORED_EACH = 5
"""Rows rescored for each row wanted, where more than 20 are."""

SCANNED_FROM = 3_000
"""With `vector.index = "auto"`: rows from which a write compares its vector with codes first, which then are kept for
it alone (docs/decisions/0012-what-a-remember-costs.md)."""

CODE_TAIL = 64
"""Rows that wait for their codes where only writers use them: encoding one takes as long as encoding sixty."""

BELOW_ALL = np.float32(-2.0)
"""Below every cosine."""


# The matrix of the writer.


class Cued(NamedTuple):
    """The vectors by which recall finds memories that have cues: of the text and the cues together. `rows`: ascending,
    shape (n,); `matrix`: of length 1, shape (n, dimension)."""

    rows: Rows
    matrix: Floats

    def places_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the positions in `rows` of those that have such a vector, and the positions here."""
        if not len(self.rows):
            return self.rows, self.rows
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        held = np.flatnonzero(self.rows[at] == rows)
        return held, at[held]

    def with_own(self, row: int, own: Vector) -> Vector:
        """Return the vector of a row whose text has the vector `own`, as it is stored."""
        at = int(np.searchsorted(self.rows, row))
        if at == len(self.rows) or self.rows[at] != row:
            return own
        return np.stack((own, self.matrix[at]))


class Vectors:
    """Rows of length 1, shape (rows, dimension), float32, C-contiguous; a missing vector is a row of zeros.

    A vector of another dimension (of another model), of length 0 or not finite counts as missing. A vector of shape
    (2, dimension) is that of a text, and that of the text with its cues; see `Cued`.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.present = GrowableArray.empty(np.uint8)
        self._matrix: Floats = np.zeros((0, dimension), dtype=np.float32)
        self._cued_rows = GrowableArray.empty(np.int64)
        self._cued: Floats = np.zeros((0, dimension), dtype=np.float32)

    def append(self, vector: Vector | None) -> bool:
        """Append one row; True if its vector is present."""
        usable = self._usable(vector)
        if vector is not None and vector.ndim == 2:
            return self.extend([vector]) > 0
        if usable is not None and abs(float(np.dot(usable, usable)) - 1.0) <= UNIT_TOLERANCE:
            used = len(self.present)
            self._matrix = grown(self._matrix, used, used + 1)
            self._matrix[used] = usable
            self.present.append(1)
            return True
        return self.extend([vector]) > 0

    def extend(self, vectors: Sequence[Vector | None]) -> int:
        """Append a row for each; return the number of those that are present."""
        used = len(self.present)
        self._matrix = grown(self._matrix, used, used + len(vectors))
        block = self._matrix[used : used + len(vectors)]
        block[:] = 0.0
        for row, vector in zip(block, vectors, strict=True):
            if (usable := self._usable(vector)) is not None:
                row[:] = usable
        present = normalise(block)
        self.present.extend(present)
        both = [
            (used + at, vector[1])
            for at, vector in enumerate(vectors)
            if present[at] and vector is not None and vector.ndim == 2
        ]
        if both:
            self._extend_cued([row for row, _ in both], np.array([cued for _, cued in both], dtype=np.float32))
        return int(np.count_nonzero(present))

    def _extend_cued(self, rows: Sequence[int], block: Floats) -> None:
        kept = np.flatnonzero(normalise(block))
        used = len(self._cued_rows)
        self._cued = grown(self._cued, used, used + len(kept))
        self._cued[used : used + len(kept)] = block[kept]
        self._cued_rows.extend(np.array(rows, dtype=np.int64)[kept])

    def _usable(self, vector: Vector | None) -> Vector | None:
        own = None if vector is None else own_vector(vector)
        return own if own is not None and own.shape == (self.dimension,) else None

    def view(self) -> Floats:
        return self._matrix[: len(self.present)]

    def cued(self) -> Cued:
        return Cued(self._cued_rows.view(), self._cued[: len(self._cued_rows)])

    def stored(self, row: int) -> Vector | None:
        """Return the vector of a row as it was appended; None if it has none."""
        if not self.present.view()[row]:
            return None
        return self.cued().with_own(row, self._matrix[row])

    def compacted(self, kept: Rows) -> Vectors:
        fewer = Vectors(self.dimension)
        fewer._matrix = self._matrix[kept]
        fewer.present = GrowableArray(self.present.view()[kept])
        cued = self.cued()
        at, places = cued.places_of(kept)
        fewer._cued_rows, fewer._cued = GrowableArray(at), cued.matrix[places]
        return fewer


def own_vector(vector: Vector) -> Vector:
    """Return the vector of a text alone, of one that may be that of the text with its cues as well."""
    return vector[0] if vector.ndim == 2 else vector


def is_stored(stored: Vector | None, given: Vector | None) -> bool:
    """Return True if a row (of length 1, None without a vector) has just this vector."""
    if given is None:
        return stored is None
    block = np.array(np.atleast_2d(given), dtype=np.float32)  # a copy
    if not normalise(block).all():
        return stored is None
    return (
        stored is not None
        and stored.shape == given.shape
        and np.allclose(stored, block.reshape(given.shape), atol=1e-6)
    )


def normalise(block: Floats) -> Marks:
    """Scale each row to length 1 in place, or to zeros when it has no direction; 1 for each row that has one."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float32))
    present: npt.NDArray[np.bool_] = np.isfinite(lengths) & (lengths > 0.0)
    block[~present] = 0.0
    off = present & (np.abs(lengths - 1.0) > UNIT_TOLERANCE)
    if off.any():
        block[off] /= lengths[off, np.newaxis]
    return present.view(np.uint8)


# Codes: each vector in a quarter of its bytes, as int8 numbers with a scale of its own.


class Codes(NamedTuple):
    """A row of `matrix`, (rows, dimension), times its number of `scales`, (rows,), approximates the vector of that row:
    not farther from it than `off`, where vectors have length 1 at most."""

    matrix: Bytes
    scales: Floats
    off: float = math.inf

    def cosines(self, vector: Vector, first: int = 0) -> Floats:
        """Return about the cosine of every row from `first` on with `vector`, shape (rows - first,), at least one.

        Each component is off by at most half a scale, which with the built-in model makes .0011 of a cosine on average
        and .0075 at worst (100,000 sentences, 400 questions).
        """
        return self._products(*encode(vector[np.newaxis]), first)

    def cosines_within(self, vector: Vector) -> tuple[Floats, float]:
        """Return about the cosine of every row with `vector` (length 1 at most), shape (rows,), and how far off any may
        be.

        |x·v − x̂·v̂| ≤ |x̂|·|v − v̂| + |x − x̂|·|v| (Cauchy and Schwarz) for a row x, and x̂ and v̂ as their codes.
        """
        scale = np.abs(vector).max() / np.float32(MAX_CODE)
        code = np.rint(vector / scale if scale > 0.0 else vector).astype(np.int8)
        apart = code * scale - vector
        coded = math.sqrt(np.dot(apart, apart))
        return self._products(code[np.newaxis], scale, 0), self._off_by(coded)

    def all_within(self, vectors: Floats) -> list[tuple[Floats, float]]:
        """The same for each of `vectors`, shape (n, dimension): 32 take a seventh of the time, reading codes once."""
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

    As int32: any other type is converted number by number, which takes longer than the products (10,000 rows of 256,
    one vector: 71 µs instead of 123; 32 vectors: 17 µs each instead of 127).
    """
    if len(codes) == 1:
        turned = np.empty((len(matrix), 1), dtype=np.int32)
        numkong.cdist(matrix, codes, "dot", out=turned)
        return turned.T
    found = np.empty((len(codes), len(matrix)), dtype=np.int32)
    numkong.cdist(codes, matrix, "dot", out=found)
    return found


def encode(block: Floats) -> tuple[Bytes, Floats]:
    """Return codes, (rows, dimension), and scales, (rows,): the largest component of a row becomes 127, zeros stay."""
    scales = np.maximum(block.max(axis=1), -block.min(axis=1)) / np.float32(MAX_CODE)
    codes = block * np.divide(np.float32(1.0), scales, out=np.zeros_like(scales), where=scales > 0.0)[:, np.newaxis]
    np.rint(codes, out=codes)
    return codes.clip(-MAX_CODE, MAX_CODE, out=codes).astype(np.int8), scales


class Quantised:
    """Codes of a growing matrix; readers hold what `view` returned, as they do with the matrix itself."""

    def __init__(self, dimension: int) -> None:
        self._matrix: Bytes = np.zeros((0, dimension), dtype=np.int8)
        self._scales = GrowableArray.empty(np.float32)
        self._off = 0.0

    def __len__(self) -> int:
        return len(self._scales)

    def keep_up(self, vectors: Floats) -> None:
        used, rows = len(self), len(vectors)
        self._matrix = grown(self._matrix, used, rows)
        if rows == used + 1:
            self._encode_one(vectors[used])
            return
        for first in range(used, rows, BLOCK):
            block = vectors[first : first + BLOCK]
            codes, scales = encode(block)
            apart = codes * scales[:, np.newaxis]
            apart -= block
            self._off = max(self._off, float(np.sqrt(np.einsum("ij,ij->i", apart, apart).max())))
            self._matrix[first : first + len(codes)] = codes
            self._scales.extend(scales)

    def _encode_one(self, vector: Vector) -> None:
        """`encode` for one row, in an eighth of the time: each write of a lone client needs it."""
        scale = np.maximum(vector.max(), -vector.min()) / np.float32(MAX_CODE)
        codes = vector * (np.float32(1.0) / scale if scale > 0.0 else np.float32(0.0))
        code = np.rint(codes, out=codes).clip(-MAX_CODE, MAX_CODE, out=codes).astype(np.int8)
        apart = code * scale
        apart -= vector
        self._off = max(self._off, math.sqrt(np.dot(apart, apart)))
        self._matrix[len(self)] = code
        self._scales.append(scale)

    def view(self) -> Codes:
        return Codes(self._matrix[: len(self)], self._scales.view(), self._off)

    def compacted(self, kept: Rows) -> Quantised:
        fewer = Quantised(self._matrix.shape[1])
        encoded = kept[: np.searchsorted(kept, len(self))]
        fewer._matrix = self._matrix[encoded]
        fewer._scales = GrowableArray(self._scales.view()[encoded])
        fewer._off = self._off
        return fewer


# Searching.


class Dense(NamedTuple):
    """`matrix`: (rows, dimension). `present`: 1 for each row that has a vector. `codes`: of the first rows, perhaps not
    of the newest. `approximate`: holds the graph once it is built; None when none is wanted. `scanned`: the codes for
    writes, which use them in smaller stores already. `cued`: of memories with cues, for recall alone: the methods that
    begin with `searched` put their cosines in the place of those of the texts."""

    matrix: Floats
    present: Marks
    codes: Codes | None = None
    approximate: ApproximateIndex | None = None
    scanned: Codes | None = None
    cued: Cued | None = None

    def similarity(self, vector: Vector, first: int = 0) -> Floats:
        """Return the exact cosines of all rows from `first` on with `vector` (length 1, shape (dimension,)), shape
        (rows - first,); 0 where there is no vector. Raises ValueError for a vector of another dimension."""
        found: Floats = np.dot(self.matrix[first:], vector)
        return found

    def similarity_of(self, vector: Vector, rows: Rows) -> Floats:
        found: Floats = np.dot(self.matrix[rows], vector)
        return found

    def similarity_approximate(self, vector: Vector, mask: Mask | None = None) -> Floats:
        """Return the cosines of all rows, shape (rows,), in a third of the time in a large store: exact for the
        RESCORED best of those in `mask`, else off by .001 on average (`Codes.cosines`)."""
        found = self._coarse(vector, 0)
        if self.codes is not None:
            rows = leading(found, RESCORED, mask)
            found[rows] = self.similarity_of(vector, rows)
        return found

    def searched(self, vector: Vector, mask: Mask | None = None) -> Floats:
        """`similarity_approximate` with the cues of memories."""
        found = self.similarity_approximate(vector, mask)
        if self.cued is not None:
            found[self.cued.rows] = np.dot(self.cued.matrix, vector)
        return found

    def searched_of(self, vector: Vector, rows: Rows) -> Floats:
        """`similarity_of` with the cues of memories."""
        found = self.similarity_of(vector, rows)
        if self.cued is not None:
            at, places = self.cued.places_of(rows)
            found[at] = np.dot(self.cued.matrix[places], vector)
        return found

    def searched_nearest(self, vector: Vector, k: int, mask: Mask | None = None) -> tuple[Rows, Floats]:
        """`nearest` with the cues of memories: all of their vectors are compared."""
        cued = self.cued
        if cued is None:
            return self.nearest(vector, k, mask)
        others = np.ones(len(self.matrix), dtype=np.bool_) if mask is None else mask.copy()
        others[cued.rows] = False
        rows, cosines = self.nearest(vector, k, others)
        by_cue = np.dot(cued.matrix, vector)
        best = leading(by_cue, k, None if mask is None else mask[cued.rows])
        rows, cosines = np.concatenate([rows, cued.rows[best]]), np.concatenate([cosines, by_cue[best]])
        first = np.lexsort((-rows, -cosines))[:k]
        first = first[cosines[first] > 0.0]
        return rows[first], cosines[first]

    def nearest(self, vector: Vector, k: int, mask: Mask | None = None) -> tuple[Rows, Floats]:
        """Return the k rows of `mask` with the largest positive cosine, best first, and these cosines, exact; of equal
        ones the later row. With a graph a few of the k may be missed.

        `mask` is from `Snapshot.visible`: without one, dead rows count if there are any.
        """
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
        """Return True if a graph finds the nearest rows without reading all of them."""
        return self.approximate is not None and self.approximate.graph is not None

    @property
    def graph_lacking(self) -> str | None:
        """Why there is no graph although the store is large enough for one."""
        return None if self.approximate is None else self.approximate.lacking

    def _shortlist(self, vector: Vector, k: int, mask: Mask | None) -> Rows:
        wanted = max(RESCORED, RESCORED_EACH * k)
        graph = None if self.approximate is None else self.approximate.graph
        if graph is not None and (found := self._along(graph, vector, k, wanted, mask)) is not None:
            return found
        return leading(self._coarse(vector, 0), wanted, mask)

    def _along(self, graph: Graph, vector: Vector, k: int, wanted: int, mask: Mask | None) -> Rows | None:
        """The nearest rows of a graph, and the best of the rows it does not cover yet; None when `mask` leaves too
        little of it to decide what is nearest."""
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


def leading(scores: Floats, k: int, mask: Mask | None) -> Rows:
    """Return the k positions in `mask` with the largest positive scores, in no order; of equal ones the later."""
    ranked = scores if mask is None else scores * mask
    found = at_least_kth(ranked, k)
    values = ranked[found]
    found, values = found[values > 0.0], values[values > 0.0]
    if len(found) <= k:
        return found
    tied = found[values == values.min()]
    above = found[values > values.min()]
    return np.concatenate([above, tied[len(above) - k :]])


class Cosines:
    """The cosines of one vector with every row, each exact when it is read.

    In a large store they are estimated from int8 codes, a quarter of the bytes to read, and those that are read are
    computed once more from the vectors. The error of codes has a bound, so that none is missed.
    """

    __slots__ = ("_exactly", "_found", "_off")

    def __init__(self, found: Floats, exactly: tuple[Dense, Vector] | None = None, off: float = 0.0) -> None:
        """`found`: shape (rows,), the cosines themselves; with `exactly` (matrix and vector), within `off` of them."""
        self._found = found
        self._exactly = exactly
        self._off = off

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, row: int) -> float:
        if self._exactly is None:
            return float(self._found[row])
        dense, vector = self._exactly
        return float(np.dot(dense.matrix[row], vector))

    def continued(self, dense: Dense, vector: Vector) -> Cosines:
        """Return the same with the rows of `dense` that are newer."""
        found = np.concatenate([self._found, dense.similarity(vector, len(self._found))])
        return Cosines(found, None if self._exactly is None else (dense, vector), self._off)

    def of(self, rows: Rows) -> Floats:
        if self._exactly is None:
            return self._found[rows]
        dense, vector = self._exactly
        return dense.similarity_of(vector, rows)

    def best_between(self, least: float, below: float, k: int, mask: Mask | None) -> list[tuple[int, float]]:
        """Return the k rows of `mask` with the largest cosines in [least, below), best first, of equal ones the later:
        (row, cosine)."""
        rows: Rows = (self._found >= least - self._off).nonzero()[0]
        if mask is not None:
            rows = rows[mask[rows]]
        if self._exactly is not None and len(rows) > MAX_SORTED:
            about = self._found[rows]
            certain = about[(about >= least + self._off) & (about < below - self._off)]
            if len(certain) > k:
                rows = rows[about >= kth(certain, k) - 2.0 * self._off]
        cosines = self.of(rows)
        kept = (cosines >= least) & (cosines < below)
        return top(rows[kept], cosines[kept], k)

    def highest(self, k: int, mask: Mask | None) -> list[tuple[int, float]]:
        """Return the k rows of `mask` with the largest positive cosine as (row, cosine), in the same order."""
        if self._exactly is None:
            best = leading(self._found, k, mask)
            return top(best, self._found[best], k)
        # A row among the best cannot lie farther below the worst of them than twice the error.
        ranked = self._found if mask is None else np.where(mask, self._found, BELOW_ALL)
        worst = max(at_most_kth(ranked, k), 0.0) - 2.0 * self._off
        rows: Rows = (ranked >= max(worst, -self._off)).nonzero()[0]
        cosines = self.of(rows)
        positive = cosines > 0.0
        return top(rows[positive], cosines[positive], k)


def cosines_of(dense: Dense, vector: Vector) -> Cosines:
    """Compare a vector with all rows, by their codes where they have any."""
    codes = dense.scanned
    if codes is None:
        return Cosines(dense.similarity(vector))
    found, off = codes.cosines_within(vector)
    if len(found) < len(dense.matrix):
        found = np.concatenate([found, dense.similarity(vector, len(found))])
    return Cosines(found, (dense, vector), off)


def cosines_of_all(dense: Dense, vectors: Floats) -> list[Cosines]:
    """The same for each of `vectors`, shape (n, dimension), in less time than one by one."""
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


class VectorAccelerators:
    """Codes and graph of a large store, for the writer. Both are made when the store has grown enough, and kept."""

    def __init__(self, settings: VectorSettings, dimension: int) -> None:
        self.settings = settings
        self._quantised = Quantised(dimension)
        self._approximate = ApproximateIndex(settings.hnsw)

    def keep_up(self, vectors: Vectors, alive: Marks) -> bool:
        """Encode new rows, and start to build or extend the graph, if the store is large enough; True if `view` has
        anything new then. `alive`: 1 for each live row."""
        matrix = vectors.view()
        waiting = len(matrix) - len(self._quantised)
        due = self._wants_codes(len(matrix)) or (waiting >= CODE_TAIL and self._wants_writer_codes(len(matrix)))
        if not matrix.size or not due:
            return False
        self._quantised.keep_up(matrix)
        if self._wants_graph(len(matrix)):
            self._approximate.keep_up(matrix, vectors.present.view(), alive)
        return waiting > 0

    def _wants_codes(self, rows: int) -> bool:
        """Return True if so many rows are searched by codes. A graph needs them: they find what it cannot."""
        settings = self.settings
        by_size = settings.index == "auto" and rows >= settings.int8_from
        return settings.index == "int8" or by_size or self._wants_graph(rows)

    def _wants_writer_codes(self, rows: int) -> bool:
        return self._wants_codes(rows) or (self.settings.index == "auto" and rows >= SCANNED_FROM)

    def _wants_graph(self, rows: int) -> bool:
        return self.settings.index == "hnsw" or (self.settings.index == "auto" and rows >= self.settings.exact_limit)

    def view(self, vectors: Vectors) -> Dense:
        matrix = vectors.view()
        codes = self._quantised.view() if len(self._quantised) else None
        coded = codes is not None and self._wants_codes(len(matrix))
        graph = self._approximate if coded and self._wants_graph(len(matrix)) else None
        cued = vectors.cued()
        return Dense(
            matrix, vectors.present.view(), codes if coded else None, graph, codes, cued if len(cued.rows) else None
        )

    def compacted(self, kept: Rows, renumbered: Rows) -> VectorAccelerators:
        fewer = VectorAccelerators(self.settings, 0)
        fewer._quantised = self._quantised.compacted(kept)
        fewer._approximate = self._approximate.compacted(kept, renumbered)
        return fewer

    def end(self) -> None:
        """Stop a thread that builds a graph soon."""
        self._approximate.end()
