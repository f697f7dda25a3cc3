"""The default ranking: a shortlist by words and meaning, then all other parts of the score for its rows.

docs/decisions/0015-two-stage-ranking.md measures each part. All parts are arrays over the shortlist; only the search
for corrections reads memories one by one, the best `Updating.rows`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mnemond.index.arrays import Floats, Mask, Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import DAY_US
from mnemond.recall.corrections import ASSISTANT, UNSORTED, Asked, by_change
from mnemond.recall.ranking import (
    SMALLEST,
    Candidates,
    ContextScores,
    Question,
    Ranking,
    VectorScores,
    adjacent_words,
    context_scores,
    shortlist,
    speaker_share,
    trust,
)

PARTS: tuple[str, ...] = (
    "words", "meaning", "standing", "date", "window", "adjacency", "speaker", "asking", "newer", "older",
)  # fmt: skip
"""Parts of a score, in this order: BM25 with the context of the row; cosine; prior of the row, whatever the question;
a date, for a question that asks for one; the time the question names; adjacent words; spoken by a source the question
names; not being a question itself; the step of a correction above what it corrects; and of what was corrected above its
correction, for a question how things were."""

WORDS, MEANING, STANDING, DATE, WINDOW, ADJACENCY, SPEAKER, ASKING, NEWER, OLDER = range(len(PARTS))

NEUTRAL = SPEAKER
"""Number of leading parts that do not depend on the speaker."""

MIN_SPREAD = 0.5
"""Lower bound of the spread of a signal, as a part of its usual spread."""


class Ranked(NamedTuple):
    """`rows` of the shortlist, best first, with their scores (unbounded, comparable within one answer only), and their
    signals: `keyword` as a share of the maximum for the words of the question, `similarity` the cosine; all of shape
    (n,). `parts`: the summands of each score, shape (PARTS, n). `trust` in the whole answer, in [0, 1]. `weights`: of a
    unit of either signal. `considered`: rows of the shortlist."""

    rows: Rows
    scores: Floats
    keyword: Floats
    similarity: Floats
    parts: Floats
    trust: float
    weights: tuple[float, float]
    considered: int


def rank(
    snapshot: Snapshot,
    question: Question,
    vectors: VectorScores | None,
    visible: Mask | None,
    most: int,
    ranking: Ranking,
) -> Ranked:
    """Return the best `most` visible rows. `vectors` is None if the question has no vector."""
    candidates = shortlist(snapshot, question, vectors, visible, ranking)
    rows = candidates.rows
    if not len(rows):
        none = np.zeros(0, dtype=np.float32)
        return Ranked(rows, none, none, none, np.zeros((len(PARTS), 0), dtype=np.float32), 0.0, (0.0, 0.0), 0)
    words = context_scores(snapshot, question, candidates, ranking)
    similar = np.zeros(len(rows), dtype=np.float32) if vectors is None else np.maximum(vectors.of(rows), 0.0)
    rates = _rates(question, words.keyword, similar, ranking)
    named = _named(snapshot, question, rows)
    parts = _parts(snapshot, question, rows, words, similar, named, rates, ranking)
    answer_trust = _trust(question, words, similar, parts, rates, named, ranking)
    total = parts.sum(axis=0)
    if (asked := _asked(question)) is not None:
        _add_corrections(snapshot, question, candidates, parts, total, ranking, asked)
        total = parts.sum(axis=0)
    best = _best(snapshot, rows, total, most)
    share = np.float32(1.0 / max((ranking.k1 + 1.0) * question.mass, SMALLEST))
    return Ranked(
        rows[best], total[best], words.keyword[best] * share, similar[best], parts[:, best], answer_trust, rates,
        len(rows),
    )  # fmt: skip


def _parts(
    snapshot: Snapshot,
    question: Question,
    rows: Rows,
    words: ContextScores,
    similar: Floats,
    named: Mask,
    rates: tuple[float, float],
    ranking: Ranking,
) -> Floats:
    bonuses = ranking.bonuses
    parts = np.zeros((len(PARTS), len(rows)), dtype=np.float32)
    np.multiply(words.keyword, np.float32(rates[0]), out=parts[WORDS])
    np.multiply(similar, np.float32(rates[1]), out=parts[MEANING])
    parts[STANDING] = _prior(snapshot, rows, ranking)
    if question.asks_when:
        parts[DATE] = _dates(snapshot, rows, ranking)
    if question.window is not None:
        parts[WINDOW] = np.float32(bonuses.window) * _in_window(snapshot, rows, question.window)
    if named.any():
        parts[SPEAKER] = np.float32(bonuses.speaker) * named
        parts[ASKING] = np.float32(-bonuses.question) * snapshot.columns.asking[rows]
    if question.pairs:
        # Only the rows that may come out on top need it.
        best = _best(snapshot, rows, parts.sum(axis=0), bonuses.adjacency_rows)
        worth = np.float32(bonuses.adjacency / max(question.mass, SMALLEST))
        parts[ADJACENCY, best] = adjacent_words(snapshot, question, rows[best]) * worth
    return parts


def _named(snapshot: Snapshot, question: Question, rows: Rows) -> Mask:
    """Mark the rows from a source that the question names, shape (rows,)."""
    source = snapshot.parts.columns.source[rows]
    named = np.zeros(len(rows), dtype=np.bool_)
    for number in question.sources:
        named |= source == number
    return named


def _trust(
    question: Question,
    words: ContextScores,
    similar: Floats,
    parts: Floats,
    rates: tuple[float, float],
    named: Mask,
    ranking: Ranking,
) -> float:
    """Compute trust by scores without the name of a source, neither as a word nor as a speaker."""
    neutral = np.add.reduce(parts[:NEUTRAL], axis=0)
    of_names = question.weights * question.names
    if of_names.any():
        with np.errstate(invalid="ignore"):  # OpenBLAS may raise the flag for lanes beside the matrix
            neutral -= np.float32(rates[0]) * (words.gains @ of_names)
    return trust(speaker_share(neutral, named, ranking.speaker_rows), float(similar.max()))


def _rates(question: Question, keyword: Floats, similar: Floats, ranking: Ranking) -> tuple[float, float]:
    """Return the weights of a unit of BM25 and of cosine: each signal's share over its spread among the candidates. The
    spread of few candidates means little, hence `MIN_SPREAD`."""
    usual = ranking.shortlisting
    least_words, least_meaning = MIN_SPREAD * usual.mass * question.mass, MIN_SPREAD * usual.cosine
    of_words = ranking.keyword / max(_spread(keyword), least_words) if question.mass else 0.0
    of_meaning = ranking.vector * question.latin / max(_spread(similar), least_meaning) if similar.any() else 0.0
    return of_words, of_meaning


def _spread(signal: Floats) -> float:
    """Standard deviation in a quarter of the time of `ndarray.std`; for numbers up to a few tens."""
    mean = float(np.add.reduce(signal)) / len(signal)
    apart = signal - np.float32(mean)
    return math.sqrt(float(apart.dot(apart)) / len(signal))


def _dates(snapshot: Snapshot, rows: Rows, ranking: Ranking) -> Floats:
    """Score rows that have a date; one that names the day or the week counts more than "this year"."""
    bonuses, columns = ranking.bonuses, snapshot.parts.columns
    dated = snapshot.columns.dated[rows] != 0
    days = (columns.event_end_us[rows] - columns.event_start_us[rows]) / DAY_US
    worth: Floats = np.float32(bonuses.when) * dated
    worth += np.float32(bonuses.precise) * (dated & (days <= bonuses.precise_days))
    return worth


def _in_window(snapshot: Snapshot, rows: Rows, window: tuple[int, int]) -> Floats:
    """Count 1 for a row created in the window, and 1 for a row whose event is in it."""
    columns, (since, until) = snapshot.parts.columns, window
    made = columns.created_us[rows]
    happened = (columns.event_start_us[rows] < until) & (columns.event_end_us[rows] >= since)
    return ((made >= since) & (made < until)).astype(np.float32) + happened


def _prior(snapshot: Snapshot, rows: Rows, ranking: Ranking) -> Floats:
    """Return the part that does not depend on the question: negative for very short turns and for an assistant's
    talk."""
    bonuses = ranking.bonuses
    own = snapshot.columns.own[rows]
    prior = np.minimum(0.0, np.log((1.0 + own) / np.float32(bonuses.brief_terms))) * np.float32(bonuses.brief)
    prior *= snapshot.in_conversation(rows)
    names, columns = snapshot.parts.table.names, snapshot.parts.columns
    assistant, unsorted = names.sources.find(ASSISTANT), names.categories.find(UNSORTED)
    if assistant is not None and unsorted is not None:
        talk = (columns.source[rows] == assistant) & (columns.category[rows] == unsorted)
        prior -= np.float32(bonuses.assistant) * talk
    found: Floats = prior.astype(np.float32, copy=False)
    return found


def _asked(question: Question) -> Asked | None:
    """Return which of several states is asked for; None if the question is about the past and about no state."""
    if question.former is not None:
        return Asked(of_state=True, former=question.former)
    # "what is the budget through August" names a past time, and asks for what holds now.
    if question.until_us is not None and not question.asks_state:
        return Asked(until_us=question.until_us)
    return None if question.asks_past else Asked(of_state=question.asks_state)


def _add_corrections(
    snapshot: Snapshot,
    question: Question,
    candidates: Candidates,
    parts: Floats,
    scores: Floats,
    ranking: Ranking,
    asked: Asked,
) -> None:
    """Put what each row gains for correcting another, or for having been corrected, into `parts`."""
    best = _best(snapshot, candidates.rows, scores, ranking.updating.rows)
    holds = candidates.times[best, :-1] >= 1.0
    terms = dict(zip(question.terms, question.weights.tolist(), strict=True))
    moves = by_change(
        snapshot, candidates.rows[best], scores[best], holds, question.weights, ranking.updating, terms, asked
    )
    gains = moves.scores - scores[best]
    parts[NEWER, best] = np.where(moves.older, np.float32(0.0), gains)
    parts[OLDER, best] = np.where(moves.older, gains, np.float32(0.0))


def _best(snapshot: Snapshot, rows: Rows, scores: Floats, most: int) -> Rows:
    """Return positions of the best, best first; ties: the more important, the newer, the smaller id."""
    return snapshot.best(scores - np.float32(min(float(scores.min()), 0.0)), most, rows)
