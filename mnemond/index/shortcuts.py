"""What a large store keeps beside its vectors so that a search need not read them all: codes, and a graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.approximate import Approximate
from mnemond.index.dense import Dense, VectorPolicy
from mnemond.index.quantised import Quantised
from mnemond.index.vectors import Vectors


class Shortcuts:
    """The writer's side of `Dense`. Both kinds are made when a store has grown enough, and kept from then on."""

    def __init__(self, policy: VectorPolicy, dimension: int) -> None:
        self.policy = policy
        self._quantised = Quantised(dimension)
        self._approximate = Approximate(policy.hnsw)

    def keep_up(self, vectors: Vectors, alive: npt.NDArray[np.uint8]) -> None:
        """Encode new rows, and have the graph made or extended elsewhere, as far as the store is large enough.

        `alive`: 1 for each live row.
        """
        matrix = vectors.view()
        if matrix.size and self.policy.codes(len(matrix)):
            self._quantised.keep_up(matrix)
            if self.policy.graph(len(matrix)):
                self._approximate.keep_up(matrix, vectors.present.view(), alive)

    def view(self, vectors: Vectors) -> Dense:
        """What readers search, as far as the store is large enough for it."""
        matrix = vectors.view()
        coded = len(self._quantised) > 0 and self.policy.codes(len(matrix))
        return Dense(
            matrix,
            vectors.present.view(),
            self._quantised.view() if coded else None,
            self._approximate if coded and self.policy.graph(len(matrix)) else None,
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
