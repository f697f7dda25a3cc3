"""Rows from the lines of an export: a store gets what another one had, as it was there.

Into a store that holds memories already, what is new is added: a memory whose id is known stays as it is here, and is
named if it differs. Everything happens in one transaction of the caller, so nothing is half restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange.export import field_of
from mnemond.interchange.tables import (
    ALIASES,
    EDGES,
    ENTITIES,
    EVIDENCE,
    EXCHANGES,
    FORMAT,
    MEMORIES,
    META,
    NAMES,
    OPERATIONS,
    PARTS,
    PASSAGES,
    RELATIONSHIPS,
    REPLIES,
    REVIEWS,
    SUMMARIES,
    TOMBSTONE,
    Exported,
    Part,
)
from mnemond.model.memory import DAY_US, EDGE_TYPES, MAX_CONTENT, effective_importance, parse_rfc3339
from mnemond.model.outcomes import ImportConflict, ImportContradiction
from mnemond.store import history, imports, insights, meta, relations, stored_rows
from mnemond.store.connection import Connection, ConstraintError, SqliteError, Value
from mnemond.store.history import IMPORTED, Entry, State
from mnemond.text.secrets import find_secrets

MAX_NAMED: Final = 20
"""Conflicts that a report names; the others are counted."""

_WEIGHED: Final = (
    "SELECT importance, access_count, coalesce(last_accessed_at, created_at),"
    " (SELECT count(*) FROM edge_rows WHERE source = number)"
    " + (SELECT count(*) FROM edge_rows WHERE target = number AND kind = 2) FROM insights WHERE number = ?"
)

Row = dict[str, Value]

_line = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()
_json = msgspec.json.Encoder()
_NO_MEMORY = msgspec.Raw(b'""')
_parts = {part.field: msgspec.json.Decoder(list[dict[str, str | int | float]]) for part in PARTS}


class Report(msgspec.Struct):
    """What a restoration did, or would do. `added` and `known`: lines by kind; `ignored`: lines of kinds that this
    version does not know. `active`: the memories added that are in recall. `secrets`: memories with a key or password;
    `enforced`: triggers that ask or deny."""

    added: Counter[str] = msgspec.field(default_factory=Counter)
    known: Counter[str] = msgspec.field(default_factory=Counter)
    ignored: int = 0
    conflicts: list[ImportConflict] = []
    conflicts_found: int = 0
    active: int = 0
    secrets: int = 0
    enforced: int = 0
    samples: list[str] = []
    contradictions: list[ImportContradiction] = []
    contradictions_found: int = 0

    def note_conflict(self, name: str, why: str) -> None:
        """Count a conflict, and keep it if it is one of the first `MAX_NAMED`."""
        self.conflicts_found += 1
        if len(self.conflicts) < MAX_NAMED:
            self.conflicts.append(ImportConflict(name, why))


class _Meta(msgspec.Struct, frozen=True):
    """The first line: see `export`."""

    whole: bool = True
    redacted: bool = False
    links_read: bool = False


_meta = msgspec.json.Decoder(_Meta)


class Record(msgspec.Struct, frozen=True):
    """The import as the store notes it: its op_id, time (RFC 3339) and cause. `by_person`: a person at a terminal asks
    for it, who alone may bring rules that are enforced. `look`: count secrets and take samples, for a dry run."""

    op_id: str
    digest: str
    now: str
    triggered_by: str
    by_person: bool = False
    look: bool = False


def restore(connection: Connection, lines: Iterable[bytes], record: Record) -> Report:
    """Insert what the lines say, inside the caller's transaction.

    Raises MnemonError(INVALID_PARAMS), which names the line, for one that is not of an export or does not fit: the
    caller must roll back then. Raises SqliteError.
    """
    restoring = _Restoring(connection, record)
    for number, line in enumerate(lines, 1):
        restoring.add(number, line)
    return restoring.finish()


def _bad(number: int, why: str) -> MnemonError:
    return MnemonError(
        INVALID_PARAMS, f"line {number:,} {why}", hint="nothing was imported; docs/export.md describes the lines",
        outcome="rejected",
    )  # fmt: skip


def decoded(number: int, line: bytes) -> dict[str, msgspec.Raw]:
    """Decode a line of an export. Raises MnemonError(INVALID_PARAMS)."""
    try:
        fields = _line.decode(line)
        version = _any.decode(fields["mnemond"])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, KeyError):
        raise _bad(number, "is no line of an export: it must be a JSON object with `mnemond` and `kind`") from None
    if version != FORMAT:
        why = f"is of version {str(version)[:20]} of the format; this mnemond reads version {FORMAT}"
        raise _bad(number, why)
    return fields


class _Restoring:
    def __init__(self, connection: Connection, record: Record) -> None:
        self._connection = connection
        self._record = record
        self.report = Report()
        self._fresh: dict[str, int] = {}
        """Memories that were added, and their numbers."""
        self._active: list[str] = []
        self._entities: dict[str, str] = {}
        """Entities of the file that are another row here."""
        self._statements: dict[tuple[str, tuple[str, ...]], str] = {}
        self._meta_line = _Meta()
        self._last_number = connection.count("SELECT max(number) FROM insights")
        self._handlers: dict[str, tuple[Exported, Callable[[Row], bool]]] = {
            ENTITIES.kind: (ENTITIES, self._entity),
            ALIASES.kind: (ALIASES, self._alias),
            EDGES.kind: (EDGES, self._edge),
            RELATIONSHIPS.kind: (RELATIONSHIPS, self._relationship),
            EVIDENCE.kind: (EVIDENCE, self._evidence),
            NAMES.kind: (NAMES, self._name),
            OPERATIONS.kind: (OPERATIONS, self._operation),
            SUMMARIES.kind: (SUMMARIES, self._summary),
            EXCHANGES.kind: (EXCHANGES, self._exchange),
            PASSAGES.kind: (PASSAGES, self._passage),
            REVIEWS.kind: (REVIEWS, self._review),
            REPLIES.kind: (REPLIES, self._reply),
        }

    # ------------------------------------------------------------ lines

    def add(self, number: int, line: bytes) -> None:
        fields = decoded(number, line)
        kind = self._text(number, fields, "kind")
        if kind == "knowledge" and "method" in fields:  # an operation on relations or names, of an earlier version
            kind, fields = OPERATIONS.kind, fields | {"operation_type": fields["method"], "memory_id": _NO_MEMORY}
        if number == 1 and kind != META:
            raise _bad(number, "is not the first of an export, which has the kind `meta`")
        try:
            if kind == META:
                self._meta(number, fields)
            elif kind == MEMORIES.kind:
                self._memory(number, fields)
            elif kind == TOMBSTONE:
                self._tombstone(self._text(number, fields, "id"))
            elif kind in self._handlers:
                table, handle = self._handlers[kind]
                is_new = handle(self._row(number, table, fields))
                (self.report.added if is_new else self.report.known)[kind] += 1
            else:
                self.report.ignored += 1
        except ConstraintError as error:
            raise _bad(number, f"does not fit into a store: {error}") from error
        except SqliteError as error:
            if "datatype mismatch" in str(error):
                raise _bad(number, f"does not fit into a store: {error}") from error
            raise

    def finish(self) -> Report:
        self._note_read()
        record = self._record
        if any(self.report.added[each.kind] for each in (RELATIONSHIPS, EVIDENCE)):
            relations.derive_again(self._connection, record.op_id, record.now)
        imports.begin(self._connection, record.op_id, imports.OWN, record.digest, record.now)
        imports.finish(self._connection, record.op_id)
        imports.note(self._connection, record.op_id, ((_source(each), each) for each in self._fresh))
        self._weigh()
        memories = (insights.read(self._connection, each) for each in self._active)
        entries = [Entry(IMPORTED, it.id, None, State(it)) for it in memories if it is not None]
        if self.report.added[PASSAGES.kind] and not entries:
            entries = [Entry("import")]
        history.append(self._connection, entries, record.op_id, record.triggered_by, record.now)
        self.report.active = len(self._active)
        return self.report

    def _note_read(self) -> None:
        """Note what jobs need not read again."""
        links = meta.read_record(self._connection, meta.LINKS_KEY, meta.LinksRecord)
        after = 0 if links is None else links.after
        if self._meta_line.links_read and after >= self._last_number and (self._fresh or links is None):
            meta.note(self._connection, [meta.links_fact(max([after, *self._fresh.values()]))])

    def _weigh(self) -> None:
        """Compute the effective importance of the memories in recall, as it is now."""
        now_us = parse_rfc3339(self._record.now)
        for insight_id in self._active:
            number = self._fresh[insight_id]
            row = self._connection.row(_WEIGHED, (number,))
            assert row is not None, "it was added"  # noqa: S101
            importance, uses, used, degree = row
            days = (now_us - parse_rfc3339(used)) / DAY_US
            value = round(effective_importance(importance, uses, days, degree), 6)
            insights.set_importance(self._connection, insight_id, value)

    def _meta(self, number: int, fields: dict[str, msgspec.Raw]) -> None:
        if number != 1:
            raise _bad(number, "begins another export: two cannot be one file")
        try:
            self._meta_line = _meta.decode(msgspec.json.encode(fields))
        except msgspec.MsgspecError:
            raise _bad(number, "has a value that cannot be used: whole, redacted, links_read") from None

    # ------------------------------------------------------------ fields

    @staticmethod
    def _text(number: int, fields: dict[str, msgspec.Raw], name: str) -> str:
        value = _any.decode(fields[name]) if name in fields else None
        if not isinstance(value, str):
            raise _bad(number, f"has no `{name}` that is a text")
        return value

    def _row(self, number: int, table: Exported, fields: dict[str, msgspec.Raw]) -> Row:
        """Return the columns that a line has, each checked as a reader of the store would read it."""
        row: Row = {}
        for column in table.columns(self._connection):
            raw = fields.get(field_of(table, column))
            if raw is not None:
                row[column] = self._value(number, table, column, bytes(raw))
        wrong = [each for each in stored_rows.unusable_columns(table.table, row) if each in row]
        if wrong:
            raise _bad(number, f"has a value that cannot be used: {', '.join(wrong)}")
        return {column: value for column, value in row.items() if value is not None}

    @staticmethod
    def _value(number: int, table: Exported, column: str, raw: bytes) -> Value:
        try:
            if column in table.json and raw[:1] in (b"{", b"["):
                return _json.encode(_any.decode(raw)).decode()
            value = _any.decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            raise _bad(number, f"has a value that cannot be used: {column}") from None
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise _bad(number, f"has a value that cannot be used: {column}")
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise _bad(number, f"has a value that cannot be used: {column}")
        return value

    def _insert(self, table: str, row: Row) -> None:
        columns = tuple(row)
        if (sql := self._statements.get((table, columns))) is None:
            places = ", ".join("?" * len(columns))
            sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES({places})"
            self._statements[table, columns] = sql
        self._connection.run(sql, tuple(row.values()))

    def _exists(self, table: str, row: Mapping[str, Value], *columns: str) -> bool:
        """Return True if there is a row with these values, of which some may be NULL."""
        same = " AND ".join(f"{each} IS ?" for each in columns)
        sql = f"SELECT 1 FROM {table} WHERE {same}"  # noqa: S608 - names of columns
        return self._connection.row(sql, tuple(row.get(each) for each in columns)) is not None

    def _mapped(self, row: Row, *columns: str) -> Row:
        """Return a row with the entities that it names as they are called here."""
        for column in columns:
            entity = row.get(column)
            if isinstance(entity, str) and entity in self._entities:
                row[column] = self._entities[entity]
        return row

    # ------------------------------------------------------------ memories

    def _memory(self, number: int, fields: dict[str, msgspec.Raw]) -> None:
        row = self._row(number, MEMORIES, fields)
        parts = [(part, self._part(number, part, fields)) for part in PARTS]
        insight_id, content = row.get("id"), row.get("content")
        if not isinstance(insight_id, str) or not isinstance(content, str):
            raise _bad(number, "has no `id` or no `content`")
        if len(content) > MAX_CONTENT:
            raise _bad(number, f"has a text of {len(content):,} characters; the limit is {MAX_CONTENT:,}")
        if not self._is_new(insight_id, content, row):
            return
        row["content_hash"] = insights.content_hash(content)
        self._insert(MEMORIES.table, row)
        self._fresh[insight_id] = here = self._connection.count(
            "SELECT number FROM insights WHERE id = ?", (insight_id,)
        )
        for part, rows in parts:
            for place, each in enumerate(rows):
                key: Row = {part.memory: here if part.by_number else insight_id}
                if part.numbered:
                    key[part.order] = place
                self._insert(part.table, self._mapped({**key, **each}, "entity_id"))
        self.report.added[MEMORIES.kind] += 1
        if row.get("status", "active") == "active":
            self._active.append(insight_id)
        if self._record.look:
            self.report.secrets += bool(find_secrets(content))
            if len(self.report.samples) < 3:
                self.report.samples.append(content[:200])
        enforced = sum(1 for part, rows in parts if part.field == "when" for each in rows if each["enforce"] != "tell")
        self.report.enforced += enforced
        if enforced and not self._record.by_person:
            why = "brings a rule that asks about calls of tools or refuses them, which only a person at a terminal does"
            raise _bad(number, why)

    def _is_new(self, insight_id: str, content: str, row: Row) -> bool:
        here = self._connection.row("SELECT content, status FROM insights WHERE id = ?", (insight_id,))
        if here is None:
            if not history.is_purged(self._connection, insight_id):
                return True
            self.report.note_conflict(insight_id, "it was purged here")
            return False
        self.report.known[MEMORIES.kind] += 1
        if here[0] != content:
            self.report.note_conflict(insight_id, "it has another text here")
        elif here[1] != row.get("status", "active"):
            self.report.note_conflict(insight_id, f"it is {here[1]} here")
        return False

    def _part(self, number: int, part: Part, fields: dict[str, msgspec.Raw]) -> list[dict[str, Any]]:
        if (raw := fields.get(part.field)) is None:
            return []
        try:
            rows = _parts[part.field].decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise _bad(number, f"has a value that cannot be used: {part.field}") from None
        columns = part.columns(self._connection)
        for row in rows:
            if not set(columns) - {"mention_text"} <= set(row):
                raise _bad(number, f"has a value that cannot be used: {part.field}")
        return [{name: value for name, value in row.items() if name in columns} for row in rows]

    def _tombstone(self, insight_id: str) -> None:
        if self._connection.row("SELECT 1 FROM insights WHERE id = ?", (insight_id,)) is not None:
            self.report.note_conflict(insight_id, "it was purged there, and is here still")

    def _edge(self, row: Row) -> bool:
        source, target = (self._fresh.get(str(row.pop(end, ""))) for end in ("source_id", "target_id"))
        kind = row.pop("edge_type", None)
        if source is None or target is None:
            return False
        if kind not in EDGE_TYPES:
            raise ConstraintError(f"there is no edge_type {str(kind)[:40]!a}")
        self._insert(EDGES.table, {"source": source, "target": target, "kind": EDGE_TYPES.index(str(kind)), **row})
        return True

    # ------------------------------------------------------------ entities and relations

    def _entity(self, row: Row) -> bool:
        sql = "SELECT id FROM entities WHERE canonical_name = ? AND sense = ?"
        same = self._connection.value(sql, (row.get("canonical_name"), row.get("sense", "")))
        if same is not None:
            self._entities[str(row.get("id"))] = same
            return False
        if self._exists(ENTITIES.table, row, "id"):
            return False
        self._insert(ENTITIES.table, row)
        return True

    def _alias(self, row: Row) -> bool:
        return self._unless_known(ALIASES, self._mapped(row, "entity_id"), "alias")

    def _unless_known(self, table: Exported, row: Row, *columns: str) -> bool:
        if self._exists(table.table, row, *columns):
            return False
        self._insert(table.table, row)
        return True

    def _relationship(self, row: Row) -> bool:
        row = self._mapped(row, "source_id", "target_id")
        if self._exists(RELATIONSHIPS.table, row, "id"):
            return False
        same = ("source_id", "type", "slot", "target_id", "value", "valid_from")
        if row.get("expired_at") is None and self._exists(RELATIONSHIPS.table, row | {"expired_at": None}, *same,
                                                          "expired_at"):  # fmt: skip
            return False
        self._insert(RELATIONSHIPS.table, row)
        return True

    def _evidence(self, row: Row) -> bool:
        row = self._mapped(row, "source_id", "target_id")
        memory = row.get("memory_id")
        if memory is not None and memory not in self._fresh:
            return False
        if row.get("origin") == "rules":  # of a development checkout, whose rules read relations
            return False
        same = ("op_id", "source_id", "type", "slot", "target_id", "value", "kind", "at", "memory_id", "quote")
        if memory is None and self._exists(EVIDENCE.table, row, *same):
            return False
        self._insert(EVIDENCE.table, row)
        return True

    def _name(self, row: Row) -> bool:
        row = self._mapped(row, "entity_id", "other")
        return self._unless_known(NAMES, row, "kind", "entity_id", "other", "op_id")

    # ------------------------------------------------------------ history

    def _operation(self, row: Row) -> bool:
        memory = row.get("memory_id")
        known = memory not in self._fresh and (
            self._exists("insights", {"id": memory}, "id")
            or self._exists(OPERATIONS.table, row, "memory_id", "op_id", "operation_type")
        )
        if not known:
            self._insert(OPERATIONS.table, row)
        return not known

    def _summary(self, row: Row) -> bool:
        row["upto"] = self._connection.count("SELECT coalesce(max(number), 0) FROM insights")
        return self._unless_known(SUMMARIES, self._mapped(row, "entity_id"), "entity_id", "version")

    def _reply(self, row: Row) -> bool:
        return self._unless_known(REPLIES, row, "op_id")

    # ------------------------------------------------------------ conversations

    def _exchange(self, row: Row) -> bool:
        if self._exists(EXCHANGES.table, row, "id"):
            return False
        return self._unless_known(EXCHANGES, row, "dedupe_key")

    def _passage(self, row: Row) -> bool:
        if self._exists(PASSAGES.table, row, "id"):
            return False
        row["op_id"] = self._record.op_id  # undo takes it back with the import
        return self._unless_known(PASSAGES, row, "dedupe_key")

    def _review(self, row: Row) -> bool:
        return self._unless_known(REVIEWS, row, "kind", "payload", "content")


def _source(insight_id: str) -> str:
    """Return the source of a memory of an export, as `imported` notes it."""
    return f"{imports.OWN}:{insight_id}"
