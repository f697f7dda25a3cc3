"""HNSW by usearch. Importing this raises ImportError without the extra `hnsw`."""

from __future__ import annotations

import threading

import numpy as np
from usearch.index import Index

from mnemond.config.reading import HnswSettings
from mnemond.index.arrays import Floats, Rows
from mnemond.model.changes import Vector


class UsearchVertices:
    """Vectors are held as 8 bits per dimension: the results are rescored anyway."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._one_search = threading.Lock()  # a search uses the buffers of a thread number, and each call has number 0

    @classmethod
    def empty(cls, dimension: int, settings: HnswSettings) -> UsearchVertices:
        return cls(
            Index(
                ndim=dimension,
                metric="ip",
                dtype="i8",
                connectivity=settings.m,
                expansion_add=settings.ef_construction,
                expansion_search=settings.ef_search,
            )
        )

    def add(self, block: Floats) -> None:
        """Add one vertex per row, on one core: the others serve requests, and vertices added by two threads at once
        may never be found (usearch issue 735)."""
        first = len(self._index)
        self._index.add(np.arange(first, first + len(block)), block, threads=1)

    def nearest(self, vector: Vector, k: int) -> Rows:
        with self._one_search:
            found = self._index.search(vector, k, threads=1)
        return np.asarray(found.keys).astype(np.int64)

    def copy(self) -> UsearchVertices:
        """Return another graph with the same vertices; takes .1 s for 100,000."""
        return UsearchVertices(self._index.copy())
