"""BM25 of a few rows with what they take from those beside them: an answer seldom repeats what it answers.

Words and lengths of the neighbours are added before saturation, so that a conversation that speaks of one thing does
not count it many times. Measured in docs/decisions/0015-two-stage-ranking.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.rank.question import Floats, Question
from mnemond.rank.ranking import Context, Ranking
from mnemond.rank.shortlist import Candidates


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
