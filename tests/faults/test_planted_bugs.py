"""Bugs that were made on purpose: each is caught by the check that is there for it, or the check is worth nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio

from mnemond.errors import MnemonError
from mnemond.index.edges import OUT, Editor
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import Change
from mnemond.store import database
from mnemond.store.connection import Connection, Value
from mnemond.store.engine import Engine
from mnemond.store.operations import Write
from mnemond.store.store import Store
from mnemond.store.transaction import Savepoint, run
from tests.faults.aftermath import Committed, record, state_of, survive
from tests.faults.every_change import steps
from tests.faults.interruptions import Interrupt, Struck
from tests.faults.recording_vfs import TAPE, RecordingVfs
from tests.faults.remembering import Run, check
from tests.faults.test_cancellation import sweep_writes
from tests.faults.test_interruptions import sweep
from tests.store.factories import engine_at

CAUGHT = (AssertionError, MnemonError)
"""How a check fails: by itself, or because the store does."""
IMAGES = 1_000


@pytest.fixture
def struck(tmp_path: Path) -> Iterator[Struck]:
    store = Struck(tmp_path / "a.db")
    yield store
    store._writer._inbox.put(None)  # a store with a bug in it need not close
    store._writer._thread.join()
    store.engine.poison("the end of the test")
    connection = store.engine._connection
    if connection is not None:
        connection.close()


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 60)
    registered = RecordingVfs()
    yield
    registered.unregister()


# ------------------------------------------------------------------ the index and the rows


@pytest.mark.deep
def test_the_index_is_told_before_the_commit(struck: Struck, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = MemoryIndex.stage

    def early(self: MemoryIndex, changes: Sequence[Change]) -> dict[int, tuple[int, int]]:
        degrees = stage(self, changes)
        self.publish()
        return degrees

    monkeypatch.setattr(MemoryIndex, "stage", early)
    with pytest.raises(CAUGHT, match="recall differs from the rows"):
        sweep(struck, "remember", Interrupt(), 1)


@pytest.mark.deep
def test_a_transaction_is_not_rolled_back(struck: Struck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "_roll_back", lambda self, connection: None)
    with pytest.raises(CAUGHT):
        sweep(struck, "remember", Interrupt(), 1)


@pytest.mark.deep
def test_edges_towards_a_memory_that_left_stay_in_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(self: Editor, row: int) -> None:
        for other, kind, direction in list(self._ends(row)):
            if direction == OUT:
                self.remove(row, other, kind)

    empty = tmp_path / "empty.db"
    engine_at(empty).close()
    check(Run(empty, engine_at, lambda: None))
    monkeypatch.setattr(Editor, "isolate", half)
    with pytest.raises(CAUGHT):
        check(Run(empty, engine_at, lambda: None))


# ------------------------------------------------------------------ what is acknowledged, and what is on the disk


@pytest.mark.deep
def test_it_is_acknowledged_before_it_is_committed(tmp_path: Path, recording: None) -> None:
    run, checkpoint, late = Connection.run, Connection.checkpoint, set[int]()

    def settle(connection: Connection) -> None:
        if id(connection) in late:
            late.discard(id(connection))
            run(connection, "COMMIT")
            TAPE.note(Committed(state_of(connection)))

    def deferring(self: Connection, sql: str, values: Sequence[Value] = ()) -> int:
        if sql == "COMMIT":
            late.add(id(self))
            return 0
        if sql.startswith(("BEGIN", "VACUUM")):
            settle(self)
        return run(self, sql, values)

    def settled(self: Connection, *, truncate: bool = False) -> tuple[int, int]:
        settle(self)
        return checkpoint(self, truncate=truncate)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "run", deferring)
        patch.setattr(Connection, "checkpoint", settled)
        tape = record(tmp_path / "a.db", steps())
    with pytest.raises(AssertionError, match="an acknowledged write is lost"):
        survive(tmp_path, tape, IMAGES, seed=3, indexes_once=True)


@pytest.mark.deep
def test_nothing_is_flushed(tmp_path: Path, recording: None, monkeypatch: pytest.MonkeyPatch) -> None:
    configure = Connection._configure

    def without(self: Connection) -> None:
        configure(self)
        self._db.pragma("synchronous", "off")

    monkeypatch.setattr(Connection, "_configure", without)
    with pytest.raises(MnemonError, match="synchronous is 0"):
        engine_at(tmp_path / "refused.db")
    monkeypatch.setattr(database, "_verify_durability", lambda connection, path: None)
    tape = record(tmp_path / "a.db", steps())
    monkeypatch.setattr(Connection, "_configure", configure)
    with pytest.raises(AssertionError, match="cut at"):
        survive(tmp_path, tape, IMAGES, seed=3, indexes_once=True)


@pytest.mark.parametrize("planted", [pytest.param(True, marks=pytest.mark.deep), False])
def test_a_file_of_a_store_is_opened_by_hand(planted: bool) -> None:
    program = [sys.executable, "-m", "tests.faults.open_audit", *(["--planted"] if planted else [])]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, "looking" in done.stdout) == (int(planted), planted), done.stdout + done.stderr


# ------------------------------------------------------------------ cancellation


@pytest.mark.deep
async def test_a_commit_is_abandoned_by_whoever_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = MemoryIndex.publish

    async def abandoned(self: Store, write: Write) -> object:
        done = await trio.to_thread.run_sync(self._engine.commit, [write], abandon_on_cancel=True)
        publish(self._engine.index)
        return done

    assert await sweep_writes(tmp_path / "whole.db") > 1
    monkeypatch.setattr(MemoryIndex, "publish", lambda self: self.snapshot)
    monkeypatch.setattr(Store, "write", abandoned)
    with pytest.raises((*CAUGHT, apsw.Error)):
        await sweep_writes(tmp_path / "a.db")


@pytest.mark.deep
async def test_a_transaction_is_left_by_whoever_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def statement_by_statement(self: Store, write: Write) -> object:
        engine = self._engine
        connection, index = engine._healthy(), engine.index
        await _in_thread(connection.run, "BEGIN IMMEDIATE")
        try:
            savepoint = Savepoint(connection, several=False, always=False)
            found = await _in_thread(run, connection, index, write, None, engine.embedder, savepoint)
            await _in_thread(connection.run, "COMMIT")
        except apsw.Error:
            connection.run("ROLLBACK")
            raise
        index.publish()
        return found

    monkeypatch.setattr(Store, "write", statement_by_statement)
    with pytest.raises((*CAUGHT, apsw.Error)):
        await sweep_writes(tmp_path / "a.db")


async def _in_thread(work: Any, *arguments: Any) -> Any:
    return await trio.to_thread.run_sync(work, *arguments)
