"""Every table and column of the schema is exported, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.interchange.tables import EDGES, NOT_EXPORTED, PARTS, TABLES
from mnemond.store import stored_rows
from mnemond.store.connection import Connection
from mnemond.store.schema import create


@pytest.fixture
def empty(tmp_path: Path) -> Connection:
    connection = Connection(tmp_path / "a.db")
    create(connection)
    return connection


def tables_of(connection: Connection) -> set[str]:
    found = connection.column("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return set(found)


def test_every_table_is_exported_or_named_as_not(empty: Connection) -> None:
    declared = [*(each.table for each in TABLES), *(each.table for each in PARTS), *NOT_EXPORTED]
    assert sorted(declared) == sorted(tables_of(empty)), "declare it in mnemond/interchange/tables.py"


def test_what_cannot_be_made_again_is_exported() -> None:
    exported = {*(each.table for each in TABLES), *(each.table for each in PARTS)}
    logs_and_facts = {"oplog", "recalls", "showings", "meta", "jobs"}
    assert set(stored_rows.TABLES) - exported <= logs_and_facts | set(NOT_EXPORTED)


def test_every_column_is_exported_or_named_as_not(empty: Connection) -> None:
    for each in TABLES:
        columns = empty.column(f"SELECT name FROM pragma_table_info('{each.table}')")
        if each is EDGES:
            columns += [name for name in empty.column("SELECT name FROM pragma_table_info('edges')")
                        if name not in columns]  # fmt: skip
        assert sorted(columns) == sorted([*each.columns, *each.left_out]), each.table
        assert each.json <= set(each.columns)
    for part in PARTS:
        columns = empty.column(f"SELECT name FROM pragma_table_info('{part.table}')")
        place = [part.order] if part.numbered else []
        assert sorted(columns) == sorted([part.memory, *place, *part.columns, *part.left_out]), part.table


def test_an_absent_column_means_null(empty: Connection) -> None:
    """A line leaves out what is NULL, so no column may have another default and take NULL."""
    for each in TABLES:
        rows = empty.rows(f"SELECT name, dflt_value, \"notnull\" FROM pragma_table_info('{each.table}')")
        assert [name for name, default, required in rows if default is not None and not required] == [], each.table


def test_kinds_are_distinct() -> None:
    kinds = [each.kind for each in TABLES]
    assert len(kinds) == len(set(kinds))
