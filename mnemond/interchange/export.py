"""A store as lines of text: one JSON object a line, canonical, in a fixed order (docs/export.md).

Lines are read from one read transaction, in portions; nothing here knows the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final

import msgspec

from mnemond.interchange import tables
from mnemond.interchange.tables import (
    ALIASES,
    EDGES,
    ENTITIES,
    EVIDENCE,
    FORMAT,
    MEMORIES,
    META,
    NAMES,
    OPERATIONS,
    PARTS,
    RELATIONSHIPS,
    TOMBSTONE,
    Exported,
    Part,
)
from mnemond.store.connection import Connection, Value
from mnemond.store.history import IMPORTED
from mnemond.store.meta import LINKS_KEY, LinksRecord, read_record
from mnemond.text.secrets import redact

ROWS_AT_ONCE: Final = 100
"""Rows that one query returns: with texts of the greatest length about 1 MB."""

PORTION_BYTES: Final = 128 << 10
"""Bytes of lines after which a portion ends: copying and encoding so many takes less than a millisecond."""

Line = dict[str, Any]

_json = msgspec.json.Encoder()
_any = msgspec.json.Decoder()


class Selection(msgspec.Struct, frozen=True):
    """What to export. `memories`: the ids of these alone, with what belongs to them; None: everything. `redacted`: no
    secret that is known by its form leaves, wherever a row has it."""

    memories: frozenset[str] | None = None
    redacted: bool = False

    @property
    def is_whole(self) -> bool:
        return self.memories is None


def lines(connection: Connection, selection: Selection) -> Iterator[bytes]:
    """Yield every line, without its line break, of the state that the connection's transaction sees.

    Raises SqliteError, and UnicodeDecodeError for a row whose text is no UTF-8.
    """
    encode = _encoded_redacted if selection.redacted else _json.encode
    yield encode(_meta(connection, selection))
    for each in _lines(connection, selection):
        yield encode(each)


def _meta(connection: Connection, selection: Selection) -> Line:
    """Return the first line: what the lines are, and whether all memories were read for links."""
    line: Line = {"mnemond": FORMAT, "kind": META, "whole": selection.is_whole, "redacted": selection.redacted}
    links = read_record(connection, LINKS_KEY, LinksRecord)
    unread = "SELECT count(*) FROM insights WHERE number > ? AND deleted_at IS NULL"
    line["links_read"] = links is not None and not connection.count(unread, (links.after,))
    return line


def portions(connection: Connection, selection: Selection) -> Generator[tuple[bytes, int], None, None]:
    """Yield the lines, each with its line break, in portions of about PORTION_BYTES, and the number of lines in each.
    Raises as `lines` does."""
    waiting, size = list[bytes](), 0
    for line in lines(connection, selection):
        waiting.append(line)
        size += len(line) + 1
        if size >= PORTION_BYTES:
            yield b"\n".join([*waiting, b""]), len(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"\n".join([*waiting, b""]), len(waiting)


def count(connection: Connection, selection: Selection) -> int:
    """Return about how many lines there will be, for a progress bar: those of memories, of their edges and operations.
    Exact for neither a selection nor for the few other lines."""
    if selection.memories is not None:
        return len(selection.memories)
    tables_ = ("insights", "edge_rows", "memory_operations", "operations", "entities")
    return sum(connection.count(f"SELECT count(*) FROM {each}") for each in tables_)  # noqa: S608 - constants


def _encoded_redacted(line: Line) -> bytes:
    return _json.encode(_redacted(_any.decode(_json.encode(line))))


def _redacted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    match value:
        case str():
            return redact(value).text
        case dict():
            return {name: _redacted(each) for name, each in value.items()}
        case list():
            return [_redacted(each) for each in value]
        case _:
            return value


def _lines(connection: Connection, selection: Selection) -> Iterator[Line]:
    chosen, named = selection.memories, None
    if chosen is not None:
        named = _entities_of(connection, chosen)
    yield from _rows(connection, ENTITIES, _has("id", named))
    yield from _rows(connection, ALIASES, _has("entity_id", named))
    yield from _memories(connection, chosen)
    yield from _edges(connection, chosen)
    yield from _rows(connection, RELATIONSHIPS, _has_both(named))
    yield from _rows(connection, EVIDENCE, _has("memory_id", chosen))
    yield from _rows(connection, NAMES, _has("entity_id", named))
    yield from _rows(connection, OPERATIONS, _has("memory_id", chosen))
    if chosen is not None:
        return  # the rest is of the store as a whole, and may have words of other memories
    yield from _tombstones(connection)
    yield from _rows(connection, tables.SUMMARIES)
    for each in (tables.EXCHANGES, tables.PASSAGES, tables.REVIEWS, tables.REPLIES):
        yield from _rows(connection, each)


# Rows as lines.


def _line_of(table: Exported, columns: Sequence[str], row: Sequence[Value]) -> Line:
    """Return a row as a line: without what is NULL, and with JSON as such where that loses nothing."""
    line: Line = {"mnemond": FORMAT, "kind": table.kind}
    for name, value in zip(columns, row, strict=True):
        if value is not None:
            field = field_of(table, name)
            line[field] = embedded(value) if name in table.json else value
    return line


def field_of(table: Exported, column: str) -> str:
    """Return the field of a line that has the value of a column: two tables have a `kind` of their own."""
    return f"{table.kind}_kind" if column == "kind" else column


MAX_NESTING: Final = 100
"""Brackets within brackets of JSON in a line. How many a reader can decode depends on its version of Python."""


def _nesting(text: str) -> int:
    """Return how many brackets are open at once, those in strings included."""
    opened = deepest = 0
    for each in _BRACKETS.findall(text):
        opened += 1 if each in "[{" else -1
        deepest = max(deepest, opened)
    return deepest


_BRACKETS: Final = re.compile(r"[][{}]")


def embedded(value: Value) -> object:
    """Return the JSON in a text as a part of a line, if encoding it again gives this text; else the text."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    if _nesting(value) > MAX_NESTING:
        return value
    encoded = value.encode()
    try:
        same = _json.encode(_any.decode(encoded)) == encoded
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return value
    return msgspec.Raw(encoded) if same else value


Wanted = Callable[[Line], bool]


def _has(field: str, ids: frozenset[str] | None) -> Wanted | None:
    return None if ids is None else lambda line: line.get(field) in ids


def _has_both(ids: frozenset[str] | None) -> Wanted | None:
    if ids is None:
        return None
    return lambda line: line["source_id"] in ids and line.get("target_id") in {None, *ids}


def _entities_of(connection: Connection, chosen: frozenset[str]) -> frozenset[str]:
    """Return the entities that memories name, or that their evidence is about."""
    found: set[str] = set()
    for memory, entity in connection.rows("SELECT memory_id, entity_id FROM memory_entities"):
        if memory in chosen:
            found.add(entity)
    for memory, source, target in connection.rows("SELECT memory_id, source_id, target_id FROM relationship_evidence"):
        if memory in chosen:
            found |= {source} if target is None else {source, target}
    return frozenset(found)


def _rows(connection: Connection, table: Exported, wanted: Wanted | None = None) -> Iterator[Line]:
    columns = table.columns(connection)
    for row in _pages(connection, table):
        line = _line_of(table, columns, row)
        if wanted is None or wanted(line):
            yield line


def _pages(connection: Connection, table: Exported) -> Iterator[tuple[Any, ...]]:
    names = ", ".join(table.columns(connection))
    if table.order in ("id", "number"):
        last = 0
        # The record of an import of an export is left out: another store knows nothing of it.
        own = f" AND operation_type <> '{IMPORTED}'" if table is OPERATIONS else ""
        where = f"{table.order} > ?{own} ORDER BY {table.order} LIMIT ?"
        sql = f"SELECT {names}, {table.order} FROM {table.table} WHERE {where}"  # noqa: S608
        while rows := connection.rows(sql, (last, ROWS_AT_ONCE)):
            for row in rows:
                yield row[:-1]
            last = rows[-1][-1]
    elif table is ALIASES:  # without row ids, by its key
        key = table.order.split(", ")
        ordered = f"ORDER BY {table.order} LIMIT ?"
        marks = ", ".join("?" * len(key))
        sql = f"SELECT {names} FROM {table.table} WHERE ({table.order}) > ({marks}) {ordered}"  # noqa: S608
        rows = connection.rows(f"SELECT {names} FROM {table.table} {ordered}", (ROWS_AT_ONCE,))  # noqa: S608
        while rows:
            yield from rows
            last_key = [rows[-1][table.columns(connection).index(each)] for each in key]
            rows = connection.rows(sql, (*last_key, ROWS_AT_ONCE))
    else:
        numbers = connection.column(f"SELECT rowid FROM {table.table} ORDER BY {table.order}")  # noqa: S608
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            yield from _numbered(connection, table, numbers[start : start + ROWS_AT_ONCE])


def _numbered(connection: Connection, table: Exported, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    places, names = ", ".join("?" * len(numbers)), ", ".join(table.columns(connection))
    sql = f"SELECT {names} FROM {table.table} WHERE rowid IN ({places}) ORDER BY {table.order}"  # noqa: S608
    return connection.rows(sql, numbers)


# Memories and what is part of them.


def _memories(connection: Connection, chosen: frozenset[str] | None) -> Iterator[Line]:
    columns = MEMORIES.columns(connection)
    for numbers in _chosen_numbers(connection, chosen):
        parts = [(part, _part(connection, part, numbers)) for part in PARTS]
        for number, row in zip(numbers, _numbered(connection, MEMORIES, numbers), strict=True):
            line = _line_of(MEMORIES, columns, row)
            for part, found in parts:
                if (rows := found.get(number)) is not None:
                    line[part.field] = rows
            yield line


def _chosen_numbers(connection: Connection, chosen: frozenset[str] | None) -> Iterator[list[int]]:
    """Yield the numbers of the memories in the order of their lines, in portions."""
    rows = connection.rows(f"SELECT number, id FROM insights ORDER BY {MEMORIES.order}")  # noqa: S608 - a constant
    numbers = [number for number, insight_id in rows if chosen is None or insight_id in chosen]
    for start in range(0, len(numbers), ROWS_AT_ONCE):
        yield numbers[start : start + ROWS_AT_ONCE]


def _part(connection: Connection, part: Part, numbers: Sequence[int]) -> dict[int, list[Line]]:
    """Return the rows of a table that belong to some memories, by the number of the memory."""
    columns = part.columns(connection)
    places, names = ", ".join("?" * len(numbers)), ", ".join(f"p.{each}" for each in columns)
    memory = "i.number" if part.by_number else "i.id"
    sql = (
        f"SELECT i.number, {names} FROM insights AS i JOIN {part.table} AS p ON p.{part.memory} = {memory}"  # noqa: S608
        f" WHERE i.number IN ({places}) ORDER BY i.number, p.{part.order}"
    )
    found: dict[int, list[Line]] = {}
    for number, *values in connection.rows(sql, numbers):
        row = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        found.setdefault(number, []).append(row)
    return found


def _edges(connection: Connection, chosen: frozenset[str] | None) -> Iterator[Line]:
    """Yield the edges of each memory in the order of the memories; those of one by the id of the other."""
    columns = EDGES.columns(connection)
    names = ", ".join(f"e.{name}" for name in columns)
    for numbers in _chosen_numbers(connection, chosen):
        for number in numbers:
            sql = (
                f"SELECT {names} FROM edges AS e WHERE e.source_id = (SELECT id FROM insights WHERE number = ?)"  # noqa: S608
                " ORDER BY e.target_id, e.edge_type"
            )
            for row in connection.rows(sql, (number,)):
                line = _line_of(EDGES, columns, row)
                if chosen is None or line["target_id"] in chosen:
                    yield line


# Tombstones.


_GONE: Final = (
    "SELECT memory_id, max(created_at) FROM memory_operations WHERE memory_id <> ''"
    " AND memory_id NOT IN (SELECT id FROM insights) GROUP BY memory_id ORDER BY max(created_at), memory_id"
)


def _tombstones(connection: Connection) -> Iterator[Line]:
    for insight_id, last in connection.rows(_GONE):
        yield {"mnemond": FORMAT, "kind": TOMBSTONE, "id": insight_id, "created_at": last}
