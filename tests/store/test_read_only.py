"""A store that cannot be written is read: nothing beside it appears, and every write says why it was refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemond.errors import STORAGE, UNSUPPORTED, MnemonError
from mnemond.store import files as files_module
from mnemond.store.connection import Connection
from mnemond.store.engine import Engine
from tests.store.factories import contents, engine_at, insight_id, remember
from tests.store.mnemon import leave_open, legacy_at

Seen = dict[str, bytes]


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every directory look as if it were on a file system mounted for reading only; root may write anywhere."""
    return lambda: monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    engine = engine_at(path)
    engine.commit([remember(1), remember(2)])
    engine.close()
    return path


def files(path: Path) -> Seen:
    return {each.name: each.read_bytes() for each in sorted(path.parent.iterdir())}


def refused(engine: Engine) -> MnemonError:
    result = engine.commit([remember(3)])[0]
    assert isinstance(result, MnemonError)
    return result


def test_it_is_read_and_nothing_is_written(path: Path, locked: Callable[[], None]) -> None:
    before = files(path)
    locked()
    engine = engine_at(path)
    assert contents(engine) == {"memory number 1", "memory number 2"}
    assert engine.read(lambda it: it.rows("SELECT count(*) FROM insights")) == [(2,)]
    error = refused(engine)
    assert (error.kind, error.outcome) == (STORAGE, "rejected")
    assert error.message == f"{path.parent} cannot be written: the store is open for reading only; nothing was written"
    assert "daemon restart" in str(error.hint)
    with pytest.raises(MnemonError, match="for reading only"):
        engine.rewrite(lambda it: it.run("DELETE FROM insights"))
    assert "for reading only" in str(engine.health.degraded_reason)
    engine.checkpoint_if_due()
    engine.close()
    assert files(path) == before


def test_it_is_writable_again_when_its_directory_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
        engine = engine_at(path)
        refused(engine)
    engine.poison("looked again")
    assert not isinstance(engine.commit([remember(3)])[0], MnemonError)
    assert engine.health.degraded_reason is None
    engine.close()


def test_what_stands_in_the_log_is_missed_and_that_is_said(path: Path, locked: Callable[[], None]) -> None:
    writer = Connection(path)
    writer.run("UPDATE insights SET content = 'changed' WHERE id = ?", (insight_id(1),))
    leave_open(writer._db, path)
    path.with_name("a.db-shm").unlink()
    before = files(path)
    locked()
    engine = engine_at(path)
    assert contents(engine) == {"memory number 1", "memory number 2"}
    assert str(engine.health.degraded_reason).endswith("without the content of its log")
    engine.close()
    assert files(path) == before


def test_with_a_file_of_locks_the_log_is_read(path: Path, locked: Callable[[], None]) -> None:
    writer = Connection(path)
    writer.run("UPDATE insights SET content = 'changed' WHERE id = ?", (insight_id(1),))
    locked()
    engine = engine_at(path)
    assert contents(engine) == {"changed", "memory number 2"}
    engine.close()
    writer.close()


@pytest.mark.parametrize("kind", ["newer", "legacy"])
def test_another_version_or_program_is_refused_and_stays(path: Path, locked: Callable[[], None], kind: str) -> None:
    if kind == "legacy":
        path.unlink()
        legacy_at(path)
    else:
        connection = Connection(path)
        connection.set_pragma("user_version", 99)
        connection.checkpoint(truncate=True)
        connection.close()
    before = {name: content for name, content in files(path).items() if not name.endswith("-shm")}
    locked()
    with pytest.raises(MnemonError, match=r"knows versions|not one of mnemond's") as caught:
        engine_at(path)
    assert caught.value.kind is UNSUPPORTED
    assert {name: content for name, content in files(path).items() if not name.endswith("-shm")} == before


def test_a_damaged_row_is_left_out(path: Path, locked: Callable[[], None]) -> None:
    writer = Connection(path)
    writer.run("UPDATE insights SET tags = '{'")
    writer.checkpoint(truncate=True)
    writer.close()
    locked()
    engine = engine_at(path)
    assert [each.columns for each in engine.health.unreadable] == [("tags",), ("tags",)]
    engine.close()


def test_a_name_that_would_mean_something_in_a_uri_is_only_a_name(tmp_path: Path, locked: Callable[[], None]) -> None:
    path = tmp_path / "100% odd?mode=rwc#x.db"
    engine_at(path).close()
    locked()
    connection, _ = files_module.connect_read_only(path)
    assert connection.rows("SELECT count(*) FROM insights") == [(0,)]
    connection.close()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
