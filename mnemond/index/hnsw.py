"""A graph of near neighbours (HNSW) over the vectors of a large store, built and extended in a thread of its own.

It needs the extra `hnsw`. While it is missing, or being built, all vectors are scanned; nothing waits for it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mnemond.config.reading import HnswSettings
from mnemond.index.arrays import Floats, Marks, Rows
from mnemond.model.changes import Vector

CHUNK = 1024
"""Rows added between two checks for a stop: about .15 s."""

TAIL_SHARE = 0.05
"""Share of a store that may be newer than the graph before it is extended. A tail of a twentieth is scanned in about
the time the graph takes, and extending copies the graph once."""

MIN_TAIL = 1024
"""New rows that are scanned whatever their share: a small store needs no graph."""

MIN_LIVE_SHARE = 0.5
"""Share of the vertices that must still be rows of the store; with fewer a new graph is built."""

INSTALL = "pip install 'mnemond[hnsw]'"


class Vertices(Protocol):
    """A graph as a library offers it: vertices are numbers from 0, in the order they were added."""

    def add(self, block: Floats) -> None:
        """Add one vertex for each row of `block`, (rows, dimension)."""
        ...

    def nearest(self, vector: Vector, k: int) -> Rows:
        """Return about the k nearest vertices, in no order; fewer when there are fewer. Thread-safe."""
        ...

    def copy(self) -> Vertices: ...


class Graph(NamedTuple):
    """`rows`: the row of each vertex, shape (vertices,), -1 for one whose row is gone. The graph covers the rows below
    `covered`; of these it lacks the ones without a vector."""

    vertices: Vertices
    rows: npt.NDArray[np.int32]
    covered: int

    def nearest(self, vector: Vector, k: int) -> Rows:
        found = self.rows[self.vertices.nearest(vector, k)].astype(np.int64)
        kept: Rows = found[found >= 0]
        return kept

    def compacted(self, kept: Rows, renumbered: Rows) -> Graph:
        """Return this graph when the rows `kept`, ascending, get the numbers `renumbered[row]` and all others go."""
        numbers = np.full(len(renumbered) + 1, -1, dtype=np.int32)  # the last element is the one -1 selects
        numbers[kept] = renumbered[kept]
        return Graph(self.vertices, numbers[self.rows], int(np.searchsorted(kept, self.covered)))


Make = Callable[[int, HnswSettings], Vertices]
"""Makes an empty graph for vectors of a dimension. Raises ImportError without the extra."""

Spawn = Callable[[Callable[[], None]], None]
"""Starts work without waiting for it."""


def in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a thread that does not keep the process alive."""
    threading.Thread(target=work, name="hnsw", daemon=True).start()


def usearch_vertices(dimension: int, settings: HnswSettings) -> Vertices:
    """Make an empty graph of usearch, whose import takes 200 ms and is needed by few stores."""
    from mnemond.index.usearch_graph import UsearchVertices

    return UsearchVertices.empty(dimension, settings)


class ApproximateIndex:
    """The newest graph of one numbering of rows. One writer calls `keep_up`; readers take `graph` once per query.

    `lacking`: why there is no graph although there should be one.
    """

    def __init__(self, settings: HnswSettings, make: Make = usearch_vertices, spawn: Spawn = in_thread) -> None:
        self.graph: Graph | None = None
        self.lacking: str | None = None
        self.ended = False
        self._settings = settings
        self._make = make
        self._spawn = spawn
        self._busy = False

    def keep_up(self, vectors: Floats, present: Marks, alive: Marks) -> None:
        """Build or extend the graph if enough rows are not in it, without waiting for it.

        `present` and `alive`: 1 for each row that has a vector, and that is live.
        """
        if self._busy or self.ended or self.lacking is not None:
            return
        base = self.graph
        tail = len(vectors) - (0 if base is None else base.covered)
        if tail <= max(MIN_TAIL, TAIL_SHARE * len(vectors)):
            return
        usable = (present & alive) != 0
        if base is not None and np.count_nonzero(usable[base.rows[base.rows >= 0]]) < MIN_LIVE_SHARE * len(base.rows):
            base = None
        first = 0 if base is None else base.covered
        self._busy = True
        self._spawn(_Build(weakref.ref(self), base, vectors, first + np.flatnonzero(usable[first:])).run)

    def compacted(self, kept: Rows, renumbered: Rows) -> ApproximateIndex:
        """Return the index of a new numbering; this one is not extended any more."""
        self.end()
        fewer = ApproximateIndex(self._settings, self._make, self._spawn)
        fewer.lacking = self.lacking
        graph = self.graph
        fewer.graph = None if graph is None else graph.compacted(kept, renumbered)
        return fewer

    def end(self) -> None:
        """Stop rebuilding the graph."""
        self.ended = True

    def done(self, graph: Graph | None, lacking: str | None) -> None:
        """For the thread: publish the graph, or why there is none; neither if the build was stopped."""
        if graph is not None:
            self.graph = graph
        self.lacking = lacking
        self._busy = False

    def empty(self, dimension: int) -> Vertices:
        """For the thread: make an empty graph. Raises ImportError without the extra."""
        return self._make(dimension, self._settings)


class _Build(NamedTuple):
    """Rows to be added to a graph. It holds a weak reference to its owner: when the index is replaced, the thread must
    not keep its vectors alive."""

    owner: weakref.ref[ApproximateIndex]
    base: Graph | None
    vectors: Floats
    rows: Rows

    def run(self) -> None:
        graph, lacking = None, None
        try:
            graph = self._built()
        except ImportError:
            lacking = f"the package usearch is not installed, so every vector is scanned; to change that: {INSTALL}"
        except (MemoryError, RuntimeError) as error:
            lacking = f"the graph of vectors could not be built, so every vector is scanned: {error}"
        if (owner := self.owner()) is not None:
            owner.done(graph, lacking)

    def _built(self) -> Graph | None:
        if self.base is not None:
            vertices = self.base.vertices.copy()
        elif (owner := self.owner()) is not None:
            vertices = owner.empty(self.vectors.shape[1])
            del owner
        else:
            return None
        for first in range(0, len(self.rows), CHUNK):
            if (owner := self.owner()) is None or owner.ended:
                return None
            del owner
            vertices.add(self.vectors[self.rows[first : first + CHUNK]])
        older = () if self.base is None else (self.base.rows,)
        return Graph(vertices, np.concatenate([*older, self.rows.astype(np.int32)]), len(self.vectors))
