"""A store of mnemon's becomes one of ours with everything in it, or stays what it was."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.interchange import sqlite_files
from mnemond.interchange.sqlite_files import is_mnemons, move_stores
from mnemond.store import files
from mnemond.store.connection import Connection
from mnemond.store.verify import verify_closed
from tests.store.factories import START_US, contents, engine_at, remember, stored
from tests.store.mnemon import TIME, legacy_at, uuid, vector
from tests.tables import each_row

LIVE = [f"memory {number} of mnemon" for number in range(4)]


def moved(path: Path) -> list[str]:
    """Move what is there; the warnings."""
    said: list[str] = []
    move_stores(path, START_US, said.append)
    return said


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = Connection(path)
    try:
        return connection.rows(sql)
    finally:
        connection.close()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "mnemon.db"
    legacy_at(path)
    return path


def new(path: Path) -> Path:
    return path / "data" / "default" / "mnemon.db"


def test_everything_is_there_afterwards_and_the_old_file_is_kept(tmp_path: Path, old: Path) -> None:
    assert moved(tmp_path) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    assert sorted(path.name for path in new(tmp_path).parent.iterdir()) == ["mnemon.db", "mnemon.db.bak-0"]
    assert stored(new(tmp_path)) == LIVE
    engine = engine_at(new(tmp_path))
    assert contents(engine) == set(LIVE)
    engine.commit([remember(1)])
    engine.close()
    kept = new(tmp_path).with_name("mnemon.db.bak-0")
    assert is_mnemons(kept)
    assert rows(kept, "SELECT count(*) FROM insights") == [(5,)]
    for path in (new(tmp_path), kept):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert moved(tmp_path) == []


@each_row("version", [0, 1])
def test_vectors_become_unit_vectors_of_float32(tmp_path: Path, version: int) -> None:
    legacy_at(tmp_path / "mnemon.db", version=version)
    moved(tmp_path)
    for number, (blob,) in enumerate(rows(new(tmp_path), "SELECT embedding FROM insights ORDER BY number")):
        wanted = vector(number) / np.linalg.norm(vector(number))
        np.testing.assert_allclose(np.frombuffer(blob, "<f4"), wanted, atol=1e-6)
    assert (new(tmp_path).parent / f"mnemon.db.bak-{version}").exists()


@each_row(
    ("blob", "version", "length"),
    [
        (np.array([1.0, 2.0], "<f8").tobytes(), 0, 2),
        (np.array([1.0, 2.0], "<f8").tobytes(), 1, 4),  # what is called float32 is read as such
        (np.array([2e6, 1e300], "<f8").tobytes(), 0, None),
        (np.array([1.0, np.nan], "<f8").tobytes(), 0, None),
        (np.array([600.0, 800.0, 100.0, -300.0], "<f4").tobytes(), 0, 4),  # float32, though nothing says so
        (np.array([0.6, 0.8, 0.1], "<f4").tobytes(), 0, 3),
        (np.zeros(4, "<f8").tobytes(), 0, None),
        (np.array([np.inf], "<f4").tobytes(), 1, None),
        (b"", 0, None),
        (b"abc", 0, None),
        ("text", 0, None),
        (None, 0, None),
    ],
)
def test_which_bytes_are_a_vector(blob: object, version: int, length: int | None) -> None:
    found = sqlite_files._vector(blob, version)
    assert (None if found is None else len(found)) == length
    if found is not None:
        assert abs(float(np.linalg.norm(found)) - 1) < 1e-6


def test_what_is_not_right_is_left_out_or_mended(tmp_path: Path, old: Path) -> None:
    db = apsw.Connection(str(old))
    db.execute("UPDATE insights SET importance = 9, tags = 'none', category = 'Narrative', created_at = 'soon'"
               " WHERE id = ?", (uuid(0),))  # fmt: skip
    db.execute("UPDATE insights SET importance = 'high', access_count = -3, effective_importance = 9e999, tags = '[1]',"
               " updated_at = '' WHERE id = ?", (uuid(1),))  # fmt: skip
    db.execute("INSERT INTO insights(id, content, created_at, updated_at) VALUES(NULL, 'nobody', ?, ?)", (TIME, TIME))
    db.execute("INSERT INTO insights(id, content, created_at, updated_at) VALUES('blob-id', x'00ff', ?, ?)",
               (TIME, TIME))  # fmt: skip
    db.execute("UPDATE edges SET weight = 7, metadata = '[' WHERE source_id = ?", (uuid(0),))
    db.execute("INSERT INTO edges VALUES(?, ?, 'narrative', 1, '{}', ?)", (uuid(0), uuid(2), TIME))
    db.close()
    moved(tmp_path)
    columns = "importance, tags, category, created_at, access_count, effective_importance, updated_at"
    first, second, *_ = rows(new(tmp_path), f"SELECT {columns} FROM insights ORDER BY id")
    assert first == (5, "[]", "general", "2026-02-02T02:40:00.000000Z", 0, 0.5, "2025-03-01T10:20:30.000000Z")
    assert second == (3, "[]", "fact", "2025-03-01T10:20:30.000000Z", 0, 0.5, "2025-03-01T10:20:30.000000Z")
    assert rows(new(tmp_path), "SELECT count(*) FROM insights") == [(5,)]
    assert rows(new(tmp_path), "SELECT weight, metadata FROM edges ORDER BY source_id LIMIT 1") == [(1.0, "{}")]


def test_stores_that_are_there_are_not_touched(tmp_path: Path, old: Path) -> None:
    before = old.read_bytes()
    (tmp_path / "data").mkdir()
    (said,) = moved(tmp_path)
    assert "is not used: there are stores in" in said
    assert old.read_bytes() == before


@each_row("kind", ["another database", "link", "directory", "nothing"])
def test_what_is_no_store_of_mnemons_is_left_alone(tmp_path: Path, kind: str) -> None:
    old = tmp_path / "mnemon.db"
    if kind == "another database":
        db = apsw.Connection(str(old))
        db.execute("CREATE TABLE theirs(x)")
        db.close()
    elif kind == "link":
        legacy_at(tmp_path / "elsewhere" / "real.db")
        old.symlink_to(tmp_path / "elsewhere" / "real.db")
    elif kind == "directory":
        old.mkdir()
    before = old.lstat().st_ino if kind != "nothing" else None
    assert len(moved(tmp_path)) == (kind == "another database")
    assert not (tmp_path / "data").exists()
    assert (old.lstat().st_ino if kind != "nothing" else None) == before


def test_a_store_in_use_or_damaged_is_refused_and_stays(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemond.store.connection.BUSY_TIMEOUT_MS", 1)
    other = apsw.Connection(str(old))
    other.execute("BEGIN; SELECT * FROM insights").fetchall()
    with pytest.raises(MnemonError, match="in use by another program") as busy:
        moved(tmp_path)
    assert busy.value.kind is BUSY
    other.close()
    content = bytearray(old.read_bytes())
    old.write_bytes(b"not a database at all" * 500)
    with pytest.raises(MnemonError, match="cannot be moved") as damaged:
        moved(tmp_path)
    assert damaged.value.kind is STORAGE
    assert not (tmp_path / "data").exists()
    old.write_bytes(content)
    moved(tmp_path)
    assert stored(new(tmp_path)) == LIVE


def test_nobody_writes_to_it_while_it_is_moved(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    copy_rows = sqlite_files.copy_rows

    def meanwhile(*arguments: Any) -> tuple[int, int]:
        other = apsw.Connection(str(old))
        for sql in ("SELECT * FROM oplog", "DELETE FROM insights"):
            with pytest.raises(apsw.BusyError):
                other.execute(sql)
            tried.append(sql)
        other.close()
        return copy_rows(*arguments)

    monkeypatch.setattr(sqlite_files, "copy_rows", meanwhile)
    moved(tmp_path)
    assert len(tried) == 2
    assert stored(new(tmp_path)) == LIVE


def test_a_store_in_our_place_that_cannot_be_converted_is_named_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemond.store.connection.BUSY_TIMEOUT_MS", 1)
    path = new(tmp_path)
    legacy_at(path)
    other = apsw.Connection(str(path))
    other.execute("BEGIN; SELECT * FROM insights").fetchall()
    (said,) = moved(tmp_path)
    assert "is in use by another program" in said
    other.close()
    assert is_mnemons(path)


def test_doctor_finds_nothing_in_a_store_that_was_moved(tmp_path: Path, old: Path) -> None:
    moved(tmp_path)
    engine = engine_at(new(tmp_path))
    engine.close()
    found = verify_closed(new(tmp_path), "full", START_US)
    assert [problem for each in found for problem in each.problems] == []
    assert rows(
        new(tmp_path), "SELECT count(*) FROM insights WHERE deleted_at IS NOT NULL AND embedding IS NOT NULL"
    ) == [(1,)]


# ------------------------------------------------------------ a process that ends at any step

STEPS: tuple[tuple[Any, str], ...] = (
    (os, "link"), (os, "rename"), (os, "replace"), (os, "fsync"), (os, "mkdir"), (os, "open"), (Path, "unlink"),
    (Connection, "run"), (Connection, "checkpoint"), (Connection, "close"), (Connection, "run_many"),
    (sqlite_files, "_insight"),
)  # fmt: skip
"""After each call of these the process may end."""

ENDED = 42


def ends_in_child(work: Callable[[], object], at: int) -> bool:
    """Run `work` in a process that ends, without tidying up, after its step number `at`; whether it got so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        count = 0

        def counted(call: Callable[..., object]) -> Callable[..., object]:
            def step(*arguments: object, **named: object) -> object:
                nonlocal count
                result = call(*arguments, **named)
                count += 1
                if count == at:
                    os._exit(ENDED)
                return result

            return step

        try:
            for owner, name in STEPS:
                setattr(owner, name, counted(getattr(owner, name)))
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == ENDED


def test_wherever_the_process_ends_the_old_store_is_whole_or_the_new_one(tmp_path: Path) -> None:
    at = 1
    while True:
        data_dir = tmp_path / str(at)
        old = data_dir / "mnemon.db"
        legacy_at(old, memories=3)
        ended = ends_in_child(partial(moved, data_dir), at)
        is_new = (data_dir / "data").exists()
        if not is_new:
            assert len(rows(old, "SELECT id FROM insights")) == 3
        assert moved(data_dir) == [], "the next start finishes it, without a word"
        assert sorted(path.name for path in data_dir.iterdir()) == ["data"], at
        assert stored(new(data_dir)) == LIVE[:2], at
        assert is_mnemons(new(data_dir).with_name("mnemon.db.bak-0"))
        if not ended:
            break
        at += 1
    assert at > 30
    assert is_new


def test_wherever_the_process_ends_a_converted_store_is_the_old_one_or_the_new(tmp_path: Path) -> None:
    at = 1
    while True:
        path = new(tmp_path / str(at))
        legacy_at(path, memories=3)
        ended = ends_in_child(partial(moved, path.parent.parent.parent), at)
        if is_mnemons(path):
            assert len(rows(path, "SELECT id FROM insights")) == 3
        assert moved(tmp_path / str(at)) == [], "the next start finishes it"
        assert stored(path) == LIVE[:2], at
        assert is_mnemons(path.with_name("mnemon.db.bak-0"))
        if not ended:
            break
        at += 1
    assert at > 25


def test_a_new_store_that_lacks_something_does_not_take_the_place_of_the_old(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_files, "copy_rows", lambda *_: (4, 1))
    with pytest.raises(MnemonError, match="does not hold what was put into it"):
        moved(tmp_path)
    assert not (tmp_path / "data").exists()
    monkeypatch.undo()
    moved(tmp_path)
    assert stored(new(tmp_path)) == LIVE


def test_where_a_file_has_one_name_only_the_old_one_is_copied(
    tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    moved(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    assert rows(new(tmp_path).with_name("mnemon.db.bak-0"), "SELECT count(*) FROM insights") == [(5,)]


def test_a_small_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "active"
    (tmp_path / "victim").write_text("untouched")
    path.symlink_to(tmp_path / "victim")
    files.replace_file(path, b"work\n")
    assert (path.read_text(), path.is_symlink()) == ("work\n", False)
    assert (tmp_path / "victim").read_text() == "untouched"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        files.replace_file(path, b"play\n")
    assert path.read_text() == "work\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["active", "victim"]
