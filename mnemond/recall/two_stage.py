"""The default ranking: a shortlist by words and meaning, then everything else about its rows.

Each part and what it is worth: docs/decisions/0015-two-stage-ranking.md. Everything is arrays over the shortlist; rows
are looked at one by one only where a correction is looked for, and these are the best few (`Updating.rows`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Mask
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import DAY_US
from mnemond.recall.corrections import ASSISTANT, UNSORTED, newer_first
from mnemond.recall.question_features import Floats, Question, Rows
from mnemond.recall.ranking import (
    SMALLEST,
    Candidates,
    Closeness,
    ContextScores,
    Ranking,
    adjacent_words,
    agreement,
    context_scores,
    shortlist,
    trust,
)

PARTS: tuple[str, ...] = (
    "words", "meaning", "standing", "date", "window", "adjacency", "speaker", "asking", "newer",
)  # fmt: skip
"""What a score is the sum of, in this order: BM25 with the context of a row, cosine; how much the row stands for
whatever is asked; a date where one is asked for; the time that is asked about; words side by side; said by whom the
question names, and not a question itself; and, for a correction, what puts it above what it corrects."""

WORDS, MEANING, STANDING, DATE, WINDOW, ADJACENCY, SPEAKER, ASKING, NEWER = range(len(PARTS))

NEUTRAL = SPEAKER
"""So many parts, the first ones, count whoever spoke."""


class Ranked(NamedTuple):
    """`rows` of the shortlist, best first, with their scores (any size, comparable within one answer alone), and the
    signals they came from: `keyword` as a share of the most that the words of the question can come to, `similarity`
    the cosine; all of shape (n,). `parts`: what each score is the sum of, shape (PARTS, n). `trust` in the whole
    answer, in [0, 1]. `weights`: what a unit of either signal is worth. `considered`: rows of the shortlist."""

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
    near: Closeness | None,
    visible: Mask | None,
    most: int,
    ranking: Ranking,
) -> Ranked:
    """The best `most` of the visible rows. `near` is None without a vector."""
    candidates = shortlist(snapshot, question, near, visible, ranking)
    rows = candidates.rows
    if not len(rows):
        return Ranked(rows, _NONE, _NONE, _NONE, np.zeros((len(PARTS), 0), dtype=np.float32), 0.0, (0.0, 0.0), 0)
    words = context_scores(snapshot, question, candidates, ranking)
    similar = np.zeros(len(rows), dtype=np.float32) if near is None else np.maximum(near.of(rows), 0.0)
    rates = _rates(question, words.keyword, similar, ranking)
    named = _named(snapshot, question, rows)
    parts = _parts(snapshot, question, rows, words, similar, named, rates, ranking)
    sure = _trust(question, words, similar, parts, rates, named, ranking)
    total = parts.sum(axis=0)
    if not question.asks_past:
        parts[NEWER] = _correction(snapshot, question, candidates, total, ranking)
        total += parts[NEWER]
    best = _best(snapshot, rows, total, most)
    share = np.float32(1.0 / max((ranking.k1 + 1.0) * question.mass, SMALLEST))
    return Ranked(
        rows[best], total[best], words.keyword[best] * share, similar[best], parts[:, best], sure, rates, len(rows)
    )


_NONE: Floats = np.zeros(0, dtype=np.float32)


def _parts(
    snapshot: Snapshot,
    question: Question,
    rows: Rows,
    words: ContextScores,
    similar: Floats,
    named: npt.NDArray[np.bool_],
    rates: tuple[float, float],
    ranking: Ranking,
) -> Floats:
    bonuses, passages = ranking.bonuses, snapshot.passages
    parts = np.zeros((len(PARTS), len(rows)), dtype=np.float32)
    np.multiply(words.keyword, np.float32(rates[0]), out=parts[WORDS])
    np.multiply(similar, np.float32(rates[1]), out=parts[MEANING])
    parts[STANDING] = _standing(snapshot, rows, ranking)
    if question.asks_when:
        parts[DATE] = _dates(snapshot, rows, ranking)
    if question.window is not None:
        parts[WINDOW] = np.float32(bonuses.window) * _in_window(snapshot, rows, question.window)
    if named.any():
        parts[SPEAKER] = np.float32(bonuses.speaker) * named
        parts[ASKING] = np.float32(-bonuses.question) * passages.asking[rows]
    if question.pairs:
        # Only for the rows that may come out on top: of the others nobody sees the difference.
        best = _best(snapshot, rows, parts.sum(axis=0), bonuses.adjacency_rows)
        worth = np.float32(bonuses.adjacency / max(question.mass, SMALLEST))
        parts[ADJACENCY, best] = adjacent_words(snapshot, question, rows[best]) * worth
    return parts


def _named(snapshot: Snapshot, question: Question, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows are from whom the question names, shape (rows,)."""
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
    named: npt.NDArray[np.bool_],
    ranking: Ranking,
) -> float:
    """Judged by scores to which a name gave nothing, neither as a word nor as that of who spoke."""
    neutral = np.add.reduce(parts[:NEUTRAL], axis=0)
    of_names = question.weights * question.names
    if of_names.any():
        neutral -= np.float32(rates[0]) * (words.gains @ of_names)
    return trust(agreement(neutral, named, ranking.agreement_rows), float(similar.max()))


def _rates(question: Question, keyword: Floats, similar: Floats, ranking: Ranking) -> tuple[float, float]:
    """What a unit of BM25 and of cosine is worth: their shares by how much each varies over the candidates, which a few
    candidates do not tell."""
    usual = ranking.shortlisting
    least_words, least_meaning = MIN_SPREAD * usual.mass * question.mass, MIN_SPREAD * usual.cosine
    of_words = ranking.keyword / max(_spread(keyword), least_words) if question.mass else 0.0
    of_meaning = ranking.vector * question.latin / max(_spread(similar), least_meaning) if similar.any() else 0.0
    return of_words, of_meaning


def _spread(signal: Floats) -> float:
    """Standard deviation, in a quarter of the time of `ndarray.std`; of numbers no larger than a few tens."""
    mean = float(np.add.reduce(signal)) / len(signal)
    apart = signal - np.float32(mean)
    return math.sqrt(float(apart.dot(apart)) / len(signal))


MIN_SPREAD = 0.25
"""Part of the usual spread that a signal has at least."""


def _dates(snapshot: Snapshot, rows: Rows, ranking: Ranking) -> Floats:
    """What a date is worth, and one that says the day or the week more than one that says "this year"."""
    bonuses, columns = ranking.bonuses, snapshot.parts.columns
    dated = snapshot.passages.dated[rows] != 0
    days = (columns.event_end_us[rows] - columns.event_start_us[rows]) / DAY_US
    worth: Floats = np.float32(bonuses.when) * dated
    worth += np.float32(bonuses.precise) * (dated & (days <= bonuses.precise_days))
    return worth


def _in_window(snapshot: Snapshot, rows: Rows, window: tuple[int, int]) -> Floats:
    """1 for each row that was made in the window, and 1 more for one that speaks of a time in it."""
    columns, (since, until) = snapshot.parts.columns, window
    made = columns.created_us[rows]
    speaks = (columns.event_start_us[rows] < until) & (columns.event_end_us[rows] >= since)
    return ((made >= since) & (made < until)).astype(np.float32) + speaks


def _standing(snapshot: Snapshot, rows: Rows, ranking: Ranking) -> Floats:
    """What a row stands for whatever is asked: little where it is very short, or an assistant's talk. What somebody
    sorted, as a decision or as a fact, is talk no more, whoever said it."""
    bonuses = ranking.bonuses
    own = snapshot.passages.own[rows]
    brief = np.minimum(0.0, np.log((1.0 + own) / np.float32(bonuses.brief_terms))) * np.float32(bonuses.brief)
    brief *= snapshot.in_conversation(rows)
    names, columns = snapshot.parts.table.names, snapshot.parts.columns
    assistant, unsorted = names.sources.find(ASSISTANT), names.categories.find(UNSORTED)
    if assistant is not None and unsorted is not None:
        talk = (columns.source[rows] == assistant) & (columns.category[rows] == unsorted)
        brief -= np.float32(bonuses.assistant) * talk
    standing: Floats = brief.astype(np.float32, copy=False)
    return standing


def _correction(
    snapshot: Snapshot, question: Question, candidates: Candidates, scores: Floats, ranking: Ranking
) -> Floats:
    """What each row gets for correcting another, shape (rows,)."""
    best = _best(snapshot, candidates.rows, scores, ranking.updating.rows)
    covered = (candidates.times[best, :-1] >= 1.0) @ question.weights
    moved = np.zeros_like(scores)
    terms = dict(zip(question.terms, question.weights.tolist(), strict=True))
    moved[best] = newer_first(
        snapshot, candidates.rows[best], scores[best], covered, ranking.updating, terms, by_numbers=question.asks_state
    )
    moved[best] -= scores[best]
    return moved


def _best(snapshot: Snapshot, rows: Rows, scores: Floats, most: int) -> Rows:
    """Positions of the best, best first; ties as everywhere: the more important, the newer, the smaller id."""
    lowest = float(scores.min())
    return snapshot.best(scores - np.float32(min(lowest, 0.0)), most, rows)
