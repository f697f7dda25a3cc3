"""verify: whether what must always be true of a store is true. Nothing stored is changed."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import trio

from mnemond.api import types_admin
from mnemond.api.embed import counted_embed_views
from mnemond.api.registry import METHODS
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_admin import (
    CheckView,
    MethodRate,
    ProblemView,
    Quantiles,
    StatsResult,
    StoreLoad,
    TopParams,
    TopResult,
    VerifyParams,
    VerifyResult,
)
from mnemond.clock import Clock, monotonic_s
from mnemond.config.settings import Config
from mnemond.errors import BUSY, NOT_FOUND, PROTOCOL_VERSION, STORAGE, MnemonError
from mnemond.index.snapshot import Snapshot, footprint
from mnemond.jobs.scheduler import Scheduler
from mnemond.store import exchanges
from mnemond.store.connection import SqliteError
from mnemond.store.exchanges import Backlog
from mnemond.store.files import FileFigures, file_figures, log_bytes, size_bytes
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.store.verify import Examiner, Finding, apply_findings, open_reader, verify_closed
from mnemond.store.verify_checks import Tier
from mnemond.wire.dispatch import Call, Latencies, handles, quantile_ms
from mnemond.wire.limits import Counters
from mnemond.wire.params import PROTOCOL, SERVER_VERSION, NoParams, StoreParams, release_key

DOCTOR_THREADS: Final = 1
"""Stores being examined at once, because somebody asked: it must not fight the event loop for the interpreter."""


STUCK_US: Final = 86_400_000_000
"""How long an exchange may wait: what fails is tried for an hour, and a store that is never left alone is read every
ten minutes."""


class VerifyHandlers:
    """verify."""

    def __init__(self, stores: StoreRegistry, open_stores: OpenStores, examiner: Examiner, clock: Clock) -> None:
        self._stores = stores
        self._open_stores = open_stores
        self._examiner = examiner
        self._clock = clock
        self._threads = trio.CapacityLimiter(DOCTOR_THREADS)

    @handles("verify", in_task=True)
    async def verify(self, call: Call, params: VerifyParams) -> VerifyResult:
        """Every check about a store. Raises MnemonError: NOT_FOUND, STORAGE when it cannot be read, BUSY."""
        name = self._stores.resolve(params.store)
        tier: Tier = "full" if params.full else "fast"
        if not self._stores.exists(name):
            raise MnemonError(NOT_FOUND, f'there is no store "{name}" yet', hint="`mnemonctl store list` shows all")
        if self._stores.warm(name) is None:
            return await self._closed(name, tier)
        return await self._open(await self._open_stores.open(name), tier)

    async def _open(self, warm: OpenStore, tier: Tier) -> VerifyResult:
        found = await self._examiner.examine(warm.store, tier, self._clock.now_us(), self._threads)
        await apply_findings(warm.store, found, tier)
        views = [*map(partial(view, warm.store.name), found), *await self._others(warm)]
        return warm.marked(_result_doctor(warm.store.name, views, is_open=True))

    async def _others(self, warm: OpenStore) -> list[CheckView]:
        """What only the daemon that has it open can tell."""
        said = await _exchanges(warm, self._clock.now_us())
        return [_standing(warm), await _embedder(warm), _capacity(warm), said]

    async def _closed(self, name: str, tier: Tier) -> VerifyResult:
        path = self._stores.path(name)
        found = await trio.to_thread.run_sync(verify_closed, path, tier, self._clock.now_us(), limiter=self._threads)
        if self._stores.warm(name) is not None or log_bytes(path):
            raise MnemonError(BUSY, f'the store "{name}" was opened while it was looked at', hint="repeat")
        return _result_doctor(name, list(map(partial(view, name), found)), is_open=False)


def _result_doctor(name: str, views: list[CheckView], *, is_open: bool) -> VerifyResult:
    return VerifyResult(store=name, open=is_open, ok=all(each.ok for each in views), checks=views)


def view(store: str, finding: Finding) -> CheckView:
    """What a check came to, as it is told."""
    check = finding.check
    if finding.skipped is not None:
        return CheckView(name=check.name, ok=True, state="skipped", detail=finding.skipped, store=store)
    if not finding.problems:
        return CheckView(name=check.name, ok=True, state="ok", detail=check.summary, store=store)
    problems = [ProblemView(each.what, each.where, each.next) for each in finding.problems]
    return CheckView(
        name=check.name, ok=False, state="problem", detail=problems[0].what, problems=problems, store=store
    )


def _standing(warm: OpenStore) -> CheckView:
    name, reason = warm.store.name, warm.store.degraded_reason
    if reason is None:
        return CheckView(name="storage", ok=True, state="ok", detail="it can be read and written", store=name)
    problem = ProblemView(reason, str(warm.store.path), "mend that; then: mnemonctl daemon restart")
    return CheckView(name="storage", ok=False, state="problem", detail=reason, problems=[problem], store=name)


async def _embedder(warm: OpenStore) -> CheckView:
    name, snapshot = warm.store.name, warm.store.snapshot
    if warm.lacks_embedder:
        problem = ProblemView(
            warm.embed_error or "there is no embedder", str(warm.store.path), "mnemonctl embed --status says more"
        )
        return CheckView(
            name="embedder", ok=False, state="problem", detail=problem.what, problems=[problem], store=name
        )
    counts = await warm.store.read(counted_embed_views)
    model = "no embedder" if warm.embedder is None else warm.embedder.name
    detail = f"{model}, vectors of {snapshot.embedded:,} of {snapshot.live:,} memories"
    if counts.stale:
        detail += f"; {counts.stale:,} vectors are of another model: mnemonctl embed --all"
    return CheckView(name="embedder", ok=True, state="note" if counts.stale else "ok", detail=detail, store=name)


def _capacity(warm: OpenStore) -> CheckView:
    live, most = warm.store.snapshot.live, warm.config.lifecycle.max_insights
    over = 0 < most < live
    detail = f"memories: {live:,} of at most {most:,}" if most else f"memories: {live:,}, no limit"
    if over:
        detail += ": the next prune lets some go (mnemonctl jobs run prune --dry-run)"
    return CheckView(name="capacity", ok=True, state="note" if over else "ok", detail=detail, store=warm.store.name)


async def _exchanges(warm: OpenStore, now_us: int) -> CheckView:
    """What was said in agents' sessions is read soon, or set aside; neither piles up."""
    name = warm.store.name
    backlog, stuck, why, let_go = await warm.store.read(
        lambda it: (
            exchanges.backlog(it),
            exchanges.count_queued_before(it, now_us - STUCK_US),
            exchanges.last_error(it),
            exchanges.count_dropped(it),
        )
    )
    unread = f"; let go of unread, ever: {let_go:,}" if let_go else ""
    if not warm.config.extraction.enabled and not backlog.failed:
        detail = f"extraction.enabled is false; exchanges that wait: {backlog.pending:,}{unread}"
        state: Literal["note", "ok"] = "note" if backlog.pending or let_go else "ok"
        return CheckView(name="exchanges", ok=True, state=state, detail=detail, store=name)
    if not (backlog.failed or stuck):
        detail = f"exchanges to be read: {backlog.pending:,}{unread}"
        return CheckView(name="exchanges", ok=True, state="note" if let_go else "ok", detail=detail, store=name)
    what = f"exchanges that could not be read: {backlog.failed:,}; that wait longer than a day: {stuck:,}{unread}"
    problem = ProblemView(
        f"{what} ({why})" if why else what,
        str(warm.store.path),
        "mnemonctl jobs run extract --yes tries them again; if that fails, please report it with the daemon's log",
    )
    return CheckView(name="exchanges", ok=False, state="problem", detail=what, problems=[problem], store=name)


# The methods about the daemon itself, and the state of a store.


TOP_ENTITIES = 10
"""Entities that `status` names."""


class Life(msgspec.Struct, frozen=True):
    """What a daemon can say of its own life: seconds since it started, connections held, how to end it, what jobs ask
    before they go on, by the name of a store, and when agents' programs called last."""

    uptime_s: Callable[[], float]
    connections: Callable[[], int]
    request_stop: Callable[[], None]
    questions: Callable[[str], list[str]] = lambda _: []
    hosts: Callable[[], dict[str, types_admin.HostSeen]] = dict


class DaemonHandlers:
    """hello, ping, status, daemon.stop."""

    def __init__(
        self, data_dir: Path, config: Config, stores: StoreRegistry, open_stores: OpenStores, life: Life
    ) -> None:
        self._data_dir = data_dir
        self._config = config
        self._stores = stores
        self._open_stores = open_stores
        self._life = life

    def apply_settings(self, config: Config) -> None:
        """Tell of these settings from now on."""
        self._config = config

    @handles("hello")
    async def hello(self, call: Call, params: types_admin.HelloParams) -> types_admin.HelloResult:
        """Who answers. Raises MnemonError(PROTOCOL_VERSION) when the two cannot understand each other."""
        check_protocol(params.protocol)
        return types_admin.HelloResult(
            name="mnemond",
            version=SERVER_VERSION,
            protocol=PROTOCOL,
            pid=os.getpid(),
            data_dir=str(self._data_dir),
            capabilities={
                "methods": sorted(METHODS),
                "batches": True,
                "max_in_flight": self._config.server.max_in_flight,
            },
            outdated=is_outdated(params.client_version),
            hosts=self._life.hosts(),
        )

    @handles("ping")
    async def ping(self, call: Call, params: NoParams) -> types_admin.PingResult:
        """Answers at once."""
        return types_admin.PingResult(ok=True)

    @handles("status", in_task=True)
    async def status(self, call: Call, params: StoreParams) -> types_admin.StatusResult:
        """A store and its daemon."""
        warm = await self._open_stores.use(params.store)
        snapshot, questions = warm.store.snapshot, self._life.questions(warm.store.name)
        unreadable: str | None = None
        by_status: dict[str, int] | None = None
        oplog_count: int | None = None
        waiting: Backlog | None = None
        try:
            by_status, oplog_count, waiting = await warm.store.counts()
        except MnemonError as error:
            unreadable = error.message
        cap = warm.config.lifecycle.max_insights
        result = types_admin.StatusResult(
            store=warm.store.name,
            total_insights=snapshot.live,
            deleted_insights=None if by_status is None else sum(by_status.values()) - by_status.get("active", 0),
            by_category=snapshot.by_category(),
            by_status=by_status,
            edge_count=sum(snapshot.edge_counts().values()),
            edges_by_type=snapshot.edge_counts(),
            top_entities=[types_admin.EntityCount(name, n) for name, n in snapshot.top_entities(TOP_ENTITIES)],
            oplog_count=oplog_count,
            db_path=str(warm.store.path),
            db_size_bytes=size_bytes(warm.store.path),
            embedding=None if warm.embedder is None else warm.embedder.name,
            embedded=snapshot.embedded,
            over_capacity=0 < cap < snapshot.live,
            max_insights=cap,
            pending_jobs=len(questions),
            questions=questions,
            pending_reviews=0,
            pending_exchanges=None if waiting is None else waiting.pending,
            failed_exchanges=None if waiting is None else waiting.failed,
            version=SERVER_VERSION,
            pid=os.getpid(),
            uptime_s=round(self._life.uptime_s(), 3),
            connections=self._life.connections(),
            hosts=self._life.hosts(),
        )
        return warm.marked(result, unreadable or warm.degraded_reason or snapshot.dense.graph_lacking)

    @handles("daemon.stop")
    async def daemon_stop(self, call: Call, params: NoParams) -> types_admin.DaemonStopResult:
        """Answer, then leave."""
        self._life.request_stop()
        return types_admin.DaemonStopResult(stopping=True, pid=os.getpid())


def check_protocol(theirs: int | None) -> None:
    """Refuse a caller of another protocol in words. Raises MnemonError(PROTOCOL_VERSION)."""
    if theirs is None or theirs == PROTOCOL:
        return
    newer = "this daemon is older" if theirs > PROTOCOL else "this client is older"
    raise MnemonError(
        PROTOCOL_VERSION,
        f"the client speaks protocol {theirs}, mnemond {SERVER_VERSION} speaks {PROTOCOL}: {newer}",
        hint="`mnemonctl daemon restart` starts the daemon that belongs to the installed client",
    )


def is_outdated(client_version: str | None) -> bool:
    """Whether the caller is a newer release than this daemon."""
    return client_version is not None and release_key(client_version) > release_key(SERVER_VERSION)


# stats: a store in figures.


SOURCES: Final = 20
"""Sources that are named."""

BANDS: Final = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Bounds of effective importance between which memories are counted; 7.14 lets it exceed 1."""

US_IN_DAY: Final = 86_400_000_000
STATS_THREADS: Final = 1
"""Stores being counted at once."""


class StatsHandlers:
    """stats."""

    def __init__(self, open_stores: OpenStores, clock: Clock) -> None:
        self._open_stores = open_stores
        self._clock = clock
        self._threads = trio.CapacityLimiter(STATS_THREADS)

    @handles("stats", in_task=True)
    async def stats(self, call: Call, params: StoreParams) -> StatsResult:
        """Figures of a store."""
        warm = await self._open_stores.use(params.store)
        snapshot, now_us = warm.store.snapshot, self._clock.now_us()
        with warm.store.file_in_use():
            figures = await trio.to_thread.run_sync(_read, warm.store, limiter=self._threads)
        embedding = None if warm.embedder is None else warm.embedder.name
        result = await trio.to_thread.run_sync(
            _result_stats, warm.store.name, embedding, snapshot, figures, now_us, limiter=self._threads
        )
        return warm.marked(result)


def _read(store: Store) -> FileFigures:
    connection = open_reader(store)
    try:
        return file_figures(connection, store.path)
    except SqliteError as error:
        message = f"{store.path} cannot be read: {error}"
        raise MnemonError(STORAGE, message, hint="mnemonctl doctor says more") from error
    finally:
        connection.close()


def _result_stats(
    name: str, embedding: str | None, snapshot: Snapshot, figures: FileFigures, now_us: int
) -> StatsResult:
    live = np.flatnonzero(snapshot.alive())
    insights = [snapshot.insight(row) for row in live.tolist()]
    importance = np.array([insight.effective_importance for insight in insights], dtype=np.float64)
    index = footprint(snapshot)
    return StatsResult(
        store=name,
        total_insights=snapshot.live,
        by_status=figures.by_status,
        by_category=_most(Counter(insight.category for insight in insights)),
        by_type=figures.by_type,
        by_source=_most(Counter(insight.source for insight in insights), SOURCES),
        edges_by_type=snapshot.edge_counts(),
        embedding=embedding,
        embedded=snapshot.embedded,
        embedded_share=1.0 if not snapshot.live else round(snapshot.embedded / snapshot.live, 6),
        age_days=_quantiles(_days(snapshot.columns.created_us[live], now_us)),
        unused_days=_quantiles(_days(snapshot.columns.accessed_us[live], now_us)),
        importance=_quantiles(importance),
        importance_bands=_bands(importance),
        database_bytes=figures.database,
        log_bytes=figures.log,
        free_bytes=figures.free,
        index_bytes=index,
        index_total_bytes=sum(index.values()),
        rows=snapshot.rows,
    )


def _most(counts: Counter[str], most: int | None = None) -> dict[str, int]:
    """Most first, ties by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def _days(moments_us: npt.NDArray[np.int64], now_us: int) -> npt.NDArray[np.float64]:
    """Since those moments; what lies ahead is no time ago."""
    found: npt.NDArray[np.float64] = np.maximum(0, now_us - moments_us) / US_IN_DAY
    return found


def _quantiles(values: npt.NDArray[np.float64]) -> Quantiles | None:
    """Values that occur, none between them; three decimals."""
    if not len(values):
        return None
    found = np.quantile(values, [0.0, 0.1, 0.5, 0.9, 1.0], method="inverted_cdf")
    return Quantiles(*(round(value, 3) for value in found.tolist()))


def _bands(importance: npt.NDArray[np.float64]) -> dict[str, int]:
    """How many lie below each bound, and not below the one before; what a damaged row says lies in none."""
    finite = importance[np.isfinite(importance)]
    counts = np.bincount(np.searchsorted(BANDS, finite, side="right"), minlength=len(BANDS) + 1).tolist()
    names = [f"{low:g}-{high:g}" for low, high in zip((0.0, *BANDS), BANDS, strict=False)]
    return dict(zip([*names, f"{BANDS[-1]:g}+"], counts, strict=True))


# top: what the daemon does, watched for a moment because somebody asks. Nobody is watched otherwise.


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

    @handles("top", in_task=True)
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
