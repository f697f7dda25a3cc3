"""The vectors of a snapshot and the ways to search them: all of them exactly, all of them coarsely, or a graph.

However rows were found, the cosines of those that come out on top are exact.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.approximate import Approximate, Graph, Hnsw
from mnemond.index.quantised import Codes, Floats
from mnemond.index.selection import Rows, at_least_kth
from mnemond.index.vectors import Matrix
from mnemond.model.changes import Vector

Mask = npt.NDArray[np.bool_]
Kind = Literal["auto", "exact", "int8", "hnsw"]

RESCORED = 100
"""Rows whose exact cosine is computed after a coarse search: the exact best 20 are among the coarse best 30 already
(performance 3.4 for seven embedders; 100,000 sentences and 400 questions with the built-in one)."""

RESCORED_EACH = 5
"""Rows rescored for each row wanted, where more than 20 are."""


class VectorPolicy(msgspec.Struct, frozen=True):
    """How vectors are searched. `auto` takes the fastest of the three for the size of a store; the others are kept to.

    `int8_from`: rows from which it keeps codes beside the vectors (performance 3.5; measured again for 256 dimensions,
    docs/decisions/0014-scanning-many-vectors.md). `exact_limit`: rows from which it makes a graph (spec 5).
    `scanned_from`: rows from which a write compares its vector with codes first, which then are kept for it alone
    (docs/decisions/0012-what-a-remember-costs.md).
    """

    kind: Kind = "auto"
    int8_from: int = 3_000
    exact_limit: int = 100_000
    hnsw: Hnsw = Hnsw()
    scanned_from: int = 3_000

    def codes(self, rows: int) -> bool:
        """Whether a store of so many rows keeps codes. A graph never comes without: they find what it cannot."""
        return self.kind == "int8" or self.graph(rows) or (self.kind == "auto" and rows >= self.int8_from)

    def scanned(self, rows: int) -> bool:
        """Whether a store of so many rows keeps codes for those who write at least."""
        return self.codes(rows) or (self.kind == "auto" and rows >= self.scanned_from)

    def graph(self, rows: int) -> bool:
        """Whether a store of so many rows keeps a graph."""
        return self.kind == "hnsw" or (self.kind == "auto" and rows >= self.exact_limit)


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

    def similarity_of(self, vector: Vector, rows: Rows) -> Floats:
        """Exact cosines of `rows`, shape (len(rows),)."""
        found: Floats = np.dot(self.matrix[rows], vector)
        return found

    def similarity_approximate(self, vector: Vector, mask: Mask | None) -> Floats:
        """Cosines of all rows, shape (rows,); exact for the RESCORED best of those in `mask`, else off by what codes
        are off (`Codes.cosines`)."""
        found = self._coarse(vector, 0)
        if self.codes is not None:
            rows = leading(found, RESCORED, mask)
            found[rows] = self.similarity_of(vector, rows)
        return found

    def nearest(self, vector: Vector, k: int, mask: Mask | None) -> tuple[Rows, Floats]:
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

    def _shortlist(self, vector: Vector, k: int, mask: Mask | None) -> Rows:
        """Rows among which the k nearest are, found by their codes or along the graph."""
        wanted = max(RESCORED, RESCORED_EACH * k)
        graph = None if self.approximate is None else self.approximate.graph
        if graph is not None and (found := self._along(graph, vector, k, wanted, mask)) is not None:
            return found
        return leading(self._coarse(vector, 0), wanted, mask)

    def _along(self, graph: Graph, vector: Vector, k: int, wanted: int, mask: Mask | None) -> Rows | None:
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


def leading(scores: Floats, k: int, mask: Mask | None) -> Rows:
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
