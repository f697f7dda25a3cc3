"""The log of operations of a store: each operation as the rows that it left, in one line of JSON (docs/oplog.md).

Applied in its order to an empty store, a log gives the same rows with the same numbers. So a line needs neither the
rules by which an operation was decided nor the version of mnemond that decided it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.index.vectors import is_stored
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import (
    AddEdge,
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
)
from mnemond.model.memory import EDGE_TYPES
from mnemond.model.passages import DropPassage, KeepPassage, PassageChange
from mnemond.store import edges, insights, passages
from mnemond.store.connection import ChangedRow, Connection, RowChange, Value
from mnemond.store.meta import ENTITIES_READ_KEY, LINKS_KEY, RULES_OFF_KEY, EmbedderRecord, made_by

FORMAT: Final = 1
"""Version of the format: the value of `mnemond_log` in every line. A reader refuses a line of another one."""

ROWS_AT_ONCE: Final = 200
"""Rows of one operation of a `snapshot`: with texts of the greatest length about 2 MB."""

ROWS_A_LINE: Final = 500
"""Rows of one line: an operation with more is several, of which the others have no name. With texts of the greatest
length about 5 MB."""

SNAPSHOT: Final = "snapshot"
"""`method` of the operations that a log begins with if the store was not empty then."""

UNEMBEDDABLE: Final = ""
"""In the place of a vector: the embedder knows no word of the text."""

VECTOR: Final = ("embedding", "embedding_model", "embedding_dim")

_PIECES: Final = frozenset({"embedding", "embedded_by"})
"""Columns with the vectors of a passage, which every store makes for itself."""


class LoggedTable(NamedTuple):
    """A table whose rows are in the log, as objects of a `kind`. `key`: its primary key. `derived`: columns that may
    change without a line. `left_out`: columns with vectors, which are not part of a row in the log. `order`: of the
    rows of a snapshot, that of the key if empty."""

    table: str
    kind: str
    key: tuple[str, ...]
    derived: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    order: str = ""


TABLES: Final = (
    LoggedTable("entities", "entity", ("id",), left_out=frozenset({"embedding"})),
    LoggedTable("entity_aliases", "alias", ("alias",)),
    LoggedTable(
        "insights", "memory", ("number",), frozenset({"effective_importance"}),
        frozenset({*VECTOR, "trigger_embedding"}),
    ),
    LoggedTable("memory_entities", "mention", ("memory_id", "entity_id")),
    LoggedTable("hypothetical_queries", "query", ("id",), left_out=frozenset({"embedding"})),
    LoggedTable("cues", "cue", ("memory", "ord")),
    LoggedTable("triggers", "trigger", ("memory", "ord")),
    LoggedTable("trigger_counts", "trigger_count", ("memory", "pattern")),
    LoggedTable("edge_rows", "edge", ("source", "target", "kind"), order="max(source, target), source, target, kind"),
    LoggedTable("relationships", "relationship", ("id",)),
    LoggedTable("relationship_evidence", "evidence", ("id",)),
    LoggedTable("entity_links", "name", ("id",)),
    LoggedTable("memory_operations", "operation", ("id",)),
    LoggedTable("core_summaries", "summary", ("id",)),
    LoggedTable("exchanges", "exchange", ("number",)),
    LoggedTable("passages", "passage", ("id",), _PIECES, _PIECES),
    LoggedTable("pending_reviews", "review", ("id",)),
    LoggedTable("operations", "reply", ("op_id",)),
    LoggedTable("imports", "import", ("op_id",)),
    LoggedTable("imported", "imported", ("source",)),
    LoggedTable("meta", "fact", ("key",)),
)  # fmt: skip
"""Each table after those that it refers to."""

FACTS: Final = frozenset({LINKS_KEY, ENTITIES_READ_KEY, RULES_OFF_KEY})
"""Keys of `meta` that are in the log: what jobs have read of the store, and the switch of its rules. The others are
about one file of it."""

NOT_LOGGED: Final = {
    "oplog": "a ring of lines about the last commands",
    "recalls": "a ring of lines about the last recalls",
    "showings": "a ring of lines about what sessions were shown",
    "metrics": "counts of what one daemon did",
    "jobs": "not used by this version",
    "node_metrics": "made again by a job",
    "sync_rows": "what one store knows of other devices",
    "sync_files": "what one store knows of other devices",
    "sync_targets": "what one store knows of other devices",
    "staged_vectors": "vectors of an embedder that the store does not have yet",
}
"""Tables without lines in the log, and why."""

_BY_TABLE: Final = {each.table: each for each in TABLES}
_BY_KIND: Final = {each.kind: each for each in TABLES}
_MEMORY: Final = _BY_KIND["memory"]
_PASSAGE: Final = "passage"

Row = dict[str, int | float | str]
Key = list[int | float | str]


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation. `op_id`, `method` and `at` are "" for one without a name, which no caller knows of. `at`: its time
    (RFC 3339); `by`: its cause, as in the history; `undoes`: the operation that it took back. By kind: `drop` the keys
    of rows that are gone, `change` and `add` rows as they are behind it, without columns that are NULL. `purged`: ids
    of memories and passages of which it left no text.

    `vectors`: those of the memories among the rows, by id, as base64 of little-endian float32, made by the embedder
    with the fingerprint `model`, UNEMBEDDABLE for a text of which it knows no word; None: the log has no vectors.
    """

    op_id: str
    method: str
    at: str
    by: str = "user"
    undoes: str | None = None
    purged: list[str] = []
    drop: dict[str, list[Key]] = {}
    change: dict[str, list[Row]] = {}
    add: dict[str, list[Row]] = {}
    model: str | None = None
    vectors: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        """Return True if it left no row other than it was."""
        return not (self.drop or self.change or self.add)


def parts(operation: Operation) -> Iterator[Operation]:
    """Yield operations of ROWS_A_LINE rows at most that do the same together, one behind the other in one transaction:
    a foreign key may be broken in between. All but the first have no name."""
    count = sum(len(rows) for part in (operation.drop, operation.change, operation.add) for rows in part.values())
    if count <= ROWS_A_LINE:
        yield operation
        return
    empty = msgspec.structs.replace(operation, drop={}, change={}, add={}, vectors={})
    made, room = _Part(), ROWS_A_LINE
    for name, whole in (("drop", operation.drop), ("change", operation.change), ("add", operation.add)):
        for kind, rows in whole.items():
            left = iter(rows)
            while some := list(islice(left, room)):
                getattr(made, name)[kind] = some
                room -= len(some)
                if not room:
                    yield made.of(operation, empty)
                    empty = _NAMELESS
                    made, room = _Part(), ROWS_A_LINE
    if room < ROWS_A_LINE:
        yield made.of(operation, empty)


class _Part:
    def __init__(self) -> None:
        self.drop: dict[str, list[Key]] = {}
        self.change: dict[str, list[Row]] = {}
        self.add: dict[str, list[Row]] = {}

    def of(self, whole: Operation, header: Operation) -> Operation:
        """Return the part with its vectors."""
        ids = {str(row.get("id")) for part in (self.change, self.add) for row in part.get("memory", ())}
        return msgspec.structs.replace(
            header, drop=self.drop, change=self.change, add=self.add, model=whole.model,
            vectors={each: vector for each, vector in whole.vectors.items() if each in ids},
        )  # fmt: skip


_NAMELESS: Final = Operation(op_id="", method="", at="", by="system:store")


class _Version(msgspec.Struct):
    mnemond_log: int


_encoder = msgspec.json.Encoder()
_version = msgspec.json.Decoder(_Version)
_operation = msgspec.json.Decoder(Operation)


def encode(operation: Operation) -> bytes:
    """Return the line of an operation, without its line break."""
    return b'{"mnemond_log":%d,' % FORMAT + _encoder.encode(operation)[1:]


def decode(line: bytes) -> Operation:
    """Return the operation of a line. Raises MnemonError(INVALID_PARAMS) for one that is of another version, or that
    names a kind or a column that this version does not know."""
    try:
        version = _version.decode(line).mnemond_log
        if version != FORMAT:
            raise _unusable(f"it is of version {version}; this mnemond reads version {FORMAT}")
        found = _operation.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _unusable(str(error)) from None
    for part in (found.drop, found.change, found.add):
        if unknown := part.keys() - _BY_KIND.keys():
            raise _unusable(f"there is no kind {min(unknown)[:40]!a}")
    return found


def _unusable(why: str) -> MnemonError:
    return MnemonError(
        INVALID_PARAMS, f"this is no operation of a log: {why}", hint="docs/oplog.md describes the lines",
        outcome="rejected",
    )  # fmt: skip


# Recording.


class Recorder:
    """Turns what operations did to rows into values. Within one transaction, of one connection."""

    def __init__(self, connection: Connection, embedder: EmbedderRecord | None, *, vectors: bool = True) -> None:
        """`vectors`: note those that were made by `embedder`."""
        self._connection = connection
        self._embedder = embedder if vectors else None
        self._rows = connection.record_rows(tuple(_BY_TABLE))
        self._queries: dict[str, str] = {}
        self.taken: list[Operation] = []

    @property
    def size(self) -> int:
        """Bytes of what changed since the last `take`, at most."""
        return self._rows.size

    def take(self, change_set: ChangeSet | None = None) -> None:
        """Append what changed since the last call to `taken`: by a write, or (None) in another way, for instance by an
        import of an export. Raises SqliteError."""
        drop: dict[str, list[Key]] = {}
        written: dict[RowChange, dict[str, list[Row]]] = {"change": {}, "add": {}}
        purged, vectors = list[str](), dict[str, str]()
        for each in sorted(self._rows.take(), key=lambda it: (it.table, *map(str, it.key))):
            table = _BY_TABLE[each.table]
            if not _is_logged(table, each):
                continue
            if each.change == "drop":
                drop.setdefault(table.kind, []).append(list(each.key))  # type: ignore[arg-type]
                if table is _MEMORY:
                    purged.append(str(each.old["id"]))
                continue
            row, vector = self._row(table, each)
            written[each.change].setdefault(table.kind, []).append(row)
            if vector is not None:
                vectors[str(row["id"])] = vector
        named: dict[str, Any] = {"op_id": "", "method": "", "at": "", "by": "system:store", "undoes": None}
        if change_set is not None:
            it = change_set
            named = {"op_id": it.op_id, "method": it.method, "at": it.now, "by": it.triggered_by, "undoes": it.undoes}
            dropped = (each for each in change_set.passages if isinstance(each, DropPassage))
            purged += [each.id for each in dropped if each.how == "purged"]
        operation = Operation(
            **named, purged=purged, drop=drop, change=written["change"], add=written["add"],
            model=made_by(self._embedder) or None, vectors=vectors,
        )  # fmt: skip
        self.taken.append(operation)

    def _row(self, table: LoggedTable, it: ChangedRow) -> tuple[Row, str | None]:
        values: Sequence[Value] | None = it.new
        if not values:
            if table.table not in self._queries:
                same = " AND ".join(f"{each} = ?" for each in table.key)
                self._queries[table.table] = f"SELECT * FROM {table.table} WHERE {same}"  # noqa: S608 - from the schema
            values = self._connection.row(self._queries[table.table], it.key)
            assert values is not None, "it was written"  # noqa: S101
        columns = self._connection.columns(table.table)
        row = {
            name: value
            for name, value in zip(columns, values, strict=True)
            if value is not None and name not in table.left_out
        }
        if table is not _MEMORY:
            return row, None
        return row, _vector([values[columns.index(each)] for each in VECTOR], self._embedder)

    def close(self) -> None:
        self._rows.close()


def _is_logged(table: LoggedTable, it: ChangedRow) -> bool:
    if table.table == "meta" and it.key[0] not in FACTS:
        return False
    return it.change != "change" or not it.columns <= table.derived


def _without_nulls(columns: Sequence[str], values: Sequence[Any]) -> Row:
    return {name: value for name, value in zip(columns, values, strict=False) if value is not None}


def _vector(found: Sequence[Any], embedder: EmbedderRecord | None) -> str | None:
    """Return a vector as in the log; None if there is none, or another embedder made it."""
    blob, name, dimension = found
    if embedder is None or name != embedder.name:
        return None
    if blob is None:
        return UNEMBEDDABLE if dimension == 0 else None
    return base64.b64encode(blob).decode()


def columns_of(connection: Connection, table: LoggedTable) -> tuple[str, ...]:
    """Return the columns of a table that are in the log, in their order."""
    return tuple(each for each in connection.columns(table.table) if each not in table.left_out)


def snapshot(connection: Connection, embedder: EmbedderRecord | None, at: str) -> Iterator[Operation]:
    """Yield operations that give the store as it is: what a log begins with, and what takes the place of all of it once
    a memory was purged. Raises SqliteError."""
    model = made_by(embedder) or None
    number = 0
    for table in TABLES:
        columns = columns_of(connection, table)
        extra = VECTOR if table is _MEMORY else ()
        names, order = ", ".join((*columns, *extra)), table.order or ", ".join(table.key)
        found = connection.iterate(f"SELECT {names} FROM {table.table} ORDER BY {order}")  # noqa: S608 - from the schema
        if table.table == "meta":
            found = (row for row in found if row[0] in FACTS)
        while rows := list(islice(found, ROWS_AT_ONCE)):
            vectors = {}
            for row in rows if extra else ():
                if (vector := _vector(row[len(columns) :], embedder)) is not None:
                    vectors[str(row[columns.index("id")])] = vector
            number += 1
            yield Operation(
                op_id=f"{SNAPSHOT}-{number}", method=SNAPSHOT, at=at, by="system:log", model=model,
                vectors=vectors, add={table.kind: [_without_nulls(columns, row) for row in rows]},
            )  # fmt: skip


# Applying.


def clear(connection: Connection) -> None:
    """Delete every row that is in the log, and what is made from them, inside the caller's transaction."""
    connection.set_pragma("defer_foreign_keys", 1)  # until the transaction ends
    for name in ("node_metrics", "staged_vectors", *(each.table for each in reversed(TABLES))):
        if name != "meta":
            connection.run(f"DELETE FROM {name}")  # noqa: S608 - constants
    connection.run_many("DELETE FROM meta WHERE key = ?", [(key,) for key in sorted(FACTS)])
    connection.entities.clear()
    connection.numbers.clear()


def apply(connection: Connection, operation: Operation, embedder: EmbedderRecord | None) -> None:
    """Give the store the rows of the next operation of its log, inside the caller's transaction. Vectors that another
    embedder made are left out: these memories are embedded again in the background.

    Raises MnemonError(INVALID_PARAMS) for a column that there is not, or a vector that is none; SqliteError for rows
    that do not fit.
    """
    connection.set_pragma("defer_foreign_keys", 1)  # until the transaction ends
    texts = _embedded_texts(connection, operation)
    for table in reversed(TABLES):
        if keys := operation.drop.get(table.kind):
            same = " AND ".join(f"{each} = ?" for each in table.key)
            connection.run_many(f"DELETE FROM {table.table} WHERE {same}", keys)  # noqa: S608 - constants
    passages.drop_vectors(connection, operation.change.get(_PASSAGE, ()))
    for part in (operation.change, operation.add):  # what ceases to be unique before what takes its place
        for table in TABLES:
            if rows := part.get(table.kind):
                _put(connection, table, rows)
    own = made_by(embedder) or None
    for row in (*operation.change.get(_MEMORY.kind, ()), *operation.add.get(_MEMORY.kind, ())):
        insight_id = str(row.get("id"))
        if operation.model is not None and operation.model == own:
            _embed(connection, insight_id, operation.vectors.get(insight_id), embedder)
        elif texts.get(insight_id) != row.get("content_hash"):
            _embed(connection, insight_id, None, embedder)
    connection.entities.clear()
    connection.numbers.clear()


def _embedded_texts(connection: Connection, operation: Operation) -> dict[str, str | None]:
    """Return the hashes of the texts of changed memories, as they were embedded; None if its cues change as well."""
    cues = {key[0] for key in operation.drop.get("cue", ())}
    cues |= {row["memory"] for part in (operation.change, operation.add) for row in part.get("cue", ())}
    found: dict[str, str | None] = {}
    for row in operation.change.get(_MEMORY.kind, ()):
        sql = "SELECT content_hash FROM insights WHERE number = ?"
        found[str(row.get("id"))] = None if row["number"] in cues else connection.value(sql, (row["number"],))
    return found


class StoredRows(NamedTuple):
    """Some rows of a kind, as a server has them. `edges`: those of the kind "edge", with values in the order of
    EDGE_COLUMNS; `rows`: of every other kind. `vectors` of memories by id: the fingerprint of the embedder, and
    little-endian float32, empty for a text of which it knows no word."""

    kind: str
    rows: Sequence[Row] = ()
    edges: Sequence[Sequence[Value]] = ()
    vectors: Mapping[str, tuple[str, bytes]] = {}


LINKS: Final = "links"
"""Kind of the empty part between all other rows and edges, which are most of them."""

EDGE_COLUMNS: Final = (
    "source", "target", "kind", "weight", "metadata", "created_at", "boost_days", "last_boosted_at", "created_by",
)  # fmt: skip
"""Columns of `edge_rows`, in its order."""


def load(connection: Connection, stored: StoredRows, embedder: EmbedderRecord | None) -> None:
    """Insert rows of which there are none with the same key, inside the caller's transaction, behind `clear` and rows
    that they refer to. Vectors as in `apply`; raises as it does."""
    if stored.edges:
        places = ", ".join("?" * len(EDGE_COLUMNS))
        connection.run_many(f"INSERT INTO edge_rows({', '.join(EDGE_COLUMNS)}) VALUES({places})", stored.edges)
        return
    table = _BY_KIND[stored.kind]
    columns = columns_of(connection, table)
    _refuse_unknown(table, columns, stored.rows)
    rows: list[Sequence[Value]] = [tuple(map(row.get, columns)) for row in stored.rows]
    if table is _MEMORY:
        rows = [(*row, *_stored_vector(it, stored, embedder)) for row, it in zip(rows, stored.rows, strict=True)]
        columns += VECTOR
    sql = f"INSERT INTO {table.table}({', '.join(columns)}) VALUES({', '.join('?' * len(columns))})"
    connection.run_many(sql, rows)


def _stored_vector(row: Row, stored: StoredRows, embedder: EmbedderRecord | None) -> tuple[Value, ...]:
    insight_id = str(row.get("id"))
    model, blob = stored.vectors.get(insight_id, ("", b""))
    return _vector_values(insight_id, blob if model else None, embedder if model == made_by(embedder) else None)


def _put(connection: Connection, table: LoggedTable, rows: Sequence[Row]) -> None:
    columns = columns_of(connection, table)
    _refuse_unknown(table, columns, rows)
    others = [each for each in columns if each not in table.key]
    update = f"UPDATE SET {', '.join(f'{each} = excluded.{each}' for each in others)}" if others else "NOTHING"
    sql = (
        f"INSERT INTO {table.table}({', '.join(columns)}) VALUES({', '.join('?' * len(columns))})"
        f" ON CONFLICT({', '.join(table.key)}) DO {update}"
    )
    connection.run_many(sql, [tuple(row.get(each) for each in columns) for row in rows])


def _refuse_unknown(table: LoggedTable, columns: Sequence[str], rows: Sequence[Row]) -> None:
    known = set(columns)
    for row in rows:
        if unknown := row.keys() - known:
            raise _unusable(f"{table.kind} has no column {min(unknown)[:40]!a}")


def _embed(connection: Connection, insight_id: str, text: str | None, embedder: EmbedderRecord | None) -> None:
    """Give a memory a vector, or (None) take it away. Raises MnemonError(INVALID_PARAMS)."""
    try:
        blob = None if text is None else base64.b64decode(text, validate=True)
    except binascii.Error:
        raise _unusable(f"the vector of {insight_id[:64]!a} is no base64") from None
    connection.run(
        "UPDATE insights SET embedding = ?, embedding_model = ?, embedding_dim = ? WHERE id = ?",
        (*_vector_values(insight_id, blob, embedder), insight_id),
    )


def _vector_values(insight_id: str, blob: bytes | None, embedder: EmbedderRecord | None) -> tuple[Value, ...]:
    """Return what the columns VECTOR hold. Raises MnemonError(INVALID_PARAMS)."""
    if blob is None or embedder is None:
        return (None, None, None)
    if len(blob) not in (0, 4 * embedder.dimension, 8 * embedder.dimension):
        raise _unusable(f"the vector of {insight_id[:64]!a} has {len(blob):,} bytes")
    return (blob, embedder.name, embedder.dimension) if blob else (None, embedder.name, 0)


# The index beside the rows.


def index_changes(
    connection: Connection, operation: Operation, index: MemoryIndex, embedder: EmbedderRecord | None
) -> list[Change]:
    """Return what the index has to be changed by to show the rows of an operation that `apply` wrote: for
    `MemoryIndex.stage`, in the same transaction. Raises MnemonError(STORAGE) for a row that cannot be read."""
    found: list[Change] = [PurgeInsight(each) for each in operation.purged if index.row_of(each) is not None]
    numbers, links = set[int | float | str](), dict[tuple[Value, Value, Value], None]()
    for part in (operation.change, operation.add):
        numbers |= {row["number"] for row in part.get(_MEMORY.kind, ())}
        numbers |= {row["memory"] for kind in ("cue", "trigger") for row in part.get(kind, ())}
        links |= dict.fromkeys((row["source"], row["target"], row["kind"]) for row in part.get("edge", ()))
    numbers |= {key[0] for kind in ("cue", "trigger") for key in operation.drop.get(kind, ())}
    names = _ids(connection, {*numbers, *(end for link in links for end in link[:2])})
    for source, target, kind in operation.drop.get("edge", ()):
        ends = _ids(connection, {source, target})
        if source in ends and target in ends:
            found.append(RemoveEdge(ends[source], ends[target], EDGE_TYPES[int(kind)]))
    fresh = []
    for number in sorted(numbers, key=str):
        it = insights.read(connection, names[number]) if number in names else None
        if it is None:
            continue
        row, is_active = index.row_of(it.id), it.status == "active"
        vector = insights.vector_of(connection, it.id, embedder)
        if row is not None and not is_active:
            found.append(PurgeInsight(it.id))
        elif row is not None:  # what stays as it is keeps its row of the index
            cued = index.table.insights[row].cues != it.cues
            anew = cued or not is_stored(index.vectors.stored(row), vector)
            found.append(PutInsight(it, embedded=anew, vector=vector if anew else None))
        elif is_active:
            found.append(RestoreInsight(it, vector))
            fresh.append(it.id)
    wanted = {(names[s], names[t], EDGE_TYPES[int(str(k))]) for s, t, k in links if s in names and t in names}
    linked = {edges.key(edge): edge for each in fresh for edge in edges.touching(connection, each)}
    for key in sorted(wanted - linked.keys()):
        edge = edges.read(connection, *key)
        assert edge is not None, "it was applied"  # noqa: S101
        linked[key] = edge
    entering = set(fresh)  # the index has no link of theirs
    for key, edge in linked.items():
        if entering.isdisjoint(key[:2]):
            found.append(RemoveEdge(*key))
        found.append(AddEdge(edge))
    return found


def passage_changes(
    connection: Connection, operation: Operation, embedder: EmbedderRecord | None
) -> list[PassageChange]:
    """Return what the index of passages has to be changed by, as `index_changes` does for memories."""
    found: list[PassageChange] = [DropPassage(str(key[0])) for key in operation.drop.get(_PASSAGE, ())]
    for part in (operation.change, operation.add):
        for row in part.get(_PASSAGE, ()):
            there = passages.loaded(connection, str(row["id"]), embedder)
            found.append(DropPassage(str(row["id"])) if there is None else KeepPassage(there[0], "", there[1]))
    return found


def _ids(connection: Connection, numbers: Iterable[Value]) -> dict[Value, str]:
    """Return the ids of memories by their numbers; those that there are not are left out."""
    found = {}
    for number in numbers:
        if (insight_id := connection.value("SELECT id FROM insights WHERE number = ?", (number,))) is not None:
            found[number] = insight_id
    return found
