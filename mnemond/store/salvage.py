"""Copies what can be read of a damaged store into a new one. The damaged file is never written.

Rows of pages with correct checksums are copied. Rows of damaged pages are read as well, without checksum verification:
a memory is kept if its text has the stored hash, other rows if they fit the schema; these are counted as doubtful. What
can be made again (metrics, staged vectors) is left out. Blocking; for a process that has no store open.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import verified_copy
from mnemond.store.connection import Connection, ConstraintError, SqliteError
from mnemond.store.insights import content_hash
from mnemond.store.schema import current_version, migrate
from mnemond.store.verified_copy import Facts

BY_NUMBER: Final = {
    "insights": "number", "edge_rows": "source", "memory_operations": "id", "oplog": "id", "entities": "rowid",
    "relationships": "rowid", "hypothetical_queries": "id", "messages": "id", "core_summaries": "id",
    "pending_reviews": "id", "jobs": "id", "operations": "rowid", "exchanges": "number", "recalls": "id",
}  # fmt: skip
"""Tables whose rows are ordered by an integer column, and that column. Referenced tables come first."""

BY_KEY: Final = {
    "entity_aliases": ("alias",), "memory_entities": ("memory_id", "entity_id"), "rolling_summaries":
    ("conversation_id",), "meta": ("key",),
}  # fmt: skip
"""Tables whose rows are ordered by these columns."""

PAGE: Final = 200
"""Rows read at once; one by one when that fails."""

MAX_QUERIES: Final = 20_000
"""Queries per table: a damaged interior page hides so many numbers that each would have to be tried alone."""

Rows = list[tuple[Any, ...]]


class TableReport(msgspec.Struct, frozen=True):
    """Rows of a table that were kept, those of them from damaged pages (`doubtful`), and rows that were read and left
    out because they do not fit. `gaps`: places where nothing can be read, an unknown number of rows each."""

    table: str
    kept: int
    doubtful: int
    left_out: int
    gaps: int


class Salvaged(msgspec.Struct, frozen=True):
    """The new store's file, its facts, and a report of each table."""

    path: Path
    facts: Facts
    tables: list[TableReport]

    @property
    def is_whole(self) -> bool:
        """True if everything was read from sound pages."""
        return not any(each.doubtful or each.left_out or each.gaps for each in self.tables)


def salvage(source: Path, target: Path) -> Salvaged:
    """Copy the store at `source`, which must not be open, to `target`, in a directory made for it.

    `target` appears whole and verified, or not at all. Raises MnemonError: STORAGE for a file of which nothing can be
    read, or of another schema version than this release writes; SqliteError and OSError when the copy cannot be made.
    """
    work = target.with_name(f".{target.name}.work")
    os.mkdir(work, 0o700)
    try:
        copy, draft = work / "copy.db", work / "draft.db"
        for part in ("", "-wal"):
            if (file := source.with_name(source.name + part)).exists():
                shutil.copyfile(file, copy.with_name(copy.name + part))
        tables = _salvage_tables(copy, draft)
        facts = verified_copy.make(draft, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Salvaged(target, facts, tables)


def _salvage_tables(copy: Path, draft: Path) -> list[TableReport]:
    sound, any_ = _reader(copy, verify=True), _reader(copy, verify=False)
    new = Connection(draft)
    try:
        migrate(new, draft)
        new.set_pragma("foreign_keys", 0)
        new.run("BEGIN IMMEDIATE")
        tables = [_Table(name, sound, any_, new).salvaged() for name in (*BY_NUMBER, *BY_KEY)]
        dangling = _drop_dangling(new)
        _drop_log_before_gap(new)
        new.run("COMMIT")
        new.checkpoint(truncate=True)
    finally:
        for each in (sound, any_, new):
            each.close()
    return [
        msgspec.structs.replace(each, kept=each.kept - lost, left_out=each.left_out + lost)
        for each in tables
        for lost in [dangling.get(each.table, 0)]
    ]


def _reader(copy: Path, *, verify: bool) -> Connection:
    try:
        connection = Connection(copy, read_only=True)
        version = connection.pragma("user_version")
        if not verify:
            connection.set_pragma("checksum_verification", 0)
        connection.rows("SELECT name FROM sqlite_schema")
    except SqliteError as error:
        raise _unsalvageable(f"its first page cannot be read: {error}") from error
    if version != current_version():
        raise _unsalvageable(f"it has schema version {version}, and this mnemond writes {current_version()}")
    return connection


def _unsalvageable(why: str) -> MnemonError:
    return MnemonError(STORAGE, f"nothing can be salvaged: {why}", hint="`mnemonctl backup list` shows earlier copies")


class _Table:
    def __init__(self, name: str, sound: Connection, any_: Connection, new: Connection) -> None:
        self._name = name
        self._sound, self._any, self._new = sound, any_, new
        columns = [str(row[1]) for row in new.rows(f"PRAGMA table_info({name})")]
        self._columns = [*columns, "rowid"] if BY_NUMBER.get(name) == "rowid" else columns
        places = ", ".join("?" * len(self._columns))
        self._insert = f"INSERT INTO {name}({', '.join(self._columns)}) VALUES({places})"
        self._queries = 0
        self._kept = self._doubtful = self._left_out = self._gaps = 0

    def salvaged(self) -> TableReport:
        if self._name in BY_NUMBER:
            self._by_number(BY_NUMBER[self._name])
        else:
            self._by_key(BY_KEY[self._name])
        return TableReport(self._name, self._kept, self._doubtful, self._left_out, self._gaps)

    def _select(self, connection: Connection, rest: str, values: Sequence[Any]) -> Rows | None:
        self._queries += 1
        names = ", ".join(self._columns)
        try:
            return connection.rows(f"SELECT {names} FROM {self._name} {rest}", values)  # noqa: S608 - constants
        except SqliteError:
            return None

    def _by_number(self, key: str) -> None:
        low, high = self._bounds(key)
        for start, end in self._unreadable(key, low, high):
            found = self._select(self._any, f"WHERE {key} BETWEEN ? AND ?", (start, end))
            if found is None:
                self._gaps += 1
            else:
                self._keep(found, doubtful=True)

    def _bounds(self, key: str) -> tuple[int, int]:
        """The smallest and the largest number; where they cannot be read, the possible ones."""
        ends = []
        for function, otherwise in (("min", 0), ("max", 1 << 32)):
            row = None
            for connection in (self._sound, self._any):
                try:
                    row = row or connection.row(f"SELECT {function}({key}) FROM {self._name}")  # noqa: S608
                except SqliteError:
                    continue
            ends.append(otherwise if row is None else int(row[0] or 0))
        return ends[0], ends[1]

    def _unreadable(self, key: str, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Keep the rows of sound pages between two numbers; yield ranges whose rows cannot be read."""
        waiting = [(low, high)]
        while waiting:
            start, end = waiting.pop()
            found = self._select(self._sound, f"WHERE {key} BETWEEN ? AND ? LIMIT ?", (start, end, PAGE + 1))
            if found is not None and len(found) <= PAGE:
                self._keep(found, doubtful=False)
            elif start == end and found is None:
                yield start, end
            elif start == end:
                self._keep(self._select(self._sound, f"WHERE {key} = ?", (start,)) or [], doubtful=False)
            elif self._queries > MAX_QUERIES:
                yield start, end
            else:
                middle = (start + end) // 2
                waiting += [(middle + 1, end), (start, middle)]

    def _by_key(self, key: tuple[str, ...]) -> None:
        """From both ends towards the damage, and through it without checksums."""
        if self._walk(self._sound, key, "ASC", doubtful=False):
            return
        self._walk(self._sound, key, "DESC", doubtful=False)
        if not self._walk(self._any, key, "ASC", doubtful=True):
            self._walk(self._any, key, "DESC", doubtful=True)
            self._gaps += 1

    def _walk(self, connection: Connection, key: tuple[str, ...], order: str, *, doubtful: bool) -> bool:
        """Keep rows in order until one cannot be read; True if the end was reached."""
        names, places = ", ".join(key), ", ".join("?" * len(key))
        at = [self._columns.index(each) for each in key]
        after: tuple[Any, ...] = ()
        ordered, size = ", ".join(f"{each} {order}" for each in key), PAGE
        while True:
            where = f"WHERE ({names}) {'>' if order == 'ASC' else '<'} ({places})" if after else ""
            found = self._select(connection, f"{where} ORDER BY {ordered} LIMIT {size}", after)
            if found is None and size == 1:
                return False
            if found is None:
                size = 1
                continue
            self._keep(found, doubtful=doubtful)
            if len(found) < size:
                return True
            after = tuple(found[-1][place] for place in at)

    def _keep(self, rows: Rows, *, doubtful: bool) -> None:
        for row in rows:
            if doubtful and not self._matches_hash(row):
                self._left_out += 1
                continue
            try:
                self._new.run(self._insert, row)
            except ConstraintError:
                self._left_out += not self._exists(row)
                continue
            self._kept += 1
            self._doubtful += doubtful

    def _matches_hash(self, row: tuple[Any, ...]) -> bool:
        """True if the text of a memory has the stored hash; rows of other tables have none."""
        if self._name != "insights":
            return True
        named = dict(zip(self._columns, row, strict=True))
        content, noted = named["content"], named["content_hash"]
        return isinstance(content, str) and noted == content_hash(content)

    def _exists(self, row: tuple[Any, ...]) -> bool:
        """True if the new file has the row already: tables are walked from both ends."""
        where = " AND ".join(f"{each} IS ?" for each in self._columns)
        return self._new.row(f"SELECT 1 FROM {self._name} WHERE {where}", row) is not None  # noqa: S608


def _drop_dangling(new: Connection) -> dict[str, int]:
    """Delete rows that refer to lost rows; their number by table."""
    dropped: dict[str, int] = {}
    for column in ("superseded_by", "paired_with"):
        new.run(
            f"UPDATE insights SET {column} = NULL"  # noqa: S608 - constants
            f" WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM insights)"
        )
    while dangling := new.rows("PRAGMA foreign_key_check"):
        for table, column, parent, key in sorted({_reference(new, *each) for each in dangling}):
            count = new.run(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {parent})")  # noqa: S608
            dropped[table] = dropped.get(table, 0) + count
    return dropped


def _reference(new: Connection, table: str, row: object, parent: str, number: int) -> tuple[str, str, str, str]:
    (found,) = (each for each in new.rows(f"PRAGMA foreign_key_list({table})") if each[0] == number)
    return table, found[3], parent, found[4]


def _drop_log_before_gap(new: Connection) -> None:
    """A log has no gap: delete the lines before the last one."""
    gap = "SELECT max(id) FROM oplog WHERE id - 1 NOT IN (SELECT id FROM oplog) AND id > (SELECT min(id) FROM oplog)"
    new.run("DELETE FROM oplog WHERE id < ?", (new.count(gap),))
