"""What recalls found is counted soon, in small writes, and whatever becomes of that write concerns nobody who asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.api import uses as module
from mnemond.api.recall import ReadHandlers
from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore
from mnemond.api.types_memories import ForgetParams, RecallParams, RememberParams
from mnemond.api.uses import GATHER_S, Uses
from mnemond.embed.reranking import Rerankers
from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import CompactResult, ContextResult, RecallResult
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Insight, format_us
from mnemond.model.outcomes import RememberResult
from mnemond.store.store import OnResult, Store
from tests.api.factories import CALL, NOW_US, Bench, CountingIds, HandClock, bench

# ------------------------------------------------------------ gathered


class Desk:
    """A store that only takes writes, unless it is `broken`."""

    def __init__(self, name: str = "default") -> None:
        self.name = name
        self.writes: list[tuple[float, dict[str, int]]] = []
        self.broken: Exception | None = None
        self.done: list[OnResult] = []

    def submit(self, write: ChangeSet, done: OnResult) -> None:
        if self.broken is not None:
            raise self.broken
        assert (write.method, write.triggered_by) == ("recall", "system:recall")
        counts = {change.id: change.times for change in write.changes}  # type: ignore[union-attr]
        self.writes.append((trio.current_time(), counts))
        self.done.append(done)

    @property
    def warm(self) -> OpenStore:
        desk: Any = self
        nowhere: Any = None
        return OpenStore(desk, None, None, nowhere)


class Counting:
    """Uses at work, and the defects it met."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.defects: list[Exception] = []
        self.uses = Uses(Identities(HandClock(), CountingIds()), self._guard)
        self.cancel = nursery.cancel_scope.cancel

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.defects.append(error)


@asynccontextmanager
async def counting() -> AsyncIterator[Counting]:
    async with trio.open_nursery() as nursery:
        made = Counting(nursery)
        await nursery.start(made.uses.run)
        yield made
        nursery.cancel_scope.cancel()


async def test_no_more_wait_than_there_is_room_for(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    desk = Desk()
    async with counting() as over:
        over.uses.note(desk.warm, ["a", "b", "c"])
        over.uses.note(desk.warm, ["d"])
        await trio.sleep(2 * GATHER_S)
        over.uses.note(desk.warm, ["d"])
        await trio.sleep(2 * GATHER_S)
    assert [counts for _, counts in desk.writes] == [{"a": 1, "b": 1, "c": 1}, {"d": 1}]


async def test_a_stop_writes_what_is_left_of_many(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    desk = Desk()
    async with counting() as over:
        over.uses.note(desk.warm, ["a", "b", "c", "d", "e"])
        await trio.sleep(2 * GATHER_S)
        assert len(desk.writes) == 1
    assert [counts for _, counts in desk.writes] == [{"a": 1, "b": 1}, {"c": 1, "d": 1}, {"e": 1}]
    assert over.defects == []


@pytest.mark.parametrize("error", [MnemonError(BUSY, "too many writes wait"), RuntimeError("a defect")])
async def test_a_write_that_is_refused_loses_its_counts_and_nothing_else(
    autojump_clock: MockClock, error: Exception
) -> None:
    desk, other = Desk(), Desk("other")
    async with counting() as over:
        desk.broken = error
        over.uses.note(desk.warm, ["a"])
        over.uses.note(other.warm, ["b"])
        await trio.sleep(2 * GATHER_S)
        desk.broken = None
        over.uses.note(desk.warm, ["c"])
        await trio.sleep(2 * GATHER_S)
    assert [counts for _, counts in desk.writes + other.writes] == [{"c": 1}, {"b": 1}]
    assert over.defects == ([error] if isinstance(error, RuntimeError) else [])


async def test_nothing_is_counted_before_it_runs_and_a_stop_writes_what_waits(mock_clock: MockClock) -> None:
    desk = Desk()
    async with trio.open_nursery() as nursery:
        over = Counting(nursery)
        over.uses.note(desk.warm, ["a"])
        await nursery.start(over.uses.run)
        over.uses.note(desk.warm, ["b"])
        over.cancel()  # and the clock stands still
    assert [counts for _, counts in desk.writes] == [{"b": 1}]
    over.uses.note(desk.warm, ["c"])
    assert len(desk.writes) == 1
    assert over.defects == []


# ------------------------------------------------------------ of a store


@asynccontextmanager
async def used(path: Path) -> AsyncIterator[Bench]:
    """Handlers whose recalls are counted."""
    async with bench(path) as over, trio.open_nursery() as nursery:
        uses = Uses(over.identities, over._guard)
        over.reads = ReadHandlers(
            over.open_stores, lambda: 0.0, over.clock, over.identities.nonce, uses.note, over.projects,
            Rerankers({}, lambda: 0.0),
        )  # fmt: skip
        await nursery.start(uses.run)
        yield over
        nursery.cancel_scope.cancel()


async def fill(over: Bench, *texts: str) -> list[str]:
    made = []
    for text in texts:
        result = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
        assert isinstance(result, RememberResult)
        made.append(result.id or "")
    return made


async def counted(over: Bench, clock: MockClock) -> dict[str, int]:
    """How often each memory was used, by its text, once everything that waits is written."""
    await wait_all_tasks_blocked()
    clock.jump(GATHER_S)
    await wait_all_tasks_blocked()
    snapshot = await snapshot_of(over)
    return {
        snapshot.insight(row).content: int(snapshot.columns.accesses[row])
        for row in snapshot.alive().nonzero()[0].tolist()
    }


async def snapshot_of(over: Bench) -> Snapshot:
    """The newest one behind all writes so far."""
    store = (await over.warm()).store
    await store.read(lambda connection: None)
    return store.snapshot


def memory(snapshot: Snapshot, insight_id: str) -> Insight:
    row = snapshot.row_of(insight_id)
    assert row is not None
    return snapshot.insight(row)


async def test_a_recall_moves_count_time_and_importance_of_what_answered(tmp_path: Path, mock_clock: MockClock) -> None:
    async with used(tmp_path) as over:
        tea, _ = await fill(over, "tea at four", "coffee at five")
        before = await snapshot_of(over)
        over.clock.us += 3_600_000_000
        for _ in range(3):
            await over.reads.recall(CALL, RecallParams(query="tea"))
        assert await counted(over, mock_clock) == {"tea at four": 3, "coffee at five": 0}
        after = await snapshot_of(over)
        old, new = memory(before, tea), memory(after, tea)
        assert (old.last_accessed_at, new.last_accessed_at) == (None, format_us(NOW_US + 3_600_000_000))
        assert new.updated_at == old.updated_at
        assert new.effective_importance > old.effective_importance


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        (RecallParams(query="tea"), RecallResult),
        (RecallParams(query="tea", compact=True), CompactResult),
        (RecallParams(query="tea", context=True), ContextResult),
    ],
)
async def test_every_form_of_an_answer_counts(
    tmp_path: Path, mock_clock: MockClock, params: RecallParams, kind: type
) -> None:
    async with used(tmp_path) as over:
        await fill(over, "tea at four", "coffee at five")
        assert isinstance(await over.reads.recall(CALL, params), kind)
        assert await counted(over, mock_clock) == {"tea at four": 1, "coffee at five": 0}


async def test_a_memory_that_was_purged_meanwhile_is_no_hindrance(tmp_path: Path, mock_clock: MockClock) -> None:
    async with used(tmp_path) as over:
        gone, _ = await fill(over, "green tea", "black tea")
        found = await over.reads.recall(CALL, RecallParams(query="tea"))
        assert isinstance(found, RecallResult)
        assert len(found.results) == 2
        await over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        assert await counted(over, mock_clock) == {"black tea": 1}
        assert over.defects == []


@pytest.mark.parametrize("at_once", [True, False])
async def test_an_answer_is_not_lost_with_its_counts(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    def broken(store: Store, write: object, done: OnResult) -> None:
        error = MnemonError(STORAGE, "the disk is full")
        if at_once:
            raise error
        done(error)

    async with used(tmp_path) as over:
        await fill(over, "tea at four")
        with monkeypatch.context() as patch:
            patch.setattr(Store, "submit", broken)
            found = await over.reads.recall(CALL, RecallParams(query="tea"))
            assert isinstance(found, RecallResult)
            assert len(found.results) == 1
            assert await counted(over, mock_clock) == {"tea at four": 0}
        await over.reads.recall(CALL, RecallParams(query="tea"))
        assert await counted(over, mock_clock) == {"tea at four": 1}
        assert over.defects == []
