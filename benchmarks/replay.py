"""The baseline of writing: the rows that a daemon wrote, written again with one transaction for each memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import apsw

from benchmarks.wire import Json

COUNTED = "insights"
"""The table with one row a memory."""


@dataclass(frozen=True)
class Written:
    """One table's rows, in the order they were written, and how to insert one of them."""

    insert: str
    rows: list[tuple[apsw.SQLiteValue, ...]]


def rows_of(database: Path) -> tuple[list[str], list[Written], int]:
    """The schema, every table that grew with each memory, and how many memories there are."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        schema = [
            str(sql)
            for (sql,) in connection.execute(
                "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
                " AND type IN ('table', 'index') ORDER BY type = 'index'"
            )
        ]
        count = connection.execute(f"SELECT count(*) FROM {COUNTED}").get
        if not isinstance(count, int) or count == 0:
            raise SystemExit(f"{database}: no rows in {COUNTED}")
        names = [str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        tables = [_table(connection, name) for name in names if not name.startswith("sqlite_")]
        return schema, [table for table in tables if len(table.rows) >= count], count
    finally:
        connection.close()


def _table(connection: apsw.Connection, name: str) -> Written:
    columns = [str(row[1]) for row in connection.execute(f'PRAGMA table_info("{name}")')]
    rows = list(connection.execute(f'SELECT {", ".join(columns)} FROM "{name}"'))
    marks = ", ".join("?" * len(columns))
    return Written(f'INSERT INTO "{name}" ({", ".join(columns)}) VALUES ({marks})', rows)


def measure(database: Path, target: Path, most: int) -> Json:
    """Write up to `most` memories' rows into the new file `target`, each in a transaction of its own.

    WAL and synchronous=FULL, as the daemon writes; no checkpoint, which favours the baseline.
    """
    schema, tables, count = rows_of(database)
    connection = apsw.Connection(str(target))
    try:
        for pragma in ("journal_mode = wal", "synchronous = FULL", "wal_autocheckpoint = 0", "foreign_keys = OFF"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        for statement in schema:
            connection.execute(statement)
        times = [_one_transaction(connection, tables, place, count) for place in range(min(count, most))]
    finally:
        connection.close()
    return {
        "writes": len(times), "per_s": len(times) / sum(times), "p50_ms": sorted(times)[len(times) // 2] * 1000,
        "rows_a_write": sum(len(table.rows) // count for table in tables),
    }  # fmt: skip


def _one_transaction(connection: apsw.Connection, tables: list[Written], place: int, count: int) -> float:
    begin = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    for table in tables:
        each = len(table.rows) // count
        connection.executemany(table.insert, table.rows[place * each : (place + 1) * each])
    connection.execute("COMMIT")
    return time.perf_counter() - begin
