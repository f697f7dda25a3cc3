"""Read path: from a question to ranked memories, on one snapshot and without I/O.

Which rows a reader may see is decided before anything is ranked: no hidden row takes a place, gives a neighbour its
words or its name, or has a part in the scale of the signals. What is counted over the whole store: how rare a word is,
how long memories are on average, and how many of them are too many for a relative of a word.
"""

from __future__ import annotations

import math
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
from mnemond.pipelines.measured_recall import NAMED, measured_hits
from mnemond.pipelines.naming import names_in, naming
from mnemond.pipelines.read_policy import DEFAULT, ReadPolicy
from mnemond.pipelines.reranking import SHORT_QUERY, Asked, Reranked, rerank
from mnemond.pipelines.result_order import arranged
from mnemond.pipelines.sought import NO_WEIGHTS, SPARSE_RESULTS, Found, Sought
from mnemond.pipelines.standing import CONSIDERED, weighed
from mnemond.rank.confidence import label
from mnemond.rank.profiles import Profile
from mnemond.rank.rrf import Ranking, reciprocal_rank_fusion
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


def recall(
    snapshot: Snapshot,
    query: Query,
    embedder: Embedder | None,
    stopwatch: Callable[[], float],
    policy: ReadPolicy = DEFAULT,
) -> Recalled:
    """The best `query.limit` visible memories, with the signals that put them there.

    `stopwatch` returns seconds from a clock that never goes back. Without an embedder, or for a query it has no
    vector for, words answer alone. A query without a single term finds what it names, and the newest memories.
    """
    stages = Stages(stopwatch)
    profile = policy.ranking(query.profile)
    if not question_terms(query.text):
        return _newest(snapshot, query, profile, stages)
    vector, embed_error = _vector(snapshot, query, embedder)
    stages.lap("embed")
    sought = _sought(snapshot, query, profile, vector, embedder)
    stages.lap("question")
    find = measured_hits if profile.fusion == "measured" else literal_hits
    found = find(snapshot, _shortlisted(sought, profile, policy), profile, stages.lap)
    weighed_hits = _weighed(snapshot, sought, profile, found.hits, stages)
    looked = _second_look(snapshot, sought, weighed_hits, policy, stages)
    hits = arranged(snapshot, _explained(query, looked, profile), sought)
    stages.lap("order")
    told = _recalled(sought, profile, found, looked, hits)
    return msgspec.structs.replace(
        told,
        embedding=None if embedder is None or vector is None else embedder.name,
        stages_ms=stages.ms,
        embed_error=embed_error,
    )


def _recalled(sought: Sought, profile: Profile, found: Found, looked: Reranked, hits: tuple[Hit, ...]) -> Recalled:
    query = sought.query
    return Recalled(
        hits=hits,
        anchor_count=found.anchors,
        weights=found.weights,
        embedding=None,
        hint=SPARSE_RESULTS if len(hits) < query.limit / 2 else None,
        stages_ms={},
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


def _shortlisted(sought: Sought, profile: Profile, policy: ReadPolicy) -> Sought:
    """The same question for as many results as what comes after the ranking wants."""
    query = sought.query
    most = max(
        query.limit,
        policy.second_look.shortlist if query.rerank else 0,
        CONSIDERED if profile.prior.weight > 0.0 else 0,
    )
    return sought if most == query.limit else sought._replace(query=msgspec.structs.replace(query, limit=most))


def _weighed(
    snapshot: Snapshot, sought: Sought, profile: Profile, hits: Sequence[Hit], stages: Stages
) -> Sequence[Hit]:
    """With what speaks for each whatever is asked, where a profile minds it."""
    if profile.prior.weight <= 0.0:
        return hits
    found = weighed(snapshot, hits, sought.query.now_us, profile)
    stages.lap("prior")
    return found


def _second_look(
    snapshot: Snapshot, sought: Sought, hits: Sequence[Hit], policy: ReadPolicy, stages: Stages
) -> Reranked:
    """The best of `hits`, after a reranker had its say where one is wanted."""
    query = sought.query
    if not query.rerank:
        return Reranked(tuple(hits[: query.limit]), applied=False)
    asked = Asked(query.text, query.filter.scope, query.now_us or 0)
    looked = rerank(snapshot, asked, hits, policy=policy.second_look)
    stages.lap("rerank")
    return looked._replace(hits=looked.hits[: query.limit])


def _explained(query: Query, looked: Reranked, profile: Profile) -> Sequence[Hit]:
    """With what puts each above the next, which parts tell of the first look alone, and in the default ranking not of a
    prior either."""
    plain = not looked.applied and (profile.fusion != "measured" or profile.prior.weight <= 0.0)
    return compared(looked.hits) if query.explain and plain else looked.hits


def needs_vector(snapshot: Snapshot, query: Query) -> bool:
    """Whether an embedder of the snapshot's vectors, if there is one, has anything to say to a query."""
    wanted = query.anchors is None or "vector" in query.anchors
    return wanted and snapshot.embedded > 0 and bool(question_terms(query.text))


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


def _newest(snapshot: Snapshot, query: Query, profile: Profile, stages: Stages) -> Recalled:
    """What a query of nothing but function words and punctuation gets: what it names ("The Who"), and the newest."""
    visible = snapshot.visible(query.filter)
    named = naming(snapshot, names_in(snapshot, query.text), visible, profile.top_k)
    newest = snapshot.newest_rows(visible, query.limit)
    lists = {"entity": named.rows, "recency": newest}
    fused = reciprocal_rank_fusion(snapshot, [Ranking(rows) for rows in lists.values() if len(rows)], profile.rrf_k)
    shares = dict(zip(named.rows.tolist(), named.shares.tolist(), strict=True))
    found = {name: frozenset(rows.tolist()) for name, rows in lists.items()}
    hits = [
        _unasked(snapshot, row, [name for name, rows in found.items() if row in rows], shares.get(row, 0.0), profile)
        for row in fused.rows[: query.limit].tolist()
    ]
    intent = query.intent or intent_of(query.text)
    stages.lap("select")
    return Recalled(
        hits=arranged(snapshot, hits, Sought(query, intent, None, None, None, None)),
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


def _unasked(snapshot: Snapshot, row: int, via: Sequence[str], share: float, profile: Profile) -> Hit:
    """A result for which no word speaks, but perhaps a name."""
    evidence = label(math.sqrt(NAMED * share), profile.confidence)
    signals = Signals(keyword=0.0, entity=min(1.0, share), similarity=0.0, graph=0.0)
    return Hit(snapshot.insight(row), 0.0, evidence, tuple(via), signals)


def _intent_source(query: Query) -> Literal["auto", "given"]:
    return "auto" if query.intent is None else "given"
