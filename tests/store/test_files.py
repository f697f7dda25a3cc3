"""A store whose files were taken away acknowledges nothing more, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.store.engine import Engine
from mnemond.store.files import StoreFiles
from tests.store.factories import contents, engine_at, remember, stored


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


@pytest.mark.parametrize("name", ["a.db", "a.db-wal"])
def test_a_removed_file_is_noticed(tmp_path: Path, name: str) -> None:
    engine = opened(tmp_path)
    (tmp_path / "store" / name).unlink()
    assert f"{name} was removed or replaced" in refused(engine, 2).message
    assert name in str(engine.health.degraded_reason)
    assert contents(engine) == {"memory number 1"}


def test_a_removed_directory_is_noticed(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    shutil.rmtree(tmp_path / "store")
    refused(engine, 2)
    assert contents(engine) == {"memory number 1"}


def test_a_file_put_over_it_is_noticed(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    shutil.copyfile(tmp_path / "store" / "a.db", tmp_path / "copy.db")
    (tmp_path / "copy.db").rename(tmp_path / "store" / "a.db")
    assert "daemon restart" in str(refused(engine, 2).hint)


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
    assert "a.db was removed or replaced" in str(engine.health.degraded_reason)


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
