"""Signals of the default ranking: features of the question, vector scores, shortlist, context, adjacency, speakers.

All numbers are measured in docs/decisions/0015-two-stage-ranking.md. `two_stage.rank` combines the signals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.index.arrays import Floats, Mask, Rows, at_least_kth
from mnemond.index.bm25 import MAX_TERM_NUMBER
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Dense
from mnemond.model.changes import Vector
from mnemond.text.question_time import Former

# A question: its terms with their weights and postings, and cues in its wording


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
    text in letters the embedder may know, 1 for a multilingual one. `former`: which former state it asks for;
    `until_us`: the end of the past time whose state it asks for.
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
    former: Former | None = None
    until_us: int | None = None
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


class Shortlisting(msgspec.Struct, frozen=True):
    """Stage one, over all rows: the best `rows` by words and by meaning, and their neighbours.

    `mass` and `cosine` bring BM25 (as a share of its maximum for the question) and cosines to one scale: their spread
    over an ordinary store. Similar words count `soft` times their cosine; posting lists longer than `soft_share` of all
    rows are skipped, and at most `soft_postings` entries are read.
    """

    rows: int = 150
    mass: float = 0.1
    cosine: float = 0.075
    soft: float = 0.3
    soft_share: float = 0.2
    soft_postings: int = 30_000


class Context(msgspec.Struct, frozen=True):
    """Words that a row borrows from its neighbours in the conversation: a share `near` of the adjacent ones, `far` of
    the next, and `answer` more from the row before if it is a question (more than `asks` of its text).

    Long rows give and take less: min(1, short / terms) on both sides. `spread`: average growth of a row's length by
    what it borrows.
    """

    near: float = 0.4
    far: float = 0.32
    answer: float = 1.0
    asks: float = 0.32
    short: float = 30.0
    spread: float = 1.3


class Bonuses(msgspec.Struct, frozen=True):
    """Weights of the other parts, in units of the spread of words and meaning over the candidates.

    `speaker`: the question names the row's source; then rows lose `question` times their share of questions. `when`:
    the question asks for a time and the row has a date; `precise` more for one of at most `precise_days`. `window`:
    created, and again happened, in the time the question names. `adjacency`: words adjacent as in the question, as a
    share of its weight, for the best `adjacency_rows`. `brief`: penalty for turns with fewer than `brief_terms` terms.
    `assistant`: penalty for an assistant's talk, unless it was stored as a decision, a fact or the like.
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
    """Conditions for ranking a newer row above an older one that it corrects: both among the best `rows`, their cosine
    at least `cosine`, or `counted_cosine` if both count a thing that the question names, or `clause_cosine` if their
    clauses are compared, and the newer has at least `cover` of the older one's share of the question's words."""

    rows: int = 20
    cosine: float = 0.7
    counted_cosine: float = 0.6
    clause_cosine: float = 0.4
    cover: float = 0.4


class Ranking(msgspec.Struct, frozen=True):
    """All parameters. `k1` of BM25, whose b is 1; `keyword` and `vector` sum to 1; `speaker_rows`: rows by which the
    share of the named speaker is measured."""

    k1: float = 1.2
    keyword: float = 0.55
    vector: float = 0.45
    speaker_rows: int = 10
    shortlisting: Shortlisting = Shortlisting()
    context: Context = Context()
    bonuses: Bonuses = Bonuses()
    updating: Updating = Updating()


# Vector scores


NEAREST = 30
"""Rows to find in the graph: more than the twenty results of most answers, in .4 ms of 100,000 (150: 2.4 ms)."""


class VectorScores(NamedTuple):
    """`first`: cosines of all rows with a question, shape (rows,); if `sparse`, of the nearest rows, and 0 for others.
    `of` returns the cosines of any rows, shape (len(rows),)."""

    first: Floats
    of: Callable[[Rows], Floats]
    sparse: bool = False


def vector_scores(dense: Dense, vector: Vector, visible: Mask | None, nearest: int = NEAREST) -> VectorScores:
    """Compute cosines with a question. `nearest`: rows to find if the store is large enough to have a graph of vectors
    (docs/decisions/0014)."""
    if not dense.graphed:
        every = dense.searched(vector, visible)
        return VectorScores(every, lambda rows: every[rows])
    found, cosines = dense.searched_nearest(vector, nearest, visible)
    first = np.zeros(len(dense.matrix), dtype=np.float32)
    first[found] = cosines
    return VectorScores(first, lambda rows: dense.searched_of(vector, rows), sparse=True)


# Stage one: the shortlist, by words and meaning alone


NEARBY_STEPS: tuple[int, ...] = (-1, 1, -2, 2)
"""Steps within a conversation, in the order of `nearby_turns`."""

WIDER = 3
"""Multiple of the shortlist for which exact cosines are computed if only the nearest rows have theirs."""

SMALLEST = 1e-9
"""Smaller than any weight; avoids a division by zero for a question without weights."""


class Candidates(NamedTuple):
    """`rows` ascending, shape (n,); `times`: count of each term of the question in each, with a row and a column of
    zeros at the end, shape (n + 1, terms + 1); `nearby`: positions in `rows` of the rows one and two steps away, -1
    for none, shape (4, n)."""

    rows: Rows
    times: Floats
    nearby: Rows


def shortlist(
    snapshot: Snapshot, question: Question, vectors: VectorScores | None, visible: Mask | None, ranking: Ranking
) -> Candidates:
    """Return the best visible rows and their visible neighbours. `vectors` is None if the question has no vector.

    A row with neither a word of the question nor a positive cosine is a candidate only as a neighbour.
    """
    limits = ranking.shortlisting
    exact = gathered_terms(question.exact)
    soft = gathered_relatives(question.soft, limits.soft_share * snapshot.rows, limits.soft_postings, limits.soft)
    first = _first_scores(snapshot, question, (exact, soft), ranking)
    meaning = np.float32(ranking.vector * question.latin / limits.cosine)
    if vectors is not None:
        first += np.maximum(vectors.first, 0.0) * meaning
    if visible is not None:
        first *= visible
    if vectors is not None and vectors.sparse:
        wider = _best(snapshot, first, WIDER * limits.rows)
        lacking = np.maximum(vectors.of(wider), 0.0) - np.maximum(vectors.first[wider], 0.0)
        first[wider] += lacking * meaning
    best = _best(snapshot, first, limits.rows)
    in_talk = bool(snapshot.in_conversation(best).any())  # notes have no neighbours
    rows = _with_nearby(snapshot, best, visible) if in_talk else np.sort(best)
    where = np.full(snapshot.rows + 1, -1, dtype=np.int64)  # the last one for a missing row
    where[rows] = np.arange(len(rows))
    times = _times(len(rows), len(question.weights), where, exact, soft)
    nearby = nearby_turns(snapshot, rows) if in_talk else np.full((len(NEARBY_STEPS), len(rows)), -1, dtype=np.int64)
    return Candidates(rows, times, where[nearby])


def nearby_turns(snapshot: Snapshot, rows: Rows) -> Rows:
    """Return the rows before, after, two before and two after each row, shape (4, rows); -1 for none."""
    before, after = snapshot.beside(rows, -1), snapshot.beside(rows, 1)
    return np.stack((before, after, snapshot.beside(before, -1), snapshot.beside(after, 1)))


def _first_scores(snapshot: Snapshot, question: Question, lists: Sequence[Gathered], ranking: Ranking) -> Floats:
    """BM25 (Robertson and Zaragoza 2009) with similar words as words of their own, on the scale of the shortlist; shape
    (rows,)."""
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


def _best(snapshot: Snapshot, every: Floats, most: int) -> Rows:
    """Return the rows with the largest positive scores."""
    rows = at_least_kth(every, most)
    scores = every[rows]
    if len(rows) <= most or scores.min() <= 0.0:  # no tie for the last place, or one of scores that do not count
        return rows[scores > 0.0]
    # More rows tie for the last place than fit: choose in the fixed order.
    found: Rows = rows[snapshot.best(scores, most, rows)]
    return found


def _with_nearby(snapshot: Snapshot, rows: Rows, visible: Mask | None) -> Rows:
    """Add the visible neighbours; ascending, each once."""
    marked = np.zeros(snapshot.rows + 1, dtype=np.bool_)
    marked[nearby_turns(snapshot, rows)] = True
    marked[rows] = True
    marked = marked[:-1]
    if visible is not None:
        marked &= visible
    return np.flatnonzero(marked)


def _times(rows: int, terms: int, where: Rows, exact: Gathered, soft: Gathered) -> Floats:
    times = np.zeros((rows + 1, terms + 1), dtype=np.float32)
    flat = times.reshape(-1)
    for each, adds in ((soft, False), (exact, True)):
        at = where[each.rows]
        kept = np.flatnonzero(at >= 0)
        at = at[kept] * (terms + 1)
        at += each.terms[kept]
        if adds:
            np.add.at(flat, at, each.values[kept])  # a word and the day of a memory may be one term
        else:
            flat[at] = each.values[kept]
    return times


# BM25 with context: a row borrows words of its neighbours, since an answer seldom repeats its question
#
# Words and lengths are added before saturation, so that a conversation about one thing does not count it many times.


class ContextScores(NamedTuple):
    """`gains`: saturated count of each term in each row, shape (rows, terms); `keyword`: their weighted sum, shape
    (rows,)."""

    gains: Floats
    keyword: Floats


def context_scores(snapshot: Snapshot, question: Question, candidates: Candidates, ranking: Ranking) -> ContextScores:
    """Compute BM25 with context for each candidate. Neighbours that are not candidates contribute nothing."""
    own = candidates.times.copy()
    own[:-1, -1] = snapshot.lengths[candidates.rows]
    total = own[:-1] if (candidates.nearby < 0).all() else _with_context(snapshot, candidates, own, ranking.context)
    times, lengths = total[:, :-1], total[:, -1:]
    gains = times + lengths * np.float32(ranking.k1 / (ranking.context.spread * snapshot.mean_length))
    np.divide(times, gains, out=gains)
    gains *= np.float32(ranking.k1 + 1.0)
    # Not `@`, whose last bit depends on the position of a row in the array: equal rows must tie.
    return ContextScores(gains, np.einsum("rt,t->r", gains, question.weights))


def _with_context(snapshot: Snapshot, candidates: Candidates, own: Floats, policy: Context) -> Floats:
    """Return `own` (counts of terms and length of each row, a row of zeros at the end for missing neighbours) with what
    rows borrow, shape (n, terms + 1)."""
    rows, columns = candidates.rows, snapshot.columns
    gate = np.minimum(1.0, policy.short / np.maximum(columns.own[rows], 1.0)).astype(np.float32)[:, None]
    given = own.copy()
    given[:-1] *= gate
    asks = np.append(columns.asking[rows] > policy.asks, False)
    handed = np.where(asks, policy.near + policy.answer, policy.near).astype(np.float32)
    before, after, far_before, far_after = candidates.nearby
    total: Floats = (given * handed[:, None]).take(before, axis=0)
    total += (given * np.float32(policy.near)).take(after, axis=0)
    given *= np.float32(policy.far)
    total += given.take(far_before, axis=0)
    total += given.take(far_after, axis=0)
    total *= gate
    total += own[:-1]
    return total


# Adjacency: words side by side as in the question


_NUMBER_BITS: Final = MAX_TERM_NUMBER.bit_length()
"""Size of the number of a term; two of them fit into 64 bits."""


def adjacent_words(snapshot: Snapshot, question: Question, rows: Rows) -> Floats:
    """Sum the weights of the question's pairs in each of a few rows, each pair once a row; shape (rows,)."""
    total = np.zeros(len(rows), dtype=np.float32)
    if not question.pairs or not len(rows):
        return total
    terms, sizes = snapshot.parts.table.term_order(rows.tolist())
    ends = np.cumsum(sizes)
    pairs = terms[1:].astype(np.uint64)  # each word with the one before it as one number
    pairs <<= np.uint64(_NUMBER_BITS)
    pairs |= terms[:-1]
    for one, other, weight in question.pairs:
        found = (pairs == np.uint64(other << _NUMBER_BITS | one)).nonzero()[0]
        if len(found):
            owners = ends.searchsorted(found, side="right")
            owners = owners[ends.searchsorted(found + 1, side="right") == owners]  # not across two rows
            total[owners] += np.float32(weight)  # added once per row, even if `owners` repeats it
    return total


# Trust in an answer
#
# A question about what one person did, of which only another person spoke, has good matches and no answer. Of all
# measured signals only the share of the named speaker detects this.


TRUST_WITHOUT_MEANING = 0.7
"""Trust in an answer whose best cosine is 0: words alone may be about anything."""


def speaker_share(neutral: Floats, named: Mask, rows: int) -> float:
    """Return the share in [0, 1] of the named sources in the weight of the best `rows`; 1 if the question names no
    source, or all of them.

    `neutral`: scores without the effect of the name itself, shape (candidates,).
    """
    if not named.any() or named.all():
        return 1.0
    count = min(rows, len(neutral))
    best = np.argpartition(neutral, len(neutral) - count)[len(neutral) - count :]
    weights = np.exp(neutral[best] - neutral[best].max())
    return float(weights @ named[best] / weights.sum())


def trust(share: float, best_cosine: float) -> float:
    """Return the trust in an answer as a whole, in [0, 1]; `share` is that of the named speaker."""
    return share * (TRUST_WITHOUT_MEANING + (1.0 - TRUST_WITHOUT_MEANING) * min(1.0, max(0.0, best_cosine)))
