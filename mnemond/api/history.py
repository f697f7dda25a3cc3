"""The methods that tell what was done: history, log and receipt. They read the database, in the writer's thread."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import trio

from mnemond.api.requests import Identities, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import HistoryParams, LogParams, ReceiptEvent, ReceiptPrivacy, ReceiptResult, UndoParams
from mnemond.clock import Clock
from mnemond.embed.embedder import UNKNOWN_WORDS, try_embed
from mnemond.errors import MnemonError
from mnemond.memory import undo
from mnemond.memory.history import Past, op_ids, past
from mnemond.model.answers import ChainLink, EdgeState, HistoryResult, LogLine, MemoryOperation, MemoryState
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.model.outcomes import UndoResult
from mnemond.store import operations
from mnemond.store.connection import Connection
from mnemond.store.history import Record, State
from mnemond.wire.dispatch import Call, handles


class AuditHandlers:
    """history, log, receipt."""

    def __init__(self, open_stores: OpenStores, clock: Clock) -> None:
        self._open_stores = open_stores
        self._clock = clock

    @handles("history", in_task=True)
    async def history(self, call: Call, params: HistoryParams) -> HistoryResult:
        """A memory's past. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        warm, scope = await self._open_stores.use(params.store), scope_of(params)

        def read(connection: Connection) -> HistoryResult:
            return _history_result(past(connection, params.id, scope, params.limit))

        return warm.marked(await warm.store.read(read))

    @handles("log", in_task=True)
    async def log(self, call: Call, params: LogParams) -> list[LogLine]:
        """What was done lately."""
        warm = await self._open_stores.use(params.store)

        def read(connection: Connection) -> list[LogLine]:
            lines = operations.newest_lines(connection, params.limit)
            return [LogLine(*line, op_id) for line, op_id in zip(lines, op_ids(connection, lines), strict=True)]

        return await warm.store.read(read)

    @handles("receipt", in_task=True)
    async def receipt(self, call: Call, params: LogParams) -> ReceiptResult:
        """What was done lately, without saying to what."""
        warm = await self._open_stores.use(params.store)
        lines = await warm.store.read(partial(operations.newest_lines, limit=params.limit))
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


def _event(line: operations.LogLine) -> ReceiptEvent:
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

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities

    @handles("undo", in_task=True)
    async def undo(self, call: Call, params: UndoParams) -> UndoResult:
        """Take one operation back. Raises MnemonError: NOT_FOUND, AMBIGUOUS, or INVALID_PARAMS when something it
        changed was changed again since.

        Texts are embedded again outside the transaction; inside it everything is checked once more.
        """
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        try:
            found = await warm.store.read(partial(undo.look, named=params.operation))
        except MnemonError:
            if params.op_id is None:
                raise
            found = undo.Found(params.operation)  # a repeat of an undo that was carried out: the writer knows the op_id
        vectors = await _vectors(warm, found.texts)
        proposal = undo.propose(found, vectors, identity, warm.rules)
        return await submitted(warm, proposal, UndoResult)


async def _vectors(warm: OpenStore, texts: tuple[str, ...]) -> undo.Vectors:
    if not texts or warm.embedder is None:
        return undo.Vectors({}, warm.embed_error)
    vectors, error = await trio.to_thread.run_sync(
        try_embed, warm.embedder, texts, abandon_on_cancel=True, limiter=warm.threads
    )
    lacking = UNKNOWN_WORDS if any(vector is None for vector in vectors) else None
    return undo.Vectors(dict(zip(texts, vectors, strict=True)), error or lacking)
