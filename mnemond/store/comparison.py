"""The vectors of a batch compared with every row: one matrix product, and the few rows the batch itself adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemond.index.cosines import Cosines
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector

FEW = 4
"""Vectors up to which the codes of a store are read for each: one product of more is faster (10,000 rows: .2 ms a
vector by codes, .11 ms in a product of 64, and .4 to 1.2 ms alone)."""


class Comparison:
    """Cosines of several vectors with the rows of a store that grows meanwhile.

    A product of 64 vectors with 10,000 rows costs a fifth of 64 single ones, which read the matrix each time.
    """

    def __init__(self, base: Snapshot, vectors: Sequence[Vector | None]) -> None:
        """Vectors of another dimension than the store's count as none (spec 7.3)."""
        fitting = [(at, vector) for at, vector in enumerate(vectors) if vector is not None and _fits(vector, base)]
        self._base = base
        self._vectors = dict(fitting)
        self._place = {at: place for place, (at, _) in enumerate(fitting)}
        by_codes = base.is_scanned and len(fitting) <= FEW
        self._cosines = None if by_codes or not fitting else base.similarities(np.stack([each for _, each in fitting]))

    def of(self, at: int, now: Snapshot) -> Cosines | None:
        """Cosine of the vector at that place with every row of `now`; None when it has none."""
        vector = self._vectors.get(at)
        if vector is None:
            return None
        if self._cosines is None:
            return now.cosines(vector)
        known = self._cosines[self._place[at]]
        if now.rows == self._base.rows:
            return Cosines(known)
        return Cosines(np.concatenate([known, now.similarity(vector, self._base.rows)]))


def _fits(vector: Vector, base: Snapshot) -> bool:
    return vector.shape == (base.dimension,) and base.dimension > 0
