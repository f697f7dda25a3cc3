"""The final score of a candidate: its four signals, weighed by what the question is after (spec 7.10, 11.5)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.settings import RetrievalSettings, StartNodeSettings
from mnemond.index.arrays import Rows, Scores
from mnemond.index.selection import in_order
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.query import Intent

SIGNALS = ("keyword", "entity", "similarity", "graph")
"""What a score is the weighted sum of."""


class RerankWeights(msgspec.Struct, frozen=True):
    """What each signal is worth."""

    keyword: float
    entity: float
    similarity: float
    graph: float


WITH_VECTORS: dict[Intent, RerankWeights] = {
    "WHY": RerankWeights(keyword=0.10, entity=0.10, similarity=0.30, graph=0.50),
    "WHEN": RerankWeights(keyword=0.15, entity=0.15, similarity=0.30, graph=0.40),
    "ENTITY": RerankWeights(keyword=0.20, entity=0.40, similarity=0.20, graph=0.20),
    "GENERAL": RerankWeights(keyword=0.25, entity=0.25, similarity=0.25, graph=0.25),
}
"""Spec 7.10 (S0)."""

WITHOUT_VECTORS: dict[Intent, RerankWeights] = {
    "WHY": RerankWeights(keyword=0.20, entity=0.10, similarity=0.0, graph=0.70),
    "WHEN": RerankWeights(keyword=0.25, entity=0.15, similarity=0.0, graph=0.60),
    "ENTITY": RerankWeights(keyword=0.30, entity=0.50, similarity=0.0, graph=0.20),
    "GENERAL": RerankWeights(keyword=0.35, entity=0.35, similarity=0.0, graph=0.30),
}
"""Spec 7.10: a table of its own, because the printed row for WHY is not proportional (C21 of spec 3)."""


def mem0_weights(settings: RetrievalSettings) -> RerankWeights:
    """Return the fixed weights of Mem0's hybrid search; by default .5 vector, .3 graph, .2 keyword."""
    return RerankWeights(settings.keyword_weight, 0.0, settings.vector_weight, settings.graph_weight)


class Signals(msgspec.Struct, frozen=True):
    """Of each candidate, each in [0, 1], shape (candidates,); None for a signal that takes no part."""

    keyword: npt.NDArray[np.floating] | None
    entity: npt.NDArray[np.floating] | None
    similarity: npt.NDArray[np.floating] | None
    graph: npt.NDArray[np.floating] | None


def weights_of(intent: Intent, *, with_vectors: bool, with_entities: bool) -> RerankWeights:
    """The row of the table; what the entity signal is worth goes, for a question that names none, to keyword and graph
    as they stand to each other."""
    weights = (WITH_VECTORS if with_vectors else WITHOUT_VECTORS)[intent]
    return weights if with_entities else without_entity(weights)


def without_entity(weights: RerankWeights) -> RerankWeights:
    """The same sum, shared by the others: keyword and graph get what the entity signal was worth, pro rata."""
    both = weights.keyword + weights.graph
    if not both:
        return weights
    factor = 1.0 + weights.entity / both
    return RerankWeights(weights.keyword * factor, 0.0, weights.similarity, weights.graph * factor)


def available(weights: RerankWeights, signals: Signals) -> RerankWeights:
    """The weights of the signals that take part, as parts of their sum (spec 11.5, fusion mem0); all 0 if none does."""
    taken = {name: getattr(weights, name) for name in SIGNALS if getattr(signals, name) is not None}
    total = sum(taken.values())
    return RerankWeights(*(taken.get(name, 0.0) / total if total else 0.0 for name in SIGNALS))


def final_scores(signals: Signals, weights: RerankWeights) -> Scores:
    """The weighted sum of the signals, shape (candidates,); one that takes no part counts as 0.

    ValueError when no signal takes part: how many candidates there are is not known.
    """
    total: Scores | None = None
    for name in SIGNALS:
        signal = getattr(signals, name)
        if signal is not None:
            part = signal * np.float64(getattr(weights, name))
            total = part if total is None else total + part
    if total is None:
        raise ValueError("no signal takes part")
    return total


# Reciprocal rank fusion: one ranking of several, by places alone, whatever their scores mean (spec 7.11).


_UNITS = float(2**50)
"""Terms are whole numbers of a 2^50th, so that a sum does not depend on the order of the lists: places 1, 2, 3 are
worth as much as 3, 2, 1, to the last bit."""


class Ranking(NamedTuple):
    """`rows`, best first, each once; every term is multiplied by `weight`, at least 0."""

    rows: Rows
    weight: float = 1.0


class Ranks(NamedTuple):
    """Every row of any list, best first: `scores` are sums of weight / (k + rank + 1) with ranks from 0, `normalised`
    the same with the best one at 1; shapes (rows,)."""

    rows: Rows
    scores: Scores
    normalised: Scores


def reciprocal_rank_fusion(snapshot: Snapshot, rankings: Sequence[Ranking], k: int) -> Ranks:
    """Fuse any number of lists. Of equal sums the more important row is first, then the newer, then the smaller id."""
    sums: dict[int, int] = {}
    for ranking in rankings:
        terms = np.rint(ranking.weight * _UNITS / (k + 1 + np.arange(len(ranking.rows)))).astype(np.int64)
        for row, term in zip(ranking.rows.tolist(), terms.tolist(), strict=True):
            sums[row] = sums.get(row, 0) + term
    if not sums:
        none = np.zeros(0)
        return Ranks(np.zeros(0, dtype=np.int64), none, none)
    rows = np.array(list(sums), dtype=np.int64)
    scores = np.array(list(sums.values()), dtype=np.int64) / _UNITS
    order = in_order(snapshot, rows, scores)
    rows, scores = rows[order], scores[order]
    return Ranks(rows, scores, scores / scores[0] if scores[0] > 0.0 else np.zeros_like(scores))


# Where a probabilistic walk starts: at the memories that are like the question, or of which that is known (7.8).


_HOUR = 3600
_DAY = 24 * _HOUR

AGE_PHRASES: tuple[tuple[float, str], ...] = (
    (1 * _HOUR, "just now"),
    (24 * _HOUR, "earlier today"),
    (48 * _HOUR, "yesterday"),
    (7 * _DAY, "last week"),
    (30 * _DAY, "last month"),
    (180 * _DAY, "a few months ago"),
    (float("inf"), "a while ago"),
)
"""Each phrase with the age in seconds from which on it is no longer said (spec 7.8; C31 of spec 3)."""

_ENDS = [end for end, _ in AGE_PHRASES]


RAMP_DAYS = 30.0
"""Age from which metadata has its full weight."""


def age_phrase(age_seconds: float) -> str:
    """How one says that something is so old; a negative age is just now."""
    return AGE_PHRASES[min(bisect_right(_ENDS, age_seconds), len(_ENDS) - 1)][1]


def meta_vector(phrase: Vector, domain_state: Vector | None, keywords: Vector | None) -> Vector | None:
    """The direction of the sum of the three, None when it has none; each of shape (dimension,) and length 1."""
    total: Vector = phrase.copy()
    for part in (domain_state, keywords):
        if part is not None:
            total += part
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length > 0.0 else None


def meta_share(age_days: Scores, settings: StartNodeSettings) -> Scores:
    """α, in [0, alpha_meta], shape kept: the more the older a memory is; negative ages count as 0."""
    if settings.alpha_mode == "fixed":
        return np.full_like(age_days, settings.alpha_meta)
    return settings.alpha_meta * np.clip(age_days / RAMP_DAYS, 0.0, 1.0)


def start_scores(age_days: Scores, meta: Scores, query: Scores, settings: StartNodeSettings) -> Scores:
    """S = α·S_meta + (1 − α)·S_query; shapes alike.

    `meta` and `query` are cosines of the question with the meta vectors and, the largest counting, with the contents
    and their hypothetical questions; without vectors shares of common words (spec 7.1).
    """
    share = meta_share(age_days, settings)
    return share * meta + (1.0 - share) * query


def start_rows(snapshot: Snapshot, rows: Rows, scores: Scores, settings: StartNodeSettings) -> Rows:
    """The starts among `rows`, best first; where none is good enough the best one, unless it is not above 0.

    Of equal ones the more important first, then the newer, then the smaller id.
    """
    found = scores > 0.0
    rows, scores = rows[found], scores[found]
    best = in_order(snapshot, rows, scores)[: settings.top_k]
    good = best[scores[best] >= settings.min_score]
    starts: Rows = rows[good if len(good) else best[:1]]
    return starts
