"""The prune that nobody asks for: what it takes, what it never takes, when it asks, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings, PruningSettings
from mnemond.errors import MnemonError
from mnemond.jobs.job import Done
from mnemond.jobs.retention import RETIRED_SLICE, Prune
from mnemond.store.store import Store
from tests.jobs.factories import HOUR_S, HandClock, kept
from tests.store.factories import insight_id


def pruning(cap: int, faded: PruningSettings | None = None) -> Prune:
    config = Config(lifecycle=LifecycleSettings(max_insights=cap), pruning=faded or PruningSettings())
    return Prune(HOUR_S, lambda name: config)


async def test_a_run_of_many_writes_is_taken_back_as_one(tmp_path: Path, mock_clock: MockClock) -> None:
    job = pruning(10)
    async with kept(tmp_path, mock_clock, job) as over:
        await over.remember(*range(1, 2 * RETIRED_SLICE + 12), importance=2)
        for one in range(1, 2 * RETIRED_SLICE + 11):
            await over.link(one, one + 1)
        before = await over.mirrored()
        done = await over.attendant.run("prune", sure=True)
        assert (done.changed, len(over.live())) == (2 * RETIRED_SLICE + 1, 10)
        await over.take_back(done.op_id or "")
        after = await over.mirrored()
        assert after.keys() == before.keys()
        assert {key: each["links"] for key, each in after.items()} == {
            key: each["links"] for key, each in before.items()
        }


async def test_more_than_a_twentieth_is_not_pruned_unasked(tmp_path: Path, mock_clock: MockClock) -> None:
    job = pruning(37)
    async with kept(tmp_path, mock_clock, job) as over:
        await over.remember(*range(1, 41), importance=3)
        await over.pass_time(HOUR_S)
        [(_, stopped)] = over.told[1:]
        assert isinstance(stopped, Done)
        assert (stopped.outcome, stopped.changed) == ("stopped", 3)
        assert "3 of 40 memories" in stopped.detail
        assert "no more than 2" in stopped.detail
        assert "jobs run prune --yes" in stopped.detail
        assert over.scheduler.questions("default") == [f"prune: {stopped.detail}"]
        assert await over.attendant.run("prune") == stopped
        assert await over.attendant.run("prune", dry_run=True) == stopped
        assert len(over.live()) == 40
        assert await over.history() == []
        assert (await over.attendant.run("prune", dry_run=True, sure=True)).changed == 3
        assert len(over.live()) == 40
        assert (await over.attendant.run("prune", sure=True)).changed == 3
        assert over.live() == set(range(4, 41))
        assert over.scheduler.questions("default") == []


async def test_a_question_outlives_the_daemon(tmp_path: Path, mock_clock: MockClock) -> None:
    job, clock = pruning(1), HandClock()
    async with kept(tmp_path, mock_clock, job, clock=clock) as over:
        await over.remember(1, 2, 3)
        await over.attendant.run("prune")
        asked = over.scheduler.questions("default")
    async with kept(tmp_path, mock_clock, job, clock=clock) as over:
        assert over.scheduler.questions("default") == asked != []


async def test_what_is_immune_is_never_pruned(tmp_path: Path, mock_clock: MockClock) -> None:
    job = pruning(1, PruningSettings(enabled=True))
    async with kept(tmp_path, mock_clock, job) as over:
        await over.remember(1, days_ago=3000, importance=4)
        await over.remember(2, days_ago=3000, access_count=3)
        await over.remember(3, days_ago=3000, pinned=True)
        await over.remember(4, days_ago=3000, paired_with=insight_id(5))
        await over.remember(5, days_ago=2999, paired_with=insight_id(4), importance=5)
        assert await over.attendant.run("prune", sure=True) == Done("nothing")


async def test_what_is_used_while_a_prune_is_under_way_stays(tmp_path: Path, mock_clock: MockClock) -> None:
    job = pruning(1)
    async with kept(tmp_path, mock_clock, job) as over:
        await over.remember(*range(1, 9), importance=2)
        written, uses = Store.write, [8]

        async def and_used(store: Store, write: object) -> object:
            outcome = await written(store, write)  # type: ignore[arg-type]
            if uses:
                over.clock.us += 1
                await over.use(uses.pop())
            return outcome

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "write", and_used)
            done = await over.attendant.run("prune", sure=True)
        assert (done.changed, over.live()) == (7, {8})


async def test_a_prune_that_is_cut_short_leaves_whole_writes_and_is_not_known_to_have_run(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    job = pruning(1)
    async with kept(tmp_path, mock_clock, job) as over:
        before = await over.records()
        await over.remember(*range(1, 3 * RETIRED_SLICE), importance=2)
        many, written = len(over.live()), Store.write

        async def and_stopped(store: Store, write: object) -> object:
            outcome = await written(store, write)  # type: ignore[arg-type]
            over.scheduler.end()
            await trio.lowlevel.checkpoint()
            return outcome

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "write", and_stopped)
            with pytest.raises(MnemonError):
                await over.attendant.run("prune", sure=True)
        await over.mirrored()
        assert len(over.live()) == many - RETIRED_SLICE
        assert await over.records() == before
