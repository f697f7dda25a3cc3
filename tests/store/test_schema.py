"""A new store has version 1 of the schema; a file of another version or program is refused without a changed byte."""

from __future__ import annotations

import hashlib
from pathlib import Path

import apsw
import pytest

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import files, schema, verified_copy
from mnemond.store.connection import Connection, SqliteError, check_sqlite_version
from tests.store.factories import open_at
from tests.tables import each_row


def test_a_new_store_has_version_1_which_an_open_store_keeps(tmp_path: Path) -> None:
    connection = Connection(tmp_path / "a.db")
    schema.create(connection)
    before = connection.rows("SELECT * FROM sqlite_schema")
    schema.create(connection)
    assert connection.rows("SELECT * FROM sqlite_schema") == before
    assert (connection.pragma("user_version"), connection.pragma("application_id")) == (1, schema.APPLICATION_ID)
    connection.close()


def test_a_schema_that_fails_leaves_an_empty_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE fine(x TEXT) STRICT; CREATE TABLE broken(;")
    connection = Connection(tmp_path / "a.db")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "files", lambda _: tmp_path)
        with pytest.raises(SqliteError):
            schema.create(connection)
    assert not connection.in_transaction
    assert connection.rows("SELECT * FROM sqlite_schema") == []
    schema.create(connection)
    assert connection.pragma("user_version") == 1
    connection.close()


@each_row(
    ("pragma", "value", "sentence", "hint"),
    [
        ("user_version", 99, "schema version 99", "upgrade this one"),
        ("application_id", 0x6D6E656D, "a development version", "export it with the old code"),
    ],
)
def test_another_version_is_refused_and_stays_byte_identical(
    tmp_path: Path, pragma: str, value: int, sentence: str, hint: str
) -> None:
    path = tmp_path / "a.db"
    open_at(path).connection.close()
    writer = apsw.Connection(str(path))
    writer.wal_autocheckpoint(0)
    writer.pragma(pragma, value)  # stays in the write-ahead log: the header still has the usual one
    before = {name: hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.db", "a.db-wal")}
    for refused in (lambda: open_at(path), lambda: verified_copy.verify(path), lambda: files.connect_read_only(path)):
        with pytest.raises(MnemonError, match=sentence) as caught:
            refused()
        assert caught.value.kind is UNSUPPORTED
        assert hint in (caught.value.hint or "")
    after = {name: hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.db", "a.db-wal")}
    assert before == after
    writer.close()


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("CREATE TABLE theirs(x)")
    other.close()
    with pytest.raises(MnemonError, match="not one of mnemond's"):
        open_at(tmp_path / "a.db")


def test_pragmas_read_back(tmp_path: Path) -> None:
    connection = open_at(tmp_path / "a.db").connection
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("foreign_keys") == 1
    assert connection.pragma("secure_delete") == 1
    connection.close()


@each_row("version", ["3.40.1", "3.51.2"])
def test_a_sqlite_with_the_wal_reset_bug_is_refused(version: str) -> None:
    with pytest.raises(MnemonError, match=version):
        check_sqlite_version(version)


@each_row("version", ["3.51.3", "3.54.1", "4.0.0"])
def test_a_sound_sqlite_is_accepted(version: str) -> None:
    check_sqlite_version(version)


def test_symbolic_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    open_at(tmp_path / "real" / "a.db").connection.close()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "a.db")
    with pytest.raises(apsw.CantOpenError):
        open_at(tmp_path / "link.db")
