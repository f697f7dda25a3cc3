"""top: rates between two looks, and what waits in the stores."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mnemond.api.admin import MAX_WATCHERS, TopHandlers, rates
from mnemond.api.registry import METHODS
from mnemond.api.types_daemon import TopParams
from mnemond.errors import BUSY, MnemonError
from mnemond.jobs.scheduler import JobContext, Scheduler, one_thread
from mnemond.store.registry import StoreRegistry
from mnemond.wire.dispatch import BUCKETS, Latencies, bucket_of
from mnemond.wire.limits import Counters
from tests.api.factories import CALL, Bench, ToyEmbedder, bench


class Served:
    """Stands for the server."""

    def __init__(self) -> None:
        self.counters = Counters(connections=3, accepted=9, messages=40)


def counted(**seconds: float) -> dict[str, list[int]]:
    """One request of each method, taking so long."""
    return {name: [int(bucket == bucket_of(took)) for bucket in range(BUCKETS)] for name, took in seconds.items()}


def test_rates_are_those_between_two_looks_and_the_busiest_is_first() -> None:
    before = counted(recall=0.001, status=0.004)
    after = counted(recall=0.001, status=0.004) | {"remember": [0] * BUCKETS}
    after["remember"][bucket_of(0.1)] = 6
    after["recall"][bucket_of(0.016)] += 1
    found = {rate.name: rate for rate in rates(before, after, 2.0)}
    assert list(found) == ["remember", "recall", "status"]
    assert [(rate.calls, rate.per_s) for rate in found.values()] == [(6, 3.0), (2, 0.5), (1, 0.0)]
    assert found["recall"].p50_ms == found["recall"].p95_ms == pytest.approx(16, rel=0.2), "what is new counts"
    assert found["status"].p95_ms == pytest.approx(4, rel=0.2), "without anything new, all of it"


def test_watching_is_no_load() -> None:
    assert rates({}, counted(top=1.0), 1.0) == []


def handlers(stores: StoreRegistry, latencies: Latencies, served: Served, on: Bench | None = None) -> TopHandlers:
    def untold(*_: object) -> None:
        """Nobody listens."""

    clock, guard = (None, None) if on is None else (on.clock, on._guard)
    means = JobContext(clock, None, guard, untold, one_thread())  # type: ignore[arg-type]
    return TopHandlers(stores, Scheduler((), means), latencies, lambda: served, 0.0)


async def test_what_waits_in_a_store(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        store, go_on = (await on.warm()).store, threading.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.read, lambda _: go_on.wait())
            await wait_all_tasks_blocked()
            for _ in range(3):
                nursery.start_soon(store.read, lambda _: None)
            await wait_all_tasks_blocked()
            [load] = handlers(on.stores, Latencies(METHODS), Served())._loads()
            go_on.set()
            assert (load.name, load.memories, load.waiting, load.busy) == ("default", 0, 3, True)
        [load] = handlers(on.stores, Latencies(METHODS), Served())._loads()
    assert (load.waiting, load.busy, load.job, load.degraded_reason) == (0, False, None, None)


async def test_not_everybody_may_watch_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        watching = handlers(on.stores, Latencies(METHODS), Served())
        async with trio.open_nursery() as nursery:
            for _ in range(MAX_WATCHERS):
                nursery.start_soon(watching.top, CALL, TopParams(interval_s=10.0))
            await wait_all_tasks_blocked()
            with pytest.raises(MnemonError) as refused:
                await watching.top(CALL, TopParams())
            nursery.cancel_scope.cancel()
        assert refused.value.kind is BUSY
        found = await watching.top(CALL, TopParams(interval_s=0.1))
    assert found.methods == []
