"""Every store ends at the reference schema; a file from the future is refused without a changed byte."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import schema as migrating
from mnemond.store.connection import Connection, check_sqlite_version
from tests.store.factories import open_at


def schema_of(db: apsw.Connection) -> set[tuple[str, str, str]]:
    return set(db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def rows_of(db: apsw.Connection) -> dict[str, list[tuple[object, ...]]]:
    """The rows of every table. SQLite's own table of the last numbers without zeros: no row means the same."""
    tables = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {name: list(db.execute(f'SELECT * FROM "{name}"')) for name in tables}
    return found | {"sqlite_sequence": [row for row in found["sqlite_sequence"] if row[1]]}


def step_by_step(path: Path, patch: pytest.MonkeyPatch, *, before: int | None = None) -> list[int]:
    """Make a store by the migrations alone, all or those before one."""
    known = [each for each in migrating._migrations() if before is None or each[0] < before]
    with patch.context() as patched:
        patched.setattr(migrating, "_whole_schema", lambda: (0, ""))
        patched.setattr(migrating, "_migrations", lambda: known)
        connection = Connection(path)
        applied = migrating.migrate(connection, path)
        connection.close()
    return applied


def test_migrations_end_at_the_reference_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert step_by_step(tmp_path / "a.db", monkeypatch) == list(range(1, migrating.current_version() + 1))
    migrated = apsw.Connection(str(tmp_path / "a.db"))
    reference = apsw.Connection(":memory:")
    reference.execute(files("mnemond.store").joinpath("schema.sql").read_text("utf-8"))
    assert schema_of(migrated) == schema_of(reference)
    assert rows_of(migrated) == rows_of(reference)
    assert migrated.pragma("user_version") == reference.pragma("user_version") == migrating.current_version()
    assert migrated.pragma("application_id") == migrating.APPLICATION_ID


def test_a_new_store_is_what_the_migrations_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step_by_step(tmp_path / "a.db", monkeypatch)
    connection = Connection(tmp_path / "b.db")
    assert migrating.migrate(connection, tmp_path / "b.db") == list(range(1, migrating.current_version() + 1))
    assert migrating.migrate(connection, tmp_path / "b.db") == []
    connection.close()
    old, new = (apsw.Connection(str(tmp_path / name)) for name in ("a.db", "b.db"))
    assert schema_of(new) == schema_of(old)
    assert rows_of(new) == rows_of(old)
    for pragma in ("user_version", "application_id"):
        assert new.pragma(pragma) == old.pragma(pragma)
    assert {file.name for file in tmp_path.iterdir() if ".bak" in file.name} == set()


def test_an_empty_file_is_made_in_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[str]()
    run = Connection.run

    def noted(self: Connection, sql: str, *values: Any) -> None:
        begun.extend([sql] if sql.startswith("BEGIN") else [])
        run(self, sql, *values)

    monkeypatch.setattr(Connection, "run", noted)
    connection = Connection(tmp_path / "a.db")
    migrating.migrate(connection, tmp_path / "a.db")
    connection.close()
    assert begun == ["BEGIN IMMEDIATE"]


def test_a_store_whose_first_migrations_alone_were_made_gets_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon of an earlier version may have been killed between two of them."""
    path = tmp_path / "a.db"
    step_by_step(path, monkeypatch, before=4)
    connection = Connection(path)
    assert migrating.migrate(connection, path) == list(range(4, migrating.current_version() + 1))
    connection.close()
    reference = apsw.Connection(":memory:")
    reference.execute(files("mnemond.store").joinpath("schema.sql").read_text("utf-8"))
    assert schema_of(apsw.Connection(str(path))) == schema_of(reference)


def test_a_newer_file_is_refused_and_stays_byte_identical(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_at(path).connection.close()
    writer = apsw.Connection(str(path))
    writer.wal_autocheckpoint(0)
    writer.pragma("user_version", 99)  # stays in the write-ahead log: the header still says 1
    before = {name: hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.db", "a.db-wal")}
    with pytest.raises(MnemonError, match="schema version 99") as caught:
        open_at(path)
    assert caught.value.kind is UNSUPPORTED
    after = {name: hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.db", "a.db-wal")}
    assert before == after
    writer.close()


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("CREATE TABLE theirs(x)")
    other.close()
    with pytest.raises(MnemonError, match="not one of mnemond's"):
        open_at(tmp_path / "a.db")


def test_a_copy_precedes_the_migration_of_an_existing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    open_at(path).connection.close()
    before = migrating.current_version()
    extra = tmp_path / f"{before + 1:04}_more.sql"
    extra.write_text("CREATE TABLE more(x) STRICT;".replace("x)", "x TEXT)"))
    known = migrating._migrations()
    monkeypatch.setattr(migrating, "_migrations", lambda: [*known, (before + 1, extra)])
    connection = Connection(path)
    assert migrating.migrate(connection, path) == [before + 1]
    assert connection.pragma("user_version") == before + 1
    connection.close()
    backup = apsw.Connection(str(tmp_path / f"a.db.bak-{before}"), flags=apsw.SQLITE_OPEN_READONLY)
    assert backup.pragma("user_version") == before


def test_a_failing_migration_leaves_the_old_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    open_at(path).connection.close()
    before = migrating.current_version()
    extra = tmp_path / f"{before + 1:04}_broken.sql"
    extra.write_text("CREATE TABLE fine(x TEXT) STRICT; CREATE TABLE broken(;")
    known = migrating._migrations()
    monkeypatch.setattr(migrating, "_migrations", lambda: [*known, (before + 1, extra)])
    connection = Connection(path)
    with pytest.raises(apsw.SQLError):
        migrating.migrate(connection, path)
    assert connection.pragma("user_version") == before
    assert connection.row("SELECT 1 FROM sqlite_schema WHERE name = 'fine'") is None
    connection.close()


def test_pragmas_read_back(tmp_path: Path) -> None:
    connection = open_at(tmp_path / "a.db").connection
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("foreign_keys") == 1
    assert connection.pragma("secure_delete") == 1
    connection.close()


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2"])
def test_a_sqlite_with_the_wal_reset_bug_is_refused(version: str) -> None:
    with pytest.raises(MnemonError, match=version):
        check_sqlite_version(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_sound_sqlite_is_accepted(version: str) -> None:
    check_sqlite_version(version)


def test_symbolic_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    open_at(tmp_path / "real" / "a.db").connection.close()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "a.db")
    with pytest.raises(apsw.CantOpenError):
        open_at(tmp_path / "link.db")
