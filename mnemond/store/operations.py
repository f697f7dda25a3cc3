"""The `operations` table: the outcome of every write whose caller may repeat it."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from mnemond.errors import OP_ID_REUSED, MnemonError
from mnemond.model.changes import ChangeSet
from mnemond.model.edge import NO_METADATA
from mnemond.model.outcomes import Linked, Merged, Outcome, Remembered, Restored, Retained, Revised, Undone
from mnemond.model.timestamp import format_us
from mnemond.store.connection import Connection
from mnemond.store.damage import damaged
from mnemond.store.insertion import Insertion
from mnemond.store.proposal import Write

RETENTION_US = 7 * 86_400 * 1_000_000
"""How long an op_id is remembered, in microseconds (reliability rule 3: at least seven days)."""

_WORD = re.compile(r'"([^"\\]{1,64})"')
"""Short texts in JSON, ids among them."""

_RECORDED = Insertion(7, "operations", ("op_id", "method", "request_digest", "outcome", "created_at"))
_json = msgspec.json.Encoder()
_outcomes = msgspec.json.Decoder(Outcome)


def replay(connection: Connection, write: Write) -> Outcome | None:
    """The outcome this op_id already has, or None.

    Raises MnemonError(OP_ID_REUSED) when the op_id belongs to another request.
    """
    row = connection.row("SELECT method, request_digest, outcome FROM operations WHERE op_id = ?", (write.op_id,))
    if row is None:
        if connection.row("SELECT 1 FROM memory_operations WHERE op_id = ? LIMIT 1", (write.op_id,)) is not None:
            raise _reused("op_id names an operation of this store already")  # one the daemon chose, or a long past one
        return None
    method, digest, outcome = row
    if (method, digest) != (write.method, write.request_digest):
        raise _reused(f"op_id was already used by another {method} request")
    return msgspec.structs.replace(_decoded(write.op_id, outcome), replayed=True)


def _reused(sentence: str) -> MnemonError:
    return MnemonError(
        OP_ID_REUSED,
        f"{sentence}; nothing was written",
        hint="use a fresh op_id for each write, and the same one only to repeat the same write",
        outcome="rejected",
    )


def _decoded(op_id: str, text: str) -> Outcome:
    try:
        outcome: Outcome = _outcomes.decode(text)
    except (msgspec.MsgspecError, TypeError) as error:
        raise damaged(f"the outcome of operation {op_id[:64]!a}", error) from error
    return outcome


def record(connection: Connection, change_set: ChangeSet, outcome: Outcome) -> None:
    """Remember the outcome in the same transaction as the change."""
    encoded = _json.encode(outcome).decode()
    row = (change_set.op_id, change_set.method, change_set.request_digest, encoded, change_set.now)
    connection.add(_RECORDED, [row])


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Take all text, and whom they were for, out of the outcomes that are about memories, so that a repeat of their
    operations is still known.

    Raises MnemonError(STORAGE) for a damaged outcome.
    """
    gone = frozenset(insight_ids)
    about = {
        row[0]
        for each in gone
        for row in connection.rows("SELECT DISTINCT op_id FROM memory_operations WHERE memory_id = ?", (each,))
    }
    for op_id, outcome in connection.rows("SELECT op_id, outcome FROM operations"):
        if op_id in about or not gone.isdisjoint(_WORD.findall(outcome)):
            bare = _json.encode(_without_text(_decoded(op_id, outcome), gone)).decode()
            connection.run("UPDATE operations SET outcome = ? WHERE op_id = ?", (bare, op_id))


def _without_text(outcome: Outcome, gone: Collection[str]) -> Outcome:
    match outcome:
        case Remembered():
            bare = msgspec.structs.replace(outcome, reason="", notes=(), queries=(), conflicts=(), candidates=())
            if bare.id not in gone:
                return bare  # whom another memory is for is told of that one
            return msgspec.structs.replace(bare, user_id=None, session_id=None, agent_id=None)
        case Revised():
            return msgspec.structs.replace(outcome, notes=())
        case Merged():
            return msgspec.structs.replace(outcome, content="", notes=())
        case Linked():
            return msgspec.structs.replace(outcome, metadata=NO_METADATA)
        case Restored():
            return msgspec.structs.replace(outcome, conflicts=())
        case Undone():
            bare_memories = tuple(msgspec.structs.replace(each, conflicts=()) for each in outcome.memories)
            return msgspec.structs.replace(outcome, memories=bare_memories)
        case Retained():
            return msgspec.structs.replace(outcome, content="")
        case _:
            return outcome


def expire(connection: Connection, now_us: int) -> int:
    """Forget outcomes older than the retention; how many. Reads the whole table: for the opening of a store."""
    return connection.run("DELETE FROM operations WHERE created_at < ?", (format_us(now_us - RETENTION_US),))


def expire_some(connection: Connection, now_us: int, limit: int) -> int:
    """Forget outcomes older than the retention, `limit` at most, the first written first; how many.

    They stand in the order of writing, so it ends at the first that is kept: one from a clock that was ahead keeps
    those behind it until the store is opened again.
    """
    return connection.run(
        "DELETE FROM operations WHERE rowid IN (SELECT rowid FROM operations ORDER BY rowid LIMIT ?)"
        " AND created_at < ?",
        (limit, format_us(now_us - RETENTION_US)),
    )


def count_expired(connection: Connection, now_us: int) -> int:
    """How many outcomes are older than the retention. Reads the whole table."""
    row = connection.row("SELECT count(*) FROM operations WHERE created_at < ?", (format_us(now_us - RETENTION_US),))
    return 0 if row is None else int(row[0])
