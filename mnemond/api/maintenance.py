"""Methods of maintenance: gc, jobs.list and jobs.run; and the listeners of opened stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec
import trio
from structlog.typing import FilteringBoundLogger

from mnemond.api.events import Feed, emit_job_event, emit_replayed, emit_writes
from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores, StoreListener
from mnemond.api.types_jobs import GcParams, JobsListResult, JobsRunParams, JobsRunResult, JobView
from mnemond.api.uses import Uses
from mnemond.clock import Clock
from mnemond.embed.embedder import Embedder
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.jobs.catch_up import Followers
from mnemond.jobs.job import Done
from mnemond.jobs.scheduler import Entry, Scheduler
from mnemond.memory import retention
from mnemond.model.answers import GcResult, GcReview
from mnemond.model.memory import format_us
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.store.backups import copies_holding
from mnemond.store.operation_log import Operation
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import StoreParams, nearest, short

REVIEWED_AT_ONCE = 200
"""Rows per call in a thread, so that a review ends soon after its client has left."""

THREADS = 1
"""Listings and reviews at once: more would compete with the event loop for the interpreter."""


class GcHandlers:
    """gc."""

    def __init__(self, open_stores: OpenStores, identities: Identities, clock: Clock) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    @handles("gc", in_task=True)
    async def gc(self, call: Call, params: GcParams) -> object:
        """List candidates, or run one action. Raises MnemonError(INVALID_PARAMS) for several actions."""
        requested = [name for name in ("keep", "review", "apply", "purge_deleted") if _is_given(params, name)]
        if len(requested) > 1:
            problem = f"{' and '.join(requested)} exclude each other; give one"
            raise invalid([FieldProblem(requested[1], problem)], hint="call gc once for each")
        actions: dict[str, Callable[[OpenStore, GcParams], Awaitable[object]]] = {
            "keep": self._keep,
            "review": self._review,
            "apply": self._apply,
            "purge_deleted": self._purge,
        }
        action = actions[requested[0]] if requested else self._list
        return await action(await self._open_stores.use(params.store), params)

    async def _list(self, warm: OpenStore, params: GcParams) -> GcResult:
        lifecycle = warm.config.lifecycle
        snapshot = warm.store.snapshot
        found, many = await trio.to_thread.run_sync(
            retention.weak, snapshot, _bounds(params), lifecycle, self._clock.now_us(), limiter=self._threads
        )
        return warm.marked(
            GcResult(
                total_insights=snapshot.live,
                threshold=params.threshold,
                candidates_found=many,
                candidates=found,
                max_insights=lifecycle.max_insights,
                actions={
                    "purge": f"mnemonctl gc --threshold {params.threshold:g} --limit {params.limit} --apply --yes",
                    "keep": "mnemonctl gc --keep ID",
                },
            )
        )

    async def _review(self, warm: OpenStore, params: GcParams) -> GcReview:
        snapshot = warm.store.snapshot
        rows = retention.visible_rows(snapshot, _bounds(params).scope)
        flagged: list[retention.Flagged] = []
        for start in range(0, len(rows), REVIEWED_AT_ONCE):
            part = rows[start : start + REVIEWED_AT_ONCE]
            flagged += await trio.to_thread.run_sync(retention.review, snapshot, part, limiter=self._threads)
        shown = retention.worst_first(flagged)[: params.limit]
        return warm.marked(
            GcReview(
                review_results=shown,
                total_flagged=len(flagged),
                actions={"update": "mnemonctl update ID --content TEXT", "forget": "mnemonctl forget ID"},
            )
        )

    async def _keep(self, warm: OpenStore, params: GcParams) -> GcKept:
        insight_id = params.keep or ""
        try:
            insight_id = one_active(warm.store.snapshot, insight_id).id
        except MnemonError:
            if params.op_id is None:
                raise
            # else it may be a repeat of an earlier operation, which the writer recognises by its op_id
        identity = self._identities.of(warm, params)
        return await submitted(warm, retention.propose_keep(insight_id, warm.config.lifecycle, identity), GcKept)

    async def _apply(self, warm: OpenStore, params: GcParams) -> GcDone:
        identity = self._identities.of(warm, params)
        proposal = retention.propose_apply(_bounds(params), warm.config.lifecycle, identity)
        return await submitted(warm, proposal, GcDone)

    async def _purge(self, warm: OpenStore, params: GcParams) -> GcDone:
        identity = self._identities.of(warm, params)
        proposal = retention.propose_purge(params.purge_deleted or 0, identity)
        done = await submitted(warm, proposal, GcDone)
        if not done.ids:
            return done
        names = await trio.to_thread.run_sync(copies_holding, warm.store.path, done.ids)
        return msgspec.structs.replace(done, backups=tuple(names))


def _is_given(params: GcParams, name: str) -> bool:
    value: object = getattr(params, name)
    return value is not None and value is not False


def _bounds(params: GcParams) -> retention.Bounds:
    return retention.Bounds(params.threshold, params.limit, scope_of(params))


# Background jobs.


def job_reporter(log: FilteringBoundLogger, feed: Feed) -> Callable[[str, str, Done | MnemonError], None]:
    """Return a callback that logs a run of a job and emits its event."""

    def report(store: str, job: str, result: Done | MnemonError) -> None:
        emit_job_event(feed, store, job, result)
        if isinstance(result, MnemonError):
            log.warning("job failed", store=store, job=job, reason=result.message)
        elif result.outcome == "stopped":
            log.warning("job needs confirmation", store=store, job=job, question=result.detail)
        elif result.outcome == "done":
            log.info("job", store=store, job=job, changed=result.changed)

    return report


class StoreListeners:
    """Forwards opened and closed stores to the embedding worker, the scheduler of jobs, the feed of events, and what
    follows shared logs. `on_reload` runs with the name of a store of which everything was loaded anew."""

    def __init__(
        self,
        worker: StoreListener,
        scheduler: Scheduler,
        feed: Feed,
        followers: Followers,
        on_reload: Callable[[str], Awaitable[None]],
        uses: Uses,
    ) -> None:
        self._worker = worker
        self._uses = uses
        self._scheduler = scheduler
        self._feed = feed
        self._followers = followers
        self._on_reload = on_reload

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """Start watching an opened store."""
        emit_writes(warm.store, self._feed)
        warm.store.on_replayed = partial(self._replayed, warm.store.name, warm.on_purged)
        self._worker.attach(warm, change)
        self._scheduler.attach(warm.store)
        self._followers.attach(warm.store)

    def _replayed(self, name: str, on_purged: Callable[[], None] | None, operations: Sequence[Operation]) -> None:
        """Other daemons wrote to a shared store."""
        emit_replayed(name, self._feed, operations)
        if any(map(_lacks_vector, operations)):
            self._worker.request_backfill(name)
        if on_purged is not None and (not operations or any(each.purged for each in operations)):
            on_purged()
        if not operations:
            self._followers.start_soon(self._on_reload, name)

    def set_embedder(self, name: str, embedder: Embedder | None) -> None:
        """Let the worker go on with another embedder."""
        self._worker.set_embedder(name, embedder)

    def request_backfill(self, name: str) -> None:
        """Embed the memories of a store that lack a vector."""
        self._worker.request_backfill(name)

    def is_busy(self, name: str) -> bool:
        """Return True while a job runs or memories are being embedded."""
        return self._scheduler.is_busy(name) or self._worker.is_busy(name)

    def detach(self, name: str) -> None:
        """Stop watching a store that is being closed."""
        self._uses.flush(name)
        self._followers.detach(name)
        self._scheduler.detach(name)
        self._worker.detach(name)


def _lacks_vector(operation: Operation) -> bool:
    """Return True for an operation of a daemon that could not embed what it stored."""
    rows = (*operation.change.get("memory", ()), *operation.add.get("memory", ()))
    return any(row["status"] == "active" and row["id"] not in operation.vectors for row in rows)


class JobHandlers:
    """jobs.list, jobs.run."""

    def __init__(self, open_stores: OpenStores, scheduler: Scheduler, clock: Clock) -> None:
        self._open_stores = open_stores
        self._scheduler = scheduler
        self._clock = clock

    @handles("jobs.list", in_task=True)
    async def list(self, call: Call, params: StoreParams) -> JobsListResult:
        """List the jobs of a store."""
        warm = await self._open_stores.use(params.store)
        runner = self._scheduler.of(warm.store.name)
        await runner.until_known()
        views = [self._view(entry, running=runner.running == entry.job.name) for entry in runner.agenda.entries]
        return warm.marked(JobsListResult(store=warm.store.name, jobs=views))

    @handles("jobs.run", in_task=True)
    async def run(self, call: Call, params: JobsRunParams) -> JobsRunResult:
        """Run a job now. Raises MnemonError(INVALID_PARAMS) for an unknown one."""
        known = [job.name for job in self._scheduler.jobs]
        name = params.name.replace("-", "_")
        if name not in known:
            guess = nearest(name, known)
            hint = f'did you mean "{guess}"?' if guess else f"jobs are: {', '.join(known)}"
            raise invalid([FieldProblem("name", f"there is no job {short(params.name)}")], hint=hint)
        warm = await self._open_stores.use(params.store)
        try:
            done = await self._scheduler.of(warm.store.name).run(name, dry_run=params.dry_run, sure=params.yes)
        except MnemonError as error:
            error.degraded_reason = warm.degraded_reason
            raise
        return warm.marked(
            JobsRunResult(
                store=warm.store.name,
                name=name,
                outcome=done.outcome,
                changed=done.changed,
                detail=done.detail,
                op_id=done.op_id,
                dry_run=params.dry_run,
            )
        )

    def _view(self, entry: Entry, *, running: bool) -> JobView:
        record = entry.record
        ahead_us = int(max(0.0, entry.due - trio.current_time()) * 1e6)
        return JobView(
            name=entry.job.name,
            summary=entry.job.summary,
            every_s=entry.job.interval_s,
            running=running,
            last_run=None if record is None else record.ran_at,
            outcome=None if record is None else record.outcome,
            changed=None if record is None else record.changed,
            detail=None if record is None else record.detail or None,
            seconds=None if record is None else record.seconds,
            op_id=None if record is None else record.op_id,
            next_run=None if running else format_us(self._clock.now_us() + ahead_us),
            skipped=entry.skipped,
            error=entry.error,
        )
