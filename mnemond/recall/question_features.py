"""Features of a question that the ranking uses: its terms with their weights and postings, and cues in its wording."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.arrays import Floats, Mask, Rows


class TermList(NamedTuple):
    """Rows that contain a term of the question, ascending, and how often each does."""

    term: int
    rows: Rows
    times: Floats


class SoftList(NamedTuple):
    """Rows that contain a word similar in meaning to a term of the question."""

    term: int
    rows: Rows
    cosine: float


class Question(NamedTuple):
    """`weights`: repeats times inverse document frequency of each different term, shape (terms,).

    `names`: terms that are part of the name of a source; `sources`: the numbers of these sources. `pairs`: two adjacent
    terms and their common weight. `window`: preferred span in microseconds, the end exclusive. `latin`: share of the
    text in scripts the embedder may know.
    """

    weights: Floats
    exact: list[TermList]
    soft: list[SoftList]
    names: Mask
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
        """Total weight of all terms."""
        return float(self.weights.sum())


class Gathered(NamedTuple):
    """Concatenated lists: the term, the row and the value of each entry, shape (entries,)."""

    terms: Rows
    rows: Rows
    values: Floats


def gathered_terms(lists: list[TermList]) -> Gathered:
    """Concatenate exact lists."""
    if not lists:
        return Gathered(_NO_ROWS, _NO_ROWS, _NO_VALUES)
    sizes = [len(each.rows) for each in lists]
    terms = np.repeat(np.array([each.term for each in lists], dtype=np.int64), sizes)
    return Gathered(
        terms, np.concatenate([each.rows for each in lists]), np.concatenate([each.times for each in lists])
    )


def gathered_relatives(lists: list[SoftList], longest: float, most: int, factor: float) -> Gathered:
    """Concatenate the best soft lists of at most `longest` rows, up to `most` entries in all. Values are `factor` times
    the cosine. The best lists come last, so that they win if a row is written twice."""
    kept: list[SoftList] = []
    for each in sorted(lists, key=_COSINE, reverse=True):
        size = len(each.rows)
        if size <= longest and size <= most:
            most -= size
            kept.append(each)
    if not kept:
        return Gathered(_NO_ROWS, _NO_ROWS, _NO_VALUES)
    kept.reverse()
    terms, rows, cosines = zip(*kept, strict=True)
    sizes = list(map(len, rows))
    values = np.array(cosines, dtype=np.float64)
    values *= factor
    return Gathered(
        np.array(terms, dtype=np.int64).repeat(sizes), np.concatenate(rows), values.astype(np.float32).repeat(sizes)
    )


_COSINE: Final = attrgetter("cosine")
_NO_ROWS: Rows = np.zeros(0, dtype=np.int64)
_NO_VALUES: Floats = np.zeros(0, dtype=np.float32)
