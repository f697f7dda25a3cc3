"""A question as the ranking sees it: the words it is made of, weighed by how rare they are, and what it asks for."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


class TermList(NamedTuple):
    """Rows in which a term of the question stands, ascending, and how often it counts in each."""

    term: int
    rows: Rows
    times: Floats


class SoftList(NamedTuple):
    """Rows in which a word stands that means nearly the same as a term of the question."""

    term: int
    rows: Rows
    cosine: float


class Question(NamedTuple):
    """`weights`: repeats times inverse document frequency of each different term, shape (terms,).

    `names`: which of them are part of the name of somebody who spoke; `sources`: the numbers of these. `pairs`: two
    terms that stand side by side, and what they weigh together. `window`: microseconds, the end exclusive, that a
    question names without leaving out everything else. `terms`: the terms themselves. `latin`: share of it in scripts
    the embedder may know.
    """

    weights: Floats
    exact: list[TermList]
    soft: list[SoftList]
    names: npt.NDArray[np.bool_]
    sources: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int, float], ...] = ()
    asks_when: bool = False
    asks_state: bool = False
    asks_past: bool = False
    latin: float = 1.0
    window: tuple[int, int] | None = None
    terms: tuple[str, ...] = ()

    @property
    def mass(self) -> float:
        """What all its terms weigh together."""
        return float(self.weights.sum())


class Gathered(NamedTuple):
    """Several lists one behind the other: the term, the row and the value of each entry, shape (entries,)."""

    terms: Rows
    rows: Rows
    values: Floats


def gathered_terms(lists: list[TermList]) -> Gathered:
    """Every exact list."""
    if not lists:
        return Gathered(_NO_ROWS, _NO_ROWS, _NO_VALUES)
    sizes = [len(each.rows) for each in lists]
    terms = np.repeat(np.array([each.term for each in lists], dtype=np.int64), sizes)
    return Gathered(
        terms, np.concatenate([each.rows for each in lists]), np.concatenate([each.times for each in lists])
    )


def gathered_relatives(lists: list[SoftList], longest: float, most: int, worth: float) -> Gathered:
    """The best soft lists that are not longer than `longest`, `most` entries in all; the best come last, so that they
    stay where a row is written twice. A cosine counts for `worth` of itself."""
    kept: list[SoftList] = []
    for each in sorted(lists, key=_COSINE, reverse=True):
        size = len(each.rows)
        if size <= longest and size <= most:
            most -= size
            kept.append(each)
    if not kept:
        return Gathered(_NO_ROWS, _NO_ROWS, _NO_VALUES)
    kept.reverse()
    of, rows, cosines = zip(*kept, strict=True)
    sizes = list(map(len, rows))
    values = np.array(cosines, dtype=np.float64)
    values *= worth
    return Gathered(
        np.array(of, dtype=np.int64).repeat(sizes), np.concatenate(rows), values.astype(np.float32).repeat(sizes)
    )


_COSINE: Final = attrgetter("cosine")
_NO_ROWS: Rows = np.zeros(0, dtype=np.int64)
_NO_VALUES: Floats = np.zeros(0, dtype=np.float32)
