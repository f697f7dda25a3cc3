"""top: what the daemon does, watched for a moment because somebody asks. Nobody is watched otherwise."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import trio

from mnemond.clock import monotonic_s
from mnemond.errors import BUSY, MnemonError
from mnemond.lifecycle.scheduler import Scheduler
from mnemond.protocol.stats import MethodRate, StoreLoad, TopParams, TopResult
from mnemond.protocol.version import SERVER_VERSION
from mnemond.server.call import Call
from mnemond.server.counters import Counters
from mnemond.server.dispatch import Handler
from mnemond.server.latency import Latencies, quantile_ms
from mnemond.store.registry import StoreRegistry

LOOK_S: Final = 0.02
"""Seconds between two looks at how late the event loop is."""

WATCHING: Final = "top"

MOST: Final = 8
"""Who may watch at once."""


class Counting(Protocol):
    """What has counted since the daemon started."""

    counters: Counters


class TopHandlers:
    """top."""

    def __init__(
        self,
        stores: StoreRegistry,
        scheduler: Scheduler,
        latencies: Latencies,
        server: Callable[[], Counting],
        started_s: float,
    ) -> None:
        """`server` may come into being later; `started_s` is when the daemon began (`monotonic_s`)."""
        self._stores = stores
        self._scheduler = scheduler
        self._latencies = latencies
        self._server = server
        self._started_s = started_s
        self._watching = 0

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {"top": self.top}

    async def top(self, call: Call, params: TopParams) -> TopResult:
        """Watch for a while, then tell. Raises MnemonError(BUSY) when many watch already."""
        if self._watching >= MOST:
            raise MnemonError(BUSY, f"{MOST} are watching already", hint="repeat in a moment")
        self._watching += 1
        try:
            return await self._watched(params.interval_s)
        finally:
            self._watching -= 1

    async def _watched(self, interval_s: float) -> TopResult:
        messages, counts = self._server().counters.messages, self._latencies.counts()
        begun = trio.current_time()
        late_ms: list[float] = []
        while (left := begun + interval_s - trio.current_time()) > 0:
            wanted = trio.current_time() + min(LOOK_S, left)
            await trio.sleep_until(wanted)
            late_ms.append(max(0.0, trio.current_time() - wanted) * 1e3)
        elapsed_s, counters = trio.current_time() - begun, self._server().counters
        return TopResult(
            version=SERVER_VERSION,
            pid=os.getpid(),
            uptime_s=round(monotonic_s() - self._started_s, 3),
            interval_s=round(elapsed_s, 3),
            connections=counters.connections,
            accepted=counters.accepted,
            refused=counters.refused,
            cut=counters.cut,
            messages=counters.messages,
            messages_per_s=round((counters.messages - messages) / elapsed_s, 1),
            lag_p50_ms=round(statistics.median(late_ms), 3),
            lag_worst_ms=round(max(late_ms), 3),
            methods=rates(counts, self._latencies.counts(), elapsed_s),
            stores=self._loads(),
        )

    def _loads(self) -> list[StoreLoad]:
        found = sorted(self._stores.open_stores(), key=lambda store: store.name)
        return [
            StoreLoad(
                name=store.name,
                memories=store.snapshot.live,
                waiting=store.waiting,
                busy=not store.is_idle,
                job=self._job(store.name),
                degraded_reason=store.degraded_reason,
            )
            for store in found
        ]

    def _job(self, name: str) -> str | None:
        try:
            return self._scheduler.of(name).running
        except MnemonError:
            return None  # the daemon is starting or stopping


def rates(before: Mapping[str, list[int]], after: Mapping[str, list[int]], elapsed_s: float) -> list[MethodRate]:
    """What each method came to between two looks; the busiest first, then by name."""
    found = []
    for name, counts in after.items():
        if name == WATCHING:
            continue  # it takes as long as it was told to
        earlier = before.get(name, [0] * len(counts))
        new = [now - then for now, then in zip(counts, earlier, strict=True)]
        of = new if any(new) else counts
        p50, p95 = (round(quantile_ms(of, share) or 0.0, 3) for share in (0.5, 0.95))
        found.append(MethodRate(name, sum(counts), round(sum(new) / elapsed_s, 1), p50, p95))
    return sorted(found, key=lambda rate: (-rate.per_s, -rate.calls, rate.name))
