"""A full disk, a damaged page: what an open store refuses then, what goes on, and how it gets well again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.outcomes import ForgetResult, RememberResult
from mnemond.store.checksums import is_damage
from mnemond.store.connection import Connection, FullError, SqliteError
from mnemond.store.engine import Engine
from mnemond.store.health import BALLAST_BYTES, BALLAST_FILE, MARGIN_BYTES, Ballast
from tests.faults.failing_vfs import NAME as FAILING
from tests.faults.failing_vfs import PLAN, FailingVfs
from tests.store.factories import contents, engine_at, forget, open_at, remember
from tests.store.test_checksums import flip


@pytest.fixture
def failing() -> Iterator[None]:
    vfs = FailingVfs()
    yield
    PLAN.disarm()
    vfs.unregister()


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the disk says that is free."""
    found = SimpleNamespace(f_bavail=1 << 20, f_frsize=4096)
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    return found


def without_room(room: SimpleNamespace) -> None:
    room.f_bavail = 0


def told(engine: Engine) -> str | None:
    return engine.health.degraded_reason


def engine_with(path: Path, ballast: Ballast, vfs: str | None = None) -> Engine:
    def unforeseen(where: str, error: BaseException) -> None:
        raise AssertionError(where) from error

    return Engine(open_at(path, vfs), lambda: open_at(path, vfs), unforeseen, ballast)


# ------------------------------------------------------------ the ballast


def test_ballast_takes_room_and_lets_it_go(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path)
    assert not ballast.exists
    assert ballast.make()
    assert ballast.make()
    found = (tmp_path / BALLAST_FILE).stat()
    assert (found.st_size, found.st_mode & 0o777, found.st_blocks * 512 >= BALLAST_BYTES) == (
        BALLAST_BYTES,
        0o600,
        True,
    )
    assert os.listdir(tmp_path) == [BALLAST_FILE]
    ballast.release()
    ballast.release()
    assert os.listdir(tmp_path) == []


def test_ballast_without_a_call_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    assert Ballast(tmp_path).make()
    assert (tmp_path / BALLAST_FILE).stat().st_size == BALLAST_BYTES


def test_ballast_is_made_only_where_there_is_room(tmp_path: Path, room: SimpleNamespace) -> None:
    ballast = Ballast(tmp_path)
    room.f_bavail = (BALLAST_BYTES + MARGIN_BYTES) // 4096 - 1
    assert not ballast.make()
    assert not ballast.is_needed()
    room.f_bavail += 1
    assert ballast.make()
    assert not ballast.is_needed()
    without_room(room)
    assert ballast.is_needed()


def test_ballast_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert not Ballast(tmp_path).make()
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(os, "statvfs", full)
    assert not Ballast(tmp_path).make()
    monkeypatch.undo()
    assert not Ballast(tmp_path / "gone").make()


# ------------------------------------------------------------ a full disk


def test_on_a_full_disk_memories_can_still_be_forgotten(tmp_path: Path, failing: None, room: SimpleNamespace) -> None:
    ballast = Ballast(tmp_path)
    ballast.make()
    engine = engine_with(tmp_path / "a.db", ballast, FAILING)
    engine.commit([remember(1), remember(2)])
    without_room(room)
    PLAN.arm(1, "full", persistent=False)  # the next one finds what the ballast let go of
    (first,) = engine.commit([remember(3)])
    assert isinstance(first, MnemonError)
    assert (first.kind, ballast.exists, told(engine)) == (STORAGE, False, "the disk is full")
    refused, forgotten = engine.commit([remember(4), forget(1)])
    assert isinstance(refused, MnemonError)
    assert (refused.outcome, "make room on the disk" in str(refused.hint)) == ("rejected", True)
    assert isinstance(forgotten, ForgetResult)
    with pytest.raises(MnemonError, match="disk is full"):
        engine.rewrite(lambda connection: None)
    assert contents(engine) - {"memory number 3"} == {"memory number 2"}
    engine.checkpoint_if_due()
    assert engine._healthy().wal_frames() == 0, "a log that is cut back is room too"
    assert told(engine) == "the disk is full"
    room.f_bavail = 1 << 20
    assert isinstance(engine.commit([remember(5)])[0], RememberResult)
    assert (ballast.exists, told(engine)) == (True, None)
    engine.close()


def test_room_that_came_back_is_noticed_without_a_write(tmp_path: Path, room: SimpleNamespace) -> None:
    ballast = Ballast(tmp_path)
    without_room(room)
    engine = engine_with(tmp_path / "a.db", ballast)
    assert told(engine) == "the disk is full", "there is no room for the ballast itself"
    room.f_bavail = 1 << 20
    engine.checkpoint_if_due()
    assert (ballast.exists, told(engine)) == (True, None)
    engine.close()


def test_a_checkpoint_without_room_lets_the_ballast_go(
    tmp_path: Path, failing: None, room: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 1)
    ballast = Ballast(tmp_path)
    engine = engine_with(tmp_path / "a.db", ballast, FAILING)
    engine.commit([remember(1)])
    without_room(room)
    PLAN.arm(1, "full", persistent=True)
    engine.checkpoint_if_due()
    assert (ballast.exists, told(engine)) == (False, "the disk is full")
    PLAN.disarm()
    room.f_bavail = 1 << 20
    engine.checkpoint_if_due()
    assert told(engine) is None
    engine.close()


# ------------------------------------------------------------ a damaged page


def damaged(path: Path, table: str = "memory_operations") -> Engine:
    """An open store with damage in the first page of a table; opening does not read that of the history."""
    engine = engine_at(path)
    engine.commit([remember(number) for number in range(1, 40)])
    (root,) = engine._healthy().row("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)) or (0,)
    engine.close()
    flip(path, (root - 1) * 4096 + 2_000)
    return engine_at(path)


def test_reading_a_damaged_page_ends_the_writing(tmp_path: Path) -> None:
    engine = damaged(tmp_path / "a.db")
    assert told(engine) is None

    def read(connection: Connection) -> object:
        return connection.rows("SELECT * FROM memory_operations")

    with pytest.raises(SqliteError):
        engine.read(read)
    assert "the store's file is damaged" in str(told(engine))
    (refused,) = engine.commit([remember(99)])
    assert isinstance(refused, MnemonError)
    assert (refused.outcome, "doctor --salvage" in str(refused.hint)) == ("rejected", True)
    assert len(contents(engine)) == 39
    engine.poison("another failure")
    assert "the store's file is damaged" in str(told(engine)), "opening it anew proves nothing"
    engine.health.mark_sound()
    assert told(engine) is None
    engine.close()


def test_writing_to_a_damaged_page_is_refused_whole(tmp_path: Path) -> None:
    engine = damaged(tmp_path / "a.db")
    (result,) = engine.commit([remember(99)])
    assert isinstance(result, MnemonError)
    assert (result.kind, result.outcome) == (STORAGE, "rejected")
    assert "damaged" in str(told(engine))
    assert "memory number 99" not in contents(engine)
    engine.close()


def test_a_store_that_can_be_recalled_from_is_opened_in_spite_of_damage(tmp_path: Path) -> None:
    engine = damaged(tmp_path / "a.db", "operations")
    assert "damaged" in str(told(engine))
    assert len(contents(engine)) == 39
    assert isinstance(engine.commit([remember(99)])[0], MnemonError)
    assert not engine._healthy().in_transaction
    engine.poison("another failure")
    assert "damaged" in str(told(engine))
    engine.close()


def test_a_store_whose_memories_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqliteError) as caught:
        damaged(tmp_path / "a.db", "insights")
    assert is_damage(caught.value)


def test_a_store_that_cannot_be_opened_for_another_reason(
    tmp_path: Path, failing: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_at(tmp_path / "a.db").close()

    def full(connection: Connection, now_us: int) -> int:
        raise FullError

    monkeypatch.setattr("mnemond.store.operations.expire", full)
    with pytest.raises(FullError):
        open_at(tmp_path / "a.db")
