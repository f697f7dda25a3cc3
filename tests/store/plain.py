"""Stores as they were before pages had checksums."""

from __future__ import annotations

from pathlib import Path

import apsw

from mnemond.store.checksums import RESERVED


def make_plain(path: Path) -> None:
    """Write a store anew without bytes reserved. SQLite gives up none of them, so every table is copied."""
    whole = apsw.Connection(str(path))
    plain = path.with_name("plain.part")
    target = apsw.Connection(str(plain))
    target.pragma("foreign_keys", False)
    named = "sql NOTNULL AND name NOT LIKE 'sqlite%'"
    for (sql,) in whole.execute(f"SELECT sql FROM sqlite_schema WHERE {named} ORDER BY type = 'table' DESC").fetchall():
        target.execute(str(sql))
    tables = whole.execute(f"SELECT name FROM sqlite_schema WHERE type = 'table' AND {named}").fetchall()
    for (name,) in [*tables, ("sqlite_sequence",)]:
        rows = whole.execute(f'SELECT * FROM "{name}"').fetchall()
        if rows:
            target.executemany(f'INSERT INTO "{name}" VALUES({",".join("?" * len(rows[0]))})', rows)
    for name in ("application_id", "user_version"):
        target.pragma(name, whole.pragma(name))
    target.pragma("journal_mode", "wal")
    for each in (whole, target):
        each.close()
    plain.replace(path)
    path.chmod(0o600)


def has_checksums(path: Path) -> bool:
    """Whether the pages have checksums, by the header; read through SQLite, which keeps its locks."""
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        return file.xFileSize() >= 100 and file.xRead(100, 0)[20] == RESERVED
    finally:
        file.xClose()


def plain_pages(path: Path) -> bool:
    """Whether no bytes are reserved."""
    return path.read_bytes()[20] == 0
