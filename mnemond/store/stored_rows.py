"""Decoding stored rows as their readers do, to find those that no reader could use.

Every page may have its checksum and every table its constraints while a row cannot be used: constraints do not look
into a text that holds JSON or a time. Used by verification, by salvage and for backups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.model.changes import JobRecord
from mnemond.model.memory import Insight
from mnemond.store import core_summaries, history, insights, meta, operations, reviews, sync_notes
from mnemond.store.connection import Connection, Value
from mnemond.store.embedder_switch import SwitchRecord
from mnemond.store.insights import optional, read_time

BY_NUMBER: Final = {
    "insights": "number", "edge_rows": "source", "memory_operations": "id", "oplog": "id", "entities": "rowid",
    "relationships": "rowid", "relationship_evidence": "id", "entity_links": "id", "hypothetical_queries": "id",
    "core_summaries": "id", "passages": "rowid",
    "pending_reviews": "id", "jobs": "id", "operations": "rowid", "exchanges": "number", "recalls": "id",
    "showings": "id", "imports": "rowid",
}  # fmt: skip
"""Tables whose rows are ordered by an integer column, and that column. Referenced tables come first."""

BY_KEY: Final = {
    "cues": ("memory", "ord"), "triggers": ("memory", "ord"), "trigger_counts": ("memory", "pattern"),
    "entity_aliases": ("alias",), "memory_entities": ("memory_id", "entity_id"),
    "meta": ("key",),
    "imported": ("source",), "sync_rows": ("kind", "key"), "sync_files": ("target", "device", "name"),
    "sync_targets": ("target",),
}  # fmt: skip
"""Tables whose rows are ordered by these columns."""

TABLES: Final = (*BY_NUMBER, *BY_KEY)
"""Tables with what cannot be made again."""

NOT_TEXT: Final = "text that is no UTF-8"
ROWS_AT_ONCE: Final = 250
"""Rows that are decoded between two pauses: about two milliseconds."""

Reader = Callable[[Any], object]

_list = msgspec.json.Decoder(list[Any])

_READERS: Final[dict[str, dict[str, Reader]]] = {
    "insights": insights.READERS,
    "edge_rows": {
        "metadata": insights.read_object, "created_at": read_time, "last_boosted_at": optional(read_time),
        "boost_days": insights.READERS["boost_days"],
    },
    "memory_operations": {
        "before_state": optional(history.decode_state), "after_state": optional(history.decode_state),
        "created_at": read_time,
    },
    "oplog": {"created_at": read_time},
    "recalls": {"created_at": read_time},
    "operations": {"outcome": operations.decode_outcome, "created_at": read_time},
    "entities": {"created_at": read_time},
    "relationships": {
        "created_at": read_time, "valid_from": optional(read_time), "invalid_at": optional(read_time),
        "expired_at": optional(read_time),
    },
    "relationship_evidence": {"at": read_time, "created_at": read_time, "expired_at": optional(read_time)},
    "entity_links": {"created_at": read_time, "expired_at": optional(read_time)},
    "core_summaries": {
        "node_ids": _list.decode, "lines": core_summaries.read_lines, "scores": optional(core_summaries.read_scores),
        "created_at": read_time, "expired_at": optional(read_time),
    },
    "pending_reviews": {
        "payload": reviews.read_payload, "resolution": optional(reviews.read_settled), "created_at": read_time,
        "resolved_at": optional(read_time),
    },
    "imports": {"created_at": read_time, "accepted_at": optional(read_time)},
    "jobs": {"payload": insights.read_object, "run_after": read_time},
    "passages": {"said_at": read_time},
    "exchanges": {
        "facts": optional(_list.decode), "queued_at": read_time, "said_at": read_time,
        "not_before": optional(read_time),
    },
}  # fmt: skip
"""Columns that are more than text, by table: each reads a value as it is read when used, and raises for others."""

_RECORDS: Final[dict[str, type]] = {
    "embedder": meta.EmbedderRecord, "switch": SwitchRecord, meta.LINKS_KEY: meta.LinksRecord,
    meta.STORE_KEY: meta.StoreRecord,
}  # fmt: skip


def unusable_columns(table: str, named: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of a row, given by their names, whose values no reader can use."""
    if table == "meta":
        kind = _record_of(named["key"])
        try:
            if kind is not None:
                msgspec.json.decode(named["value"], type=kind)
        except msgspec.MsgspecError:
            return ("value",)
        return ()
    return insights.unusable_columns(named, _READERS.get(table, {}))


def _record_of(key: str) -> type | None:
    if key.startswith(sync_notes.PREFIX):
        return sync_notes.TargetNote
    return JobRecord if key.startswith(meta.JOB_PREFIX) else _RECORDS.get(key)


def is_record(key: str) -> bool:
    """Return True for a key of `meta` whose value is a record that is made again when it is missing."""
    return _record_of(key) is not None


class BadRow(NamedTuple):
    """A row that cannot be used: its table, its key in words, and what is wrong with it."""

    table: str
    key: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        what = "memory" if self.table == "insights" else self.table
        return f"{what} {self.key[:64]} ({', '.join(self.columns)})"


def bad_rows(connection: Connection) -> Iterator[BadRow | None]:
    """Yield each row of `TABLES` that no reader can use, and None wherever other work may run meanwhile. Raises
    SqliteError."""
    for table in TABLES:
        yield from _bad_rows_of(connection, table)


def _bad_rows_of(connection: Connection, table: str) -> Iterator[BadRow | None]:
    columns = columns_of(connection, table)
    for rows in _pages(connection, table, columns):
        for row in rows:
            named = dict(zip(columns, row, strict=True))
            wrong = (NOT_TEXT,) if _undecoded(row) else unusable_columns(table, named)
            if wrong:
                yield row_named(table, named, wrong)
        yield None


def row_named(table: str, named: Mapping[str, Any], columns: tuple[str, ...]) -> BadRow:
    """Return a row in words: its key, and the columns that are wrong."""
    key = _KEYS.get(table) or (next(iter(named)),)
    return BadRow(table, " ".join(str(named[each]) for each in key), columns)


_KEYS: Final = {
    "insights": ("id",), "edge_rows": ("source", "target"), "memory_operations": ("id", "memory_id"),
    "memory_entities": ("memory_id", "entity_id"),
}  # fmt: skip
"""Columns that name a row; else the first one does."""


def columns_of(connection: Connection, table: str) -> list[str]:
    """Return the columns of a table; of one that is ordered by its row ids, these as well."""
    columns = [str(row[1]) for row in connection.rows(f"PRAGMA table_info({table})")]
    return [*columns, "rowid"] if BY_NUMBER.get(table) == "rowid" else columns


def _pages(connection: Connection, table: str, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    order = ("source", "target", "kind") if table == "edge_rows" else BY_KEY.get(table) or (BY_NUMBER[table],)
    at = [columns.index(each) for each in order]
    names, places = ", ".join(order), ", ".join("?" * len(order))
    after: tuple[Value, ...] = ()
    while True:
        where = f"WHERE ({names}) > ({places})" if after else ""
        rest = f"{where} ORDER BY {names} LIMIT {ROWS_AT_ONCE}"
        try:
            rows = connection.rows(f"SELECT {', '.join(columns)} FROM {table} {rest}", after)  # noqa: S608 - constants
        except UnicodeDecodeError:
            rows = rows_as_bytes(connection, table, columns, rest, after)
        if rows:
            yield rows
        if len(rows) < ROWS_AT_ONCE:
            return
        after = tuple(rows[-1][each] for each in at)


class Undecoded(str):
    """A text that is no UTF-8, with U+FFFD for what cannot be decoded."""

    __slots__ = ()


def _undecoded(row: Sequence[Any]) -> bool:
    return any(isinstance(value, Undecoded) for value in row)


def rows_as_bytes(
    connection: Connection, table: str, columns: Sequence[str], rest: str, values: Sequence[Value]
) -> list[tuple[Any, ...]]:
    """Return rows of which a text may be no UTF-8, which SQLite does not mind: it is an `Undecoded` then. Raises
    SqliteError."""
    chosen = ", ".join(
        f"typeof({each}), iif(typeof({each}) = 'text', CAST({each} AS BLOB), {each})" for each in columns
    )
    found = connection.rows(f"SELECT {chosen} FROM {table} {rest}", values)  # noqa: S608 - constants
    return [tuple(_decoded(kind, value) for kind, value in zip(row[::2], row[1::2], strict=True)) for row in found]


def read_mended(connection: Connection, number: int) -> Insight | None:
    """Return a memory as far as its row can be read, with defaults for the columns that cannot be used; None if that is
    not possible, or there is no such row. Raises SqliteError."""
    columns = columns_of(connection, "insights")
    for row in rows_as_bytes(connection, "insights", columns, "WHERE number = ?", (number,)):
        named = {
            name: str(value) if isinstance(value, Undecoded) else value
            for name, value in zip(columns, row, strict=True)
        }
        wrong = insights.unusable_columns(named)
        if all(column in insights.DEFAULTS for column in wrong):
            named |= {column: insights.DEFAULTS[column] for column in wrong}
            without_cues_and_triggers = (insights.NONE, insights.NONE)
            return insights.ROWS.read((*map(named.__getitem__, insights.ROWS.columns), *without_cues_and_triggers))
    return None


def _decoded(kind: str, value: Value) -> Value:
    if kind != "text":
        return value
    assert isinstance(value, bytes), "a text was cast"  # noqa: S101
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Undecoded(value.decode("utf-8", "replace"))
