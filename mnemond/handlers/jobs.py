"""The methods about background jobs, and what else the jobs have to hear of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import trio
from structlog.typing import FilteringBoundLogger

from mnemond.clock import Clock
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.handlers.door import Keeper, OpenStore, StoreDoor
from mnemond.handlers.subscriptions import job_told, watch
from mnemond.lifecycle.agenda import Entry
from mnemond.lifecycle.job import Done
from mnemond.lifecycle.scheduler import Scheduler
from mnemond.model.timestamp import format_us
from mnemond.protocol.jobs import JobsListParams, JobsListResult, JobsRunParams, JobsRunResult, JobView
from mnemond.protocol.wording import nearest, short
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.server.feed import Feed


def tells(log: FilteringBoundLogger, feed: Feed) -> Callable[[str, str, Done | MnemonError], None]:
    """What hears of each run: writes it to the log, unless there was nothing to do, and makes an event of it."""

    def tell(store: str, job: str, result: Done | MnemonError) -> None:
        job_told(feed, store, job, result)
        if isinstance(result, MnemonError):
            log.warning("job failed", store=store, job=job, reason=result.message)
        elif result.outcome == "stopped":
            log.warning("job asks", store=store, job=job, question=result.detail)
        elif result.outcome == "done":
            log.info("job", store=store, job=job, changed=result.changed)

    return tell


class Attending:
    """Whoever opens and closes stores tells three: who embeds what they hold, who runs their jobs, and who tells others
    what is written to them."""

    def __init__(self, keeper: Keeper, scheduler: Scheduler, feed: Feed) -> None:
        self._keeper = keeper
        self._scheduler = scheduler
        self._feed = feed

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """A store was opened."""
        watch(warm.store, self._feed)
        self._keeper.attach(warm, change)
        self._scheduler.attach(warm.store)

    def missing(self, name: str) -> None:
        """A memory of this store lacks its vector."""
        self._keeper.missing(name)

    def detach(self, name: str) -> None:
        """This store is being closed."""
        self._scheduler.detach(name)
        self._keeper.detach(name)


class JobHandlers:
    """jobs.list, jobs.run."""

    def __init__(self, door: StoreDoor, scheduler: Scheduler, clock: Clock) -> None:
        self._door = door
        self._scheduler = scheduler
        self._clock = clock

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "jobs.list": self.list,
            "jobs.run": self.run,
        }

    def list(self, call: Call, params: JobsListParams) -> object:
        """Every job of a store."""
        return self._door.through(params.store, self._list)

    def run(self, call: Call, params: JobsRunParams) -> object:
        """One job, now. Raises MnemonError(INVALID_PARAMS) for one that there is not."""
        known = [job.name for job in self._scheduler.jobs]
        name = params.name.replace("-", "_")
        if name not in known:
            guess = nearest(name, known)
            hint = f'did you mean "{guess}"?' if guess else f"jobs are: {', '.join(known)}"
            raise invalid([FieldProblem("name", f"there is no job {short(params.name)}")], hint=hint)
        return self._door.through(params.store, lambda warm: self._run(warm, name, params))

    async def _list(self, warm: OpenStore) -> JobsListResult:
        attendant = self._scheduler.of(warm.store.name)
        await attendant.until_known()
        views = [self._view(entry, running=attendant.running == entry.job.name) for entry in attendant.agenda.entries]
        return warm.marked(JobsListResult(store=warm.store.name, jobs=views))

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

    async def _run(self, warm: OpenStore, name: str, params: JobsRunParams) -> JobsRunResult:
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
