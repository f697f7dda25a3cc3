"""The methods that only look: recall, get and list. They touch the snapshot and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import trio

from mnemond.errors import FieldProblem, invalid
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.lookup import one_active
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import CATEGORIES, Scope
from mnemond.model.recall import ANCHORS, Filter, Query, Recalled
from mnemond.pipelines.fields import choice_problems, time_problems
from mnemond.pipelines.recall import recall
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

INLINE_CELLS = 8_000_000
"""Matrix cells (rows times dimensions) a recall may scan on the event loop: about 2 ms of float32 products
(measured 7.5 ms for 25.6 M cells); a larger scan goes to a thread so that no other client waits for it."""

THREADS = 2
"""Recalls in threads at once. More of them only fight the event loop for the interpreter: with 8 × 60 pipelined recalls
over 100,000 memories and trio's forty threads a ping took 121 ms at the median."""


class ReadHandlers:
    """Each read takes one snapshot and answers from it."""

    def __init__(self, door: StoreDoor, stopwatch: Callable[[], float]) -> None:
        self._door = door
        self._stopwatch = stopwatch
        self._threads = trio.CapacityLimiter(THREADS)

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
        inline = warm.embedder is None or warm.embedder.inline
        if inline and snapshot.rows * snapshot.dimension <= INLINE_CELLS:
            return self._answer(warm, snapshot, params)
        return trio.to_thread.run_sync(self._answer, warm, snapshot, params, limiter=self._threads)

    def _answer(self, warm: OpenStore, snapshot: Snapshot, params: RecallParams) -> RecallResult:
        started = self._stopwatch()
        query = Query(
            text=params.query,
            limit=params.limit,
            filter=_filter(params),
            anchors=ANCHORS if params.anchors is None else frozenset(params.anchors),
        )
        found = recall(snapshot, query, warm.embedder, self._stopwatch)
        results = [views.recall_hit(hit) for hit in found.hits]
        took_ms = round((self._stopwatch() - started) * 1e6) / 1e3
        return warm.marked(RecallResult(results=results, meta=_meta(warm, found, took_ms)))


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
