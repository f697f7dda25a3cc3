"""Measure the floor of a remember: its rows written once more in a bare transaction, and one flush.

A copy of the store's database follows the daemon's, operation by operation. What an operation changed is looked up
first; the clock runs only from BEGIN to the end of COMMIT. At the end both files must hold the same rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

Row = tuple[Any, ...]
Statement = tuple[str, list[Row]]

PAGE = b"\x5a" * 4096
"""Bytes appended before a flush: one page of the log."""

OPLOG_LINES = 5000
"""Lines of the operation log that are kept; a write trims it."""

TABLES = ("insights", "edge_rows", "memory_operations", "oplog", "entities", "memory_entities", "hypothetical_queries")
"""Tables that a remember writes to."""


class Flush:
    """A file beside the database, appended to and flushed."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def run_ms(self) -> float:
        """Wall milliseconds of appending one page and fdatasync."""
        begin = time.perf_counter()
        os.write(self._file, PAGE)
        os.fdatasync(self._file)
        return (time.perf_counter() - begin) * 1000

    def close(self) -> None:
        os.close(self._file)


class BareWrites:
    """A copy of `database` in the new file `copy`, and everything since written there again.

    `edge_rows` and `importance_rows` count the edges written so far and the other memories whose importance changed.
    """

    def __init__(self, database: Path, copy: Path) -> None:
        self._live = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        self._copy = apsw.Connection(str(copy))
        with self._copy.backup("main", self._live, "main") as backup:
            backup.step(-1)
        for name, value in (("journal_mode", "wal"), ("synchronous", "full"), ("foreign_keys", True)):
            self._copy.pragma(name, value)
        self._copy.pragma("secure_delete", True)
        self._copy.wal_autocheckpoint(0)
        self.edge_rows = self.importance_rows = 0
        self._inserts = {name: self._insert(name) for name in TABLES}
        self._updates = self._update("insights")

    def close(self) -> None:
        self._live.close()
        self._copy.close()

    def run_ms(self, op_id: str) -> float:
        """Wall milliseconds of what one operation of the daemon wrote: BEGIN, its rows, COMMIT with its own flush."""
        statements = [statement for statement in self._written(op_id) if statement[1]]
        execute, execute_many = self._copy.execute, self._copy.executemany
        begin = time.perf_counter()
        execute("BEGIN IMMEDIATE")
        for sql, rows in statements:
            execute_many(sql, rows)
        execute("COMMIT")
        return (time.perf_counter() - begin) * 1000

    def differing(self) -> list[str]:
        """Tables of which the copy holds other rows than the daemon's file."""
        found = []
        for name in TABLES:
            order = "ORDER BY 1, 2, 3"
            both = [connection.execute(f'SELECT * FROM "{name}" {order}') for connection in (self._live, self._copy)]
            if list(both[0]) != list(both[1]):
                found.append(name)
        return found

    # ------------------------------------------------------------ what an operation wrote

    def _written(self, op_id: str) -> Iterator[Statement]:
        history = _rows(self._live, "SELECT * FROM memory_operations WHERE op_id = ? ORDER BY id", op_id)
        names = [str(row[2]) for row in history]
        yield from self._insights(names)
        for table, column in (("memory_entities", "memory_id"), ("hypothetical_queries", "insight_id")):
            yield from self._beside(table, column, names)
        yield from self._edges(names)
        yield self._inserts["memory_operations"], history
        line = self._copy.execute("SELECT coalesce(max(id), 0) FROM oplog").get
        yield self._inserts["oplog"], _rows(self._live, "SELECT * FROM oplog WHERE id > ? ORDER BY id", line)
        yield "DELETE FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ?", [(OPLOG_LINES,)]

    def _insights(self, names: list[str]) -> Iterator[Statement]:
        for name in dict.fromkeys(names):
            live = _rows(self._live, "SELECT * FROM insights WHERE id = ?", name)
            if not _rows(self._copy, "SELECT 1 FROM insights WHERE id = ?", name):
                yield self._inserts["insights"], live
            else:
                yield self._updates, [(*row[1:], row[0]) for row in live]

    def _beside(self, table: str, column: str, names: list[str]) -> Iterator[Statement]:
        """Rows that hang on memories; for mentions, the entities that are new as well, before them."""
        query = f'SELECT * FROM "{table}" WHERE {column} = ?'
        for name in dict.fromkeys(names):
            known = set(_rows(self._copy, query, name))
            fresh = [row for row in _rows(self._live, query, name) if row not in known]
            if table == "memory_entities":
                yield from self._entities([str(row[1]) for row in fresh])
            yield self._inserts[table], fresh

    def _entities(self, names: list[str]) -> Iterator[Statement]:
        query = "SELECT * FROM entities WHERE id = ?"
        fresh = [row for name in names if not _rows(self._copy, query, name) for row in _rows(self._live, query, name)]
        yield self._inserts["entities"], fresh

    def _edges(self, names: list[str]) -> Iterator[Statement]:
        """Edges that came, went or changed, and the importance of the rows at their ends."""
        now, before = (
            {row[:3]: row for name in names for row in _edges_of(connection, name)}
            for connection in (self._live, self._copy)
        )
        gone = [key for key in before if key not in now or now[key] != before[key]]
        yield "DELETE FROM edge_rows WHERE source = ? AND target = ? AND kind = ?", gone
        made = [row for key, row in now.items() if before.get(key) != row]
        yield self._inserts["edge_rows"], made
        importances = self._importances({*now, *before}, names)
        yield "UPDATE insights SET effective_importance = ? WHERE number = ?", importances
        self.edge_rows += len(made)
        self.importance_rows += len(importances)

    def _importances(self, keys: set[Row], names: list[str]) -> list[Row]:
        """(value, number) of neighbours whose importance is another now."""
        query = "SELECT effective_importance, number FROM insights WHERE number = ?"
        own = {number for name in names for number in _numbers(self._live, name)}
        ends = sorted({int(end) for key in keys for end in key[:2]}.difference(own))
        return [row for end in ends for row in _rows(self._live, query, end) if [row] != _rows(self._copy, query, end)]

    # ------------------------------------------------------------ SQL

    def _columns(self, table: str) -> list[str]:
        return [str(row[1]) for row in self._live.execute(f'PRAGMA table_info("{table}")')]

    def _insert(self, table: str) -> str:
        names = self._columns(table)
        return f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({", ".join("?" * len(names))})'

    def _update(self, table: str) -> str:
        first, *others = self._columns(table)
        return f'UPDATE "{table}" SET {", ".join(f"{name} = ?" for name in others)} WHERE {first} = ?'


def _edges_of(connection: apsw.Connection, name: str) -> list[Row]:
    """Edges from and to a memory. Only causal ones are directed, so all others are found from its own end."""
    found: list[Row] = []
    for number in _numbers(connection, name):
        found += _rows(connection, "SELECT * FROM edge_rows WHERE source = ?", number)
        back = "SELECT * FROM edge_rows WHERE source = ? AND target = ?"
        for other in sorted({int(row[1]) for row in found}):
            found += connection.execute(back, (other, number))
        found += _rows(connection, "SELECT * FROM edge_rows WHERE kind = 2 AND target = ?", number)
    return found


def _numbers(connection: apsw.Connection, name: str) -> list[int]:
    """The number of a memory, if it is there."""
    return [int(row[0]) for row in _rows(connection, "SELECT number FROM insights WHERE id = ?", name)]


def _rows(connection: apsw.Connection, sql: str, value: apsw.SQLiteValue) -> list[Row]:
    return list(connection.execute(sql, (value,)))
