"""Jobs of daemons that share a store: one at a time writes to its log, and what one did is not done again."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path

import pytest
import trio

from benchmarks.pg_server import PgServer
from mnemond import daemon as whole
from mnemond.api.requests import Identities
from mnemond.clock import SystemClock
from mnemond.errors import BUSY, MnemonError
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.jobs import scheduler
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.scheduler import ELSEWHERE, JobContext, Scheduler, StoreJobRunner
from mnemond.store import shared_log
from tests.api.shared_desks import TEAM, VARIABLE, caught_up, daemon_of
from tests.hooks.test_exchange_queue import turn
from tests.jobs.factories import CountingIds, HandClock
from tests.jobs.test_attendant import Toy
from tests.jobs.test_catch_up import WITHIN_S, Daemon, daemon, until
from tests.store.pg_server import running


@pytest.fixture(scope="module")
def server() -> Iterator[PgServer]:
    with running("-c", "fsync=off") as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "TURN_WAIT_S", 0.1)
    monkeypatch.setattr(scheduler, "TURN_POLL_S", 0.01)


class Jobs:
    """A daemon with jobs, which run on request unless `idle_s` is short."""

    def __init__(self, over: Daemon, toy: Toy) -> None:
        self.over, self.toy = over, toy
        means = JobContext(
            HandClock(), Identities(HandClock(), CountingIds()).own, nullcontext, lambda *_: None,
            trio.CapacityLimiter(1),
        )  # fmt: skip
        self.scheduler = Scheduler((toy, GraphMetrics()), means)
        self.toy.held = None

    @property
    def runner(self) -> StoreJobRunner:
        return self.scheduler.of(self.over.stores.open_stores()[0].name)


@asynccontextmanager
async def two(server: PgServer, home: Path, name: str) -> AsyncIterator[tuple[Jobs, Jobs]]:
    async with AsyncExitStack() as held:
        made = []
        for each in "ab":
            over = await held.enter_async_context(daemon(home / each, server.dsn))
            store = await over.share(name)
            jobs = Jobs(over, Toy())
            nursery = await held.enter_async_context(trio.open_nursery())
            await nursery.start(jobs.scheduler.run)
            held.callback(nursery.cancel_scope.cancel)
            jobs.scheduler.attach(store)
            made.append(jobs)
        yield made[0], made[1]


@asynccontextmanager
async def within_time() -> AsyncIterator[trio.Nursery]:
    """Tasks that end in time, or fail the test."""
    with trio.fail_after(WITHIN_S):
        async with trio.open_nursery() as nursery:
            yield nursery


async def test_one_daemon_at_a_time_runs_a_job(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a lease lasts: it is renewed. What only concerns one daemon waits for nothing."""
    monkeypatch.setattr(scheduler, "JOBS_S", 0.3)
    monkeypatch.setattr(shared_log, "JOBS_S", 0.3)
    monkeypatch.setattr(scheduler, "IDLE_S", 0.0)
    async with two(server, tmp_path, "one-at-a-time") as (a, b):
        await until(lambda: all(each.toy.runs and not each.toy.at_once for each in (a, b)))
        a.toy.held = b.toy.held = trio.Event()
        before = len(b.toy.runs)
        async with within_time() as nursery:
            nursery.start_soon(a.runner.run, "toy")
            await until(lambda: a.toy.at_once > 0)
            with trio.move_on_after(0.9):
                await until(lambda: b.toy.at_once > 0)
            with pytest.raises(MnemonError, match="another daemon runs jobs") as caught:
                await b.runner.run("toy")
            assert caught.value.kind is BUSY
            assert (await b.runner.run("graph_metrics")).outcome == "nothing"
            b.scheduler.hurry("one-at-a-time", "toy")
            await until(lambda: b.runner.agenda.by_name["toy"].skipped == ELSEWHERE)
            assert len(b.toy.runs) == before
            a.toy.held.set()
        assert (await b.runner.run("toy")).outcome == "done"


async def test_a_run_ends_when_another_daemon_took_over(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This one stood still for longer than its lease."""
    monkeypatch.setattr(scheduler, "JOBS_S", 0.06)
    async with two(server, tmp_path, "taken") as (a, _):
        a.toy.held = trio.Event()
        result: list[MnemonError] = []

        async def run() -> None:
            with pytest.raises(MnemonError, match="another daemon runs jobs") as caught:
                await a.runner.run("toy")
            result.append(caught.value)

        async with within_time() as nursery:
            nursery.start_soon(run)
            await until(lambda: a.toy.at_once > 0)
            server.query("UPDATE mnemond.heads SET jobs_by = 'another' WHERE store_id = 'taken'")
        assert result[0].kind is BUSY
        assert (a.toy.at_once, a.runner.running) == (0, None)
        server.query("UPDATE mnemond.heads SET jobs_until = now() WHERE store_id = 'taken'")
        a.toy.held.set()
        assert (await a.runner.run("toy")).outcome == "done"


async def test_without_the_server_a_run_says_why_it_cannot_begin(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(server, tmp_path, "away") as (a, _):
        (here,) = a.over.stores.open_stores()
        assert here.shared is not None
        monkeypatch.setattr(here.shared, "_open_log", lambda: None)
        here.shared._log.close()
        monkeypatch.setattr(here.shared._log, "_dsn", f"host={tmp_path} user=x")
        with pytest.raises(MnemonError, match="cannot be reached"):
            await a.runner.run("toy")
        assert "cannot be reached" in str(a.runner.agenda.by_name["toy"].skipped)
        await here.leave_jobs()


async def test_an_exchange_is_read_by_one_daemon(
    server: PgServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model a second reading costs as much, and may give other facts."""
    go_on, begun = threading.Event(), list[str]()

    class Slow:
        def extract(self, messages: list[Message], context: Context) -> Extraction:
            begun.append(threading.current_thread().name)
            assert go_on.wait(30)
            return RuleEngine().extract(messages, context)

    monkeypatch.setenv(VARIABLE, server.dsn)
    monkeypatch.setattr(whole, "engine_of", lambda _config, model: Slow())
    monkeypatch.setattr(scheduler, "IDLE_S", 3_600.0)
    monkeypatch.setattr(scheduler, "TURN_WAIT_S", 30.0)
    try:
        async with daemon_of(tmp_path / "a") as a, daemon_of(tmp_path / "b") as b:
            said = turn(prompt="I am Ana and I work at Heron Labs in Bern.", at_us=SystemClock().now_us())
            assert (await a.daemon.exchanges.keep(await a.daemon.open_stores.open(TEAM), said)).kept
            await caught_up(a, b)
            assert len(await b.queued(TEAM)) == 1
            async with trio.open_nursery() as nursery:
                for each in (a, b):
                    nursery.start_soon(lambda it: it.team("jobs.run", name="extract"), each)
                await until(lambda: len(begun) > 0)
                with trio.move_on_after(0.5):
                    await until(lambda: len(begun) > 1)
                go_on.set()
            await caught_up(a, b)
            assert len(begun) == 1
            assert await a.queued(TEAM) == await b.queued(TEAM) == []
            assert a.store.snapshot.live == b.store.snapshot.live > 0
    finally:
        go_on.set()
