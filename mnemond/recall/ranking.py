"""The numbers of the default ranking, as data; where they come from is in docs/decisions/0015-two-stage-ranking.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Mask
from mnemond.index.bm25 import MAX_TERM_NUMBER
from mnemond.index.selection import at_least_kth
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Dense
from mnemond.model.changes import Vector
from mnemond.recall.question_features import Floats, Gathered, Question, Rows, gathered_relatives, gathered_terms

# Whether words stand side by side in a memory as they do in the question.


_NUMBER_BITS: Final = MAX_TERM_NUMBER.bit_length()
"""Of the number of a word; the two of a pair have room in one of 64."""

_BEHIND: Final = np.uint64(_NUMBER_BITS)


def adjacent_words(snapshot: Snapshot, question: Question, rows: Rows) -> Floats:
    """What the pairs of the question weigh that each of a few rows has, shape (rows,); each pair once a row."""
    total = np.zeros(len(rows), dtype=np.float32)
    if not question.pairs or not len(rows):
        return total
    terms, sizes = snapshot.passages.order(rows.tolist())
    ends = np.cumsum(sizes)
    neighbours = terms[1:].astype(np.uint64)  # each word with the one before it as one number
    neighbours <<= _BEHIND
    neighbours |= terms[:-1]
    for one, other, weight in question.pairs:
        found = (neighbours == np.uint64(other << _NUMBER_BITS | one)).nonzero()[0]
        if len(found):
            owners = ends.searchsorted(found, side="right")
            owners = owners[ends.searchsorted(found + 1, side="right") == owners]  # else the other is the next row's
            total[owners] += np.float32(weight)  # assigned once, however often a row has it
    return total


# Whether the memories that answer a question are those of whom it asks about.
#
# A question about what one person did that only another person spoke of has good matches and no answer. Of all that
# was measured nothing else tells the two apart (docs/decisions/0015-two-stage-ranking.md).


SURE_WITHOUT_MEANING = 0.7
"""What is left of the trust in an answer that shares no meaning with the question: words may be about anything."""


def agreement(neutral: Floats, named: npt.NDArray[np.bool_], rows: int) -> float:
    """Share in [0, 1] of the weight of the best `rows` that the named source has; 1 where nobody or everybody is named.

    `neutral`: scores to which the name itself gave nothing, shape (candidates,).
    """
    if not named.any() or named.all():
        return 1.0
    count = min(rows, len(neutral))
    best = np.argpartition(neutral, len(neutral) - count)[len(neutral) - count :]
    weights = np.exp(neutral[best] - neutral[best].max())
    return float(weights @ named[best] / weights.sum())


def trust(agreed: float, best_cosine: float) -> float:
    """How much an answer as a whole is to be trusted, in [0, 1]."""
    return agreed * (SURE_WITHOUT_MEANING + (1.0 - SURE_WITHOUT_MEANING) * min(1.0, max(0.0, best_cosine)))


# How near memories are to a question in meaning: all of them, or where a graph leads there those that are nearest.


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


class Shortlisting(msgspec.Struct, frozen=True):
    """Stage one, over all rows: the best `rows` by words and by meaning, and those beside them.

    `mass` and `cosine` bring BM25 (as a share of the greatest that the words of a question can come to) and cosines to
    one scale: their spread over an ordinary store. A word's relatives in meaning count for `soft` times their cosine;
    a list of rows longer than `soft_share` of all is left out, and in all `soft_postings` are read.
    """

    rows: int = 150
    mass: float = 0.1
    cosine: float = 0.075
    soft: float = 0.3
    soft_share: float = 0.2
    soft_postings: int = 30_000


class Context(msgspec.Struct, frozen=True):
    """What a row takes from the rows beside it in its conversation: shares of their words, `near` of the next ones and
    `far` of those behind them, `answer` more of one that asks (a share above `asks` of its text).

    Rows of more than `short` terms neither give nor take as much: min(1, short / terms) on both sides. `spread`: how
    much longer rows are with what they take, on average.
    """

    near: float = 0.4
    far: float = 0.32
    answer: float = 1.0
    asks: float = 0.32
    short: float = 30.0
    spread: float = 1.3


class Bonuses(msgspec.Struct, frozen=True):
    """What counts beside words and meaning, in units of their spread over the candidates.

    `speaker`: the question names who said it; then what only asks loses `question` times its share. `when`: the
    question asks for a time and the row has a date, and `precise` more for one of no more than `precise_days`.
    `window`: made, and again spoken of, in the time that is asked about. `adjacency`: words side by side as in the
    question, as a share of its weight, for the best `adjacency_rows`. `brief`: rows of a conversation with fewer than
    `brief_terms` terms say little. `assistant`: what an assistant said is seldom what a user wants to be reminded of,
    unless it was kept as something, a decision or a fact.
    """

    speaker: float = 0.8
    question: float = 1.6
    when: float = 1.3
    precise: float = 0.3
    precise_days: float = 8.0
    window: float = 0.6
    adjacency: float = 1.6
    adjacency_rows: int = 64
    brief: float = 0.4
    brief_terms: float = 13.0
    assistant: float = 1.6


class Updating(msgspec.Struct, frozen=True):
    """When a newer row goes above an older one that it corrects: among the best `rows`, with a cosine of at least
    `cosine`, and at least `cover` of the question's words that the older one has."""

    rows: int = 20
    cosine: float = 0.7
    cover: float = 0.4


class Ranking(msgspec.Struct, frozen=True):
    """All of them. `k1` of BM25, whose b is 1; `keyword` and `vector` share the sum of both signals; agreement is
    judged by the best `agreement_rows`."""

    k1: float = 1.2
    keyword: float = 0.55
    vector: float = 0.45
    agreement_rows: int = 10
    shortlisting: Shortlisting = Shortlisting()
    context: Context = Context()
    bonuses: Bonuses = Bonuses()
    updating: Updating = Updating()


# Stage one of the ranking: which rows are worth a closer look, by words and meaning alone.


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


# BM25 of a few rows with what they take from those beside them: an answer seldom repeats what it answers.
#
# Words and lengths of the neighbours are added before saturation, so that a conversation that speaks of one thing
# does not count it many times. Measured in docs/decisions/0015-two-stage-ranking.md.


class ContextScores(NamedTuple):
    """`gains`: what each term comes to in each row before its weight, shape (rows, terms); `keyword`: their weighted
    sum, shape (rows,)."""

    gains: Floats
    keyword: Floats


def context_scores(snapshot: Snapshot, question: Question, candidates: Candidates, ranking: Ranking) -> ContextScores:
    """What the words say for each candidate. Neighbours that are no candidates themselves give nothing."""
    own = candidates.times.copy()
    own[:-1, -1] = snapshot.lengths[candidates.rows]
    total = own[:-1] if (candidates.beside < 0).all() else _with_context(snapshot, candidates, own, ranking.context)
    times, lengths = total[:, :-1], total[:, -1:]
    gains = times + lengths * np.float32(ranking.k1 / (ranking.context.spread * snapshot.mean_length))
    np.divide(times, gains, out=gains)
    gains *= np.float32(ranking.k1 + 1.0)
    # Not `@`, whose last bit depends on where in the array a row stands: equal rows must tie.
    return ContextScores(gains, np.einsum("rt,t->r", gains, question.weights))


def _with_context(snapshot: Snapshot, candidates: Candidates, own: Floats, policy: Context) -> Floats:
    """What each row has of each term and how long it is, with what it takes from those beside it, shape (n, terms + 1);
    `own` is the same without, and a row of zeros for those that are not there."""
    rows, passages = candidates.rows, snapshot.passages
    gate = np.minimum(1.0, policy.short / np.maximum(passages.own[rows], 1.0)).astype(np.float32)[:, None]
    given = own.copy()
    given[:-1] *= gate
    asks = np.append(passages.asking[rows] > policy.asks, False)
    handed = np.where(asks, policy.near + policy.answer, policy.near).astype(np.float32)
    before, after, far_before, far_after = candidates.beside
    total: Floats = (given * handed[:, None]).take(before, axis=0)
    total += (given * np.float32(policy.near)).take(after, axis=0)
    given *= np.float32(policy.far)
    total += given.take(far_before, axis=0)
    total += given.take(far_after, axis=0)
    total *= gate
    total += own[:-1]
    return total
