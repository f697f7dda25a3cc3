"""The `operations` table: the outcome of every write whose caller may repeat it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple, get_args

import msgspec

from mnemond.errors import OP_ID_REUSED, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.model.changes import ChangeSet, JobRecord, Vector
from mnemond.model.memory import format_us
from mnemond.model.outcomes import (
    GcKept,
    LinkResult,
    MergeResult,
    Outcome,
    RememberResult,
    RestoreResult,
    ScopeView,
    UndoResult,
    UpdateResult,
)
from mnemond.store.connection import Connection, Insertion
from mnemond.store.earlier_outcomes import EARLIER
from mnemond.store.files import damaged
from mnemond.store.insights import content_hash, vector_blob
from mnemond.store.meta import SwitchRecord, read_switch, write_embedder, write_switch

# The last run of every background job, in the `meta` table.


PREFIX: Final = "job:"
"""Before the name of the job."""

_AFTER: Final = "job;"
"""Behind every key that begins with PREFIX."""


def fact(name: str, record: JobRecord) -> tuple[str, str]:
    """The row of `meta` that says how a job ran last."""
    return PREFIX + name, msgspec.json.encode(record).decode()


def read_all(connection: Connection) -> dict[str, JobRecord]:
    """The last run of each job that ever ran, by its name. Raises MnemonError(STORAGE) for a damaged record."""
    rows = connection.rows("SELECT key, value FROM meta WHERE key >= ? AND key < ?", (PREFIX, _AFTER))
    try:
        return {key.removeprefix(PREFIX): msgspec.json.decode(value, type=JobRecord) for key, value in rows}
    except (msgspec.MsgspecError, TypeError, AttributeError) as error:
        raise damaged("its record of a background job", error) from error


# The `oplog` table: a ring of short lines, newest kept.


MAX_LINES = 5000
"""Lines kept (spec 4)."""
MAX_DETAIL = 500
"""Characters of a line's detail (spec 19)."""
_LINE = Insertion(6, "oplog", ("operation", "insight_id", "detail", "created_at"))


def append(connection: Connection, operation: str, insight_id: str | None, detail: str, now: str) -> None:
    """Write one line. `detail` never holds memory text."""
    connection.add(_LINE, [(operation, insight_id, detail[:MAX_DETAIL], now)])


class Line(NamedTuple):
    """One line."""

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str


def newest(connection: Connection, limit: int) -> list[Line]:
    """The last `limit` lines, newest first."""
    rows = connection.rows(
        "SELECT id, operation, insight_id, detail, created_at FROM oplog ORDER BY id DESC LIMIT ?", (limit,)
    )
    return [Line(*row) for row in rows]


def at(connection: Connection, moment: str) -> list[Line]:
    """The lines of one moment (RFC 3339, as it was written), in order. Reads the whole ring."""
    rows = connection.rows(
        "SELECT id, operation, insight_id, detail, created_at FROM oplog WHERE created_at = ? ORDER BY id", (moment,)
    )
    return [Line(*row) for row in rows]


def purge_oplog(connection: Connection, insight_ids: Collection[str]) -> None:
    """Empty the details of the lines about memories, which name how they came in; the lines stay."""
    lines = connection.rows("SELECT id, insight_id FROM oplog WHERE insight_id IS NOT NULL AND detail <> ''")
    gone = frozenset(insight_ids)
    connection.run_many("UPDATE oplog SET detail = '' WHERE id = ?", [(line,) for line, name in lines if name in gone])


def trim(connection: Connection) -> None:
    """Keep the newest lines by id."""
    connection.run("DELETE FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ?", (MAX_LINES,))


def trim_some(connection: Connection, most: int, limit: int) -> int:
    """Remove the oldest lines, so that `most` are left, but no more than `limit` of them; how many."""
    return connection.run(
        "DELETE FROM oplog WHERE id IN"
        " (SELECT id FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ? ORDER BY id LIMIT ?)",
        (most, limit),
    )


def count(connection: Connection) -> int:
    """Lines now in the ring."""
    row = connection.row("SELECT count(*) FROM oplog")
    return 0 if row is None else int(row[0])


# A write that is decided under the writer: what it comes to depends on what is stored by then.


class View(NamedTuple):
    """The store as it is between two operations of a batch. For the writer's thread, within one call.

    `snapshot` holds what earlier operations of the batch wrote. `similarity`: cosine of each of its rows with the
    proposal's vector; None when it has none. `connection` answers what the index does not hold.
    """

    snapshot: Snapshot
    similarity: Cosines | None
    connection: Connection


class Proposal(NamedTuple):
    """A write in the making. The first four fields are those of the ChangeSet that `decide` returns.

    `decide` runs in the transaction and must not write; a MnemonError from it refuses this operation alone. `vector`
    (shape (dimension,)) is what it wants compared with every row; of a whole batch that is one matrix product.
    `made_by`: fingerprint of the embedder of every vector it may write, None where it brings none. They are left out
    when the store has another embedder by then.
    """

    op_id: str
    client_op_id: bool
    method: str
    request_digest: str
    decide: Callable[[View], ChangeSet]
    vector: Vector | None = None
    made_by: str | None = None


Write = ChangeSet | Proposal


RETENTION_US = 7 * 86_400 * 1_000_000
"""How long an op_id is remembered, in microseconds (reliability rule 3: at least seven days)."""

_WORD = re.compile(r'"([^"\\]{1,64})"')
"""Short texts in JSON, ids among them."""

_RECORDED = Insertion(7, "operations", ("op_id", "method", "request_digest", "outcome", "created_at"))
_json = msgspec.json.Encoder()


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


def record(connection: Connection, change_set: ChangeSet, outcome: Outcome) -> None:
    """Remember the outcome in the same transaction as the change."""
    encoded = _encoded(outcome)
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
            bare = _encoded(_without_text(_decoded(op_id, outcome), gone))
            connection.run("UPDATE operations SET outcome = ? WHERE op_id = ?", (bare, op_id))


def _without_text(outcome: Outcome, gone: Collection[str]) -> Outcome:
    match outcome:
        case RememberResult():
            bare = msgspec.structs.replace(
                outcome, reason="", quality_warnings=[], quality_details=[], hypothetical_queries=[], conflicts=[],
                semantic_candidates=[],
            )  # fmt: skip
            if bare.id not in gone:
                return bare  # the scope is that of another memory
            return msgspec.structs.replace(bare, scope=ScopeView(None, None, None))
        case UpdateResult():
            return msgspec.structs.replace(outcome, quality_warnings=[], quality_details=[])
        case MergeResult():
            return msgspec.structs.replace(outcome, content="", quality_warnings=[], quality_details=[])
        case LinkResult():
            return msgspec.structs.replace(outcome, metadata={})
        case RestoreResult():
            return msgspec.structs.replace(outcome, conflicts=[])
        case UndoResult():
            bare_memories = [msgspec.structs.replace(each, conflicts=[]) for each in outcome.memories]
            return msgspec.structs.replace(outcome, memories=bare_memories)
        case GcKept():
            return msgspec.structs.replace(outcome, content="")
        case _:
            return outcome


# How outcomes are stored: as JSON objects whose `type` is the name of the struct.


_KINDS: Final = {kind.__name__: kind for kind in get_args(Outcome)}


class _Named(msgspec.Struct):
    type: str


_name = msgspec.json.Decoder(_Named)


def _encoded(outcome: Outcome) -> str:
    return f'{{"type":"{type(outcome).__name__}",{_json.encode(outcome).decode()[1:]}'


def _decoded(op_id: str, text: str) -> Outcome:
    try:
        name = _name.decode(text).type
        if name in EARLIER:
            kind, upgraded = EARLIER[name]
            outcome: Outcome = msgspec.convert(upgraded(msgspec.json.decode(text)), kind)
        else:
            outcome = msgspec.json.decode(text, type=_KINDS[name])
    except (msgspec.MsgspecError, TypeError, LookupError) as error:
        raise damaged(f"the outcome of operation {op_id[:64]!a}", error) from error
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


# The `staged_vectors` table: vectors of the embedder a store is switched to, until all are there and take over.
#
# Every function is a part of a transaction of the caller's. A staged vector counts for the text it was made of; when
# that changes, it is made again.


_ACTIVE = "FROM insights AS i WHERE i.deleted_at IS NULL"
_STAGED = "(SELECT 1 FROM staged_vectors AS s WHERE s.insight_id = i.id AND s.content_hash = i.content_hash)"


class StagedRow(NamedTuple):
    """The vector of a text, None where the new embedder knows no word of it."""

    insight_id: str
    content: str
    vector: Vector | None


def begin(connection: Connection, record: SwitchRecord) -> None:
    """Start from nothing."""
    clear(connection)
    write_switch(connection, record)


def clear(connection: Connection) -> int:
    """Drop what is staged, and the switch; how many vectors."""
    write_switch(connection, None)
    return connection.run("DELETE FROM staged_vectors")


def stage(connection: Connection, record: SwitchRecord, rows: Iterable[StagedRow]) -> bool:
    """Keep vectors of a switch; False, and nothing kept, when it is over. Rows that were purged are left out."""
    if read_switch(connection) != record:
        return False
    connection.run_many(
        "INSERT OR REPLACE INTO staged_vectors(insight_id, content_hash, embedding)"
        " SELECT ?1, ?2, ?3 WHERE EXISTS(SELECT 1 FROM insights WHERE id = ?1)",
        [(row.insight_id, content_hash(row.content), vector_blob(row.vector)) for row in rows],
    )
    return True


def hashes(connection: Connection) -> dict[str, str]:
    """Of what text there is a staged vector, by the memory's id."""
    return dict(connection.rows("SELECT insight_id, content_hash FROM staged_vectors"))


def unstaged(connection: Connection) -> list[str]:
    """Ids of the active memories whose present text has no staged vector."""
    return [row[0] for row in connection.rows(f"SELECT i.id {_ACTIVE} AND NOT EXISTS {_STAGED}")]


def done(connection: Connection) -> int:
    """How many active memories have a staged vector of their present text."""
    row = connection.row(f"SELECT count(*) {_ACTIVE} AND EXISTS {_STAGED}")
    return 0 if row is None else int(row[0])


def cut_over(connection: Connection, record: SwitchRecord, without: Sequence[str] | None) -> list[str] | None:
    """Let the staged vectors take over, all at once: of every row, and in the record of the embedder.

    Memories in `without` may lack one; None means that any may. Returns the others that lack one, having changed
    nothing when there are such, or None when the switch is over. Retired rows lose their vectors: nobody could
    compare them with anything, and one that is restored is embedded anew.
    """
    if read_switch(connection) != record:
        return None
    lacking = [] if without is None else sorted(set(unstaged(connection)) - set(without))
    if lacking:
        return lacking
    connection.run(
        "UPDATE insights SET embedding = NULL, embedding_model = NULL, embedding_dim = NULL"
        " WHERE embedding IS NOT NULL OR embedding_model IS NOT NULL"
    )
    connection.run(
        "UPDATE insights SET embedding = s.embedding, embedding_model = ?1,"
        " embedding_dim = CASE WHEN s.embedding IS NULL THEN 0 ELSE ?2 END FROM staged_vectors AS s"
        " WHERE s.insight_id = insights.id AND s.content_hash = insights.content_hash AND insights.deleted_at IS NULL",
        (record.to.name, record.to.dimension),
    )
    write_embedder(connection, record.to)
    clear(connection)
    return []
