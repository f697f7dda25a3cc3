"""Fusion of signals into one score: weighted sums by intent (mnemon, Mem0), and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import RetrievalSettings
from mnemond.index.arrays import Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.query import Intent

FloatArray = npt.NDArray[np.floating]

SIGNALS = ("keyword", "entity", "similarity", "graph")
"""Summands of a score."""


class RerankWeights(msgspec.Struct, frozen=True):
    """Weight of each signal."""

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
"""Weights of mnemon, by intent."""

WITHOUT_VECTORS: dict[Intent, RerankWeights] = {
    "WHY": RerankWeights(keyword=0.20, entity=0.10, similarity=0.0, graph=0.70),
    "WHEN": RerankWeights(keyword=0.25, entity=0.15, similarity=0.0, graph=0.60),
    "ENTITY": RerankWeights(keyword=0.30, entity=0.50, similarity=0.0, graph=0.20),
    "GENERAL": RerankWeights(keyword=0.35, entity=0.35, similarity=0.0, graph=0.30),
}
"""Weights of mnemon without vectors: a table of its own, as its row for WHY is not proportional to the other one."""


def mem0_weights(settings: RetrievalSettings) -> RerankWeights:
    """Return the fixed weights of Mem0's hybrid search; by default .5 vector, .3 graph, .2 keyword."""
    return RerankWeights(settings.keyword_weight, 0.0, settings.vector_weight, settings.graph_weight)


class SignalArrays(msgspec.Struct, frozen=True):
    """Signals of all candidates in [0, 1], shape (candidates,); None for an unused signal."""

    keyword: FloatArray | None
    entity: FloatArray | None
    similarity: FloatArray | None
    graph: FloatArray | None


def weights_of(intent: Intent, *, with_vectors: bool, with_entities: bool) -> RerankWeights:
    """Return the weights for an intent; without entities in the question `without_entity` applies."""
    weights = (WITH_VECTORS if with_vectors else WITHOUT_VECTORS)[intent]
    return weights if with_entities else without_entity(weights)


def without_entity(weights: RerankWeights) -> RerankWeights:
    """Distribute the weight of the entity signal to keyword and graph, pro rata."""
    both = weights.keyword + weights.graph
    if not both:
        return weights
    factor = 1.0 + weights.entity / both
    return RerankWeights(weights.keyword * factor, 0.0, weights.similarity, weights.graph * factor)


def available(weights: RerankWeights, signals: SignalArrays) -> RerankWeights:
    """Normalise the weights of the signals in use to a sum of 1, as Mem0 does; all 0 if none is in use."""
    used = {name: getattr(weights, name) for name in SIGNALS if getattr(signals, name) is not None}
    total = sum(used.values())
    return RerankWeights(*(used.get(name, 0.0) / total if total else 0.0 for name in SIGNALS))


def final_scores(signals: SignalArrays, weights: RerankWeights) -> Scores:
    """Return the weighted sum of the signals, shape (candidates,); an unused one counts as 0.

    Raises ValueError if all signals are unused: the number of candidates is unknown.
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


# Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): by ranks alone, whatever the scores mean


_UNITS = float(2**50)
"""Terms are integers in units of 2^-50, so that a sum does not depend on the order of the lists, to the last bit."""


class RankedList(NamedTuple):
    """`rows`, best first, each once; `weight`, at least 0, multiplies every term."""

    rows: Rows
    weight: float = 1.0


class FusedRanking(NamedTuple):
    """Every row of any list, best first: `scores` are sums of weight / (k + rank + 1) with ranks from 0; `normalised`
    are relative to the best; shapes (rows,)."""

    rows: Rows
    scores: Scores
    normalised: Scores


def reciprocal_rank_fusion(snapshot: Snapshot, rankings: Sequence[RankedList], k: int) -> FusedRanking:
    """Fuse lists. Of equal sums the more important row is first, then the newer, then the smaller id."""
    sums: dict[int, int] = {}
    for ranking in rankings:
        terms = np.rint(ranking.weight * _UNITS / (k + 1 + np.arange(len(ranking.rows)))).astype(np.int64)
        for row, term in zip(ranking.rows.tolist(), terms.tolist(), strict=True):
            sums[row] = sums.get(row, 0) + term
    if not sums:
        none = np.zeros(0)
        return FusedRanking(np.zeros(0, dtype=np.int64), none, none)
    rows = np.array(list(sums), dtype=np.int64)
    scores = np.array(list(sums.values()), dtype=np.int64) / _UNITS
    order = snapshot.in_order(rows, scores)
    rows, scores = rows[order], scores[order]
    return FusedRanking(rows, scores, scores / scores[0] if scores[0] > 0.0 else np.zeros_like(scores))
