"""What the checksums of pages notice, which files have them, and what becomes of files that have none."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import checksums, connection, schema
from mnemond.store.connection import Connection
from tests.store.factories import contents, engine_at, open_at, remember
from tests.store.plain import has_checksums, make_plain, plain_pages
from tests.tables import each_row

SIZE = 4096

MANY_BYTES = 3_000_000
"""More than the 2 MB of pages that a connection keeps unless told otherwise."""


def made(path: Path, many: int = 30) -> Path:
    engine = engine_at(path)
    engine.commit([remember(number) for number in range(1, many)])
    engine.close()
    return path


def faulty(path: Path) -> list[int]:
    return [number for number in checksums.faulty_pages(path) if number is not None]


def flip(path: Path, offset: int) -> None:
    whole = bytearray(path.read_bytes())
    whole[offset] ^= 16
    path.write_bytes(whole)


def root_of(path: Path, table: str) -> int:
    """The first page of a table of a closed store."""
    db = Connection(path, read_only=True)
    try:
        return int((db.row("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)) or (0,))[0])
    finally:
        db.close()


def test_a_new_store_has_checksums(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    opened = open_at(path)
    assert opened.connection.is_checksummed
    assert opened.connection.reserved == checksums.RESERVED
    opened.connection.close()
    assert has_checksums(path)
    assert faulty(path) == []


def test_a_page_that_changed_is_named_and_not_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    pages = sorted(root_of(path, table) for table in ("insights", "oplog"))
    for page in pages:
        flip(path, (page - 1) * SIZE + 700)
    assert faulty(path) == pages
    db = Connection(path, read_only=True)
    with pytest.raises(connection.SqliteError) as caught:
        db.rows("SELECT * FROM insights")
    assert checksums.is_damage(caught.value)
    db.close()


def test_others_have_their_turn_while_pages_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "PAGES_PER_STEP", 4)
    path = made(tmp_path / "a.db")
    assert list(checksums.faulty_pages(path)).count(None) == path.stat().st_size // SIZE // 4


def test_a_page_that_is_just_being_written_counts_once_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "a.db")
    flip(path, SIZE + 700)

    class Meanwhile:
        """Somebody writes the page between two looks."""

        def __init__(self, file: apsw.VFSFile) -> None:
            self.file = file

        def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - the name is SQLite's
            try:
                return self.file.xRead(amount, offset)
            except apsw.IOError:
                flip(path, SIZE + 700)
                raise

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

    opened = checksums._open
    monkeypatch.setattr(checksums, "_open", lambda path: Meanwhile(opened(path)))
    assert faulty(path) == []


@each_row("content", [b"", b"SQLite format 3\0", bytes(8192)])
def test_files_that_have_none(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    path.write_bytes(content)
    assert not has_checksums(path)
    assert faulty(path) == []


def test_pages_of_the_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "large.db"
    db = apsw.Connection(str(path))
    db.reserve_bytes(reserve=8)
    db.pragma("page_size", 65_536)
    db.execute("CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(300000))")
    db.close()
    assert faulty(path) == []
    flip(path, 2 * 65_536 + 5)
    assert faulty(path) == [3]


def test_a_backup_has_them_too(tmp_path: Path) -> None:
    opened = open_at(made(tmp_path / "a.db"))
    opened.connection.backup_to(tmp_path / "copy.db")
    opened.connection.close()
    assert has_checksums(tmp_path / "copy.db")
    assert faulty(tmp_path / "copy.db") == []


def swollen(path: Path, reserve: int) -> Connection:
    """A database all of whose pages stand in its log, and are more than a copy keeps in memory while it is made."""
    db = Connection(path)
    db.script("CREATE TABLE t(x)")
    assert db.reserved == reserve
    db.run("BEGIN")
    db.run_many("INSERT INTO t VALUES(randomblob(?))", [(MANY_BYTES // 1000,)] * 1000)
    db.run("COMMIT")
    return db


def test_a_backup_of_more_than_its_cache_from_the_log_has_them_on_every_page(tmp_path: Path) -> None:
    db = swollen(tmp_path / "a.db", checksums.RESERVED)
    db.backup_to(tmp_path / "copy.db")
    db.close()
    assert (tmp_path / "copy.db").stat().st_size > MANY_BYTES
    assert faulty(tmp_path / "copy.db") == []


@pytest.mark.parametrize("again", [False, True])
def test_a_backup_of_a_file_without_them_is_that_file(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(connection, "HAS_CHECKSUMS", False)
        db = swollen(tmp_path / "a.db", 0)
    if again:  # opened by a release that knows of them, and asks for them
        db.close()
        db = Connection(tmp_path / "a.db")
        assert not db.is_checksummed
    db.backup_to(tmp_path / "copy.db")
    rows = db.rows("SELECT x FROM t")
    db.close()
    copy = Connection(tmp_path / "copy.db", read_only=True)
    assert (copy.rows("PRAGMA integrity_check"), copy.rows("SELECT x FROM t")) == ([("ok",)], rows)
    copy.close()
    assert not has_checksums(tmp_path / "copy.db")


def test_a_backup_keeps_the_size_of_the_pages(tmp_path: Path) -> None:
    made_elsewhere = apsw.Connection(str(tmp_path / "large.db"))
    made_elsewhere.pragma("page_size", 8192)
    made_elsewhere.execute("CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(3000000))")
    made_elsewhere.close()
    db = Connection(tmp_path / "large.db", read_only=True)
    db.backup_to(tmp_path / "copy.db")
    db.close()
    large, copy = ((tmp_path / name).read_bytes() for name in ("large.db", "copy.db"))
    assert (len(copy), copy[16:18], copy[8192:]) == (len(large), (8192).to_bytes(2, "big"), large[8192:])


def test_a_file_without_them_serves_as_it_is_and_gets_them_when_it_is_written_anew(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    make_plain(path)
    assert not has_checksums(path)
    engine = engine_at(path)
    engine.commit([remember(99)])
    assert not engine._healthy().is_checksummed
    engine._healthy().run("VACUUM")
    engine._healthy().checkpoint(truncate=True)
    assert engine._healthy().is_checksummed
    engine.commit([remember(100)])
    engine.close()
    assert has_checksums(path)
    assert faulty(path) == []
    engine = engine_at(path)
    assert len(contents(engine)) == 31
    engine.close()


def test_the_log_of_a_rewriting_that_was_cut_short_is_taken_in(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db")
    make_plain(path)
    db = Connection(path)
    db.run("VACUUM")  # page 1, with the eight bytes in it, stands in the log only
    for part in ("", "-wal"):
        path.with_name(f"left.db{part}").write_bytes(path.with_name(path.name + part).read_bytes())
    db.close()
    left = path.with_name("left.db")
    engine = engine_at(left)
    assert len(contents(engine)) == 29
    engine.close()
    assert has_checksums(left)
    assert faulty(left) == []


def test_an_apsw_without_the_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not checksums.install(tmp_path / "nothing")
    monkeypatch.setattr(connection, "HAS_CHECKSUMS", False)
    monkeypatch.setattr(schema, "HAS_CHECKSUMS", False)
    path = made(tmp_path / "plain.db")
    assert plain_pages(path)
    engine_at(path).close()


def test_a_file_with_them_is_refused_where_nobody_can_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "a.db")
    before = path.read_bytes()
    monkeypatch.setattr(schema, "HAS_CHECKSUMS", False)
    with pytest.raises(MnemonError, match="checksums") as caught:
        open_at(path)
    assert caught.value.kind is UNSUPPORTED
    assert path.read_bytes() == before


def test_errors_that_are_no_damage() -> None:
    assert not checksums.is_damage(OSError())
    assert not checksums.is_damage(apsw.exception_for(apsw.SQLITE_FULL))
    assert checksums.is_damage(apsw.exception_for(apsw.SQLITE_CORRUPT))
    assert checksums.is_damage(apsw.exception_for(apsw.SQLITE_IOERR_DATA))


def test_an_error_without_a_sentence_of_its_own_is_named_by_its_code(tmp_path: Path) -> None:
    error = apsw.IOError("not an error")
    setattr(error, "extendedresult", apsw.SQLITE_IOERR_FSYNC)  # noqa: B010 (which the stubs do not know)
    assert checksums.reason(error) == "the disk refused (SQLITE_IOERR_FSYNC)"
    assert checksums.reason(apsw.FullError("database or disk is full")) == "database or disk is full"


def test_a_page_beyond_the_end_is_not_sound(tmp_path: Path) -> None:
    path = tmp_path / "mnemon.db"
    engine_at(path).close()
    assert checksums.is_sound(path, 1)
    assert not checksums.is_sound(path, 10_000)
