"""Every store ends at the reference schema; a file from the future is refused without a changed byte."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import apsw
import pytest

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import schema as migrating
from mnemond.store.connection import Connection, check_sqlite_version
from tests.store.factories import open_at


def schema_of(db: apsw.Connection) -> set[tuple[str, str, str]]:
    return set(db.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def test_migrations_end_at_the_reference_schema(tmp_path: Path) -> None:
    open_at(tmp_path / "a.db").connection.close()
    migrated = apsw.Connection(str(tmp_path / "a.db"))
    reference = apsw.Connection(":memory:")
    reference.execute(files("mnemond.store").joinpath("schema.sql").read_text("utf-8"))
    assert schema_of(migrated) == schema_of(reference)
    assert migrated.pragma("user_version") == migrating.current_version()
    assert migrated.pragma("application_id") == migrating.APPLICATION_ID


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
