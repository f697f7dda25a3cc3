"""Vectors, and graphs of them that a test can follow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mnemond.config.reading import HnswSettings
from mnemond.index.arrays import Floats
from mnemond.index.hnsw import ApproximateIndex
from mnemond.index.vectors import Codes, Dense, Quantised
from mnemond.model.changes import Vector

DIMENSION = 32
Bits = npt.NDArray[np.bool_]


def unit(rows: int, seed: int, dimension: int = DIMENSION) -> Floats:
    """Directions in a few clusters, as those of texts are."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((8, dimension))
    found = centres[generator.integers(0, 8, rows)] + 0.7 * generator.standard_normal((rows, dimension))
    scaled: Floats = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def coded(matrix: Floats, rows: int | None = None) -> Codes:
    quantised = Quantised(matrix.shape[1])
    quantised.keep_up(matrix[:rows])
    return quantised.view()


def dense(matrix: Floats, codes: Codes | None = None, approximate: ApproximateIndex | None = None) -> Dense:
    return Dense(matrix, np.ones(len(matrix), dtype=np.uint8), codes, approximate)


def by_hand(matrix: Floats, vector: Vector, k: int, mask: Bits | None) -> list[int]:
    cosines: npt.NDArray[np.float32] = matrix @ vector
    shown = [row for row in range(len(matrix)) if (mask is None or mask[row]) and cosines[row] > 0]
    return sorted(shown, key=lambda row: (-cosines[row], -row))[:k]


class Exhaustive:
    """A graph that finds exactly the nearest, and says how often it was asked."""

    def __init__(self, rows: Floats | None = None) -> None:
        self.rows = np.zeros((0, DIMENSION), dtype=np.float32) if rows is None else rows
        self.asked = 0

    def add(self, block: Floats) -> None:
        self.rows = np.concatenate([self.rows, block])

    def nearest(self, vector: Vector, k: int) -> npt.NDArray[np.int64]:
        self.asked += 1
        return np.argsort(-(self.rows @ vector), kind="stable")[:k]

    def copy(self) -> Exhaustive:
        return Exhaustive(self.rows)


def exhaustive(dimension: int, parameters: HnswSettings) -> Exhaustive:
    assert dimension == DIMENSION
    assert parameters == HnswSettings()
    return Exhaustive()


class Later:
    """Work that is done when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop()()


def at_once(work: Callable[[], None]) -> None:
    work()


def marks(rows: int, *without: int) -> npt.NDArray[np.uint8]:
    found = np.ones(rows, dtype=np.uint8)
    found[list(without)] = 0
    return found
