"""A store whose files were taken away acknowledges nothing more, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.store import verified_copy
from mnemond.store.engine import Engine
from mnemond.store.files import StoreFiles
from tests.store.factories import contents, engine_at, remember, stored
from tests.tables import each_row


def refused(engine: Engine, number: int) -> MnemonError:
    result = engine.commit([remember(number)])[0]
    assert isinstance(result, MnemonError)
    assert (result.kind, result.outcome) == (STORAGE, "rejected")
    return result


def opened(tmp_path: Path) -> Engine:
    (tmp_path / "store").mkdir()
    engine = engine_at(tmp_path / "store" / "a.db")
    assert isinstance(engine.commit([remember(1)])[0], RememberResult)
    return engine


@each_row("name", ["a.db", "a.db-wal"])
def test_a_removed_file_is_noticed(tmp_path: Path, name: str) -> None:
    engine = opened(tmp_path)
    (tmp_path / "store" / name).unlink()
    assert name in str(engine.degraded_reason), "before anything is written"
    assert f"{name} was removed while the store was open" in refused(engine, 2).message
    assert "`mnemonctl backup` saves all that is in memory" in str(engine.degraded_reason)
    assert contents(engine) == {"memory number 1"}


def test_a_file_that_is_back_is_written_again(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    away = tmp_path / "away.db"
    (tmp_path / "store" / "a.db").rename(away)
    refused(engine, 2)
    away.rename(tmp_path / "store" / "a.db")
    assert engine.degraded_reason is None
    assert isinstance(engine.commit([remember(2)])[0], RememberResult)
    engine.close()
    assert len(stored(tmp_path / "store" / "a.db")) == 2


def test_a_file_in_the_place_of_the_directory_is_noticed(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    shutil.rmtree(tmp_path / "store")
    (tmp_path / "store").write_text("a file")
    refused(engine, 2)


@each_row("begun", [False, True])
def test_the_connection_to_a_file_that_is_gone_is_kept_whatever_happens(tmp_path: Path, begun: bool) -> None:
    """Another one would find nothing, or make an empty store."""
    engine = opened(tmp_path)
    shutil.rmtree(tmp_path / "store")
    if begun:
        engine.read(lambda connection: connection.run("BEGIN"))
    engine.poison("a defect")
    assert contents(engine) == {"memory number 1"}
    assert not (tmp_path / "store").exists()
    facts = engine.read(lambda connection: verified_copy.make_of_open(connection, tmp_path / "saved.db"))
    assert isinstance(facts, verified_copy.Facts)
    assert facts.memories == 1
    assert stored(tmp_path / "saved.db") == ["memory number 1"]


def test_a_removed_directory_is_noticed(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    shutil.rmtree(tmp_path / "store")
    refused(engine, 2)
    assert contents(engine) == {"memory number 1"}


def test_a_file_put_over_it_is_noticed(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    shutil.copyfile(tmp_path / "store" / "a.db", tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(tmp_path / "store" / "a.db")
    error = refused(engine, 2)
    assert "a.db was replaced by another" in error.message
    assert "daemon restart" in str(error.hint)


def test_a_file_taken_away_during_a_commit_is_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(tmp_path)
    write = engine._write

    def taken_away(*arguments: object) -> object:
        result = write(*arguments)  # type: ignore[arg-type]  # passed through as they came
        (tmp_path / "store" / "a.db-wal").unlink()
        return result

    monkeypatch.setattr(engine, "_write", taken_away)
    result = engine.commit([remember(2)])[0]
    assert isinstance(result, MnemonError)
    assert result.outcome == "unknown"


def test_a_checkpoint_does_not_hide_that_a_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 1)
    engine = opened(tmp_path)
    (tmp_path / "store" / "a.db").unlink()
    refused(engine, 2)
    engine.checkpoint_if_due()
    assert "a.db was removed" in str(engine.degraded_reason)


def test_a_checkpoint_and_a_reopened_store_are_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 1)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 1)
    engine = opened(tmp_path)
    for number in range(2, 6):
        engine.checkpoint_if_due()
        assert isinstance(engine.commit([remember(number)])[0], RememberResult)
    engine.poison("a defect")
    assert isinstance(engine.commit([remember(9)])[0], RememberResult)
    engine.close()
    assert len(stored(tmp_path / "store" / "a.db")) == 6


def test_a_log_that_comes_into_being_later_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"")
    files = StoreFiles(path)
    assert files.replaced() is None
    log = tmp_path / "a.db-wal"
    log.write_bytes(b"")
    assert files.replaced() is None
    log.unlink()
    assert files.replaced() == str(log)
