"""The vectors of a batch compared with every row: one matrix product, and the few rows the batch itself adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemond.index.postings import Floats
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector


class Comparison:
    """Cosines of several vectors with the rows of a store that grows meanwhile.

    A product of 64 vectors with 10,000 rows costs a fifth of 64 single ones, which read the matrix each time.
    """

    def __init__(self, base: Snapshot, vectors: Sequence[Vector | None]) -> None:
        """Vectors of another dimension than the store's count as none (spec 7.3)."""
        fitting = [(at, vector) for at, vector in enumerate(vectors) if _fits(vector, base)]
        self._base_rows = base.rows
        self._vectors = dict(fitting)
        self._place = {at: place for place, (at, _) in enumerate(fitting)}
        stacked = [vector for _, vector in fitting]
        self._cosines = base.similarities(np.stack(stacked)) if stacked else None  # type: ignore[arg-type]

    def of(self, at: int, now: Snapshot) -> Floats | None:
        """Cosine of the vector at that place with every row of `now`, shape (rows,); None when it has none."""
        vector = self._vectors.get(at)
        if vector is None or self._cosines is None:
            return None
        known: Floats = self._cosines[self._place[at]]
        if now.rows == self._base_rows:
            return known
        return np.concatenate([known, now.similarity(vector, self._base_rows)])


def _fits(vector: Vector | None, base: Snapshot) -> bool:
    return vector is not None and vector.shape == (base.dimension,) and base.dimension > 0
