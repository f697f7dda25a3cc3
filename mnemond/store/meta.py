"""The `meta` table: facts about the store itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from mnemond.store.connection import Connection
from mnemond.store.files import damaged, log_bytes, size_bytes


class EmbedderRecord(msgspec.Struct, frozen=True):
    """The embedder a store's vectors were made with; vectors of another fingerprint cannot be compared with them.

    `unrelated` and `paraphrase` are median cosines measured on this store, None before that was done (spec 7.3).
    """

    name: str
    dimension: int
    fingerprint: str
    unrelated: float | None = None
    paraphrase: float | None = None


def made_by(record: EmbedderRecord | None) -> str:
    """What an index says of its vectors: their embedder's fingerprint, "" without an embedder."""
    return "" if record is None else record.fingerprint


def read_embedder(connection: Connection) -> EmbedderRecord | None:
    """The store's embedder, or None when none was ever recorded. Raises MnemonError(STORAGE) for a damaged record."""
    row = connection.row("SELECT value FROM meta WHERE key = 'embedder'")
    try:
        return None if row is None else msgspec.json.decode(row[0], type=EmbedderRecord)
    except msgspec.MsgspecError as error:
        raise damaged("its record of the embedder", error) from error


def write_embedder(connection: Connection, record: EmbedderRecord) -> None:
    """Record the store's embedder."""
    connection.run(
        "INSERT INTO meta(key, value) VALUES('embedder', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (msgspec.json.encode(record).decode(),),
    )


def note(connection: Connection, facts: Iterable[tuple[str, str]]) -> None:
    """Give rows of the table, by their keys, these values."""
    for key, value in facts:
        connection.run(
            "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, value),
        )


class SwitchRecord(msgspec.Struct, frozen=True):
    """A change of the store's embedder that is under way: to which model, of which provider, since when (RFC 3339)."""

    provider: str
    to: EmbedderRecord
    started_at: str


def read_switch(connection: Connection) -> SwitchRecord | None:
    """The switch under way, if there is one. Raises MnemonError(STORAGE) for a damaged record."""
    row = connection.row("SELECT value FROM meta WHERE key = 'switch'")
    try:
        return None if row is None else msgspec.json.decode(row[0], type=SwitchRecord)
    except msgspec.MsgspecError as error:
        raise damaged("its record of a switch of embedders", error) from error


def write_switch(connection: Connection, record: SwitchRecord | None) -> None:
    """Record a switch; None when it is over."""
    connection.run("DELETE FROM meta WHERE key = 'switch'")
    if record is not None:
        value = msgspec.json.encode(record).decode()
        connection.run("INSERT INTO meta(key, value) VALUES('switch', ?)", (value,))


# Figures of a store that the mirror does not have.


class FileFigures(msgspec.Struct, frozen=True):
    """Bytes of the database, of its log, and of pages in it that nothing stands on; rows by state, and active ones by
    type."""

    database: int
    log: int
    free: int
    by_status: dict[str, int]
    by_type: dict[str, int]


def file_figures(connection: Connection, path: Path) -> FileFigures:
    """Read the whole database at `path` through `connection` (blocking). Raises SqliteError."""
    connection.run("BEGIN")
    try:
        by_status = dict(connection.rows("SELECT status, count(*) FROM insights GROUP BY status ORDER BY status"))
        by_type = dict(
            connection.rows(
                "SELECT memory_type, count(*) FROM insights WHERE deleted_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1"
            )
        )
        free = int(connection.pragma("freelist_count") or 0) * int(connection.pragma("page_size") or 0)
    finally:
        connection.run("ROLLBACK")
    log = log_bytes(path)
    return FileFigures(size_bytes(path) - log, log, free, by_status, by_type)
