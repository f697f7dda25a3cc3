"""The vectors of a batch compared with every row: all of them at once, and with the few rows the batch itself adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemond.index.cosines import Cosines
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector


class Comparison:
    """Cosines of several vectors with the rows of a store that grows meanwhile.

    A product of 64 vectors with 10,000 rows costs a fifth of 64 single ones, which read the matrix each time.
    """

    def __init__(self, base: Snapshot, vectors: Sequence[Vector | None]) -> None:
        """Vectors of another dimension than the store's count as none (spec 7.3)."""
        self._base = base
        self._vectors = {at: vector for at, vector in enumerate(vectors) if vector is not None and _fits(vector, base)}
        fitting = list(self._vectors.values())
        self._known = dict(zip(self._vectors, _compared(base, fitting), strict=True))

    def of(self, at: int, now: Snapshot) -> Cosines | None:
        """Cosine of the vector at that place with every row of `now`; None when it has none."""
        known = self._known.get(at)
        if known is None or now.rows == self._base.rows:
            return known
        return now.cosines(self._vectors[at], known)


def _fits(vector: Vector, base: Snapshot) -> bool:
    return vector.shape == (base.dimension,) and base.dimension > 0


def _compared(base: Snapshot, vectors: Sequence[Vector]) -> Sequence[Cosines]:
    if len(vectors) > 1:
        return base.cosines_of_all(np.stack(vectors))
    return [base.cosines(vector) for vector in vectors]
