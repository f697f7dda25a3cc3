"""The cosines of one vector with every row of a snapshot: exact wherever anybody looks.

In a large store they are worked out from int8 codes, which is a quarter of the bytes to read, and those that are asked
for once more from the vectors themselves. What the codes are off by has a bound, so that none is missed.
"""

from __future__ import annotations

import numpy as np

from mnemond.index.dense import Dense, Mask, leading
from mnemond.index.quantised import Floats
from mnemond.index.selection import FEW, Rows, at_most_kth, kth, top
from mnemond.index.vectors import Matrix
from mnemond.model.changes import Vector

NOWHERE = np.float32(-2.0)
"""Below every cosine."""


class Cosines:
    """Of one vector with every row, as far as it is asked for."""

    __slots__ = ("_exactly", "_found", "_off")

    def __init__(self, found: Floats, exactly: tuple[Dense, Vector] | None = None, off: float = 0.0) -> None:
        """`found`: shape (rows,), the cosines themselves; with `exactly`, the vector and those it is compared with, up
        to `off` above or below them."""
        self._found = found
        self._exactly = exactly
        self._off = off

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._found)

    def __getitem__(self, row: int) -> float:
        """The cosine of one row."""
        if self._exactly is None:
            return float(self._found[row])
        dense, vector = self._exactly
        return float(np.dot(dense.matrix[row], vector))

    def continued(self, dense: Dense, vector: Vector) -> Cosines:
        """With the rows that came since, which `dense` has."""
        found = np.concatenate([self._found, dense.similarity(vector, len(self._found))])
        return Cosines(found, None if self._exactly is None else (dense, vector), self._off)

    def of(self, rows: Rows) -> Floats:
        """The cosines of rows, shape (len(rows),)."""
        if self._exactly is None:
            return self._found[rows]
        dense, vector = self._exactly
        return dense.similarity_of(vector, rows)

    def best_between(self, least: float, below: float, k: int, mask: Mask | None) -> list[tuple[int, float]]:
        """The k rows of `mask` with the largest cosines in [least, below), best first, of equal ones the later."""
        rows: Rows = (self._found >= least - self._off).nonzero()[0]
        if mask is not None:
            rows = rows[mask[rows]]
        if self._exactly is not None and len(rows) > FEW:
            about = self._found[rows]
            certain = about[(about >= least + self._off) & (about < below - self._off)]
            if len(certain) > k:
                rows = rows[about >= kth(certain, k) - 2.0 * self._off]
        cosines = self.of(rows)
        kept = (cosines >= least) & (cosines < below)
        return top(rows[kept], cosines[kept], k)

    def highest(self, k: int, mask: Mask | None) -> list[tuple[int, float]]:
        """The k rows of `mask` with the largest positive cosine, best first, of equal ones the later: (row, cosine)."""
        if self._exactly is None:
            best = leading(self._found, k, mask)
            return top(best, self._found[best], k)
        # Whatever is among the best is not below the worst of these by more than both are off.
        ranked = self._found if mask is None else np.where(mask, self._found, NOWHERE)
        worst = max(at_most_kth(ranked, k), 0.0) - 2.0 * self._off
        rows: Rows = (ranked >= max(worst, -self._off)).nonzero()[0]
        cosines = self.of(rows)
        positive = cosines > 0.0
        return top(rows[positive], cosines[positive], k)


def cosines_of(dense: Dense, vector: Vector) -> Cosines:
    """From the codes, as far as rows have one, where there are any."""
    codes = dense.scanned
    if codes is None:
        return Cosines(dense.similarity(vector))
    found, off = codes.cosines_within(vector)
    if len(found) < len(dense.matrix):
        found = np.concatenate([found, dense.similarity(vector, len(found))])
    return Cosines(found, (dense, vector), off)


def cosines_of_all(dense: Dense, vectors: Matrix) -> list[Cosines]:
    """The same of each of `vectors`, shape (n, dimension), in less time than one by one."""
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
