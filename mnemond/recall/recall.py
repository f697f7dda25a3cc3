"""Read path: from a query to ranked memories, on one snapshot and without I/O.

Rows are filtered before the ranking: no hidden row takes a place, lends words or its name to a neighbour, or affects
the scale of the signals. Only word rarity, average length, and the limit for lists of similar words are computed over
the whole store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from mnemond.config.reading import RerankSettings, RetrievalSettings
from mnemond.embed.embedder import Embedder
from mnemond.index.bm25 import Bm25
from mnemond.index.passages import PassageSnapshot
from mnemond.index.snapshot import Snapshot
from mnemond.memory.feedback import with_feedback
from mnemond.model.answers import (
    RecallMeta,
    RerankMeta,
    Signals,
    WindowView,
    six,
)
from mnemond.model.changes import Vector
from mnemond.model.memory import SUMMARIZED, format_us, parse_rfc3339
from mnemond.model.query import (
    CONFIDENCES,
    Confidence,
    Filter,
    Hit,
    Query,
    Recalled,
    Span,
    Window,
)
from mnemond.recall.causal_order import with_causes
from mnemond.recall.default_profile import NAMED, measured_hits
from mnemond.recall.fusion import RankedList, reciprocal_rank_fusion
from mnemond.recall.passages import considers_passages, passages_for, with_passages
from mnemond.recall.profiles import CONSIDERED, MNEMOND, PROFILES_BY_NAME, Profile, apply_priors, label, profile_named
from mnemond.recall.published_profiles import literal_hits
from mnemond.recall.question import entity_matches, question_entities, question_terms, question_vector
from mnemond.recall.rerank import SHORT_QUERY, Relevances, Reranked, RerankRequest, rerank, texts_to_rerank
from mnemond.recall.result_order import (
    SPARSE_RESULTS,
    RankingRequest,
    RankingResult,
    arranged,
    compared,
    sure_hits,
    with_own_project_first,
    with_summaries,
)
from mnemond.recall.session_outline import asks_for_last_session
from mnemond.recall.unasked import Reader, judge
from mnemond.text.cues import intent_of
from mnemond.text.query_window import query_window
from mnemond.text.tokens import index_terms

EMPTY_QUERY = "empty_query"

LOADING: Final = "loading"
"""Hint of an answer while what is kept of sessions is being loaded: the oldest exchanges may be missing."""


class Stages:
    """Durations of the stages in milliseconds, to the microsecond, in order."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._last = stopwatch()
        self.ms: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Record the time since the last lap."""
        now = self._stopwatch()
        self.ms[name] = round((now - self._last) * 1e6) / 1e3
        self._last = now


class Pool(NamedTuple):
    """The ranked candidates of a question, before reranking and the cut; see `recall`."""

    snapshot: Snapshot
    query: Query
    request: RankingRequest
    profile: Profile
    reranking: RerankSettings
    found: RankingResult
    hits: Sequence[Hit]
    stages: Stages
    embed_error: str | None
    passages: Sequence[Hit] = ()
    record: PassageSnapshot | None = None

    @property
    def texts(self) -> list[str]:
        """The texts whose relevance a reranker is to judge; none if the query wants no reranking or is short."""
        return texts_to_rerank(self.query.text, self.hits, self.reranking) if self.query.rerank else []


def recall(
    snapshot: Snapshot,
    query: Query,
    embedder: Embedder | None,
    stopwatch: Callable[[], float],
    settings: RetrievalSettings | None = None,
    passages: PassageSnapshot | None = None,
) -> Recalled:
    """Return the best `query.limit` visible memories, and passages among them, with their signals.

    `settings`: those of the store; None: those of the published ranking. `stopwatch` returns seconds of a monotonic
    clock. Without a query vector, keywords answer alone. A query without terms finds memories by entities, and the
    newest.
    """
    pool = candidates(snapshot, query, embedder, stopwatch, settings, passages)
    return pool if isinstance(pool, Recalled) else answered(pool)


def candidates(
    snapshot: Snapshot,
    query: Query,
    embedder: Embedder | None,
    stopwatch: Callable[[], float],
    settings: RetrievalSettings | None = None,
    passages: PassageSnapshot | None = None,
) -> Pool | Recalled:
    """Return the candidates of `recall`, for `answered`; the whole answer to a query without terms."""
    stages = Stages(stopwatch)
    profile = PROFILES_BY_NAME[query.profile] if settings is None else profile_named(query.profile, settings)
    reranking = profile.settings.rerank if settings is None else settings.rerank
    beside = passages if passages is not None and passages.live and considers_passages(query) else None
    if not question_terms(query.text):
        newest = _newest(snapshot, query, profile, stages)
        said = [] if beside is None else passages_for(beside, query, None, query.limit)
        is_answered = bool(said) and asks_for_last_session(query.text)
        memories = () if query.kind == "passage" or is_answered else newest.hits
        return msgspec.structs.replace(newest, hits=with_passages(beside, memories, said, query.limit))
    vector, embed_error = None, None
    if embedder is not None and (needs_vector(snapshot, query) or beside is not None):
        vector, embed_error = question_vector(snapshot, query.text, embedder)
    stages.lap("embed")
    request = _request(snapshot, query, profile, vector, embedder)
    stages.lap("question")
    rank = measured_hits if profile.fusion == "measured" else literal_hits
    here = query.here if snapshot.projects else ""
    summed = snapshot.has_channel(SUMMARIZED)
    wanted = _with_spare_results(request, profile, reranking, here, has_summaries=summed)
    found = rank(snapshot, wanted, profile, stages.lap)
    ranked: Sequence[Hit] = found.hits
    if profile.settings.prior.weight > 0.0:
        ranked = apply_priors(snapshot, ranked, query.now_us, profile)
        stages.lap("prior")
    if profile.settings.feedback_weight > 0.0:
        ranked = with_feedback(ranked, profile.settings.feedback_weight)
    if here:
        ranked = with_own_project_first(ranked, here)
    ranked = with_summaries(snapshot, ranked, query.budget)
    said = []
    if beside is not None:
        own = vector if embedder is not None and embedder.fingerprint == beside.made_by else None
        said = passages_for(beside, query, own, query.considered)
        stages.lap("passages")
    return Pool(snapshot, query, request, profile, reranking, found, ranked, stages, embed_error, said, beside)


def answered(pool: Pool, given: Relevances | None = None) -> Recalled:
    """Return the answer of `recall`; `given`: what a model says of `pool.texts`, None for the lexical reranker."""
    snapshot, query, request, profile, reranking, found, ranked, stages, embed_error, said, record = pool
    reranked = _rerank(snapshot, query, ranked, reranking, given, stages)
    every = reranked.hits
    reranked = reranked._replace(hits=tuple(hit for hit in every if _is_confident(hit, query.min_confidence)))
    best = _explained(query, reranked, profile)
    if request.intent == "WHY" and profile.fusion == "measured" and found.mode == "none" and query.mode is None:
        best = with_causes(snapshot, best, request.visible, query.limit)
    if query.explain and profile.fusion == "measured":
        best = _with_judgement(snapshot, request, best)
    if query.kind == "passage":
        best = []
    said = [hit for hit in said if _is_confident(hit, query.min_confidence)]
    hits = with_passages(record, arranged(snapshot, best, query, request.intent), said, query.considered)
    if query.sure:
        hits = tuple(sure_hits(hits, query.here)[: query.limit])
    stages.lap("order")
    is_loading = record is not None and bool(record.waiting)
    meta = RecallMeta(
        intent=request.intent,
        intent_source=_intent_source(query),
        anchor_count=found.anchors,
        traversed=found.traversed,
        mode=found.mode,
        weights=tuple(round(weight, 6) for weight in found.weights.values()),
        embedding=None if request.embedder is None or request.vector is None else request.embedder.name,
        window=_window_view(request.window),
        hint=LOADING if is_loading else SPARSE_RESULTS if len(hits) < query.limit / 2 else None,
        rerank=RerankMeta(reranked.applied, reranked.reason),
        stages_ms=stages.ms,
        took_ms=0.0,
        store="",
        profile=profile.name,
        trust=round(found.trust, 6),
        seed=found.seed,
        draws=found.draws,
        nothing_fits=not is_loading and not any(_is_confident(hit, "medium") for hit in (*every, *said)),
        left_out=len(every) - len(reranked.hits),
        missing=found.missing,
        known_share=round(found.known_share, 6),
    )
    return Recalled(hits, meta, embed_error, query.here)


SPARE_SUMMARIES: Final = 5
"""Results beyond the limit that may take the places of summaries which are left out."""


def _with_spare_results(
    request: RankingRequest, profile: Profile, reranking: RerankSettings, here: str, *, has_summaries: bool
) -> RankingRequest:
    """Raise the limit to the number of results that priors, the reranker, the preference for a project and the choice
    between summaries and their sources consider."""
    query = request.query
    most = max(
        query.considered,
        CONSIDERED if here else 0,
        reranking.shortlist if query.rerank else 0,
        query.considered + SPARE_SUMMARIES if has_summaries else 0,
        CONSIDERED if max(profile.settings.prior.weight, profile.settings.feedback_weight) > 0.0 else 0,
    )
    return request if most == query.limit else request._replace(query=msgspec.structs.replace(query, limit=most))


def _rerank(
    snapshot: Snapshot,
    query: Query,
    hits: Sequence[Hit],
    settings: RerankSettings,
    given: Relevances | None,
    stages: Stages,
) -> Reranked:
    """Rerank if the query says so, and cut to the results that it considers."""
    if not query.rerank:
        return Reranked(tuple(hits[: query.considered]), applied=False)
    request = RerankRequest(query.text, query.filter.scope, query.now_us or 0)
    reranked = rerank(snapshot, request, hits, settings, given)
    stages.lap("rerank")
    return reranked._replace(hits=reranked.hits[: query.considered])


def _is_confident(hit: Hit, least: Confidence) -> bool:
    return CONFIDENCES.index(hit.confidence) >= CONFIDENCES.index(least)


def _explained(query: Query, reranked: Reranked, profile: Profile) -> Sequence[Hit]:
    """Compare each result with the next, if the parts sum up to the final scores: not after reranking, with feedback,
    nor with priors in the default ranking."""
    changed = reranked.applied or profile.settings.feedback_weight > 0.0
    complete = not changed and (profile.fusion != "measured" or profile.settings.prior.weight <= 0.0)
    return compared(reranked.hits) if query.explain and complete else reranked.hits


def _with_judgement(snapshot: Snapshot, request: RankingRequest, hits: Sequence[Hit]) -> list[Hit]:
    """Add to the best results if they would be told unasked, with a prompt of the words of the question."""
    found = [] if request.reader is None else judge(snapshot, hits, request.reader)
    explained = [
        hit
        if hit.explanation is None
        else msgspec.structs.replace(hit, explanation=msgspec.structs.replace(hit.explanation, unasked=each))
        for hit, each in zip(hits, found, strict=False)
    ]
    return [*explained, *hits[len(found) :]]


FIRST_US, LAST_US = parse_rfc3339("0001-01-01T00:00:00Z"), parse_rfc3339("9999-12-31T00:00:00Z")


def _window_view(window: Window | None) -> WindowView | None:
    """Render a window; an open side ends with the first or last day that can be written."""
    if window is None:
        return None
    since, until = (format_us(min(max(us, FIRST_US), LAST_US)) for us in (window.start_us, window.end_us))
    return WindowView(since, until, window.hard)


def needs_vector(snapshot: Snapshot, query: Query) -> bool:
    """Return True if the vector of a query can affect its answer."""
    wanted = query.anchors is None or "vector" in query.anchors
    return wanted and snapshot.embedded > 0 and bool(question_terms(query.text))


def _request(
    snapshot: Snapshot, query: Query, profile: Profile, vector: Vector | None, embedder: Embedder | None
) -> RankingRequest:
    intent = query.intent or intent_of(query.text)
    reader = Reader(snapshot, query.text, vector, embedder)
    named = None if query.now_us is None else query_window(query.text, query.now_us)
    if named is None:
        return RankingRequest(query, intent, None, vector, embedder, snapshot.visible(query.filter), reader)
    window = Window(named.start_us, named.end_us, named.hard and profile.hard_windows)
    within = msgspec.structs.replace(query.filter, window=Span(window.start_us, window.end_us))
    visible = snapshot.visible(within if window.hard else query.filter)
    if window.hard and visible is not None and not visible.any():  # nothing in the window: answer with all
        window = msgspec.structs.replace(window, hard=False)
        visible = snapshot.visible(query.filter)
    return RankingRequest(query, intent, window, vector, embedder, visible, reader)


def _newest(snapshot: Snapshot, query: Query, profile: Profile, stages: Stages) -> Recalled:
    """Answer a query of only function words and punctuation: by entities ("The Who"), and the newest memories."""
    visible = snapshot.visible(query.filter)
    anchors = profile.settings.anchors
    named = entity_matches(snapshot, question_entities(snapshot, query.text), visible, anchors.top_k)
    lists = {"entity": named.rows, "recency": snapshot.newest_rows(visible, query.limit)}
    fused = reciprocal_rank_fusion(snapshot, [RankedList(rows) for rows in lists.values() if len(rows)], anchors.rrf_k)
    shares = dict(zip(named.rows.tolist(), named.shares.tolist(), strict=True))
    found = {name: frozenset(rows.tolist()) for name, rows in lists.items()}
    hits = [
        _hit_without_terms(
            snapshot, row, [name for name, rows in found.items() if row in rows], shares.get(row, 0.0), profile
        )
        for row in fused.rows[: query.limit].tolist()
    ]
    intent = query.intent or intent_of(query.text)
    stages.lap("select")
    ordered = arranged(snapshot, sure_hits(hits, query.here) if query.sure else hits, query, intent)
    meta = _unranked(
        ordered, stages.ms, intent=intent, intent_source=_intent_source(query), hint=EMPTY_QUERY,
        rerank=RerankMeta(reason=SHORT_QUERY if query.rerank else None), profile=query.profile,
    )  # fmt: skip
    return Recalled(ordered, meta, here=query.here)


def _unranked(hits: Sequence[Hit], stages_ms: dict[str, float], **fields: object) -> RecallMeta:
    """Details of an answer without a ranking."""
    meta = RecallMeta(
        intent="GENERAL", intent_source="none", anchor_count=len(hits), traversed=0, mode="none", weights=(0.0,) * 4,
        embedding=None, window=None, hint=None, rerank=RerankMeta(), stages_ms=stages_ms, took_ms=0.0, store="",
    )  # fmt: skip
    return msgspec.structs.replace(meta, **fields)


def _hit_without_terms(snapshot: Snapshot, row: int, via: Sequence[str], share: float, profile: Profile) -> Hit:
    evidence = label(math.sqrt(NAMED * share), profile.confidence)
    signals = Signals(keyword=0.0, entity=six(min(1.0, share)), similarity=0.0, graph=0.0)
    return Hit(snapshot.insight(row), 0.0, evidence, tuple(via), signals)


def _intent_source(query: Query) -> Literal["auto", "override"]:
    return "auto" if query.intent is None else "override"


# recall --basic: memories whose text contains the query, newest first
#
# As SQL's `content LIKE '%' || query || '%'` with %, _ and \ escaped, but by Unicode case folding instead of ASCII.


Steps: TypeAlias = Iterator[Recalled | None]

STEP = 1_000
"""Short rows in one step: about 1 ms.

100,000 texts of 180 characters take 60 to 90 ms. A scan by SQLite takes 30, but blocks the writing thread, and has
neither the filters nor the generation of other reads. While a separate thread scans, other requests wait 5.3 ms at the
median for the interpreter; with a scan in steps .6 ms.
"""

CHARACTERS = 100_000
"""Characters in one step: 2 ms of text other than ASCII, which is folded letter by letter."""

PACK = 10
"""Rows between checks of the characters read: few enough not to exceed a step by much."""


def basic_steps(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Steps:
    """Yield None after each `STEP` rows or `CHARACTERS`, at the end the `query.limit` newest visible memories with
    `query.text`. `stopwatch` returns seconds.

    An empty text is in every memory. Scores and signals are 0 and the confidence is low.
    """
    started = stopwatch()
    text = query.text.casefold()
    found: list[Hit] = []
    mask = snapshot.visible(query.filter)
    rows = np.arange(snapshot.rows) if mask is None else np.flatnonzero(mask)
    rows = rows[np.argsort(snapshot.columns.created_us[rows], kind="stable")[::-1]]  # of equal times the later stored
    unread = CHARACTERS
    for start in range(0, len(rows), PACK):
        pack = [snapshot.insight(row) for row in rows[start : start + PACK].tolist()]
        found += [
            Hit(insight, 0.0, "low", ("basic",), Signals(0.0, 0.0, 0.0, 0.0))
            for insight in pack
            if text in insight.content.casefold()
        ]
        if len(found) >= query.limit:
            break
        unread -= sum(len(insight.content) for insight in pack)
        if unread <= 0 or (start + PACK) % STEP == 0:
            yield None
            unread = CHARACTERS
    del found[query.limit :]
    stages_ms = {"select": round((stopwatch() - started) * 1e6) / 1e3}
    hint = SPARSE_RESULTS if len(found) < query.limit / 2 else None
    yield Recalled(tuple(found), _unranked(found, stages_ms, mode="basic", hint=hint), here=query.here)


def recall_basic(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Recalled:
    """Run all steps of `basic_steps` at once."""
    *_, found = basic_steps(snapshot, query, stopwatch)
    assert found is not None, "the answer comes last"  # noqa: S101
    return found


def is_quick(snapshot: Snapshot) -> bool:
    """Return True if `basic_steps` needs only one step, whatever the query."""
    if snapshot.rows > STEP:
        return False
    return sum(len(snapshot.insight(row).content) for row in range(snapshot.rows)) <= CHARACTERS


# search: memories by keywords alone


def search(snapshot: Snapshot, text: str, wanted: Filter, limit: int, parameters: Bm25 = MNEMOND.bm25) -> list[Hit]:
    """The `limit` best visible memories that have a word of `text`, best first; ties as in `Snapshot.best`. Scores are
    BM25, as a part of what no memory can reach for these words, which is the keyword signal as well."""
    terms = index_terms(text)
    if not terms:
        return []
    scores, bound = snapshot.keyword(terms, parameters)
    mask = snapshot.visible(wanted)
    rows = None if mask is None else np.flatnonzero(mask)
    if rows is not None:
        scores = scores[rows]
    scores = np.where(scores > 0.0, scores, np.float32(-1.0))  # a negative score is never chosen
    places = snapshot.best(scores, limit, rows)
    found = places if rows is None else rows[places]
    shares = [round(score / bound, 6) for score in scores[places].tolist()]
    return [
        Hit(it, share, label(share, MNEMOND.confidence), ("keyword",), Signals(share, 0.0, 0.0, 0.0))
        for it, share in zip(map(snapshot.insight, found.tolist()), shares, strict=True)
    ]


def searched(snapshot: Snapshot, text: str, wanted: Filter, limit: int, stopwatch: Callable[[], float]) -> Recalled:
    """Return the results of `search` with the details of a recall. `stopwatch` returns seconds."""
    started = stopwatch()
    found = search(snapshot, text, wanted, limit)
    stages_ms = {"select": round((stopwatch() - started) * 1e6) / 1e3}
    hint = SPARSE_RESULTS if len(found) < limit / 2 else None
    return Recalled(tuple(found), _unranked(found, stages_ms, mode="search", hint=hint))
