"""The methods about background jobs, over a store as the handlers open it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import CapturingLogger
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.api.admin import DaemonHandlers, ProcessState
from mnemond.api.events import Feed
from mnemond.api.maintenance import JobHandlers, StoreListeners, job_reporter
from mnemond.api.remember import RememberHandlers
from mnemond.api.requests import one_active
from mnemond.api.store_access import OpenStores
from mnemond.api.types_daemon import StatusResult
from mnemond.api.types_jobs import JobsListResult, JobsRunParams, JobsRunResult, JobView
from mnemond.api.types_memories import RememberParams
from mnemond.api.uses import Uses
from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import INVALID_PARAMS, STOPPING, STORAGE, MnemonError
from mnemond.hooks.memory import extraction_contexts
from mnemond.jobs.catalogue import MIN_S, jobs_of, looks_of
from mnemond.jobs.catch_up import Followers
from mnemond.jobs.core_summary import CoreDeps
from mnemond.jobs.extract import ExtractDeps as Reading
from mnemond.jobs.resolve import ModelDeps
from mnemond.jobs.scheduler import JobContext, Scheduler, one_thread
from mnemond.store.store import Store
from mnemond.store.verify import Examiner
from mnemond.wire.params import StoreParams
from tests.api.factories import CALL, NOW_US, Bench, bench


class Office:
    """Handlers over a store whose jobs are run."""

    def __init__(self, over: Bench, path: Path) -> None:
        self.over = over
        self.copies: list[int] = []
        self.log = CapturingLogger()
        self.feed = Feed(0)
        self.config = Config()
        reading = Reading(extraction_contexts(lambda: self.open_stores), over.identities.own, over._guard)
        answering = ModelDeps(reading.desk, over.identities.own, one_active)
        jobs = jobs_of(
            Config(),
            lambda name: self.config,
            self._copy,
            reading,
            answering,
            CoreDeps(lambda _: self.config, over.identities.own),
        )
        means = JobContext(
            over.clock, over.identities.own, over._guard, job_reporter(self.log, self.feed), one_thread()
        )
        self.scheduler = Scheduler(jobs, means)
        self.open_stores = OpenStores(
            over.stores,
            over.supply,
            listener=StoreListeners(
                over.worker,
                self.scheduler,
                self.feed,
                Followers(over._guard),
                over.open_stores.reload_embedder,
                Uses(over.identities, over._guard),
            ),
            used=self.scheduler.used,
        )
        self.jobs = JobHandlers(self.open_stores, self.scheduler, over.clock)
        self.remembering = RememberHandlers(self.open_stores, over.identities, over.projects)
        life = ProcessState(lambda: 0, lambda: 0.0, lambda: 0, lambda: None, self.scheduler.questions)
        self.about = DaemonHandlers(path, Config(), over.stores, self.open_stores, life)

    async def _copy(self, store: Store, now_us: int) -> str:
        self.copies.append(now_us)
        return f"{store.name}.bak"

    async def settled(self) -> None:
        await wait_all_tasks_blocked()
        await self.scheduler.of("default").until_resting()

    async def remember(self, many: int) -> None:
        for number in range(many):
            params = RememberParams(content=f"memory {number}", no_diff=True)
            await self.remembering.remember(CALL, params)

    async def list(self) -> dict[str, JobView]:
        result = await self.jobs.list(CALL, StoreParams())
        assert isinstance(result, JobsListResult)
        assert result.store == "default"
        return {job.name: job for job in result.jobs}

    async def run(self, name: str, *, dry_run: bool = False, yes: bool = False) -> JobsRunResult:
        result = await self.jobs.run(CALL, JobsRunParams(name=name, dry_run=dry_run, yes=yes))
        assert isinstance(result, JobsRunResult)
        return result


@asynccontextmanager
async def office(path: Path) -> AsyncIterator[Office]:
    async with bench(path) as over, trio.open_nursery() as nursery:
        made = Office(over, path)
        await nursery.start(made.scheduler.run)
        yield made
        nursery.cancel_scope.cancel()
    assert over.defects == []


async def test_a_job_is_run_and_its_question_is_seen(tmp_path: Path, mock_clock: MockClock) -> None:
    async with office(tmp_path) as at:
        await at.remember(10)
        at.config = Config(lifecycle=LifecycleSettings(max_insights=7))
        asked = await at.run("prune")
        assert (asked.outcome, asked.changed, asked.op_id) == ("stopped", 3, None)
        status = await at.about.status(CALL, StoreParams())
        assert isinstance(status, StatusResult)
        assert (status.pending_jobs, status.questions) == (1, [f"prune: {asked.detail}"])
        assert (await at.run("prune", dry_run=True, yes=True)).changed == 3
        done = await at.run("prune", yes=True)
        assert (done.outcome, done.changed, done.dry_run) == ("done", 3, False)
        assert (await at.list())["prune"].op_id == done.op_id is not None
        status = await at.about.status(CALL, StoreParams())
        assert isinstance(status, StatusResult)
        assert (status.pending_jobs, status.questions, status.total_insights) == (0, [], 7)
        events = [(call.method_name, call.args[0], call.kwargs["job"]) for call in at.log.calls]
        assert ("warning", "job needs confirmation", "prune") in events
        assert ("info", "job", "prune") in events


async def test_a_job_that_there_is_not_is_named_with_its_neighbour(tmp_path: Path, mock_clock: MockClock) -> None:
    async with office(tmp_path) as at:
        assert (await at.run("decay-refresh")).name == "decay_refresh"
        for name, hint in (
            ("prun", 'did you mean "prune"?'),
            ("juggle", "jobs are: extract, resolve"),
        ):
            with pytest.raises(MnemonError) as caught:
                await at.run(name)
            assert caught.value.kind is INVALID_PARAMS
            assert (caught.value.hint or "").startswith(hint)


async def test_what_keeps_a_job_from_running_is_said(tmp_path: Path, mock_clock: MockClock) -> None:
    async with office(tmp_path) as at:
        await at.list()
        with pytest.MonkeyPatch.context() as patch:

            async def refuse(store: Store, work: object) -> object:
                raise MnemonError(STORAGE, "the disk is full")

            patch.setattr(Store, "rewrite", refuse)
            with pytest.raises(MnemonError) as caught:
                await at.run("backup")
            assert caught.value.message == "the disk is full"
            assert (await at.list())["backup"].error == "the disk is full"
        assert at.copies == [NOW_US]
        assert ("job failed",) in [call.args for call in at.log.calls]


async def test_a_store_that_is_closed_is_left_alone_and_looked_after_again(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with office(tmp_path) as at:
        await at.remember(1)
        before = at.scheduler.of("default")
        async with at.over.stores.exclusive("default"):
            with pytest.raises(MnemonError) as caught:
                at.scheduler.of("default")
            assert caught.value.kind is STOPPING
            with pytest.raises(MnemonError):
                await before.run("prune")
        assert (await at.run("prune")).outcome == "nothing"
        assert at.scheduler.of("default") is not before


def test_intervals_are_those_of_the_configuration() -> None:
    async def copy(store: Store, now_us: int) -> str:
        return ""

    unread: Any = None

    def intervals(lifecycle: LifecycleSettings) -> dict[str, float]:
        config = Config(lifecycle=lifecycle)
        jobs = (
            *jobs_of(
                config,
                lambda name: config,
                copy,
                unread,
                ModelDeps(unread, unread, unread),
                unread,
            ),
            *looks_of(config, Examiner()),
        )
        return {job.name: job.interval_s for job in jobs}

    assert intervals(LifecycleSettings())["backup"] == 86_400
    assert intervals(LifecycleSettings())["full_verify"] == 604_800
    assert {"backup", "full_verify"}.isdisjoint(intervals(LifecycleSettings(backup_interval=0, full_verify_interval=0)))
    found = intervals(LifecycleSettings(decay_interval="12h", prune_interval=1, backup_interval="7d"))
    assert (found["decay_refresh"], found["prune"], found["backup"]) == (43_200, MIN_S, 604_800)
