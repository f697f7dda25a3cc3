"""Memories in SQLite files: mnemon and memman (`insights`), mcp-memory-service (`memories`). Such a file is never
written, nor are files made beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemond.interchange.items import Item, NotReadableError, category_of, labels, moment, pieces, plain
from mnemond.store.connection import Connection, SqliteError

MAGIC: Final = b"SQLite format 3\0"
"""The first bytes of such a file."""

MNEMON: Final = "mnemon"
MEMMAN: Final = "memman"
SERVICE: Final = "mcp-memory-service"

_KINDS: Final = f"{MNEMON}, {MEMMAN} and {SERVICE}"
_any = msgspec.json.Decoder()


def items_of_database(path: Path, kind: str | None) -> tuple[str, list[Item]]:
    """Return the kind of a database and its memories, without those that were deleted there.

    Raises NotReadableError for one that is something else, or that a program has open.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise NotReadableError("a program has it open, or ended without closing it (there is a log beside it)")
    try:
        connection = Connection(path, read_only=True, frozen=True)
        try:
            found = _kind_of(connection)
            if found is None or kind not in (None, found):
                raise NotReadableError(f"it is a database, but none of {kind or _KINDS}")
            read = _of_service if found == SERVICE else _of_insights
            return found, list(read(connection, found))
        finally:
            connection.close()
    except (SqliteError, UnicodeDecodeError) as error:
        raise NotReadableError(f"it is damaged: {error}") from error


def _columns(connection: Connection, table: str) -> set[str]:
    return set(connection.column("SELECT name FROM pragma_table_info(?)", (table,)))


def _kind_of(connection: Connection) -> str | None:
    insights = _columns(connection, "insights")
    if {"id", "content", "created_at"} <= insights:
        return MEMMAN if {"replaced_by", "author"} <= insights else MNEMON
    return SERVICE if {"content", "content_hash", "memory_type"} <= _columns(connection, "memories") else None


def _rows(connection: Connection, table: str, wanted: tuple[str, ...], rest: str) -> Iterator[dict[str, Any]]:
    """Yield rows with the wanted columns, None for those that the table has not."""
    there = _columns(connection, table)
    names = ", ".join(name if name in there else f"NULL AS {name}" for name in wanted)
    alive = "WHERE deleted_at IS NULL" if "deleted_at" in there else ""
    for row in connection.rows(f"SELECT {names} FROM {table} {alive} {rest}"):  # noqa: S608 - names of columns
        yield dict(zip(wanted, row, strict=True))


def _of_insights(connection: Connection, kind: str) -> Iterator[Item]:
    wanted = ("id", "content", "category", "importance", "tags", "created_at", "replaced_by", "meta", "author")
    for row in _rows(connection, "insights", wanted, "ORDER BY created_at, rowid"):
        if row["replaced_by"] is not None or not isinstance(row["content"], str):
            continue
        importance = row["importance"]
        for piece in pieces(row["content"]):
            yield Item(
                source=str(row["id"]), content=piece, origin=kind, category=category_of(row["category"], {}),
                importance=importance if isinstance(importance, int) and 1 <= importance <= 5 else 3,
                tags=labels(_decoded(row["tags"])), created_at=moment(row["created_at"]),
                metadata=plain(_decoded(row["meta"])),
            )  # fmt: skip


def _of_service(connection: Connection, kind: str) -> Iterator[Item]:
    wanted = ("content", "content_hash", "tags", "memory_type", "metadata", "created_at")
    for row in _rows(connection, "memories", wanted, "ORDER BY rowid"):
        for piece in pieces(row["content"] if isinstance(row["content"], str) else ""):
            yield Item(
                source=str(row["content_hash"]), content=piece, origin=kind,
                category=category_of(row["memory_type"], {}), tags=labels(row["tags"]),
                created_at=moment(row["created_at"]), metadata=plain(_decoded(row["metadata"])),
            )  # fmt: skip


def _decoded(value: object) -> object:
    try:
        return _any.decode(value) if isinstance(value, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return None
