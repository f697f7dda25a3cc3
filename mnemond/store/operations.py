"""Operations: writes that are decided under the writer, the outcomes of those a caller may repeat (`operations` table),
the log of what was done (`oplog` table), and counts of what was refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple, get_args

import msgspec

from mnemond.errors import OP_ID_REUSED, MnemonError, rejected
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.model.answers import LogLine
from mnemond.model.changes import ChangeSet, RecallLine, Vector
from mnemond.model.memory import Scope, format_us
from mnemond.model.outcomes import (
    EntityResult,
    GcKept,
    LinkResult,
    MergeResult,
    Outcome,
    RelationResult,
    RememberResult,
    ResolveResult,
    RestoreResult,
    RuleResult,
    SummarizeResult,
    UndoResult,
    UpdateResult,
    merge_message,
)
from mnemond.store.connection import Connection, Insertion
from mnemond.store.files import damaged
from mnemond.store.rows import Mapper


class View(NamedTuple):
    """The store between two operations of a batch. For the writer's thread, within one call.

    `snapshot` includes earlier operations of the batch. `similarity`: cosine of each of its rows with the proposal's
    vector; None when it has none. `connection`: for what the index does not hold.
    """

    snapshot: Snapshot
    similarity: Cosines | None
    connection: Connection


class Proposal(NamedTuple):
    """A write that is decided when its turn comes. The first four fields are those of the ChangeSet of `decide`.

    `decide` runs in the transaction and must not write; a MnemonError from it refuses this operation alone. `vector`
    (shape (dimension,)) is compared with every row; for a whole batch that is one matrix product. `made_by`:
    fingerprint of the embedder of every vector it may write, None if it has none. They are left out if the store has
    another embedder by then.
    """

    op_id: str
    client_op_id: bool
    method: str
    request_digest: str
    decide: Callable[[View], ChangeSet]
    vector: Vector | None = None
    made_by: str | None = None


Write = ChangeSet | Proposal


# Outcomes.


RETENTION_US = 7 * 86_400 * 1_000_000
"""How long an op_id is remembered, in microseconds: at least seven days are promised."""

_WORD = re.compile(r'"([^"\\]{1,64})"')
"""Short strings in JSON, ids among them."""

_RECORDED = Insertion(7, "operations", ("op_id", "method", "request_digest", "outcome", "created_at"))
_json = msgspec.json.Encoder()


def replay(connection: Connection, write: Write) -> Outcome | None:
    """Return the outcome this op_id already has, or None.

    Raises MnemonError(OP_ID_REUSED) when the op_id belongs to another request.
    """
    row = connection.row("SELECT method, request_digest, outcome FROM operations WHERE op_id = ?", (write.op_id,))
    if row is None:
        if connection.row("SELECT 1 FROM memory_operations WHERE op_id = ? LIMIT 1", (write.op_id,)) is not None:
            raise _reused("op_id names an operation of this store already")  # chosen by the daemon, or expired
        return None
    method, digest, outcome = row
    if (method, digest) != (write.method, write.request_digest):
        raise _reused(f"op_id was already used by another {method} request")
    try:
        return msgspec.structs.replace(decode_outcome(outcome), replayed=True)
    except BAD_OUTCOME as error:
        raise damaged(f"the outcome of operation {write.op_id[:64]!a}", error) from error


def _reused(sentence: str) -> MnemonError:
    return rejected(
        OP_ID_REUSED,
        f"{sentence}; nothing was written",
        "use a fresh op_id for each write, and the same one only to repeat the same write",
    )


def record(connection: Connection, change_set: ChangeSet, outcome: Outcome) -> None:
    """Store the outcome in the same transaction as the change."""
    row = (change_set.op_id, change_set.method, change_set.request_digest, encode_outcome(outcome), change_set.now)
    connection.add(_RECORDED, [row])


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Remove texts and scopes from the outcomes that mention memories; the op_ids are still known for a repeat. Those
    about names and relations mention none, and any may have words of one: they lose all names.

    An outcome that cannot be decoded is deleted: it may hold their texts, and cannot be repeated to a caller anyway.
    """
    gone = frozenset(insight_ids)
    of_memory = "SELECT DISTINCT op_id FROM memory_operations WHERE memory_id = ?"
    about = {op_id for each in gone for op_id in connection.column(of_memory, (each,))}
    for op_id, outcome in connection.rows("SELECT op_id, outcome FROM operations"):
        if op_id in about or _OF_NAMES.match(outcome) or not gone.isdisjoint(_WORD.findall(outcome)):
            try:
                bare = encode_outcome(_without_text(decode_outcome(outcome), gone))
            except BAD_OUTCOME:
                connection.run("DELETE FROM operations WHERE op_id = ?", (op_id,))
                continue
            connection.run("UPDATE operations SET outcome = ? WHERE op_id = ?", (bare, op_id))


def _without_text(outcome: Outcome, gone: Collection[str]) -> Outcome:
    replace = msgspec.structs.replace
    match outcome:
        case RememberResult():
            bare = replace(
                outcome, reason="", quality_warnings=[], quality_details=[], hypothetical_queries=[], conflicts=[],
                semantic_candidates=[], united=None, no_longer=None, category=None, importance=None, tags=(),
                entities=(),
            )  # fmt: skip
            return replace(bare, scope=Scope()) if bare.id in gone else bare
        case UpdateResult():
            return replace(outcome, quality_warnings=[], quality_details=[], same_text=None)
        case MergeResult():
            message = merge_message(outcome.merged_id)
            return replace(outcome, content="", message=message, dropped=[], quality_warnings=[], quality_details=[])
        case ResolveResult():
            return replace(outcome, content=None, dropped=[], names=[])
        case SummarizeResult():
            return replace(outcome, content="")
        case RelationResult():
            return replace(outcome, source="", target="", relations=[])
        case EntityResult():
            return replace(outcome, entity="", other="", changed=[])
        case RuleResult():
            return replace(outcome, when=())
        case LinkResult():
            return replace(outcome, metadata={})
        case RestoreResult():
            return replace(outcome, conflicts=[])
        case UndoResult():
            return replace(outcome, memories=[replace(each, conflicts=[]) for each in outcome.memories])
        case GcKept():
            return replace(outcome, content="")
        case _:
            return outcome


# Outcomes are stored as JSON objects that begin with the name of the struct as `type`. A struct may have a field of
# that name as well, which comes behind it.


_KINDS: Final = {kind.__name__: kind for kind in get_args(Outcome)}
_OF_NAMES: Final = re.compile(r'\{"type":"(?:RelationResult|EntityResult|ResolveResult)"')
_NAME: Final = re.compile(r'\s*\{\s*"type"\s*:\s*"(\w+)"')


def encode_outcome(outcome: Outcome) -> str:
    """Return the text that an outcome is stored as."""
    return f'{{"type":"{type(outcome).__name__}",{_json.encode(outcome).decode()[1:]}'


BAD_OUTCOME: Final = (msgspec.MsgspecError, TypeError, LookupError)
"""Raised by `decode_outcome` for a text that no mnemond wrote."""


def decode_outcome(text: str) -> Outcome:
    """Return a stored outcome. Raises one of BAD_OUTCOME."""
    begin = _NAME.match(text)
    if begin is None:
        raise KeyError("type")
    outcome: Outcome = msgspec.json.decode(text, type=_KINDS[begin[1]])
    return outcome


def expire(connection: Connection, now_us: int) -> int:
    """Delete outcomes older than the retention; return their number. Reads the whole table: for opening a store."""
    return connection.run("DELETE FROM operations WHERE created_at < ?", (format_us(now_us - RETENTION_US),))


def expire_some(connection: Connection, now_us: int, limit: int) -> int:
    """Delete outcomes older than the retention, the oldest first, at most `limit`; return their number.

    Reads the first rows in the order of writing: one with a time ahead of the clock delays those behind it until the
    store is opened again.
    """
    return connection.run(
        "DELETE FROM operations WHERE rowid IN (SELECT rowid FROM operations ORDER BY rowid LIMIT ?)"
        " AND created_at < ?",
        (limit, format_us(now_us - RETENTION_US)),
    )


def count_expired(connection: Connection, now_us: int) -> int:
    return connection.count("SELECT count(*) FROM operations WHERE created_at < ?", (format_us(now_us - RETENTION_US),))


# The log: a ring of short lines, newest kept.


MAX_LINES = 5000
MAX_DETAIL = 500
"""Characters of a line's detail."""


_IN_HISTORY: Final = "(SELECT h.op_id FROM memory_operations AS h WHERE h.op_id = oplog.op_id LIMIT 1)"
_LINES = Mapper(LogLine, computed={"op_id": _IN_HISTORY, "words": "NULL", "purged": "0"})
_LINE = Insertion(6, "oplog", (*_LINES.columns[1:], "op_id"))


def log(
    connection: Connection, operation: str, insight_id: str | None, detail: str, now: str, op_id: str | None = None
) -> None:
    """Write one line. `detail` never contains the text of a memory."""
    connection.add(_LINE, [(operation, insight_id, detail[:MAX_DETAIL], now, op_id)])


def count_logged(connection: Connection, since: str, names: Sequence[str]) -> dict[str, int]:
    """Return how many lines there are of each of these operations from `since` (RFC 3339) on."""
    sql = (
        f"SELECT operation, count(*) FROM oplog WHERE operation IN ({', '.join('?' * len(names))})"  # noqa: S608
        " AND created_at >= ? GROUP BY operation"
    )
    return dict(connection.rows(sql, (*names, since)))


def newest_lines(connection: Connection, limit: int, since: str = "") -> list[LogLine]:
    """Return the newest lines, newest first, from `since` (RFC 3339) on, with the operations that the history has."""
    sql = f"SELECT {_LINES.select} FROM oplog WHERE created_at >= ? ORDER BY id DESC LIMIT ?"  # noqa: S608 - names only
    return [_LINES.read(row) for row in connection.rows(sql, (since, limit))]


METHODS: Final = {
    "diff-replace": "remember", "diff-skip": "remember", "discard": "remember",
    "gc-keep": "gc", "unpin": "pin",
}  # fmt: skip
"""Methods of log operations with another name."""


def method_of(connection: Connection, op_id: str) -> str | None:
    """Return the method of an operation; None if the log no longer has it. Reads the whole ring."""
    sql = "SELECT DISTINCT operation FROM oplog WHERE op_id = ? AND operation NOT IN ('prune', 'pair')"  # of others
    methods = {METHODS.get(each, each) for each in connection.column(sql, (op_id,))}
    return methods.pop() if len(methods) == 1 else None


def purge_log(connection: Connection, insight_ids: Collection[str]) -> None:
    """Empty the details of the lines about memories, which name their origin; the lines stay."""
    lines = connection.rows("SELECT id, insight_id FROM oplog WHERE insight_id IS NOT NULL AND detail <> ''")
    gone = frozenset(insight_ids)
    connection.run_many("UPDATE oplog SET detail = '' WHERE id = ?", [(line,) for line, name in lines if name in gone])


def trim_log(connection: Connection) -> None:
    connection.run("DELETE FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ?", (MAX_LINES,))


def trim_some_lines(connection: Connection, most: int, limit: int) -> int:
    """Delete the oldest lines beyond the newest `most`, but not more than `limit`; return their number."""
    return connection.run(
        "DELETE FROM oplog WHERE id IN"
        " (SELECT id FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ? ORDER BY id LIMIT ?)",
        (most, limit),
    )


def count_lines(connection: Connection) -> int:
    return connection.count("SELECT count(*) FROM oplog")


# The log of recalls: a ring of its own, so that recalls push out no line about a write.


MAX_RECALLS: Final = 1000
RECALL: Final = "recall"
"""Operation of a line about a recall."""


def log_recalls(connection: Connection, lines: Collection[RecallLine]) -> None:
    """Write lines about recalls, and drop the oldest beyond MAX_RECALLS."""
    connection.run_many(
        "INSERT INTO recalls(insight_id, detail, created_at) VALUES(?, ?, ?)",
        [(line.insight_id, line.detail[:MAX_DETAIL], line.at) for line in lines],
    )
    connection.run("DELETE FROM recalls WHERE id <= (SELECT max(id) FROM recalls) - ?", (MAX_RECALLS,))


def newest_recalls(connection: Connection, limit: int, since: str = "") -> list[LogLine]:
    """Return the newest recalls from `since` (RFC 3339) on as lines of the log. Their ids count recalls alone."""
    sql = "SELECT id, insight_id, detail, created_at FROM recalls WHERE created_at >= ? ORDER BY id DESC LIMIT ?"
    return [LogLine(row[0], RECALL, *row[1:]) for row in connection.rows(sql, (since, limit))]


# Refusals of the substance filter, counted by day and reason in the `metrics` table.


_REFUSED: Final = "refused."
REFUSAL_DAYS: Final = 30
"""Days whose refusals are reported."""


def count_refusal(connection: Connection, reason: str, now: str) -> None:
    """Count a refusal on the day (UTC) of `now`."""
    connection.run(
        "INSERT INTO metrics(name, bucket, value) VALUES(?, substr(?, 1, 10), 1)"
        " ON CONFLICT(name, bucket) DO UPDATE SET value = value + 1",
        (_REFUSED + reason, now),
    )


def refusals(connection: Connection) -> dict[str, dict[str, int]]:
    """Return the refusals by day, newest first, and reason, of the last `REFUSAL_DAYS` days that have any."""
    found: dict[str, dict[str, int]] = {}
    sql = "SELECT bucket, name, value FROM metrics WHERE name GLOB ? ORDER BY bucket DESC, name"
    for day, name, count in connection.rows(sql, (f"{_REFUSED}*",)):
        if day not in found and len(found) == REFUSAL_DAYS:
            break
        found.setdefault(day, {})[name.removeprefix(_REFUSED)] = int(count)
    return found
