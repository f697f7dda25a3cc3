"""Figures of a store that the mirror does not have."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mnemond.store.connection import Connection
from mnemond.store.files import log_bytes, size_bytes


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
