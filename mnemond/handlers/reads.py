"""The methods that only look: recall, get and list. They touch the snapshot and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import trio

from mnemond.embed.asked import ask
from mnemond.embed.embedder import Embedder
from mnemond.errors import FieldProblem, invalid
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.lookup import one_active
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import CATEGORIES, Scope
from mnemond.model.recall import ANCHORS, Filter, Query, Recalled
from mnemond.pipelines.fields import choice_problems, time_problems
from mnemond.pipelines.recall import needs_vector, recall
from mnemond.protocol.memories import (
    GetParams,
    GetResult,
    ListParams,
    ListResult,
    RecallMeta,
    RecallParams,
    RecallResult,
    RerankMeta,
)
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler

INLINE_CELLS = 8_000_000
"""Matrix cells (rows times dimensions) a recall may scan on the event loop: about 2 ms of float32 products
(measured 7.5 ms for 25.6 M cells); a larger scan goes to a thread so that no other client waits for it."""

THREADS = 2
"""Recalls in threads at once. More of them only fight the event loop for the interpreter: with 8 × 60 pipelined recalls
over 100,000 memories and trio's forty threads a ping took 121 ms at the median."""


ASKING = 16
"""Queries being embedded in threads at once, where that takes long: they wait for an answer, not for the processor."""


class ReadHandlers:
    """Each read takes one snapshot and answers from it."""

    def __init__(self, door: StoreDoor, stopwatch: Callable[[], float]) -> None:
        self._door = door
        self._stopwatch = stopwatch
        self._threads = trio.CapacityLimiter(THREADS)
        self._asking = trio.CapacityLimiter(ASKING)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "recall": self.recall,
            "get": self.get,
            "list": self.list,
        }

    def recall(self, call: Call, params: RecallParams) -> object:
        """Find the memories that answer a question. Raises MnemonError(INVALID_PARAMS)."""
        problems = _category_problems(params.category)
        if params.now is not None:
            problems += time_problems("now", params.now)
        if problems:
            raise invalid(problems)
        return self._door.through(params.store, lambda warm: self._recall(warm, params))

    def get(self, call: Call, params: GetParams) -> object:
        """One memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        return self._door.through(params.store, lambda warm: _get(warm, params))

    def list(self, call: Call, params: ListParams) -> object:
        """One page of memories, newest first. Raises MnemonError(INVALID_PARAMS)."""
        if problems := _category_problems(params.category):
            raise invalid(problems)
        return self._door.through(params.store, lambda warm: _list(warm, params))

    def _recall(self, warm: OpenStore, params: RecallParams) -> object:
        snapshot = warm.store.snapshot
        embedder = warm.embedder_of(snapshot)
        looked = _Looked(warm, snapshot, embedder, _query(params), self._stopwatch())
        if embedder is not None and not embedder.inline and needs_vector(snapshot, looked.query):
            return self._asked_first(looked, embedder)
        if _is_small(snapshot):
            return self._answer(looked)
        return trio.to_thread.run_sync(self._answer, looked, limiter=self._threads)

    async def _asked_first(self, looked: _Looked, embedder: Embedder) -> RecallResult:
        """An embedder that takes long is asked where it takes no place from recalls that need none. Nobody waits for
        it after a stop."""
        answer = await trio.to_thread.run_sync(
            ask, embedder, looked.query.text, abandon_on_cancel=True, limiter=self._asking
        )
        asked_ms = (self._stopwatch() - looked.started) * 1e3
        looked = looked._replace(embedder=answer, asked_ms=asked_ms)
        if _is_small(looked.snapshot):
            return self._answer(looked)
        return await trio.to_thread.run_sync(self._answer, looked, limiter=self._threads)

    def _answer(self, looked: _Looked) -> RecallResult:
        warm = looked.warm
        found = recall(looked.snapshot, looked.query, looked.embedder, self._stopwatch)
        results = [views.recall_hit(hit) for hit in found.hits]
        took_ms = round((self._stopwatch() - looked.started) * 1e6) / 1e3
        meta = _meta(warm, found, took_ms)
        if looked.asked_ms is not None:
            meta.stages_ms["embed"] = round(looked.asked_ms * 1e3) / 1e3
        return warm.marked(RecallResult(results=results, meta=meta), found.embed_error)


class _Looked(NamedTuple):
    """A recall at work: what it looks at, and since when. `asked_ms`: what its embedder took, if asked before."""

    warm: OpenStore
    snapshot: Snapshot
    embedder: Embedder | None
    query: Query
    started: float
    asked_ms: float | None = None


def _is_small(snapshot: Snapshot) -> bool:
    return snapshot.rows * snapshot.dimension <= INLINE_CELLS


def _query(params: RecallParams) -> Query:
    return Query(
        text=params.query,
        limit=params.limit,
        filter=_filter(params),
        anchors=ANCHORS if params.anchors is None else frozenset(params.anchors),
    )


def _meta(warm: OpenStore, found: Recalled, took_ms: float) -> RecallMeta:
    return RecallMeta(
        intent="GENERAL",
        intent_source="none",
        anchor_count=found.anchor_count,
        traversed=0,
        mode="none",
        weights=tuple(found.weights.values()),
        embedding=found.embedding,
        window=None,
        hint=found.hint,
        rerank=RerankMeta(),
        stages_ms=found.stages_ms,
        took_ms=took_ms,
        store=warm.store.name,
    )


def _get(warm: OpenStore, params: GetParams) -> GetResult:
    insight = one_active(warm.store.snapshot, params.id)
    return warm.marked(GetResult(insight=views.insight_detail(insight)))


def _list(warm: OpenStore, params: ListParams) -> ListResult:
    snapshot = warm.store.snapshot
    page = snapshot.newest(_filter(params), params.limit + 1, _whole(snapshot, params.before))
    shown = page[: params.limit]
    following = shown[-1].id if len(page) > params.limit else None
    return warm.marked(ListResult(insights=[views.insight_view(it) for it in shown], next=following))


def _whole(snapshot: Snapshot, before: str | None) -> str | None:
    """The whole id where only its beginning was given; a retired memory is known by its whole id alone."""
    found = [] if before is None else snapshot.find(before.casefold())
    return found[0] if len(found) == 1 else before


def _filter(params: RecallParams | ListParams) -> Filter:
    return Filter(
        category=params.category,
        source=params.source,
        scope=Scope(params.user_id, params.session_id, params.agent_id),
        all_sessions=params.all_sessions,
    )


def _category_problems(category: str | None) -> list[FieldProblem]:
    return [] if category is None else choice_problems("category", category, CATEGORIES)
