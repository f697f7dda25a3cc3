"""Methods of the history: history, log, receipt and undo. They read the database in the writer's thread."""

from __future__ import annotations

import hashlib
from functools import partial
from heapq import merge
from itertools import islice

import msgspec
import trio

from mnemond.api.requests import Identities, moment_of, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_changes import HistoryParams, LogParams, ReceiptEvent, ReceiptPrivacy, ReceiptResult, UndoParams
from mnemond.clock import Clock
from mnemond.embed.embedder import UNKNOWN_WORDS
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.memory import undo
from mnemond.memory.cues import try_embed_memories
from mnemond.memory.history import NO_SUBJECT, past, subjects
from mnemond.model.answers import HistoryResult, LogLine
from mnemond.model.memory import TextWithCues, format_us
from mnemond.model.outcomes import UndoResult
from mnemond.store import operations
from mnemond.store.connection import Connection
from mnemond.wire.dispatch import Call, handles


class HistoryHandlers:
    """history, log, receipt, undo."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock

    @handles("history", in_task=True)
    async def history(self, call: Call, params: HistoryParams) -> HistoryResult:
        """Return the operations on a memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        warm, scope = await self._open_stores.use(params.store), scope_of(params)
        return warm.marked(await warm.store.read(lambda it: past(it, params.id, scope, params.limit)))

    @handles("log", in_task=True)
    async def log(self, call: Call, params: LogParams) -> list[LogLine]:
        """Return the newest operations. Raises MnemonError(INVALID_PARAMS)."""
        since = self._since(params)
        warm = await self._open_stores.use(params.store)

        def read(connection: Connection) -> list[LogLine]:
            lines = _newest_lines(connection, params, since)
            about = subjects(connection, {line.insight_id for line in lines if line.insight_id is not None})
            found = []
            for line in lines:
                words, purged = about.get(line.insight_id or "", NO_SUBJECT)
                found.append(msgspec.structs.replace(line, words=words, purged=purged))
            return found

        return await warm.store.read(read)

    @handles("receipt", in_task=True)
    async def receipt(self, call: Call, params: LogParams) -> ReceiptResult:
        """Return the newest operations with hashes in place of ids and details. Raises MnemonError(INVALID_PARAMS)."""
        since = self._since(params)
        warm = await self._open_stores.use(params.store)
        lines = await warm.store.read(partial(_newest_lines, params=params, since=since))
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

    def _since(self, params: LogParams) -> str:
        problems: list[FieldProblem] = []
        moment = moment_of("since", params.since, problems, self._clock.now_us())
        if problems:
            raise invalid(problems)
        return "" if moment is None else format_us(moment)

    @handles("undo", in_task=True)
    async def undo(self, call: Call, params: UndoParams) -> UndoResult:
        """Reverse one operation. Texts are embedded before the transaction, which checks everything again.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS, or INVALID_PARAMS if its changes were changed again since.
        """
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params, call=call)
        try:
            found = await warm.store.read(partial(undo.look, named=params.operation))
        except MnemonError:
            if params.op_id is None:
                raise
            found = undo.Found(params.operation)  # it may be a repeat, which the writer recognises by its op_id
        vectors = await _vectors(warm, found.texts)
        proposal = undo.propose(found, vectors, identity, warm.rules)
        result = await submitted(warm, proposal, UndoResult)
        try:
            about = await warm.store.read(partial(subjects, insight_ids={each.id for each in result.memories}))
        except MnemonError:
            return result  # it was done, which matters more
        memories = [
            msgspec.structs.replace(each, words=words, purged=purged)
            for each in result.memories
            for words, purged in [about.get(each.id, NO_SUBJECT)]
        ]
        return msgspec.structs.replace(result, memories=memories)


def _newest_lines(connection: Connection, params: LogParams, since: str) -> list[LogLine]:
    """Return the newest lines, newest first, recalls between writes."""
    lines = operations.newest_lines(connection, params.limit, since)
    recalls = operations.newest_recalls(connection, params.limit, since) if params.recalls else []
    return list(islice(merge(lines, recalls, key=_moment, reverse=True), params.limit))


def _moment(line: LogLine) -> str:
    return line.created_at


def _event(line: LogLine) -> ReceiptEvent:
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


async def _vectors(warm: OpenStore, texts: tuple[TextWithCues, ...]) -> undo.Vectors:
    if not texts or warm.embedder is None:
        return undo.Vectors({}, warm.embed_error)
    vectors, error = await trio.to_thread.run_sync(
        try_embed_memories, warm.embedder, texts, abandon_on_cancel=True, limiter=warm.threads
    )
    lacking = UNKNOWN_WORDS if any(vector is None for vector in vectors) else None
    return undo.Vectors(dict(zip(texts, vectors, strict=True)), error or lacking)
