"""Fail every I/O operation, and every statement, of writes with edges in turn: the index is what the file is, what was
acknowledged is there, what was rejected is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemond.model.memory import EDGE_TYPES
from mnemond.store.connection import Connection, Value
from mnemond.store.engine import Engine
from tests.faults.failing_vfs import FAULTS, NAME, PLAN, FailingVfs, Fault
from tests.faults.remembering import Run, check
from tests.store.factories import engine_at


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    registered = FailingVfs()
    yield
    registered.unregister()


@pytest.fixture(autouse=True)
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 60)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A store nobody has written to yet."""
    path = tmp_path / "empty.db"
    engine_at(path).close()
    return path


# ------------------------------------------------------------------ without any fault


def test_the_workload_does_everything_that_can_go_wrong(empty: Path) -> None:
    run = Run(empty, engine_at, lambda: None)
    assert run.linked == set(EDGE_TYPES)
    done = run.engine.read(lambda db: db.rows("SELECT DISTINCT operation FROM oplog"))
    assert {"remember", "diff-skip", "diff-replace", "test"} <= {row[0] for row in done}  # type: ignore[attr-defined]
    states = run.engine.read(lambda db: dict(db.rows("SELECT status, count(*) FROM insights GROUP BY status")))
    assert set(states) == {"active", "superseded", "forgotten", "pruned"}  # type: ignore[call-overload]
    assert (len(run.acknowledged), run.perhaps) == (19, set())
    paired = run.engine.read(lambda db: db.rows("SELECT * FROM memory_operations WHERE operation_type = 'PAIR'"))
    assert len(paired) > 1  # type: ignore[arg-type]
    check(run)


# ------------------------------------------------------------------ the disk


def sweep(empty: Path, fault: Fault, *, persistent: bool, stride: int, first: int = 1) -> None:
    def on_failing_disk(path: Path) -> Engine:
        return engine_at(path, NAME)

    def one(at: int | None) -> int:
        run = Run(empty, on_failing_disk, lambda: PLAN.arm(at, fault, persistent=persistent))
        operations = PLAN.count
        PLAN.disarm()
        check(run)
        return operations

    operations = one(None)
    assert operations > 40
    fired = sum(one(at) >= at for at in range(first, operations + 1, stride))
    assert fired > 3


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_some_operations_of_the_disk_fail(empty: Path, fault: Fault, persistent: bool) -> None:
    """Each kind of fault begins at another operation, so that together they go through them in small steps."""
    turn = 2 * FAULTS.index(fault) + persistent
    sweep(empty, fault, persistent=persistent, stride=78, first=1 + 13 * turn)


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("persistent", [False, True])
def test_every_operation_of_the_disk_fails(empty: Path, fault: Fault, persistent: bool) -> None:
    sweep(empty, fault, persistent=persistent, stride=1)


# ------------------------------------------------------------------ the statements


class Statements:
    """Which call of a connection fails, with what, and whether it is carried out all the same."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.error: type[apsw.Error] = apsw.IOError
        self.carried_out = False
        self.count = 0

    def arm(self, at: int | None, error: type[apsw.Error], *, carried_out: bool) -> None:
        self.at, self.error, self.carried_out, self.count = at, error, carried_out, 0


CALLS = Statements()


class Failing(Connection):
    def _due(self) -> bool:
        CALLS.count += 1
        return CALLS.at is not None and CALLS.count == CALLS.at

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        found: int = self._perhaps(super().run, sql, values)
        return found

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        self._perhaps(super().run_many, sql, rows)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._perhaps(super().rows, sql, values)
        return found

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._perhaps(super().row, sql, values)
        return found

    def _perhaps(self, call: Any, sql: str, values: Any) -> Any:
        due = self._due()
        if due and not CALLS.carried_out:
            raise CALLS.error(f"before: {sql[:60]}")
        found = call(sql, values)
        if due:
            raise CALLS.error(f"after: {sql[:60]}")
        return found


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("mnemond.store.database.Connection", Failing)
    yield
    CALLS.arm(None, apsw.IOError, carried_out=False)


def sweep_statements(empty: Path, error: type[apsw.Error], *, carried_out: bool, stride: int) -> None:
    def one(at: int | None) -> int:
        run = Run(empty, engine_at, lambda: CALLS.arm(at, error, carried_out=carried_out))
        calls = CALLS.count
        CALLS.arm(None, error, carried_out=False)
        check(run)
        return calls

    calls = one(None)
    assert calls > 200
    assert sum(one(at) >= at for at in range(1, calls + 1, stride)) > 3


ERRORS = [apsw.IOError, apsw.ConstraintError, apsw.BusyError]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("carried_out", [False, True])
def test_some_statements_fail(failing: None, empty: Path, error: type[apsw.Error], carried_out: bool) -> None:
    sweep_statements(empty, error, carried_out=carried_out, stride=67)


@pytest.mark.deep
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("carried_out", [False, True])
def test_every_statement_fails(failing: None, empty: Path, error: type[apsw.Error], carried_out: bool) -> None:
    sweep_statements(empty, error, carried_out=carried_out, stride=1)
