"""Each way a store can meet a failing disk, a foreign lock or a damaged file, one at a time: what the caller is told,
what is stored afterwards, and that the store goes on as soon as it can."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import msgspec
import pytest

from mnemond.errors import BUSY, STORAGE, UNSUPPORTED, MnemonError
from mnemond.model.changes import SetImportance
from mnemond.model.outcomes import RememberResult
from mnemond.store import connection as connections
from mnemond.store.checksums import is_damage
from mnemond.store.connection import Connection, Value
from mnemond.store.database import Opened, open_database
from mnemond.store.engine import Engine, Result
from tests.faults.failing_vfs import NAME, PLAN, FailingVfs
from tests.store.factories import EMBEDDER, START_US, contents, engine_at, insight_id, open_at, remember, stored

CACHE_KIB = 1024
SPILLING = 64
"""Memories of a batch that does not fit into such a page cache, so that it reaches the disk before COMMIT."""


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    registered = FailingVfs()
    yield
    registered.unregister()


@pytest.fixture(autouse=True)
def sound_disk() -> Iterator[None]:
    PLAN.disarm()
    yield
    PLAN.disarm()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BUSY_TIMEOUT_MS", 20)


class Stubborn(Connection):
    """A connection that refuses some statements, and perhaps to be closed, with an I/O error."""

    refuses: frozenset[str] = frozenset()
    refuses_closing = False

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        if sql in self.refuses:
            raise apsw.IOError(f"{sql} failed")
        return super().run(sql, values)

    def close(self) -> None:
        super().close()
        if self.refuses_closing:
            raise apsw.IOError("close failed")


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> type[Stubborn]:
    class Fresh(Stubborn):
        pass

    monkeypatch.setattr("mnemond.store.database.Connection", Fresh)
    return Fresh


def error_in(results: Sequence[Result]) -> MnemonError:
    """The one error that every write of a batch got."""
    first = results[0]
    assert isinstance(first, MnemonError), first
    assert all(result is first for result in results)
    return first


def open_files_of(path: Path) -> list[str]:
    links = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{entry}"))
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
    return [link for link in links if link.startswith(str(path))]


# ------------------------------------------------------------------ before COMMIT


@pytest.mark.parametrize("fault", ["io", "full", "torn"])
def test_a_batch_that_fails_before_its_commit_is_certainly_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("mnemond.store.connection.CACHE_KIB", CACHE_KIB)
    engine = engine_at(tmp_path / "a.db", NAME)
    engine.commit([remember(1, "known before")])
    PLAN.arm(1, fault, persistent=False)  # type: ignore[arg-type]  # one of Fault
    error = error_in(engine.commit([remember(n, f"{n} " + "记" * 7990) for n in range(2, 2 + SPILLING)]))
    assert (error.kind, error.outcome) == (STORAGE, "rejected")
    assert "nothing was written" in error.message
    assert contents(engine) == {"known before"}
    assert isinstance(engine.commit([remember(100, "known after")])[0], RememberResult)
    assert engine.health.degraded_reason is None
    engine.close()
    assert stored(tmp_path / "a.db") == ["known after", "known before"]


def test_a_damaged_schema_rolls_the_whole_batch_back(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("ALTER TABLE oplog RENAME TO gone")
    error = error_in(engine.commit([remember(2), remember(3)]))
    assert (error.kind, error.outcome) == (STORAGE, "rejected")
    assert "oplog" in error.message
    other.execute("ALTER TABLE gone RENAME TO oplog")  # would wait for a transaction that was left open
    other.close()
    assert isinstance(engine.commit([remember(4)])[0], RememberResult)
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1", "memory number 4"]


def test_another_process_that_holds_the_database_is_named(tmp_path: Path, impatient: None) -> None:
    engine = engine_at(tmp_path / "a.db")
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("BEGIN IMMEDIATE")
    error = error_in(engine.commit([remember(1), remember(2)]))
    assert (error.kind, error.outcome) == (BUSY, "rejected")
    assert "another process holds the store's database" in error.message
    assert engine.health.degraded_reason is None
    other.execute("ROLLBACK")
    other.close()
    assert isinstance(engine.commit([remember(3)])[0], RememberResult)
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 3"]


def test_when_even_rolling_back_fails_the_file_is_read_again(tmp_path: Path, stubborn: type[Stubborn]) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    stubborn.refuses = frozenset({"ROLLBACK", "RELEASE operation"})
    several = msgspec.structs.replace(remember(3), changes=(SetImportance(insight_id(1), 0.5),))
    error = error_in(engine.commit([remember(2), several]))
    assert (error.kind, error.outcome) == (STORAGE, "rejected")
    stubborn.refuses = frozenset()
    assert contents(engine) == {"memory number 1"}
    assert isinstance(engine.commit([remember(4)])[0], RememberResult)
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1", "memory number 4"]


# ------------------------------------------------------------------ after a failure: closing and reopening


def test_a_connection_that_does_not_close_is_given_up(tmp_path: Path, stubborn: type[Stubborn]) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1)])
    stubborn.refuses, stubborn.refuses_closing = frozenset({"COMMIT"}), True
    error = error_in(engine.commit([remember(2)]))
    assert error.outcome == "unknown"
    assert "COMMIT failed" in str(engine.health.degraded_reason)
    stubborn.refuses, stubborn.refuses_closing = frozenset(), False
    assert isinstance(engine.commit([remember(3)])[0], RememberResult)
    assert engine.health.degraded_reason is None
    engine.close()
    assert stored(tmp_path / "a.db") == ["memory number 1", "memory number 3"]


def gone_for_good(path: Path) -> Engine:
    """An engine whose connection was closed after an error and cannot be opened again."""

    def reopen() -> Opened:
        raise apsw.CantOpenError("no such disk")

    engine = Engine(open_at(path), reopen, lambda where, error: None)
    engine.commit([remember(1)])
    engine.poison("a defect")
    return engine


def test_a_store_without_connection_answers_from_memory_and_closes(tmp_path: Path) -> None:
    engine = gone_for_good(tmp_path / "a.db")
    reason = engine.health.degraded_reason
    assert reason is not None
    assert "no such disk" in reason
    assert contents(engine) == {"memory number 1"}
    error = error_in(engine.commit([remember(2), remember(3)]))
    assert (error.kind, error.outcome) == (STORAGE, "rejected")
    with pytest.raises(apsw.CantOpenError):
        engine.read(lambda connection: connection.row("SELECT 1"))
    engine.checkpoint_if_due()
    assert engine.health.degraded_reason == reason
    engine.poison("another defect")
    assert str(engine.health.degraded_reason).startswith("another defect; ")
    assert contents(engine) == {"memory number 1"}
    engine.close()


# ------------------------------------------------------------------ checkpoints


@pytest.fixture
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 9)


def test_a_failing_checkpoint_shows_and_is_made_up_for(tmp_path: Path, small_checkpoints: None) -> None:
    engine = engine_at(tmp_path / "a.db", NAME)
    engine.commit([remember(number, "word " * 500) for number in range(20)])
    PLAN.arm(1, "io", persistent=True)
    engine.checkpoint_if_due()
    assert "cannot be copied" in str(engine.health.degraded_reason)
    PLAN.disarm()
    assert isinstance(engine.commit([remember(30)])[0], RememberResult)
    engine.checkpoint_if_due()
    assert engine.health.degraded_reason is None
    assert (tmp_path / "a.db-wal").stat().st_size == 0
    engine.close()
    assert len(stored(tmp_path / "a.db")) == 21


def test_a_reader_elsewhere_only_delays_the_checkpoint(
    tmp_path: Path, small_checkpoints: None, impatient: None
) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number, "word " * 500) for number in range(20)])
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM insights").fetchall() == [(20,)]
    engine.checkpoint_if_due()
    assert engine.health.degraded_reason is None
    assert (tmp_path / "a.db-wal").stat().st_size > 0
    other.execute("COMMIT")
    other.close()
    engine.checkpoint_if_due()
    assert (tmp_path / "a.db-wal").stat().st_size == 0
    engine.close()


def test_closing_says_when_the_last_checkpoint_fails_and_loses_nothing(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db", NAME)
    engine.commit([remember(1)])
    PLAN.arm(1, "io", persistent=True)
    with pytest.raises(apsw.IOError):
        engine.close()
    PLAN.disarm()
    assert open_files_of(tmp_path) == []
    assert stored(tmp_path / "a.db") == ["memory number 1"]


# ------------------------------------------------------------------ opening


def test_a_connection_that_cannot_be_configured_is_closed_again(tmp_path: Path) -> None:
    PLAN.arm(1, "io", persistent=True)
    with pytest.raises(apsw.IOError):
        Connection(tmp_path / "a.db", vfs=NAME)
    assert open_files_of(tmp_path) == []


def test_a_file_that_cannot_be_durable_is_refused_and_closed() -> None:
    with pytest.raises(MnemonError, match="journal_mode is memory") as caught:
        open_database(Path(":memory:"), lambda: EMBEDDER, START_US)
    assert (caught.value.kind, caught.value.outcome) == (STORAGE, "rejected")


def test_a_page_of_rubbish_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    engine = engine_at(path)
    engine.commit([remember(number, "word " * 500) for number in range(50)])
    engine.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    with pytest.raises(apsw.Error) as caught:
        open_at(path)
    assert is_damage(caught.value)
    assert open_files_of(tmp_path) == []


def test_a_file_cut_to_nothing_is_a_new_store_and_a_torn_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    engine = engine_at(path)
    assert isinstance(engine.commit([remember(1)])[0], RememberResult)
    engine.close()
    with path.open("r+b") as file:
        file.write(b"\0" * 16)
    with pytest.raises(apsw.NotADBError):
        open_at(path)


def test_an_application_id_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_at(path).connection.close()
    other = apsw.Connection(str(path))
    other.pragma("application_id", 7)
    other.pragma("wal_checkpoint(truncate)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(MnemonError, match="0x7") as caught:
        open_at(path)
    assert caught.value.kind is UNSUPPORTED
    assert path.read_bytes() == before
