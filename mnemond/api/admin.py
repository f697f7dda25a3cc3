"""Methods about the daemon and the state of stores: verify, hello, ping, status, daemon.stop, stats and top."""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import trio

from mnemond.api import types_daemon
from mnemond.api.embed import read_counts
from mnemond.api.registry import METHODS
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.sync_status import failures
from mnemond.api.types_daemon import (
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
from mnemond.llm.reader import ReaderStatus
from mnemond.memory.questions.memories import COUNTS
from mnemond.store import exchanges
from mnemond.store.checksums import reason
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.engine import SAVE
from mnemond.store.exchanges import Backlog
from mnemond.store.files import FileFigures, file_figures, log_bytes, size_bytes
from mnemond.store.meta import read_record
from mnemond.store.operations import refusals
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.store.verify import Examiner, Finding, apply_findings, open_reader, verify_closed
from mnemond.store.verify_checks import Tier
from mnemond.wire.dispatch import Call, Latencies, handles, quantile_ms
from mnemond.wire.limits import Counters
from mnemond.wire.params import PROTOCOL, SERVER_VERSION, NoParams, StoreParams, release_key

DOCTOR_THREADS: Final = 1
"""Stores verified at once: more would compete with the event loop for the interpreter."""

STUCK_US: Final = 86_400_000_000
"""Age of a pending exchange that counts as a problem. Failed ones are retried for an hour, and extraction runs at least
every ten minutes, even in a store in constant use."""


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
        """Run the checks of a store; the stored data is not changed.

        Raises MnemonError: NOT_FOUND, STORAGE if it cannot be read, BUSY.
        """
        name = self._stores.resolve(params.store)
        tier: Tier = "full" if params.full else "fast"
        if not self._stores.exists(name):
            raise MnemonError(NOT_FOUND, f'there is no store "{name}" yet', hint="`mnemonctl store list` shows all")
        if self._stores.warm(name) is None and not log_bytes(self._stores.path(name)):
            return await self._verify_closed(
                name, tier
            )  # else opening it takes in what a killed daemon left in the log
        warm = await self._open_stores.open(name)
        if warm.store.lost is not None:  # there is nothing to be read beside the writer
            return warm.marked(_verify_result(name, [_check_storage(warm), _check_capacity(warm)], is_open=True))
        found = await self._examiner.examine(warm.store, tier, self._clock.now_us(), self._threads)
        await apply_findings(warm.store, found, tier)
        exchange_check = await _check_exchanges(warm, self._clock.now_us())
        views = [
            *map(partial(check_view, name), found),
            _check_storage(warm),
            await _check_embedder(warm),
            _check_capacity(warm),
            _check_reviews(warm),
            exchange_check,
        ]
        return warm.marked(_verify_result(name, views, is_open=True))

    async def _verify_closed(self, name: str, tier: Tier) -> VerifyResult:
        path = self._stores.path(name)
        found = await trio.to_thread.run_sync(verify_closed, path, tier, self._clock.now_us(), limiter=self._threads)
        if self._stores.warm(name) is not None or log_bytes(path):
            raise MnemonError(BUSY, f'the store "{name}" was opened during the check', hint="repeat")
        return _verify_result(name, list(map(partial(check_view, name), found)), is_open=False)


def _verify_result(name: str, views: list[CheckView], *, is_open: bool) -> VerifyResult:
    return VerifyResult(store=name, open=is_open, ok=all(each.ok for each in views), checks=views)


def check_view(store: str, finding: Finding) -> CheckView:
    """Convert a finding to its wire form."""
    check = finding.check
    if finding.skipped is not None:
        return CheckView(name=check.name, ok=True, state="skipped", detail=finding.skipped, store=store)
    if not finding.problems:
        return CheckView(name=check.name, ok=True, state="ok", detail=check.summary, store=store)
    problems = [ProblemView(each.what, each.where, each.next) for each in finding.problems]
    return CheckView(
        name=check.name, ok=False, state="problem", detail=problems[0].what, problems=problems, store=store
    )


def _check_storage(warm: OpenStore) -> CheckView:
    name, reason = warm.store.name, warm.store.degraded_reason
    if reason is None:
        return CheckView(name="storage", ok=True, state="ok", detail="readable and writable", store=name)
    lost = warm.store.lost
    problem = ProblemView(
        lost or reason, str(warm.store.path), "repair that, then run mnemonctl daemon restart" if lost is None else SAVE
    )
    return CheckView(name="storage", ok=False, state="problem", detail=reason, problems=[problem], store=name)


async def _check_embedder(warm: OpenStore) -> CheckView:
    name, snapshot = warm.store.name, warm.store.snapshot
    if warm.lacks_embedder:
        problem = ProblemView(
            warm.embed_error or "there is no embedder", str(warm.store.path), "mnemonctl embed --status says more"
        )
        return CheckView(
            name="embedder", ok=False, state="problem", detail=problem.what, problems=[problem], store=name
        )
    counts = await warm.store.read(read_counts)
    model = "no embedder" if warm.embedder is None else warm.embedder.name
    detail = f"{model}, vectors of {snapshot.embedded:,} of {snapshot.live:,} memories"
    if counts.stale:
        detail += f"; {counts.stale:,} vectors are of another model: mnemonctl embed --all"
    return CheckView(name="embedder", ok=True, state="note" if counts.stale else "ok", detail=detail, store=name)


def _check_capacity(warm: OpenStore) -> CheckView:
    live, most = warm.store.snapshot.live, warm.config.lifecycle.max_insights
    over = 0 < most < live
    detail = f"memories: {live:,} of at most {most:,}" if most else f"memories: {live:,}, no limit"
    if over:
        detail += ": the next prune lets some go (mnemonctl jobs run prune --dry-run)"
    return CheckView(name="capacity", ok=True, state="note" if over else "ok", detail=detail, store=warm.store.name)


def _check_reviews(warm: OpenStore) -> CheckView:
    waiting = warm.store.pending_reviews + warm.store.held_texts
    detail = f"pairs and texts that wait for a decision: {waiting:,}" + (": mnemonctl reviews" if waiting else "")
    return CheckView(name="reviews", ok=True, state="note" if waiting else "ok", detail=detail, store=warm.store.name)


async def _check_exchanges(warm: OpenStore, now_us: int) -> CheckView:
    """Check that the queue of agents' exchanges is processed."""
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


# The daemon.

TOP_ENTITIES = 10
"""Entities listed by `status`."""


class ProcessState(msgspec.Struct, frozen=True):
    """Values and actions of the running process. `questions` returns what the jobs of a store need confirmed, `hosts`
    the last call of each agent program, `reader` the state of the language model, `now_us` the time in microseconds."""

    now_us: Callable[[], int]
    uptime_s: Callable[[], float]
    connections: Callable[[], int]
    request_stop: Callable[[], None]
    questions: Callable[[str], list[str]] = lambda _: []
    hosts: Callable[[], dict[str, types_daemon.HostSeen]] = dict
    reader: Callable[[], ReaderStatus | None] = lambda: None


class DaemonHandlers:
    """hello, ping, status, daemon.stop."""

    def __init__(
        self, data_dir: Path, config: Config, stores: StoreRegistry, open_stores: OpenStores, process: ProcessState
    ) -> None:
        self._data_dir = data_dir
        self._config = config
        self._stores = stores
        self._open_stores = open_stores
        self._process = process

    def apply_settings(self, config: Config) -> None:
        """Report these settings from now on."""
        self._config = config

    @handles("hello")
    async def hello(self, call: Call, params: types_daemon.HelloParams) -> types_daemon.HelloResult:
        """Return the daemon's identity. Raises MnemonError(PROTOCOL_VERSION) for a client of another protocol."""
        check_protocol(params.protocol)
        if params.directory is not None:
            call.state.directory = params.directory
        return types_daemon.HelloResult(
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
            hosts=self._process.hosts(),
        )

    @handles("ping")
    async def ping(self, call: Call, params: NoParams) -> types_daemon.PingResult:
        """Answer at once."""
        return types_daemon.PingResult(ok=True)

    @handles("status", in_task=True)
    async def status(self, call: Call, params: StoreParams) -> types_daemon.StatusResult:
        """Return the state of a store and of the daemon."""
        warm = await self._open_stores.use(params.store)
        snapshot, questions = warm.store.snapshot, self._process.questions(warm.store.name)
        unreadable: str | None = None
        by_status: dict[str, int] | None = None
        oplog_count: int | None = None
        waiting: Backlog | None = None
        gates, reader = dict[str, int](), self._process.reader()
        syncs: list[str] = []
        try:
            by_status, oplog_count, waiting = await warm.store.counts()
            syncs = await warm.store.read(partial(failures, now_us=self._process.now_us()))
            gates = await warm.store.read(read_gates) if reader is not None else gates
        except MnemonError as error:
            unreadable = error.message
        cap = warm.config.lifecycle.max_insights
        result = types_daemon.StatusResult(
            **_counted(warm, snapshot, by_status),
            top_entities=[types_daemon.EntityCount(name, n) for name, n in snapshot.top_entities(TOP_ENTITIES)],
            oplog_count=oplog_count,
            db_path=str(warm.store.path),
            db_size_bytes=size_bytes(warm.store.path),
            over_capacity=0 < cap < snapshot.live,
            max_insights=cap,
            pending_jobs=len(questions),
            questions=questions,
            pending_reviews=warm.store.pending_reviews,
            held_texts=warm.store.held_texts,
            pending_exchanges=None if waiting is None else waiting.pending,
            failed_exchanges=None if waiting is None else waiting.failed,
            version=SERVER_VERSION,
            pid=os.getpid(),
            uptime_s=round(self._process.uptime_s(), 3),
            connections=self._process.connections(),
            hosts=self._process.hosts(),
            llm=reader,
            gates=gates,
            syncs=syncs,
            shared=None if warm.store.shared is None else warm.store.shared.standing,
        )
        return warm.marked(result, unreadable or warm.degraded_reason or snapshot.dense.graph_lacking)

    @handles("daemon.stop")
    async def daemon_stop(self, call: Call, params: NoParams) -> types_daemon.DaemonStopResult:
        """Answer, then stop."""
        self._process.request_stop()
        return types_daemon.DaemonStopResult(stopping=True, pid=os.getpid())


def _counted(warm: OpenStore, snapshot: Snapshot, by_status: dict[str, int] | None) -> dict[str, Any]:
    """Return the fields of StoreCounts."""
    links = snapshot.edge_counts()
    return {
        "store": warm.store.name,
        "total_insights": snapshot.live,
        "deleted_insights": None if by_status is None else sum(by_status.values()) - by_status.get("active", 0),
        "by_status": by_status,
        "by_category": _most_frequent(snapshot.by_category()),
        "edge_count": sum(links.values()),
        "edges_by_type": links,
        "embedding": None if warm.embedder is None else warm.embedder.name,
        "embedded": snapshot.embedded,
        "passages": warm.store.passages.live + len(warm.store.passages.waiting),
    }


def check_protocol(theirs: int | None) -> None:
    """Raise MnemonError(PROTOCOL_VERSION) unless the client's protocol is ours or unknown."""
    if theirs is None or theirs == PROTOCOL:
        return
    newer = "this daemon is older" if theirs > PROTOCOL else "this client is older"
    raise MnemonError(
        PROTOCOL_VERSION,
        f"the client speaks protocol {theirs}, mnemond {SERVER_VERSION} speaks {PROTOCOL}: {newer}",
        hint="`mnemonctl daemon restart` starts the daemon that belongs to the installed client",
    )


def is_outdated(client_version: str | None) -> bool:
    """Return True if the client is of a newer release than this daemon."""
    return client_version is not None and release_key(client_version) > release_key(SERVER_VERSION)


# Figures of a store.

SOURCES: Final = 20
"""Sources listed, the most frequent first."""

BANDS: Final = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Bounds of the bands in which memories are counted by effective importance, which may exceed 1."""

US_IN_DAY: Final = 86_400_000_000
STATS_THREADS: Final = 1
"""Stores read at once."""


class StatsHandlers:
    """stats."""

    def __init__(
        self, open_stores: OpenStores, clock: Clock, reader: Callable[[], ReaderStatus | None] = lambda: None
    ) -> None:
        self._open_stores = open_stores
        self._clock = clock
        self._reader = reader
        self._threads = trio.CapacityLimiter(STATS_THREADS)

    @handles("stats", in_task=True)
    async def stats(self, call: Call, params: StoreParams) -> StatsResult:
        """Return the figures of a store."""
        warm = await self._open_stores.use(params.store)
        snapshot, now_us = warm.store.snapshot, self._clock.now_us()
        with warm.store.file_in_use():
            figures, refused, gates = await trio.to_thread.run_sync(_read_figures, warm.store, limiter=self._threads)
        result = await trio.to_thread.run_sync(
            _stats_result, warm, snapshot, figures, refused, now_us, limiter=self._threads
        )
        return warm.marked(msgspec.structs.replace(result, llm=self._reader(), gates=gates))


def read_gates(connection: Connection) -> dict[str, int]:
    """Return how many memories a model read after they were written, and what was accepted of its answers."""
    found = read_record(connection, COUNTS, dict[str, int]) or {}
    return {name: count for name, count in found.items() if count}


def _read_figures(store: Store) -> tuple[FileFigures, dict[str, dict[str, int]], dict[str, int]]:
    connection = open_reader(store)
    try:
        return file_figures(connection, store.path), refusals(connection), read_gates(connection)
    except SqliteError as error:
        message = f"{store.path} cannot be read: {reason(error)}"
        raise MnemonError(STORAGE, message, hint="mnemonctl doctor says more") from error
    finally:
        connection.close()


def _stats_result(
    warm: OpenStore,
    snapshot: Snapshot,
    figures: FileFigures,
    refused: dict[str, dict[str, int]],
    now_us: int,
) -> StatsResult:
    live = np.flatnonzero(snapshot.alive())
    insights = [snapshot.insight(row) for row in live.tolist()]
    importance = np.array([insight.effective_importance for insight in insights], dtype=np.float64)
    index = footprint(snapshot)
    return StatsResult(
        **_counted(warm, snapshot, figures.by_status),
        by_type=figures.by_type,
        by_source=_most_frequent(Counter(insight.source for insight in insights), SOURCES),
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
        refused=refused,
        judged={
            "useful": sum(insight.useful for insight in insights),
            "misled": sum(insight.misled for insight in insights),
        },
    )


def _most_frequent(counts: Mapping[str, int], limit: int | None = None) -> dict[str, int]:
    """Sort by count, descending, then by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit])


def _days(moments_us: npt.NDArray[np.int64], now_us: int) -> npt.NDArray[np.float64]:
    """Return the ages in days; 0 for times in the future."""
    found: npt.NDArray[np.float64] = np.maximum(0, now_us - moments_us) / US_IN_DAY
    return found


def _quantiles(values: npt.NDArray[np.float64]) -> Quantiles | None:
    """Return quantiles without interpolation, to three decimals."""
    if not len(values):
        return None
    found = np.quantile(values, [0.0, 0.1, 0.5, 0.9, 1.0], method="inverted_cdf")
    return Quantiles(*(round(value, 3) for value in found.tolist()))


def _bands(importance: npt.NDArray[np.float64]) -> dict[str, int]:
    """Count the values in each band; values that are not finite (damaged rows) are in none."""
    finite = importance[np.isfinite(importance)]
    counts = np.bincount(np.searchsorted(BANDS, finite, side="right"), minlength=len(BANDS) + 1).tolist()
    names = [f"{low:g}-{high:g}" for low, high in zip((0.0, *BANDS), BANDS, strict=False)]
    return dict(zip([*names, f"{BANDS[-1]:g}+"], counts, strict=True))


# Activity of the daemon, measured only during a request.

LAG_SAMPLE_S: Final = 0.02
"""Seconds between samples of the event loop's lag."""

MAX_WATCHERS: Final = 8
"""Concurrent requests of `top`."""


class HasCounters(Protocol):
    """The server, for its counters since the start."""

    counters: Counters


class TopHandlers:
    """top."""

    def __init__(
        self,
        stores: StoreRegistry,
        scheduler: Scheduler,
        latencies: Latencies,
        server: Callable[[], HasCounters],
        started_s: float,
        reader: Callable[[], ReaderStatus | None] = lambda: None,
    ) -> None:
        """`server` is called with the first request; `started_s` is the start of the daemon (`monotonic_s`)."""
        self._reader = reader
        self._stores = stores
        self._scheduler = scheduler
        self._latencies = latencies
        self._server = server
        self._started_s = started_s
        self._watching = 0

    @handles("top", in_task=True)
    async def top(self, call: Call, params: TopParams) -> TopResult:
        """Measure for an interval. Raises MnemonError(BUSY) beyond `MAX_WATCHERS` requests."""
        if self._watching >= MAX_WATCHERS:
            raise MnemonError(
                BUSY, f"{MAX_WATCHERS} requests of top are running, which is the limit", hint="repeat in a moment"
            )
        self._watching += 1
        try:
            return await self._measure(params.interval_s)
        finally:
            self._watching -= 1

    async def _measure(self, interval_s: float) -> TopResult:
        messages, counts = self._server().counters.messages, self._latencies.counts()
        begun = trio.current_time()
        late_ms: list[float] = []
        while (left := begun + interval_s - trio.current_time()) > 0:
            due = trio.current_time() + min(LAG_SAMPLE_S, left)
            await trio.sleep_until(due)
            late_ms.append(max(0.0, trio.current_time() - due) * 1e3)
        elapsed_s, counters = trio.current_time() - begun, self._server().counters
        return TopResult(
            llm=self._reader(),
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
    """Compute the rate and latency of each method between two snapshots of the counts, busiest first."""
    found = []
    for name, counts in after.items():
        if name == "top":
            continue  # it lasts as long as its interval
        earlier = before.get(name, [0] * len(counts))
        new = [now - then for now, then in zip(counts, earlier, strict=True)]
        of = new if any(new) else counts
        p50, p95 = (round(quantile_ms(of, share) or 0.0, 3) for share in (0.5, 0.95))
        found.append(MethodRate(name, sum(counts), round(sum(new) / elapsed_s, 1), p50, p95))
    return sorted(found, key=lambda rate: (-rate.per_s, -rate.calls, rate.name))
