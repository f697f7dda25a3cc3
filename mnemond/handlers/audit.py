"""The methods that tell what was done: history, log and receipt. They read the database, in the writer's thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from mnemond.clock import Clock
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.scope import scope_of
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight
from mnemond.model.timestamp import format_us
from mnemond.pipelines.logged import op_ids
from mnemond.pipelines.past import Past, past
from mnemond.protocol.audit import (
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
)
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store import oplog
from mnemond.store.connection import Connection
from mnemond.store.history import Record, State


class AuditHandlers:
    """history, log, receipt."""

    def __init__(self, door: StoreDoor, clock: Clock) -> None:
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
        lines = await warm.store.read(partial(oplog.newest, limit=params.limit))
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
        lines = oplog.newest(connection, params.limit)
        return [LogLine(*line, op_id) for line, op_id in zip(lines, op_ids(connection, lines), strict=True)]

    return await warm.store.read(told)


def _event(line: oplog.Line) -> ReceiptEvent:
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
