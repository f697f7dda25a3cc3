"""The final score of a candidate: its four signals, weighed by what the question is after (spec 7.10, 11.5)."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.model.recall_policy import Intent
from mnemond.rank.tie_order import Scores

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

MEM0 = RerankWeights(keyword=0.2, entity=0.0, similarity=0.5, graph=0.3)
"""S4's hybrid weights (spec 11.5; C28 of spec 3)."""


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
