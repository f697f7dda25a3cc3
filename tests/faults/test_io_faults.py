"""Fail every single I/O operation of a workload in turn. What was acknowledged is there, what recall sees is what the
file holds, and the store goes on as soon as the disk does."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.store.database import Opened
from tests.faults.failing_vfs import FAULTS, NAME, PLAN, FailingVfs, Fault
from tests.store.factories import contents, engine_at, forget, open_at, remember, stored
from tests.tables import each_row


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    registered = FailingVfs()
    yield
    registered.unregister()


class Run:
    """One pass of the workload with one operation failing."""

    def __init__(self, empty: Path, at: int | None, fault: Fault, *, persistent: bool, seed: int = 0) -> None:
        """Starts from a copy of `empty`, a store nobody has written to yet. `seed`: how long the texts are; with 0, of
        each batch none, 2,000 and 4,000 characters."""
        self._chance = random.Random(seed) if seed else None
        home = empty.parent / "run"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        self.path = home / "a.db"
        shutil.copyfile(empty, self.path)
        self.engine = engine_at(self.path, NAME)
        self.acknowledged: set[str] = set()
        self.perhaps: set[str] = set()
        PLAN.arm(at, fault, persistent=persistent)
        for step in range(8):
            self._step(step)
        self.operations = PLAN.count
        PLAN.disarm()

    def _step(self, step: int) -> None:
        chance = self._chance
        sizes = [0, 2_000, 4_000] if chance is None else [0, *(chance.randint(0, 9_000) for _ in range(2))]
        batch = [remember(step * 10 + n, f"memory {step}.{n} " + "x" * size) for n, size in enumerate(sizes)]
        if step % 3 == 2:
            batch.append(forget((step - 1) * 10))
        for change_set, result in zip(batch, self.engine.commit(batch), strict=True):
            if change_set.method == "forget":
                gone = f"memory {step - 1}.0 "
                if not isinstance(result, MnemonError):
                    self.acknowledged.discard(gone)
                elif result.outcome == "unknown" and gone in self.acknowledged:
                    self.acknowledged.discard(gone)
                    self.perhaps.add(gone)
                continue
            change = change_set.changes[0]
            text = change.insight.content  # type: ignore[union-attr]  # the workload's first change adds an insight
            if isinstance(result, RememberResult):
                self.acknowledged.add(text)
            else:
                assert isinstance(result, MnemonError)
                assert result.outcome in ("rejected", "unknown")
                if result.outcome == "unknown":
                    self.perhaps.add(text)
        if step % 4 == 3:
            self.engine.checkpoint_if_due()


def check(run: Run) -> None:
    """The promises, while the store still runs and again from a copy of its files, as after a crash."""
    # The disk works again: the next write succeeds, which also proves that no transaction was left open.
    final = run.engine.commit([remember(999, "the disk works again")])[0]
    assert isinstance(final, RememberResult), final
    seen = contents(run.engine)
    crashed = run.path.with_name("crashed.db")
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{run.path}{suffix}", f"{crashed}{suffix}")
    found = set(stored(crashed))
    assert found == seen, "recall disagrees with the database"
    assert run.acknowledged <= found, "an acknowledged memory is lost"
    assert found - run.acknowledged - {"the disk works again"} <= run.perhaps, "a rejected write is stored"
    check_integrity(crashed)
    run.engine.close()


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def sweep(tmp_path: Path, fault: Fault, *, persistent: bool, stride: int, first: int = 1, seed: int = 0) -> None:
    empty = tmp_path / "empty.db"
    engine_at(empty).close()
    plain = Run(empty, None, fault, persistent=False, seed=seed)
    check(plain)
    operations = plain.operations
    assert operations > 30
    fired = 0
    for at in range(first, operations + 1, stride):
        run = Run(empty, at, fault, persistent=persistent, seed=seed)
        fired += run.operations >= at
        check(run)
    assert fired > 5


@pytest.fixture(autouse=True)
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 20)


@each_row("persistent", [False, True])
@each_row("fault", FAULTS)
def test_some_operations_fail(tmp_path: Path, fault: Fault, persistent: bool) -> None:
    """Each kind of fault begins at another operation, so that together they go through them in small steps."""
    turn = 2 * FAULTS.index(fault) + persistent
    sweep(tmp_path, fault, persistent=persistent, stride=24, first=1 + 4 * turn)


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("persistent", [False, True])
def test_every_operation_fails(tmp_path: Path, fault: Fault, persistent: bool) -> None:
    sweep(tmp_path, fault, persistent=persistent, stride=1)


SEEDS = 10


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("persistent", [False, True])
def test_operations_of_other_workloads_fail(tmp_path: Path, fault: Fault, persistent: bool, seed: int) -> None:
    """Of each every tenth operation, beginning at another one."""
    sweep(tmp_path, fault, persistent=persistent, stride=SEEDS, first=seed, seed=seed)


def test_while_the_disk_is_broken_recall_goes_on_and_writes_are_refused(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db", NAME)
    engine.commit([remember(1, "known before")])
    PLAN.arm(1, "io", persistent=True)
    try:
        first = engine.commit([remember(2)])[0]
        assert isinstance(first, MnemonError)
        assert contents(engine) >= {"known before"}
        second = engine.commit([remember(3)])[0]
        assert isinstance(second, MnemonError)
        assert second.hint is not None
    finally:
        PLAN.disarm()
    assert isinstance(engine.commit([remember(4)])[0], RememberResult)
    assert engine.health.degraded_reason is None
    engine.close()


def test_a_failing_reopen_poisons_the_store_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_at(tmp_path / "a.db", NAME)
    engine.commit([remember(1, "known before")])
    broken = [True]

    def reopen() -> Opened:
        if broken[0]:
            raise apsw.IOError("still broken")
        return open_at(tmp_path / "a.db", NAME)

    monkeypatch.setattr(engine, "_reopen", reopen)
    engine.poison("a defect")
    assert "still broken" in str(engine.health.degraded_reason)
    refused = engine.commit([remember(2)])[0]
    assert isinstance(refused, MnemonError)
    assert refused.outcome == "rejected"
    assert contents(engine) == {"known before"}
    broken[0] = False
    assert isinstance(engine.commit([remember(3)])[0], RememberResult)
    assert engine.health.degraded_reason is None
    engine.close()
