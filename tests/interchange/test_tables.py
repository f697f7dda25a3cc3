"""Every table and column of the schema is exported, or it is said why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.interchange.tables import NOT_EXPORTED, PARTS, TABLES, Exported
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


def test_no_column_is_left_out_that_there_is_not_and_none_with_a_vector_is_exported(empty: Connection) -> None:
    for each in (*TABLES, *PARTS):
        columns = empty.columns(each.view or each.table) if isinstance(each, Exported) else empty.columns(each.table)
        assert set(each.left_out) <= set(columns), each.table
        exported = each.columns(empty)
        assert exported, each.table
        assert not any("embed" in name for name in exported), each.table
        assert not isinstance(each, Exported) or each.json <= set(exported), each.table


def test_kinds_are_distinct() -> None:
    kinds = [each.kind for each in TABLES]
    assert len(kinds) == len(set(kinds))
