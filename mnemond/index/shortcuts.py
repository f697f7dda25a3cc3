"""What a large store keeps beside its vectors so that a search need not read them all: codes, and a graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.approximate import Approximate
from mnemond.index.dense import Dense, VectorPolicy
from mnemond.index.quantised import Quantised
from mnemond.index.vectors import Vectors

TAIL = 64
"""Rows that wait for their codes where only writers use them: encoding one takes as long as sixty."""


class Shortcuts:
    """The writer's side of `Dense`. Both kinds are made when a store has grown enough, and kept from then on."""

    def __init__(self, policy: VectorPolicy, dimension: int) -> None:
        self.policy = policy
        self._quantised = Quantised(dimension)
        self._approximate = Approximate(policy.hnsw)

    def keep_up(self, vectors: Vectors, alive: npt.NDArray[np.uint8]) -> bool:
        """Encode new rows, and have the graph made or extended elsewhere, as far as the store is large enough; whether
        `view` shows anything new now.

        `alive`: 1 for each live row.
        """
        matrix = vectors.view()
        waiting = len(matrix) - len(self._quantised)
        due = self.policy.codes(len(matrix)) or (waiting >= TAIL and self.policy.scanned(len(matrix)))
        if not matrix.size or not due:
            return False
        self._quantised.keep_up(matrix)
        if self.policy.graph(len(matrix)):
            self._approximate.keep_up(matrix, vectors.present.view(), alive)
        return waiting > 0

    def view(self, vectors: Vectors) -> Dense:
        """What readers search, as far as the store is large enough for it."""
        matrix = vectors.view()
        codes = self._quantised.view() if len(self._quantised) else None
        coded = codes is not None and self.policy.codes(len(matrix))
        return Dense(
            matrix,
            vectors.present.view(),
            codes if coded else None,
            self._approximate if coded and self.policy.graph(len(matrix)) else None,
            codes,
        )

    def compacted(self, kept: npt.NDArray[np.int64], renumbered: npt.NDArray[np.int64]) -> Shortcuts:
        """The rows `kept`, ascending; `renumbered[row]` is a kept row's new number."""
        fewer = Shortcuts(self.policy, 0)
        fewer._quantised = self._quantised.compacted(kept)
        fewer._approximate = self._approximate.compacted(kept, renumbered)
        return fewer

    def end(self) -> None:
        """Let a thread that makes a graph end soon: nobody will ask."""
        self._approximate.end()
