"""Rebuilds the first page of a damaged copy of a store, without which SQLite finds none of its tables.

That page holds the top of `sqlite_schema`, the table of all tables and their root pages. Its other pages are read as
rows of a table if they are there: then every root is known. A table that none of them names gets the largest tree of
pages to which no page leads, and whose rows fit it. The new page names the tables with their columns alone, no indexes
and no constraints: enough to read rows by SQLite itself. (SQLite file format, https://sqlite.org/fileformat2.html.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from mnemond.store import checksums, stored_rows
from mnemond.store.connection import Connection, SqliteError, apply_log
from mnemond.store.insights import content_hash
from mnemond.store.schema import APPLICATION_ID, VERSION, create

PAGE_SIZE: Final = 4096
"""Bytes in a page of every store."""

TABLE_LEAF, INDEX_LEAF = 0x0D, 0x0A
INTERIOR: Final = {0x05: TABLE_LEAF, 0x02: INDEX_LEAF}
"""First bytes of pages that lead to others, and of the leaves below them (1.6). A table without row ids is an index."""

MAX_TREES: Final = 200
"""Trees that are tried for a table: a damaged page makes one of every page that it led to."""

ROWS_TRIED: Final = 20
"""Rows that must fit a table before their tree is taken for it."""

_HEADER: Final = 100
_RIGHTMOST, _CELLS = 8, 12
"""Places in an interior page: the number of its last child, and where its other children are (1.6)."""

_TYPES: Final = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}
_SCHEMA: Final = "old_schema"
_ONE_TOO_MANY: Final = "surplus"
"""A column that no table has: a row with a value there is of a wider table."""


def rebuild(copy: Path, work: Path) -> list[str] | None:
    """Write a new first page into `copy`, whose write-ahead log is applied before; files in `work` are made for it.

    Return the tables of `TABLES` that no remaining page names: they were found by their rows, or are empty now. None if
    there is no table of memories; the copy is of no use then.
    """
    with suppress(SqliteError):
        apply_log(copy)
    for suffix in ("-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    pages = _Pages(copy)
    pages.append_empty(copy)
    tables = _Tables(work)
    probe = _FirstPage(copy, work / "probe.db", pages, tables, numbered=False)
    try:
        roots = probe.read_schema()
        unnamed = [table for table in stored_rows.TABLES if table not in roots]
        for table in unnamed:
            trees = (tree for tree in pages.trees(tables.kind_of(table)) if tree not in roots.values())
            if (tree := next((each for each in trees if probe.fits(table, each, roots)), None)) is not None:
                roots[table] = tree
    finally:
        probe.close()
    if "insights" not in roots:
        return None
    final = _FirstPage(copy, work / "schema.db", pages, tables, numbered=True)
    try:
        final.write(roots)
    finally:
        final.close()
    return unnamed


class _Pages:
    """Trees of pages of a file."""

    def __init__(self, copy: Path) -> None:
        whole = copy.read_bytes()
        self.count = len(whole) // PAGE_SIZE
        self._whole = memoryview(whole)
        self._children = {number: list(self._led_to(number)) for number in range(2, self.count + 1)}
        led_to = {child for children in self._children.values() for child in children}
        self._tops = [number for number in self._children if number not in led_to]
        self.empty: dict[int, int] = {}

    def append_empty(self, copy: Path) -> None:
        """Append an empty leaf of each kind; `empty` has their numbers."""
        with open(copy, "ab") as file:
            file.truncate(self.count * PAGE_SIZE)
            for kind in (TABLE_LEAF, INDEX_LEAF):
                self.count += 1
                self.empty[kind] = self.count
                file.write(bytes((kind, 0, 0, 0, 0)) + (PAGE_SIZE - checksums.RESERVED).to_bytes(2, "big"))
                file.write(bytes(PAGE_SIZE - 7))

    def page(self, number: int) -> memoryview:
        return self._whole[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]

    def _led_to(self, number: int) -> Iterator[int]:
        page = self.page(number)
        return (int.from_bytes(page[at : at + 4], "big") for at in _pointers(page, 0))

    def trees(self, kind: int) -> list[int]:
        """Return the tops of trees with such leaves, the largest first."""
        found = [number for number in self._tops if INTERIOR.get(self.page(number)[0], self.page(number)[0]) == kind]
        return sorted(found, key=self._size, reverse=True)[:MAX_TREES]

    def _size(self, top: int) -> int:
        seen, waiting = {top}, [top]
        while waiting:
            new = {child for child in self._children.get(waiting.pop(), ()) if child not in seen}
            seen |= new
            waiting += new
        return len(seen)

    def schema_leaves(self) -> list[int]:
        """Return pages that may hold rows of `sqlite_schema`."""
        pages = ((number, self.page(number)) for number in self._tops)
        return [number for number, page in pages if page[0] == TABLE_LEAF and b"CREATE " in bytes(page)]


def _pointers(page: memoryview | bytearray, start: int) -> Iterator[int]:
    """Yield the places of the numbers of the pages that a page leads to. Its own header begins at `start`."""
    if page[start] in INTERIOR:
        yield start + _RIGHTMOST
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        for at in range(start + _CELLS, min(start + _CELLS + 2 * cells, PAGE_SIZE - 1), 2):
            yield int.from_bytes(page[at : at + 2], "big")


class _Column(NamedTuple):
    """A column of a table, as `PRAGMA table_info` describes it."""

    name: str
    type: str
    needed: int
    default: str | None
    key: int


class _Tables:
    """The tables of a store of the current version, and the one that names them."""

    def __init__(self, work: Path) -> None:
        model = Connection(work / "model.db")
        try:
            create(model)
            described = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)'
            self.columns = {
                table: [_Column(*row) for row in model.rows(described, (table,))] for table in stored_rows.TABLES
            }
            sql = dict(model.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"))
        finally:
            model.close()
        self._without_row_ids = {table for table in self.columns if "WITHOUT ROWID" in sql[table]}
        self.columns[_SCHEMA] = [
            _Column(name, "INTEGER" if name == "rootpage" else "TEXT", int(name != "sql"), None, 0)
            for name in ("type", "name", "tbl_name", "rootpage", "sql")
        ]

    def kind_of(self, table: str) -> int:
        return INDEX_LEAF if table in self._without_row_ids else TABLE_LEAF

    def key(self, table: str) -> list[str]:
        """Return the columns that a table is ordered by."""
        if table not in self._without_row_ids:
            return ["rowid"]
        return [name for _, name in sorted((each.key, each.name) for each in self.columns[table] if each.key)]

    def stores_null(self, table: str, column: _Column) -> bool:
        """Return True for the number of a row, which is the key of its cell and NULL among the columns (2.3)."""
        return column.key > 0 and column.type == "INTEGER" and table not in self._without_row_ids

    def bare(self, table: str, *, numbered: bool) -> str:
        """Return SQL of the table with what reading needs: which numbers may be stored as integers, and values that
        older rows do not have. `numbered`: a number is read from its cell."""
        without, parts = table in self._without_row_ids, []
        for each in self.columns[table]:
            is_key = numbered and self.stores_null(table, each)
            kind = " INTEGER PRIMARY KEY" if is_key else " REAL" if each.type == "REAL" else ""
            parts.append(f'"{each.name}"{kind}' + ("" if each.default is None else f" DEFAULT {each.default}"))
        parts.append(_ONE_TOO_MANY)
        if without:
            parts.append(f"PRIMARY KEY({','.join(self.key(table))})")
        return f"CREATE TABLE {table}({','.join(parts)})" + (" WITHOUT ROWID" if without else "")


class _FirstPage:
    """A database with the tables of a store and nothing in them, whose first page the copy gets."""

    def __init__(self, copy: Path, path: Path, pages: _Pages, tables: _Tables, *, numbered: bool) -> None:
        self._copy, self._path, self._pages, self._tables = copy, path, pages, tables
        with open(copy, "rb") as file:
            self._reserved = file.read(_HEADER)[20]
        self._database = Connection(path)
        for table in tables.columns:
            self._database.run(tables.bare(table, numbered=numbered))

    def close(self) -> None:
        self._database.close()

    def write(self, roots: Mapping[str, int]) -> None:
        """Give the copy a first page that leads to these roots, and for any other table to an empty page."""
        self._database.set_roots(
            {table: roots.get(table, self._pages.empty[self._tables.kind_of(table)]) for table in self._tables.columns}
        )
        self._database.checkpoint(truncate=True)
        whole, behind = self._path.read_bytes(), bytearray()
        page, last = bytearray(whole[:PAGE_SIZE]), self._pages.count
        for at in _pointers(page, _HEADER):  # the other pages with tables go to the end of the copy
            start = (int.from_bytes(page[at : at + 4], "big") - 1) * PAGE_SIZE
            behind += whole[start : start + PAGE_SIZE]
            last += 1
            page[at : at + 4] = last.to_bytes(4, "big")
        page[20] = self._reserved
        page[28:32] = last.to_bytes(4, "big")
        page[32:40] = bytes(8)  # no free pages
        page[60:64] = VERSION.to_bytes(4, "big")
        page[68:72] = APPLICATION_ID.to_bytes(4, "big")
        page[92:96] = page[24:28]
        with open(self._copy, "r+b") as file:
            file.write(page)
            file.seek(self._pages.count * PAGE_SIZE)
            file.write(behind)
        if self._reserved:
            for number in (1, *range(min(self._pages.empty.values()), last + 1)):
                checksums.accept(self._copy, number)

    def read_schema(self) -> dict[str, int]:
        """Return the roots of the tables that the remaining pages of `sqlite_schema` name."""
        roots = {}
        for leaf in self._pages.schema_leaves():
            for row in self._rows(_SCHEMA, leaf, {}, 1 << 10) or ():
                if row["type"] == "table" and row["name"] in stored_rows.TABLES and row["rootpage"] > 1:
                    roots[row["name"]] = row["rootpage"]
        return roots

    def fits(self, table: str, tree: int, roots: Mapping[str, int]) -> bool:
        """Return True if the first rows of a tree are rows of the table. `roots`: of the tables before it."""
        rows = self._rows(table, tree, roots, ROWS_TRIED)
        if not rows:
            return False
        if table == "insights":
            return all(row["content_hash"] == content_hash(row["content"]) for row in rows)
        if table == "meta":
            return any(stored_rows.is_record(row["key"]) for row in rows)
        return not any(stored_rows.unusable_columns(table, row) for row in rows)

    def _rows(self, table: str, tree: int, roots: Mapping[str, int], many: int) -> list[dict[str, Any]] | None:
        """Return the first rows of a tree, or the last if these cannot be read, by column; None if they are not rows of
        the table."""
        self.write({**roots, table: tree})
        names = [each.name for each in self._tables.columns[table]]
        named = _IS_NAMED if table in ("entity_aliases", "memory_entities") else ""
        key = self._tables.key(table)
        connection = Connection(self._copy, read_only=True)
        try:
            connection.set_pragma("checksum_verification", 0)
            for order in ("ASC", "DESC"):
                rest = f"{named} ORDER BY {','.join(f'{each} {order}' for each in key)} LIMIT ?"
                columns = [*(f'"{each}"' for each in names), _ONE_TOO_MANY]
                with suppress(SqliteError):
                    found = stored_rows.rows_as_bytes(connection, table, columns, rest, (many,))
                    fit = all(self._is_row(table, row) for row in found)
                    return [dict(zip(names, row, strict=False)) for row in found] if fit else None
        finally:
            connection.close()
        return None

    def _is_row(self, table: str, row: Sequence[Any]) -> bool:
        for column, value in zip(self._tables.columns[table], row, strict=False):
            if self._tables.stores_null(table, column):
                fits = value is None
            elif value is None:
                fits = not (column.needed or column.key)
            else:
                fits = type(value) is _TYPES[column.type]
            if not fits:
                return False
        return row[-1] is None


_IS_NAMED: Final = "WHERE entity_id IN (SELECT id FROM entities)"
"""Rows of these tables look like those of an index; but they lead to entities."""
