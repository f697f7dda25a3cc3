"""When jobs run: never two at once, never while the store is used, and not again because the daemon was started."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.errors import BUSY, STOPPING, STORAGE, MnemonError
from mnemond.jobs.job import Done, Job, Work
from mnemond.jobs.scheduler import (
    ATTEMPTS,
    CLOSED_S,
    FIRST_PAUSE_S,
    IDLE_S,
    MAX_ASKED,
    OPEN_AGAIN_S,
    PATIENCE_S,
    USED,
    WRITING,
)
from tests.jobs.factories import DAY_S, DAY_US, HOUR_S, Keeping, kept


class Toy(Job):
    """Notes when it ran; may be held, or fail."""

    summary = "a toy"
    first_s = 0.0

    def __init__(self, name: str = "toy", interval_s: float = HOUR_S) -> None:
        self.name = name
        self.interval_s = interval_s
        self.runs: list[Work] = []
        self.held: trio.Event | None = None
        self.error: Exception | None = None
        self.at_once = 0
        self.left = 0

    async def run(self, work: Work) -> Done:
        self.runs.append(work)
        self.at_once += 1
        try:
            if self.held is not None:
                await self.held.wait()
            if self.error is not None:
                raise self.error
            done = await work.note(work.done(1))
            self.left -= 1
            return msgspec.structs.replace(done, again=self.left >= 0)
        finally:
            self.at_once -= 1


async def test_a_job_runs_at_once_and_then_every_interval(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        assert len(toy.runs) == 1
        await over.pass_time(HOUR_S - 1)
        assert len(toy.runs) == 1
        await over.pass_time(1)
        assert len(toy.runs) == 2
        await over.pass_time(5 * HOUR_S)  # what was missed is not made up for
        assert len(toy.runs) == 3
        assert [work.identity.triggered_by for work in toy.runs] == ["system:toy"] * 3
        assert over.told == [("toy", Done("done", 1))] * 3


async def test_a_clock_that_jumps_while_it_runs_moves_no_run(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        for jump_days in (400, -800, 3):
            over.clock.us += jump_days * DAY_US
            await over.pass_time(HOUR_S - 1)
            await over.pass_time(1)
        assert len(toy.runs) == 4


async def test_nothing_runs_while_the_store_is_used(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        entry = over.attendant.agenda.by_name["toy"]
        await over.pass_time(HOUR_S - 1)
        over.scheduler.used("default")
        over.scheduler.used("another")
        await over.pass_time(1)
        assert (len(toy.runs), entry.skipped) == (1, USED)
        over.scheduler.used("default")
        await over.pass_time(IDLE_S - 0.1)
        assert len(toy.runs) == 1
        await over.pass_time(0.1)
        assert (len(toy.runs), entry.skipped) == (2, None)


async def test_a_store_that_is_used_all_the_time_is_put_in_order_nevertheless(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        await over.pass_time(HOUR_S - 1)
        passed = -1.0
        while len(toy.runs) == 1:
            over.scheduler.used("default")
            await over.pass_time(1)
            passed += 1
        assert passed == PATIENCE_S


async def test_nothing_runs_while_a_write_waits(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        await over.pass_time(HOUR_S - 1)
        async with trio.open_nursery() as nursery:
            released = threading.Event()
            nursery.start_soon(over.store.read, lambda _: released.wait(60))
            await wait_all_tasks_blocked()
            await over.pass_time(1)
            entry = over.attendant.agenda.by_name["toy"]
            assert (len(toy.runs), entry.skipped) == (1, WRITING)
            released.set()
        await over.pass_time(IDLE_S)
        assert len(toy.runs) == 2


async def test_jobs_run_one_at_a_time_in_the_order_they_are_due(tmp_path: Path, mock_clock: MockClock) -> None:
    slow, quick = Toy("slow"), Toy("quick", 600.0)
    slow.held = trio.Event()
    over: Keeping
    async with trio.open_nursery() as nursery:
        over = Keeping(tmp_path, [slow, quick], mock_clock)
        await nursery.start(over.scheduler.run)
        over.scheduler.attach(over.store)
        await over.settled()
        assert slow.runs == []  # whoever opened the store is still using it
        mock_clock.jump(IDLE_S)
        await wait_all_tasks_blocked()
        assert (over.attendant.running, len(quick.runs)) == ("slow", 0)
        slow.held.set()
        await over.settled()
        assert (over.attendant.running, len(quick.runs)) == (None, 1)
        nursery.cancel_scope.cancel()
    await over.store.close()


async def test_no_more_runs_wait_than_there_is_room_for(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over, trio.open_nursery() as nursery:
        toy.held = trio.Event()
        for _ in range(MAX_ASKED + 1):
            nursery.start_soon(over.attendant.run, "toy")
            await wait_all_tasks_blocked()
        with pytest.raises(MnemonError) as caught:
            await over.attendant.run("toy")
        assert caught.value.kind is BUSY
        toy.held.set()


@pytest.mark.parametrize("error", [MnemonError(STORAGE, "the disk is full"), ZeroDivisionError("a defect")])
async def test_a_job_that_fails_is_tried_again_ever_later(
    tmp_path: Path, mock_clock: MockClock, error: Exception
) -> None:
    toy = Toy()
    toy.error = error
    async with kept(tmp_path, mock_clock, toy) as over:
        entry = over.attendant.agenda.by_name["toy"]
        assert entry.error is not None
        for number in range(ATTEMPTS - 1):
            assert len(toy.runs) == number + 1
            await over.pass_time(FIRST_PAUSE_S * 2**number - 1)
            assert len(toy.runs) == number + 1
            await over.pass_time(1)
        assert len(toy.runs) == ATTEMPTS
        await over.pass_time(HOUR_S - 1)
        assert len(toy.runs) == ATTEMPTS
        toy.error = None
        await over.pass_time(1)
        assert len(toy.runs) == ATTEMPTS + 1
        again = over.attendant.agenda.by_name["toy"]
        assert (again.error, again.failures) == (None, 0)
        is_defect = isinstance(error, ZeroDivisionError)
        assert over.defects == ([error] * ATTEMPTS if is_defect else [])
        over.defects.clear()


async def test_a_stop_ends_runs_and_tells_whoever_waits(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    failures: list[MnemonError] = []

    async def ask() -> None:
        try:
            await attendant.run("toy")
        except MnemonError as error:
            failures.append(error)

    async with kept(tmp_path, mock_clock, toy) as over:
        attendant = over.attendant
        toy.held = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            over.scheduler.end()
        await ask()
        assert [error.kind for error in failures] == [STOPPING] * 3
        with pytest.raises(MnemonError):
            over.scheduler.of("default")
        over.scheduler.attach(over.store)  # nothing begins any more
        assert toy.at_once == 0


async def test_a_store_that_was_opened_before_the_scheduler_ran_is_looked_after(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    toy = Toy()
    over = Keeping(tmp_path, [toy], mock_clock)
    over.scheduler.attach(over.store)
    async with trio.open_nursery() as nursery:
        await nursery.start(over.scheduler.run)
        mock_clock.jump(IDLE_S)
        await over.settled()
        assert len(toy.runs) == 1
        nursery.cancel_scope.cancel()
    await over.store.close()


async def test_a_scheduler_that_was_ended_before_it_ran_runs_nothing(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    over = Keeping(tmp_path, [toy], mock_clock)
    over.scheduler.attach(over.store)
    over.scheduler.detach("another")
    over.scheduler.end()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(over.scheduler.run)
        await wait_all_tasks_blocked()
        mock_clock.jump(DAY_S)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    await over.store.close()
    assert toy.runs == []


async def test_a_closed_store_is_opened_for_a_job_that_was_hurried(tmp_path: Path, mock_clock: MockClock) -> None:
    """It is not for those that come by their interval, within the first hour."""
    toy, opened = Toy(interval_s=60.0), list[str]()
    async with kept(tmp_path, mock_clock, toy) as over:
        refusal: list[MnemonError] = []

        async def reopen(name: str) -> None:
            opened.append(name)
            if refusal:
                raise refusal.pop()
            over.scheduler.attach(over.store)

        async def later(seconds: float) -> None:
            mock_clock.jump(seconds)
            await wait_all_tasks_blocked()

        over.scheduler.open_store = reopen
        runs = len(toy.runs)
        over.scheduler.detach("default")
        assert over.scheduler.questions("default") == []
        await later(CLOSED_S - 1)
        assert opened == []
        await later(1)
        await over.settled()
        assert (opened, len(toy.runs)) == (["default"], runs + 1)

        over.scheduler.detach("default")
        over.scheduler.hurry("default", "toy")
        await later(IDLE_S - 0.1)
        over.scheduler.used("default")
        refusal.append(MnemonError(STORAGE, "the disk is away"))
        await later(0.2)
        assert (len(opened), len(toy.runs)) == (2, runs + 1)
        await later(OPEN_AGAIN_S)
        await over.settled()
        assert (len(opened), len(toy.runs)) == (3, runs + 2)

        over.scheduler.detach("default")
        over.scheduler.forget("default")
        await later(DAY_S)
        assert len(opened) == 3
        over.scheduler.attach(over.store)
        await over.settled()


async def test_a_store_stays_open_while_a_job_runs_or_is_requested(tmp_path: Path, mock_clock: MockClock) -> None:
    toy = Toy()
    async with kept(tmp_path, mock_clock, toy) as over:
        assert not over.scheduler.is_busy("default")
        toy.held = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(over.attendant.run, "toy")
            nursery.start_soon(over.attendant.run, "toy")
            await wait_all_tasks_blocked()
            assert over.scheduler.is_busy("default")
            toy.held.set()
        await over.settled()
        assert not over.scheduler.is_busy("default")
        assert not over.scheduler.is_busy("another")
