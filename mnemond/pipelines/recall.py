"""Read path: from a question to ranked memories, on one snapshot and without I/O.

Which rows a reader may see is decided before anything is ranked: no hidden row takes a place, gives a neighbour its
words or its name, or has a part in the scale of the signals. What is counted over the whole store: how rare a word is,
how long memories are on average, and how many of them are too many for a relative of a word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from mnemond.embed.embedder import Embedder
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.recall import Filter, Hit, Query, Recalled, Signals, Span, Window
from mnemond.pipelines.asking import question_terms, question_vector
from mnemond.pipelines.explanation import compared
from mnemond.pipelines.literal_recall import literal_hits
from mnemond.pipelines.measured_recall import measured_hits
from mnemond.pipelines.reranking import SHORT_QUERY, SHORTLIST, Asked, Reranked, rerank
from mnemond.pipelines.result_order import arranged
from mnemond.pipelines.sought import NO_WEIGHTS, SPARSE_RESULTS, Sought
from mnemond.rank.profiles import PROFILES_BY_NAME, Profile
from mnemond.text.intent import intent_of
from mnemond.text.query_window import query_window

EMPTY_QUERY = "empty_query"


class Stages:
    """Milliseconds between laps, to the microsecond, by name, in the order they ran."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._last = stopwatch()
        self.ms: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """What was done since the last lap."""
        now = self._stopwatch()
        self.ms[name] = round((now - self._last) * 1e6) / 1e3
        self._last = now


def recall(snapshot: Snapshot, query: Query, embedder: Embedder | None, stopwatch: Callable[[], float]) -> Recalled:
    """The best `query.limit` visible memories, with the signals that put them there.

    `stopwatch` returns seconds from a clock that never goes back. Without an embedder, or for a query it has no
    vector for, words answer alone. A query without a single term finds the newest memories.
    """
    stages = Stages(stopwatch)
    if not question_terms(query.text):
        return _newest(snapshot, query, stages)
    profile = PROFILES_BY_NAME[query.profile]
    vector, embed_error = _vector(snapshot, query, embedder)
    stages.lap("embed")
    sought = _sought(snapshot, query, profile, vector, embedder)
    stages.lap("question")
    find = literal_hits if profile.literal else measured_hits
    found = find(snapshot, _shortlisted(sought), profile, stages.lap)
    looked = _second_look(snapshot, sought, found.hits, stages)
    hits = arranged(snapshot, _explained(query, looked), sought)
    stages.lap("order")
    return Recalled(
        hits=hits,
        anchor_count=found.anchors,
        weights=found.weights,
        embedding=None if embedder is None or vector is None else embedder.name,
        hint=SPARSE_RESULTS if len(hits) < query.limit / 2 else None,
        stages_ms=stages.ms,
        embed_error=embed_error,
        intent=sought.intent,
        intent_source=_intent_source(query),
        mode=found.mode,
        traversed=found.traversed,
        window=sought.window,
        seed=found.seed,
        draws=found.draws,
        trust=found.trust,
        profile=profile.name,
        reranked=looked.applied,
        not_reranked=looked.reason,
    )


def _shortlisted(sought: Sought) -> Sought:
    """The same question for as many results as a second look wants."""
    query = sought.query
    if not query.rerank or query.limit >= SHORTLIST:
        return sought
    return sought._replace(query=msgspec.structs.replace(query, limit=SHORTLIST))


def _second_look(snapshot: Snapshot, sought: Sought, hits: Sequence[Hit], stages: Stages) -> Reranked:
    """The best of `hits`, after a reranker had its say where one is wanted."""
    query = sought.query
    if not query.rerank:
        return Reranked(tuple(hits), applied=False)
    looked = rerank(snapshot, Asked(query.text, query.filter.scope, query.now_us or 0), hits)
    stages.lap("rerank")
    return looked._replace(hits=looked.hits[: query.limit])


def _explained(query: Query, looked: Reranked) -> Sequence[Hit]:
    """With what puts each above the next, which parts tell of the first look alone."""
    return compared(looked.hits) if query.explain and not looked.applied else looked.hits


def needs_vector(snapshot: Snapshot, query: Query) -> bool:
    """Whether an embedder of the snapshot's vectors, if there is one, has anything to say to a query."""
    return "vector" in query.anchors and snapshot.embedded > 0 and bool(question_terms(query.text))


def _vector(snapshot: Snapshot, query: Query, embedder: Embedder | None) -> tuple[Vector | None, str | None]:
    """None when the vector anchor has nothing to go by: not wanted, no model, no direction, or another dimension.

    With it, why the embedder is not to be had, when it should be.
    """
    if embedder is None or not needs_vector(snapshot, query):
        return None, None
    return question_vector(snapshot, query.text, embedder)


def _sought(
    snapshot: Snapshot, query: Query, profile: Profile, vector: Vector | None, embedder: Embedder | None
) -> Sought:
    intent = query.intent or intent_of(query.text)
    named = None if query.now_us is None else query_window(query.text, query.now_us)
    if named is None:
        return Sought(query, intent, None, vector, embedder, snapshot.visible(query.filter))
    window = Window(named.start_us, named.end_us, named.hard and profile.hard_windows)
    visible = snapshot.visible(_within(query.filter, window) if window.hard else query.filter)
    if window.hard and visible is not None and not visible.any():  # nothing is from then: say what there is
        window = msgspec.structs.replace(window, hard=False)
        visible = snapshot.visible(query.filter)
    return Sought(query, intent, window, vector, embedder, visible)


def _within(wanted: Filter, window: Window) -> Filter:
    return msgspec.structs.replace(wanted, window=Span(window.start_us, window.end_us))


def _newest(snapshot: Snapshot, query: Query, stages: Stages) -> Recalled:
    """What a query of nothing but function words and punctuation gets."""
    newest = [
        Hit(insight, 0.0, "low", ("recency",), Signals(keyword=0.0, entity=0.0, similarity=0.0, graph=0.0))
        for insight in snapshot.newest(query.filter, query.limit)
    ]
    intent = query.intent or intent_of(query.text)
    hits = arranged(snapshot, newest, Sought(query, intent, None, None, None, None))
    stages.lap("select")
    return Recalled(
        hits=hits,
        anchor_count=len(hits),
        weights=dict(NO_WEIGHTS),
        embedding=None,
        hint=EMPTY_QUERY,
        stages_ms=stages.ms,
        intent=intent,
        intent_source=_intent_source(query),
        profile=query.profile,
        not_reranked=SHORT_QUERY if query.rerank else None,
    )


def _intent_source(query: Query) -> Literal["auto", "given"]:
    return "auto" if query.intent is None else "given"
