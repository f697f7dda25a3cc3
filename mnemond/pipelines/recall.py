"""Read path: from a question to ranked memories, on one snapshot and without I/O.

First form: two anchors (keyword, vector), score fusion, cut. Which rows a reader may see is decided before anything
is ranked: no hidden row takes a place, and none has a part in the scale of the signals. How rare a word is, alone, is
counted over the whole store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import try_embed
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.recall import Hit, Query, Recalled, Signals
from mnemond.rank.confidence import label
from mnemond.rank.fusion import Fused, evidence, fuse
from mnemond.rank.profiles import MNEMOND, Profile, Weights
from mnemond.text.tokens import index_terms

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

EMPTY_QUERY = "empty_query"
SPARSE_RESULTS = "sparse_results"


class _Found(NamedTuple):
    """Signals of the visible rows, each of shape (visible,) and in [0, 1]; None for an anchor that takes no part.

    `rows` says which rows they are, None when all are visible.
    """

    rows: Rows | None
    keyword: Floats | None
    similarity: Floats | None


class _Stages:
    """Milliseconds between laps, to the microsecond, by name, in the order they ran."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._last = stopwatch()
        self.ms: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = self._stopwatch()
        self.ms[name] = round((now - self._last) * 1e6) / 1e3
        self._last = now


def recall(
    snapshot: Snapshot,
    query: Query,
    embedder: Embedder | None,
    stopwatch: Callable[[], float],
    profile: Profile = MNEMOND,
) -> Recalled:
    """The best `query.limit` visible memories, best first, with the signals that put them there.

    `stopwatch` returns seconds from a clock that never goes back. Without an embedder, or for a query it has no
    vector for, the keyword anchor answers alone. A query without a single term finds the newest memories.
    """
    stages = _Stages(stopwatch)
    terms = index_terms(query.text)
    vector, embed_error = _query_vector(snapshot, query, embedder) if terms else (None, None)
    embedding = embedder.name if embedder is not None and vector is not None else None
    stages.lap("embed")
    if not terms:
        return _newest(snapshot, query, stages)
    rows = _visible(snapshot, query)
    keyword = _keyword(snapshot, terms, rows, profile) if "keyword" in query.anchors else None
    stages.lap("keyword")
    similarity = _similarity(snapshot, vector, rows) if vector is not None else None
    stages.lap("vector")
    found = _Found(rows, keyword, similarity)
    fused = fuse(keyword, similarity, profile.weights)
    silent = _silent(found, profile)
    stages.lap("fuse")
    best = snapshot.best(fused.scores - silent, query.limit, rows)  # negative where silent: never chosen
    hits = _hits(snapshot, found, fused, best, profile)
    stages.lap("select")
    return Recalled(
        hits=hits,
        anchor_count=len(silent) - int(np.count_nonzero(silent)),
        weights=_weights(fused),
        embedding=embedding,
        hint=SPARSE_RESULTS if len(hits) < query.limit / 2 else None,
        stages_ms=stages.ms,
        embed_error=embed_error,
    )


def needs_vector(snapshot: Snapshot, query: Query) -> bool:
    """Whether an embedder of the snapshot's vectors, if there is one, has anything to say to a query."""
    return "vector" in query.anchors and snapshot.embedded > 0 and bool(index_terms(query.text))


def _query_vector(snapshot: Snapshot, query: Query, embedder: Embedder | None) -> tuple[Vector | None, str | None]:
    """None when the vector anchor has nothing to go by: not wanted, no model, no direction, or another dimension.

    With it, why the embedder is not to be had, when it should be.
    """
    if embedder is None or not needs_vector(snapshot, query):
        return None, None
    (vector,), lacking = try_embed(embedder, [query.text], "query")
    return vector if vector is not None and vector.shape == (snapshot.dimension,) else None, lacking


def _visible(snapshot: Snapshot, query: Query) -> Rows | None:
    mask = snapshot.visible(query.filter)
    return None if mask is None else np.flatnonzero(mask)


def _keyword(snapshot: Snapshot, terms: list[str], rows: Rows | None, profile: Profile) -> Floats:
    """BM25 as a share of the best possible for these terms."""
    scores, bound = snapshot.keyword(terms, profile.bm25)
    if rows is not None:
        scores = scores[rows]
    scores *= np.float32(1.0 / bound)
    return scores


def _similarity(snapshot: Snapshot, vector: Vector, rows: Rows | None) -> Floats:
    """Cosine; opposite directions count as unrelated."""
    scores = snapshot.similarity(vector)
    if rows is not None:
        scores = scores[rows]
    return np.maximum(scores, 0.0, out=scores)


def _silent(found: _Found, profile: Profile) -> Mask:
    """Which visible rows neither a word nor the embedding speaks for.

    Their fused scores are below 1, all others at least 0: subtracted from the scores, this leaves negative ones to the
    silent rows alone. To set values by a mask instead takes twenty times as long over 100,000 rows.
    """
    silent = np.zeros(0, dtype=np.bool_) if found.keyword is None else found.keyword <= 0.0
    if found.similarity is None:
        return silent
    unlike: Mask = found.similarity <= profile.similarity_floor
    return unlike if found.keyword is None else np.logical_and(silent, unlike, out=silent)


def _hits(snapshot: Snapshot, found: _Found, fused: Fused, places: Rows, profile: Profile) -> tuple[Hit, ...]:
    """Results for positions in the visible rows, in that order."""
    rows = places if found.rows is None else found.rows[places]
    scores, keywords, similarities = (_at(places, each) for each in (fused.scores, found.keyword, found.similarity))
    nominal = Weights(
        keyword=0.0 if found.keyword is None else profile.weights.keyword,
        vector=0.0 if found.similarity is None else profile.weights.vector,
    )
    return tuple(
        Hit(
            snapshot.insight(row),
            min(1.0, score),
            label(evidence(keyword, similarity, nominal), profile.confidence),
            _via(keyword, similarity, profile),
            Signals(keyword, 0.0, min(1.0, similarity), 0.0),
        )
        for row, score, keyword, similarity in zip(rows.tolist(), scores, keywords, similarities, strict=True)
    )


def _at(places: Rows, signal: Floats | None) -> list[float]:
    """The values of a signal; 0 for one that takes no part."""
    return [0.0] * len(places) if signal is None else signal[places].tolist()


def _via(keyword: float, similarity: float, profile: Profile) -> tuple[str, ...]:
    by_meaning = similarity > profile.similarity_floor
    if keyword > 0.0:
        return ("keyword", "vector") if by_meaning else ("keyword",)
    return ("vector",)


def _weights(fused: Fused) -> dict[str, float]:
    """The weights in force, after those of missing signals went to the others."""
    return {"keyword": fused.keyword, "entity": 0.0, "similarity": fused.vector, "graph": 0.0}


def _newest(snapshot: Snapshot, query: Query, stages: _Stages) -> Recalled:
    """What a query of nothing but function words and punctuation gets."""
    hits = tuple(
        Hit(insight, 0.0, "low", ("recency",), Signals(keyword=0.0, entity=0.0, similarity=0.0, graph=0.0))
        for insight in snapshot.newest(query.filter, query.limit)
    )
    stages.lap("select")
    return Recalled(hits, len(hits), _weights(fuse(None, None, MNEMOND.weights)), None, EMPTY_QUERY, stages.ms)
