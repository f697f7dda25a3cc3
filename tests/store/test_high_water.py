"""A store whose log was lost says so, until somebody has seen to it; and what is known of one outlives its process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.store import backups, health
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.engine import Engine
from mnemond.store.health import HighWater, KnownFaults, last_line
from mnemond.store.verified_copy import no_pause
from mnemond.store.verify import verify_closed
from tests.store.factories import START_US, contents, open_at, remember

WENT_BACKWARDS: Final = "the store went backwards: its log ends with line 2, and line 5 was acknowledged"


def engine_of(path: Path) -> Engine:
    def unforeseen(where: str, error: BaseException) -> None:
        raise AssertionError(where) from error

    return Engine(open_at(path), lambda: open_at(path), unforeseen, path=path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store as a kill leaves it: memories 1 and 2 in its database, 3 to 5 in its log."""
    (home := tmp_path / "living").mkdir(0o700)
    engine = engine_of(home / "mnemon.db")
    for number in range(1, 6):
        assert isinstance(engine.commit([remember(number)])[0], RememberResult)
        if number == 2:
            engine._healthy().checkpoint(truncate=True)
    killed = tmp_path / "killed"
    shutil.copytree(home, killed)
    engine.close()
    return killed / "mnemon.db"


def told(engine: Engine) -> str:
    return engine.health.degraded_reason or ""


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def remove(log: Path) -> None:
    log.unlink()


def empty(log: Path) -> None:
    log.write_bytes(b"")


def flip(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[32 + 24 + 100] ^= 1  # in the first page of the log (fileformat2, 4.1)
    log.write_bytes(content)


def forget_all_but_the_header(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:32])


LOST: Final = [remove, empty, flip, forget_all_but_the_header]


@pytest.mark.parametrize("lose", LOST)
def test_a_log_that_was_lost_is_noticed(lose: Callable[[Path], None], path: Path) -> None:
    lose(log_of(path))
    engine = engine_of(path)
    assert told(engine) == WENT_BACKWARDS
    assert contents(engine) == {"memory number 1", "memory number 2"}
    assert isinstance(engine.commit([remember(6)])[0], RememberResult), "what comes after is written"
    engine.close()


def test_part_of_a_log_that_was_lost_is_noticed(path: Path) -> None:
    log = log_of(path)
    log.write_bytes(log.read_bytes()[:-100])
    engine = engine_of(path)
    assert told(engine)
    assert "line 4, and line 5 was acknowledged" in told(engine)
    engine.close()


def test_a_whole_store_says_nothing(path: Path) -> None:
    engine = engine_of(path)
    assert told(engine) == ""
    assert len(contents(engine)) == 5
    engine.close()
    assert not path.with_name(health.FAULTS_FILE).exists()
    assert path.with_name(health.HIGH_WATER_FILE).stat().st_mode & 0o777 == 0o600


def test_it_is_said_until_somebody_accepts_it(path: Path) -> None:
    remove(log_of(path))
    engine = engine_of(path)
    engine.commit([remember(number) for number in range(10, 20)])
    engine.close()
    engine = engine_of(path)
    assert told(engine) == WENT_BACKWARDS, "what was written since hides nothing"
    engine.health.mark_sound()
    assert told(engine) == WENT_BACKWARDS, "a sound file has what is missing no more than before"
    engine.health.accept_loss()
    assert told(engine) == ""
    engine.close()
    engine = engine_of(path)
    assert told(engine) == ""
    engine.close()


def test_a_database_of_earlier_is_noticed(path: Path, tmp_path: Path) -> None:
    engine_of(path).close()
    shutil.copyfile(path, tmp_path / "earlier.db")
    engine = engine_of(path)
    engine.commit([remember(6)])
    engine.close()
    shutil.copyfile(tmp_path / "earlier.db", path)
    engine = engine_of(path)
    assert told(engine)
    assert "went backwards" in told(engine)
    engine.close()


def test_doctor_says_it_of_a_store_that_nobody_has_open(path: Path) -> None:
    remove(log_of(path))
    assert "the log ends with line 2, and line 5 was acknowledged" in problems(path)["high_water"]
    engine_of(path).close()
    assert WENT_BACKWARDS in problems(path)["high_water"]
    health.write_faults(path, KnownFaults(wrong="a page is damaged"))
    assert "a page is damaged" in problems(path)["high_water"]


def problems(path: Path) -> dict[str, str]:
    return {
        each.check.name: str(each.problems) for each in verify_closed(path, "fast", START_US + 100) if each.problems
    }


def test_what_doctor_cannot_read_is_a_problem(path: Path) -> None:
    engine_of(path).close()
    path.with_name(health.FAULTS_FILE).mkdir()
    assert "cannot be read" in problems(path)["high_water"]


def test_a_store_that_is_restored_begins_anew(path: Path) -> None:
    remove(log_of(path))
    engine_of(path).close()
    restored = path.parent.with_name("restored") / path.name
    backups._prepare(path, restored.parent, path.parent, no_pause)
    engine = engine_of(restored)
    assert told(engine) == ""
    engine.close()


@pytest.mark.parametrize("content", [b"", b"7", b"twenty bytes of words", b"9" * 21, b"twenty letters, sure"])
def test_a_note_that_no_mnemond_wrote_says_nothing(content: bytes, path: Path) -> None:
    path.with_name(health.HIGH_WATER_FILE).write_bytes(content)
    assert HighWater(path).read() is None
    engine = engine_of(path)
    engine.commit([remember(6)])
    engine.close()
    assert HighWater(path).read() == 6


# ------------------------------------------------------------ what is known


def test_damage_is_known_after_a_restart_until_a_look_finds_nothing(path: Path) -> None:
    engine = engine_of(path)
    engine.health.mark_damaged("a page is damaged")
    engine.close()
    engine = engine_of(path)
    assert told(engine) == "a page is damaged"
    refused = engine.commit([remember(6)])[0]
    assert isinstance(refused, MnemonError)
    assert refused.outcome == "rejected"
    engine.health.mark_sound()
    assert isinstance(engine.commit([remember(6)])[0], RememberResult)
    engine.close()
    assert not path.with_name(health.FAULTS_FILE).exists()
    engine = engine_of(path)
    assert told(engine) == ""
    engine.close()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"wrong": 5}'])
def test_what_was_known_and_cannot_be_read_counts_as_damage(content: bytes, path: Path) -> None:
    path.with_name(health.FAULTS_FILE).write_bytes(content)
    engine = engine_of(path)
    assert told(engine) == health.UNREADABLE
    engine.health.mark_sound()
    assert told(engine) == ""
    engine.close()


def test_a_directory_in_its_place(path: Path) -> None:
    path.with_name(health.FAULTS_FILE).mkdir()
    engine = engine_of(path)
    assert told(engine) == health.UNREADABLE
    engine.health.mark_sound()
    assert told(engine)
    assert "cannot be noted beside it" in told(engine)
    path.with_name(health.FAULTS_FILE).rmdir()
    engine.commit([remember(6)])
    assert told(engine) == ""
    engine.close()


def test_a_note_that_cannot_be_made_keeps_nobody_from_writing(path: Path) -> None:
    path.with_name(health.HIGH_WATER_FILE).unlink()
    path.with_name(health.HIGH_WATER_FILE).mkdir()
    engine = engine_of(path)
    assert told(engine)
    assert "cannot be noted beside it: it is a directory, not a file" in told(engine)
    assert isinstance(engine.commit([remember(6)])[0], RememberResult)
    assert told(engine)
    path.with_name(health.HIGH_WATER_FILE).rmdir()
    assert isinstance(engine.commit([remember(7)])[0], RememberResult)
    assert told(engine) == ""
    assert HighWater(path).read() == 7
    engine.close()


def test_a_log_whose_counter_cannot_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(connection: Connection) -> int:
        raise apsw.exception_for(apsw.SQLITE_CORRUPT)

    engine = engine_of(path)
    with monkeypatch.context() as patch:
        patch.setattr("mnemond.store.engine.last_line", damaged)
        assert isinstance(engine.commit([remember(6)])[0], RememberResult)
        assert "damaged" in told(engine)
        engine.health.mark_sound()
        engine.close()
        engine = engine_of(path)
        assert "damaged" in told(engine)
    engine.close()
    with pytest.raises(SqliteError):
        last_line(Connection(Path(":memory:")))


def test_a_new_store_has_no_line() -> None:
    connection = Connection(Path(":memory:"))
    connection.script("CREATE TABLE oplog(id INTEGER PRIMARY KEY AUTOINCREMENT)")
    assert last_line(connection) == 0
    connection.close()
