"""The methods that tell what was done: history, log and receipt. They read the database, in the writer's thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec
import trio

from mnemond.api import views
from mnemond.api.requests import Identities, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores, settle
from mnemond.api.types_changes import (
    ChainLink,
    EdgeState,
    HistoryParams,
    HistoryResult,
    LogLine,
    LogParams,
    MemoryOperation,
    MemoryState,
    ReceiptEvent,
    ReceiptParams,
    ReceiptPrivacy,
    ReceiptResult,
    UndoneView,
    UndoParams,
    UndoResult,
)
from mnemond.clock import Clock
from mnemond.embed.embedder import UNKNOWN_WORDS, try_embed
from mnemond.errors import MnemonError
from mnemond.memory import undo
from mnemond.memory.history import Past, op_ids, past
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.model.outcomes import Undone
from mnemond.store import operations
from mnemond.store.connection import Connection
from mnemond.store.history import Record, State
from mnemond.wire.dispatch import Call, Handler


class AuditHandlers:
    """history, log, receipt."""

    def __init__(self, door: OpenStores, clock: Clock) -> None:
        self._door = door
        self._clock = clock

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "history": self.history,
            "log": self.log,
            "receipt": self.receipt,
        }

    def history(self, call: Call, params: HistoryParams) -> object:
        """A memory's past. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        return self._door.through(params.store, lambda warm: _history(warm, params))

    def log(self, call: Call, params: LogParams) -> object:
        """What was done lately."""
        return self._door.through(params.store, lambda warm: _log(warm, params))

    def receipt(self, call: Call, params: ReceiptParams) -> object:
        """What was done lately, without saying to what."""
        return self._door.through(params.store, lambda warm: self._receipt(warm, params))

    async def _receipt(self, warm: OpenStore, params: ReceiptParams) -> ReceiptResult:
        lines = await warm.store.read(partial(operations.newest, limit=params.limit))
        return warm.marked(
            ReceiptResult(
                schema="mnemond.receipt.v1",
                generated_at=format_us(self._clock.now_us()),
                store=warm.store.name,
                limit=params.limit,
                count=len(lines),
                privacy=ReceiptPrivacy(),
                events=[_event(line) for line in lines],
            )
        )


async def _history(warm: OpenStore, params: HistoryParams) -> HistoryResult:
    scope = scope_of(params)

    def told(connection: Connection) -> HistoryResult:
        return _history_result(past(connection, params.id, scope, params.limit))

    return warm.marked(await warm.store.read(told))


def _history_result(found: Past) -> HistoryResult:
    return HistoryResult(
        id=found.id,
        chain=[ChainLink(insight_id, status) for insight_id, status in found.chain],
        operations=[_operation(record) for record in found.records],
        total_operations=found.total,
    )


def _operation(record: Record) -> MemoryOperation:
    return MemoryOperation(
        id=record.id,
        operation_type=record.operation_type,
        before_state=_state(record.before),
        after_state=_state(record.after),
        triggered_by=record.triggered_by,
        op_id=record.op_id,
        created_at=record.created_at,
        undoes=record.undoes,
    )


def _state(state: State | None) -> MemoryState | None:
    return None if state is None else _memory_state(state.insight, state.edges)


def _memory_state(it: Insight, edges: list[Edge]) -> MemoryState:
    return MemoryState(
        id=it.id,
        content=it.content,
        category=it.category,
        importance=it.importance,
        tags=it.tags,
        entities=it.entities,
        source=it.source,
        access_count=it.access_count,
        effective_importance=it.effective_importance,
        created_at=it.created_at,
        updated_at=it.updated_at,
        valid_from=it.valid_from,
        invalid_at=it.invalid_at,
        channel=it.channel,
        conversation_id=it.conversation_id,
        user_id=it.scope.user_id,
        session_id=it.scope.session_id,
        agent_id=it.scope.agent_id,
        status=it.status,
        metadata=msgspec.json.decode(it.metadata),
        pinned=it.pinned,
        superseded_by=it.superseded_by,
        paired_with=it.paired_with,
        corroboration_count=it.corroboration_count,
        edges=tuple(_edge(edge) for edge in _links(it.id, edges)),
    )


def _links(insight_id: str, edges: Sequence[Edge]) -> Iterator[Edge]:
    """Edges as people think of them: a link that leads both ways is stored as two, of which one is told: that from the
    memory itself, else from the smaller id."""
    for edge in edges:
        first = min(edge.source_id, edge.target_id, key=lambda end: (end != insight_id, end))
        if edge.edge_type == "causal" or edge.source_id == first:
            yield edge


def _edge(edge: Edge) -> EdgeState:
    metadata = msgspec.json.decode(edge.metadata)
    return EdgeState(edge.source_id, edge.target_id, edge.edge_type, edge.weight, metadata, edge.created_by)


async def _log(warm: OpenStore, params: LogParams) -> list[LogLine]:
    def told(connection: Connection) -> list[LogLine]:
        lines = operations.newest(connection, params.limit)
        return [LogLine(*line, op_id) for line, op_id in zip(lines, op_ids(connection, lines), strict=True)]

    return await warm.store.read(told)


def _event(line: operations.Line) -> ReceiptEvent:
    return ReceiptEvent(
        event_name=f"memory.{line.operation.replace(':', '.')}",
        operation=line.operation,
        created_at=line.created_at,
        insight_id_hash=None if line.insight_id is None else _hash(line.insight_id),
        detail_hash=_hash(line.detail) if line.detail else None,
        detail_present=bool(line.detail),
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# The method that takes one operation back.


class UndoHandlers:
    """undo."""

    def __init__(self, door: OpenStores, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "undo": self.undo,
        }

    def undo(self, call: Call, params: UndoParams) -> object:
        """Take one operation back. Raises MnemonError: NOT_FOUND, AMBIGUOUS, or INVALID_PARAMS when something it
        changed was changed again since."""
        return self._door.through(params.store, lambda warm: self._undo(warm, params))

    async def _undo(self, warm: OpenStore, params: UndoParams) -> object:
        """What has to be embedded again is, outside the transaction; there everything is looked at once more."""
        identity = self._identities.of(warm, params)
        try:
            found = await warm.store.read(partial(undo.look, named=params.operation))
        except MnemonError:
            if params.op_id is None:
                raise
            found = undo.Found(params.operation)  # a repeat of an undo that was carried out: the writer knows the op_id
        vectors = await _vectors(warm, found.texts)
        proposal = undo.propose(found, vectors, identity, warm.limits)
        return await settle(submitted(warm, proposal, undo_result))


async def _vectors(warm: OpenStore, texts: tuple[str, ...]) -> undo.Vectors:
    if not texts or warm.embedder is None:
        return undo.Vectors({}, warm.embed_error)
    vectors, error = await trio.to_thread.run_sync(
        try_embed, warm.embedder, texts, abandon_on_cancel=True, limiter=warm.threads
    )
    lacking = UNKNOWN_WORDS if any(vector is None for vector in vectors) else None
    return undo.Vectors(dict(zip(texts, vectors, strict=True)), error or lacking)


def undo_result(warm: OpenStore, outcome: Undone) -> UndoResult:
    """The reply."""
    return UndoResult(
        status="undone",
        undone=outcome.undone,
        method=outcome.method,
        memories=[UndoneView(each.id, each.became, views.conflicts(each.conflicts)) for each in outcome.memories],
        edges_restored=outcome.edges_restored,
        edges_removed=outcome.edges_removed,
        edges_missing=outcome.edges_missing,
        embed_error=outcome.embed_error,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
