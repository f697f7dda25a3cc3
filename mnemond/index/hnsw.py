"""A graph of near neighbours (HNSW) over the vectors of a large store, made and extended in a thread of its own.

It needs the extra `hnsw`. While it is missing, or being made, a store is scanned whole; nothing waits for it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mnemond.config.settings import HnswSettings
from mnemond.index.arrays import Matrix
from mnemond.index.bm25 import SelectionRows
from mnemond.model.changes import Vector

Marks = npt.NDArray[np.uint8]

CHUNK = 1024
"""Rows added between two looks at whether anybody still wants the graph: about .15 s."""

TAIL_SHARE = 0.05
"""Share of a store that may be new since the graph was made before it is extended. A tail of a twentieth is scanned in
about the time the graph takes, and extending copies the graph once."""

MIN_TAIL = 1024
"""New rows that are scanned whatever their share: a small store needs no graph."""

LIVE_SHARE = 0.5
"""Share of the vertices that must still be rows of the store; with fewer a new graph is made."""

INSTALL = "pip install 'mnemond[hnsw]'"


class Vertices(Protocol):
    """A graph as a library offers it: vertices are numbers from 0, in the order they were added."""

    def add(self, block: Matrix) -> None:
        """One vertex for each row of `block`, (rows, dimension)."""
        ...

    def nearest(self, vector: Vector, k: int) -> SelectionRows:
        """About the k nearest vertices, in no order; fewer when there are fewer. May run in several threads at once."""
        ...

    def copy(self) -> Vertices:
        """Another graph with the same vertices."""
        ...


class Graph(NamedTuple):
    """`rows` says which row each vertex is, shape (vertices,), -1 for one whose row is gone. It covers the rows below
    `covered`; of these it lacks the ones without a vector."""

    vertices: Vertices
    rows: npt.NDArray[np.int32]
    covered: int

    def nearest(self, vector: Vector, k: int) -> SelectionRows:
        """About the k nearest rows, in no order, without those that are gone."""
        found = self.rows[self.vertices.nearest(vector, k)].astype(np.int64)
        kept: SelectionRows = found[found >= 0]
        return kept

    def compacted(self, kept: npt.NDArray[np.int64], renumbered: npt.NDArray[np.int64]) -> Graph:
        """The same graph when the rows `kept`, ascending, get the numbers `renumbered[row]` and all others go."""
        numbers = np.full(len(renumbered) + 1, -1, dtype=np.int32)  # the last one is where -1 points
        numbers[kept] = renumbered[kept]
        return Graph(self.vertices, numbers[self.rows], int(np.searchsorted(kept, self.covered)))


Make = Callable[[int, HnswSettings], Vertices]
"""An empty graph for vectors of a dimension. Raises ImportError without the extra."""

Spawn = Callable[[Callable[[], None]], None]
"""Runs work somewhere that nobody waits for."""


def in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a thread that does not keep the process alive."""
    threading.Thread(target=work, name="hnsw", daemon=True).start()


def usearch_vertices(dimension: int, settings: HnswSettings) -> Vertices:
    """An empty graph of usearch. Imported here: it takes 200 ms, and few stores need it."""
    from mnemond.index.usearch_graph import UsearchVertices

    return UsearchVertices.empty(dimension, settings)


class Approximate:
    """The newest graph of one numbering of rows. One writer calls `keep_up`; readers take `graph` once a query.

    `lacking` says why there is none although there should be one.
    """

    def __init__(self, settings: HnswSettings, make: Make = usearch_vertices, spawn: Spawn = in_thread) -> None:
        self.graph: Graph | None = None
        self.lacking: str | None = None
        self._settings = settings
        self._make = make
        self._spawn = spawn
        self._busy = False
        self._ended = False

    def keep_up(self, vectors: Matrix, present: Marks, alive: Marks) -> None:
        """Make or extend the graph when enough rows are not in it, without waiting for it.

        `present` and `alive`: 1 for each row that has a vector, and that is live.
        """
        if self._busy or self._ended or self.lacking is not None:
            return
        base = self.graph
        tail = len(vectors) - (0 if base is None else base.covered)
        if tail <= max(MIN_TAIL, TAIL_SHARE * len(vectors)):
            return
        usable = (present & alive) != 0
        if base is not None and np.count_nonzero(usable[base.rows[base.rows >= 0]]) < LIVE_SHARE * len(base.rows):
            base = None
        first = 0 if base is None else base.covered
        self._busy = True
        self._spawn(_Job(weakref.ref(self), base, vectors, first + np.flatnonzero(usable[first:])).run)

    def compacted(self, kept: npt.NDArray[np.int64], renumbered: npt.NDArray[np.int64]) -> Approximate:
        """The same for a new numbering; this one is not extended any more."""
        self.end()
        fewer = Approximate(self._settings, self._make, self._spawn)
        fewer.lacking = self.lacking
        graph = self.graph
        fewer.graph = None if graph is None else graph.compacted(kept, renumbered)
        return fewer

    def end(self) -> None:
        """Nobody wants a newer graph."""
        self._ended = True

    def done(self, graph: Graph | None, lacking: str | None) -> None:
        """For the thread: the graph is ready, or why there will be none; neither when it was not wanted any more."""
        if graph is not None:
            self.graph = graph
        self.lacking = lacking
        self._busy = False

    def empty(self, dimension: int) -> Vertices:
        """For the thread: what to add vectors of that dimension to. Raises ImportError without the extra."""
        return self._make(dimension, self._settings)

    @property
    def wanted(self) -> bool:
        """Whether anybody waits for a newer graph."""
        return not self._ended


class _Job(NamedTuple):
    """Rows on their way into a graph. It holds no reference to who wants it: a graph that is wanted no more, because
    its index was replaced, must not keep vectors alive."""

    owner: weakref.ref[Approximate]
    base: Graph | None
    vectors: Matrix
    rows: SelectionRows

    def run(self) -> None:
        """Make the graph and hand it over."""
        graph, lacking = None, None
        try:
            graph = self._made()
        except ImportError:
            lacking = f"the package usearch is not installed, so every vector is scanned; to change that: {INSTALL}"
        except (MemoryError, RuntimeError) as error:
            lacking = f"no graph of vectors could be made, so every vector is scanned: {error}"
        if (owner := self.owner()) is not None:
            owner.done(graph, lacking)

    def _made(self) -> Graph | None:
        vertices = self._begun()
        if vertices is None:
            return None
        for first in range(0, len(self.rows), CHUNK):
            if not self._wanted():
                return None
            vertices.add(self.vectors[self.rows[first : first + CHUNK]])
        older = () if self.base is None else (self.base.rows,)
        return Graph(vertices, np.concatenate([*older, self.rows.astype(np.int32)]), len(self.vectors))

    def _begun(self) -> Vertices | None:
        if self.base is not None:
            return self.base.vertices.copy()
        owner = self.owner()
        return None if owner is None else owner.empty(self.vectors.shape[1])

    def _wanted(self) -> bool:
        owner = self.owner()
        return owner is not None and owner.wanted
