"""Rows that break a CHECK are found through a connection that reads only, where SQLite looks at none."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.store import schema as schema_module
from mnemond.store import verified_copy
from mnemond.store.connection import Connection
from tests.store.factories import engine_at, insight_id, remember
from tests.store.invariants.seeded import change, make
from tests.tables import each_row

BROKEN = [
    ("insights", f"UPDATE insights SET importance = 9 WHERE id = '{insight_id(1)}'"),
    ("insights", f"UPDATE insights SET status = 'lost' WHERE id = '{insight_id(2)}'"),
    ("insights", f"UPDATE insights SET deleted_at = created_at WHERE id = '{insight_id(2)}'"),
    ("edge_rows", "UPDATE edge_rows SET weight = 1.5 WHERE kind = 2"),
    ("edge_rows", "UPDATE edge_rows SET created_by = 'nobody'"),
]


@each_row(("table", "sql"), BROKEN)
def test_a_copy_with_an_impossible_row_is_no_good(table: str, sql: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    make(path)
    assert verified_copy.verify(path).memories == 6
    change(path, sql)
    reader = Connection(path, read_only=True)
    assert reader.rows("PRAGMA integrity_check") == [("ok",)], "SQLite notices by itself: this is needed no more"
    reader.close()
    with pytest.raises(MnemonError, match=f"rows of {table} violate a constraint"):
        verified_copy.verify(path)
    with pytest.raises(MnemonError, match="violate a constraint"):
        verified_copy.make(path, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_brackets_and_quotes(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE t(a CHECK((a > 0) OR a = ')'), b TEXT CHECK(b <> '(' OR (b IS NULL)), c)")
    db.execute("CREATE TABLE plain(x)")
    db.execute("INSERT INTO t VALUES(1, 'x', 1), (')', NULL, 2)")
    db.pragma("ignore_check_constraints", True)
    reader = Connection(path, read_only=True)
    assert schema_module.check_violations(reader) == []
    db.execute("INSERT INTO t VALUES(0, '(', 3), (0, 'y', 4)")
    assert schema_module.check_violations(reader) == ["2 rows of t violate a constraint"]
    reader.close()
    db.close()


def test_every_check_of_a_store_is_asked(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    schema = engine._healthy().rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    asked = sum(len(list(schema_module._conditions(sql))) for (sql,) in schema)
    assert asked == sum(str(sql).count("CHECK") for (sql,) in schema) > 10
    assert schema_module.check_violations(engine._healthy()) == []
    engine.close()
