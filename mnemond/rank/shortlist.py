"""Stage one of the ranking: which rows are worth a closer look, by words and meaning alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.selection import at_least_kth
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.rank.closeness import Closeness
from mnemond.rank.question import Floats, Gathered, Question, Rows, gathered_relatives, gathered_terms
from mnemond.rank.ranking import Ranking

BESIDE: tuple[int, ...] = (-1, 1, -2, 2)
"""Steps within a conversation, in the order `around` has them."""


class Candidates(NamedTuple):
    """`rows` ascending, shape (n,); `times`: how often each term of the question counts in each, shape (n + 1, terms +
    1), a row and a column of zeros behind; `beside`: positions in `rows` of the rows one and two steps away, -1 for
    none, shape (4, n)."""

    rows: Rows
    times: Floats
    beside: npt.NDArray[np.int64]


WIDER = 3
"""Times the rows of a shortlist whose cosines are computed where only the nearest have theirs."""


def shortlist(
    snapshot: Snapshot, question: Question, near: Closeness | None, visible: Mask | None, ranking: Ranking
) -> Candidates:
    """The best rows and those beside them, as far as they are visible. `near` is None without a vector.

    A row that has neither a word of the question nor a positive cosine is nobody's candidate by itself.
    """
    limits = ranking.shortlisting
    exact = gathered_terms(question.exact)
    soft = gathered_relatives(question.soft, limits.soft_share * snapshot.rows, limits.soft_postings, limits.soft)
    first = _first_scores(snapshot, question, (exact, soft), ranking)
    meaning = np.float32(ranking.vector * question.latin / limits.cosine)
    if near is not None:
        first += np.maximum(near.first, 0.0) * meaning
    if visible is not None:
        first *= visible
    if near is not None and near.sparse:
        wider = _best(snapshot, first, WIDER * limits.rows)
        lacking = np.maximum(near.of(wider), 0.0) - np.maximum(near.first[wider], 0.0)
        first[wider] += lacking * meaning
    best = _best(snapshot, first, limits.rows)
    together = bool(snapshot.in_conversation(best).any())  # where all are notes, nothing stands beside them
    rows = _with_those_beside(snapshot, best, visible) if together else np.sort(best)
    where = np.full(snapshot.rows + 1, -1, dtype=np.int64)  # the last one for a row that is not there
    where[rows] = np.arange(len(rows))
    times = _times(len(rows), len(question.weights), where, exact, soft)
    beside = where[around(snapshot, rows)] if together else np.full((len(BESIDE), len(rows)), -1, dtype=np.int64)
    return Candidates(rows, times, beside)


def around(snapshot: Snapshot, rows: Rows) -> npt.NDArray[np.int64]:
    """The rows before and after each row and before and after those, shape (4, rows); -1 for none."""
    before, after = snapshot.beside(rows, -1), snapshot.beside(rows, 1)
    return np.stack((before, after, snapshot.beside(before, -1), snapshot.beside(after, 1)))


def _first_scores(snapshot: Snapshot, question: Question, lists: Sequence[Gathered], ranking: Ranking) -> Floats:
    """BM25, in which relatives of a word count as words of their own, on the scale of the shortlist; shape (rows,)."""
    limits = ranking.shortlisting
    scores = np.zeros(snapshot.rows, dtype=np.float32)
    lengths, mean = snapshot.lengths, snapshot.mean_length
    weights = question.weights * np.float32(
        (ranking.k1 + 1.0) * ranking.keyword / max(limits.mass * question.mass, SMALLEST)
    )
    for each in lists:
        part = lengths[each.rows]
        part *= np.float32(ranking.k1 / mean)
        part += each.values
        np.divide(each.values, part, out=part)
        part *= weights[each.terms]
        np.add.at(scores, each.rows, part)
    return scores


SMALLEST = 1e-9
"""Below any weight there is; keeps a question of nothing from dividing by it."""


def _best(snapshot: Snapshot, every: Floats, most: int) -> Rows:
    """Rows with the largest positive scores."""
    rows = at_least_kth(every, most)
    scores = every[rows]
    if len(rows) <= most or scores.min() <= 0.0:  # all are in, or those that tie for the last place are not positive
        return rows[scores > 0.0]
    # More rows tie for the last place than have room: which of them come is not left to chance.
    found: Rows = rows[snapshot.best(scores, most, rows)]
    return found


def _with_those_beside(snapshot: Snapshot, rows: Rows, visible: Mask | None) -> Rows:
    """Ascending, each once."""
    marked = np.zeros(snapshot.rows + 1, dtype=np.bool_)
    marked[around(snapshot, rows)] = True
    marked[rows] = True
    marked = marked[:-1]
    if visible is not None:
        marked &= visible
    return np.flatnonzero(marked)


def _times(rows: int, terms: int, where: npt.NDArray[np.int64], exact: Gathered, soft: Gathered) -> Floats:
    times = np.zeros((rows + 1, terms + 1), dtype=np.float32)
    flat = times.reshape(-1)
    for each, adds in ((soft, False), (exact, True)):
        at = where[each.rows]
        kept = np.flatnonzero(at >= 0)
        at = at[kept] * (terms + 1)
        at += each.terms[kept]
        if adds:
            np.add.at(flat, at, each.values[kept])  # a word and the day it was said on may be one term
        else:
            flat[at] = each.values[kept]
    return times
