"""Group commit, bounded waiting, and callbacks on the event loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from mnemond.errors import BUSY, INTERNAL, NOT_FOUND, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.model.outcomes import RememberResult
from mnemond.store import store as store_module
from mnemond.store.engine import Engine, Result
from mnemond.store.store import Store, Writer
from tests.store.factories import by_status, engine_at, remember, stored


class Defects:
    def __init__(self) -> None:
        self.seen: list[tuple[str, BaseException]] = []

    def __call__(self, where: str, error: BaseException) -> None:
        self.seen.append((where, error))


def store_over(engine: Engine, path: Path, defects: Defects | None = None) -> Store:
    writing = Writer(engine, trio.lowlevel.current_trio_token(), defects or Defects())
    writing.start("test")
    return Store("default", path, engine, writing)


class Collected:
    """Results of writes, and a way to wait for them."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self._changed = trio.Event()

    def __call__(self, result: Result) -> None:
        self.results.append(result)
        self._changed.set()
        self._changed = trio.Event()

    async def wait_for(self, number: int) -> None:
        while len(self.results) < number:
            await self._changed.wait()


class CountingEngine:
    """Notes the size of every batch on its way to the real engine."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        commit = engine.commit

        def counting(batch: list[object]) -> object:
            self.sizes.append(len(batch))
            return commit(batch)  # type: ignore[arg-type]  # change sets, passed through

        monkeypatch.setattr(engine, "commit", counting)


async def test_writes_that_arrive_together_share_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_at(tmp_path / "a.db")
    counted = CountingEngine(engine, monkeypatch)
    store, collected = store_over(engine, tmp_path / "a.db"), Collected()
    for number in range(200):
        store.submit(remember(number), collected)
    await collected.wait_for(200)
    assert counted.sizes == [64, 64, 64, 8]
    assert all(isinstance(result, RememberResult) for result in collected.results)
    assert store.snapshot.live == 200
    await store.close()
    assert len(stored(tmp_path / "a.db")) == 200


async def test_a_listener_is_called_for_writes_that_are_not_refused(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    store, collected, heard = store_over(engine, tmp_path / "a.db"), Collected(), list[str]()
    store.on_commit = lambda write, outcome: heard.append(f"{write.op_id} {type(outcome).__name__}")
    store.submit(remember(1, op_id="mine"), collected)
    store.submit(remember(2, op_id="mine", digest="another"), collected)
    await collected.wait_for(2)
    assert [isinstance(result, MnemonError) for result in collected.results] == [False, True]
    assert heard == ["mine RememberResult"]
    await store.close()


async def test_after_a_write_that_came_alone_the_next_does_not_wait_for_company(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_at(tmp_path / "a.db")
    counted = CountingEngine(engine, monkeypatch)
    store, collected = store_over(engine, tmp_path / "a.db"), Collected()
    store.submit(remember(0), collected)
    assert len(store._writer._waiting) == 1
    await collected.wait_for(1)
    for number in range(1, 70):
        store.submit(remember(number), collected)
        assert len(store._writer._waiting) == number - 1  # the first is on its way, the others wait for it
    await collected.wait_for(70)
    assert counted.sizes == [1, 1, 64, 4]
    store.submit(remember(70), collected)
    store.submit(remember(71), collected)
    await collected.wait_for(72)
    assert counted.sizes == [1, 1, 64, 4, 2]
    await store.close()


class Passes:
    """An event loop whose passes are made by hand, and the clock that goes on meanwhile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self._soon: list[Callable[[], object]] = []
        monkeypatch.setattr(store_module, "monotonic_s", lambda: self.now_s)

    def run_sync_soon(self, sync_fn: Callable[..., object], *args: object) -> None:
        self._soon.append(partial(sync_fn, *args))

    def end_one(self, seconds: float) -> None:
        """A pass is over that took so long."""
        self.now_s += seconds
        soon, self._soon = self._soon, []
        for each in soon:
            each()


@pytest.mark.parametrize(("pass_s", "each"), [(0.040, 3), (0.040, 39)])
def test_a_long_pass_that_brings_few_writes_is_not_waited_for(
    pass_s: float, each: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes, collected = Passes(monkeypatch), Collected()
    engine = engine_at(tmp_path / "a.db")
    writing = Writer(engine, passes, Defects())  # its thread is not started: what it is handed stays in the inbox
    for number in range(each):
        writing.submit(remember(number), collected)
    passes.end_one(pass_s)
    assert batches(writing) == [each]
    engine.close()


def test_short_passes_that_bring_many_writes_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes, collected = Passes(monkeypatch), Collected()
    engine = engine_at(tmp_path / "a.db")
    writing = Writer(engine, passes, Defects())
    for turn in range(3):
        for number in range(10):
            writing.submit(remember(10 * turn + number), collected)
        passes.end_one(0.008)
        assert batches(writing) == []
    writing.submit(remember(99), collected)
    passes.end_one(0.008)
    assert batches(writing) == [31], "that pass brought one"
    engine.close()


def batches(writing: Writer) -> list[int]:
    """How many writes each batch had that was handed to the thread."""
    found = []
    while not writing._inbox.empty():
        batch = writing._inbox.get()
        assert isinstance(batch, list)
        found.append(len(batch))
    return found


async def test_results_come_in_order_after_the_index_has_them(tmp_path: Path) -> None:
    store = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db")
    seen: list[tuple[int, bool]] = []
    finished = trio.Event()

    def note(number: int, result: Result) -> None:
        assert isinstance(result, RememberResult)
        seen.append((number, store.snapshot.row_of(result.id or "") is not None))
        if number == 99:
            finished.set()

    for number in range(100):
        store.submit(remember(number), lambda result, number=number: note(number, result))  # type: ignore[misc]
    await finished.wait()
    assert seen == [(number, True) for number in range(100)]
    await store.close()


async def test_a_full_queue_refuses_instead_of_growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "CAPACITY", 3)
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    for number in range(3):
        store.submit(remember(number), collected)
    assert len(store._writer._waiting) == 3
    with pytest.raises(MnemonError, match="3 writes are waiting") as caught:
        store.submit(remember(3), collected)
    assert (caught.value.kind, caught.value.outcome) == (BUSY, "rejected")
    await collected.wait_for(3)
    assert len(store._writer._waiting) == 0
    store.submit(remember(4), collected)
    await collected.wait_for(4)
    await store.close()


async def test_reads_run_between_batches_and_see_what_was_queued_before(tmp_path: Path) -> None:
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    for number in range(70):
        store.submit(remember(number), collected)
    assert await store.read(by_status) == {"active": 70}
    await store.close()


async def test_a_cancelled_reader_harms_nobody(tmp_path: Path) -> None:
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    with trio.CancelScope() as scope:
        scope.cancel()
        await store.read(by_status)
    assert scope.cancelled_caught
    store.submit(remember(1), collected)
    await collected.wait_for(1)
    await store.close()
    assert stored(tmp_path / "a.db") == ["memory number 1"]


async def test_closing_finishes_what_is_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    for number in range(130):
        store.submit(remember(number), collected)
    await store.close()
    assert len(collected.results) == 130
    with pytest.raises(MnemonError, match="closing"):
        store.submit(remember(999), collected)
    assert not (tmp_path / "a.db-wal").exists()
    assert len(stored(tmp_path / "a.db")) == 130


async def test_a_defect_does_not_end_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, defects = engine_at(tmp_path / "a.db"), Defects()
    store, collected = store_over(engine, tmp_path / "a.db", defects), Collected()
    publish = MemoryIndex.publish

    def broken(self: MemoryIndex) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(MemoryIndex, "publish", broken)
    store.submit(remember(1), collected)
    await collected.wait_for(1)
    monkeypatch.setattr(MemoryIndex, "publish", publish)
    failure = collected.results[0]
    assert isinstance(failure, MnemonError)
    assert (failure.kind, failure.outcome) == (INTERNAL, "unknown")
    assert [type(error) for _, error in defects.seen] == [ZeroDivisionError]
    # It was committed; the index was read again from the file, so recall knows it.
    assert store.snapshot.live == 1
    store.submit(remember(2), collected)
    await collected.wait_for(2)
    assert isinstance(collected.results[1], RememberResult)
    assert store.degraded_reason is None
    await store.close()


async def test_a_failing_query_is_an_error_not_a_hang(tmp_path: Path) -> None:
    store = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db")
    with pytest.raises(MnemonError, match="could not be read"):
        await store.read(lambda connection: connection.rows("SELECT * FROM nowhere"))

    def refuse(connection: object) -> None:
        raise MnemonError(NOT_FOUND, "nothing there")

    with pytest.raises(MnemonError, match="nothing there"):
        await store.read(refuse)
    await store.close()


async def test_a_database_that_others_hold_refuses_all_who_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_at(tmp_path / "a.db")
    counted = CountingEngine(engine, monkeypatch)
    store, collected = store_over(engine, tmp_path / "a.db"), Collected()
    monkeypatch.setattr("mnemond.store.connection.BUSY_TIMEOUT_MS", 10)
    engine._connection._db.set_busy_timeout(10)  # type: ignore[union-attr]  # the engine is open
    other = apsw.Connection(str(tmp_path / "a.db"))
    other.execute("BEGIN IMMEDIATE")
    for number in range(200):
        store.submit(remember(number), collected)
    await collected.wait_for(200)
    assert counted.sizes == [64]
    assert {result.kind for result in collected.results if isinstance(result, MnemonError)} == {BUSY}
    other.execute("ROLLBACK")
    store.submit(remember(999), collected)
    await collected.wait_for(201)
    assert isinstance(collected.results[-1], RememberResult)
    await store.close()
    other.close()


async def test_a_store_may_be_closed_twice(tmp_path: Path) -> None:
    store = store_over(engine_at(tmp_path / "store.db"), tmp_path)
    await store.close()
    with trio.fail_after(10):
        await store.close()
