"""How near memories are to a question in meaning: all of them, or where a graph leads there those that are nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mnemond.index.dense import Dense, Mask
from mnemond.model.changes import Vector
from mnemond.rank.question import Floats, Rows


class Closeness(NamedTuple):
    """`first`: cosines of all rows, shape (rows,); where it is `sparse` those of the nearest, and 0 for others. `of`
    has the cosines of any rows, shape (len(rows),)."""

    first: Floats
    of: Callable[[Rows], Floats]
    sparse: bool = False


NEAREST = 30
"""Rows looked for along a graph: more than the twenty results of most answers, in .4 ms for 100,000 (150: 2.4 ms)."""


def closeness(dense: Dense, vector: Vector, visible: Mask | None, nearest: int = NEAREST) -> Closeness:
    """The cosines a ranking goes by. `nearest`: so many rows are looked for where there is a graph of vectors, which is
    in large stores alone (docs/decisions/0014)."""
    if not dense.graphed:
        every = dense.similarity_approximate(vector, visible)
        return Closeness(every, lambda rows: every[rows])
    found, cosines = dense.nearest(vector, nearest, visible)
    first = np.zeros(len(dense.matrix), dtype=np.float32)
    first[found] = cosines
    return Closeness(first, lambda rows: dense.similarity_of(vector, rows), sparse=True)
