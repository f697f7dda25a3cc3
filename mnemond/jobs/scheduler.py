"""The scheduler: one runner per open store runs its jobs one at a time, while the store is unused."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Final

import msgspec
import trio

from mnemond.clock import Clock
from mnemond.errors import BUSY, INTERNAL, STOPPING, MnemonError, rejected
from mnemond.jobs.job import Done, Job, Work
from mnemond.memory.write import WriteContext
from mnemond.model.changes import JobRecord
from mnemond.model.memory import aged, effective_now, parse_rfc3339
from mnemond.store.meta import read_jobs
from mnemond.store.shared_log import JOBS_S
from mnemond.store.store import Store

FIRST_PAUSE_S: Final = 60.0
"""Seconds before a job that failed is tried again, doubled each time."""

ATTEMPTS: Final = 5
"""Attempts in a row; then the job waits for its interval."""


class Entry:
    """One job of one store: when it is due, its last run, and why it does not run now. Times are seconds of trio's
    clock, which never jumps; the wall clock is only used for the time since the last run when the store is opened."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.record: JobRecord | None = None
        self.due = 0.0
        self.skipped: str | None = None
        self.error: str | None = None
        self.failures = 0
        self.hurried = False

    @property
    def question(self) -> str | None:
        """The question to confirm before the job continues."""
        stopped = self.record is not None and self.record.outcome == "stopped"
        return self.record.detail if stopped and self.record is not None else None

    def remember(self, record: JobRecord | None, wall_us: int, now: float) -> None:
        """Load the record of the last run. The job is due an interval after it; a clock set back counts as no elapsed
        time."""
        self.record = record
        if record is None:
            self.due = now + min(self.job.first_s, self.job.interval_s)
            return
        elapsed_s = max(0.0, (wall_us - parse_rfc3339(record.ran_at)) / 1e6)
        self.due = now + max(0.0, self.job.interval_s - elapsed_s)

    def hurry(self, now: float) -> None:
        """Make the job due now or, while it runs, once more afterwards. A failed one keeps its pause."""
        self.hurried = True
        if self.error is None:
            self.due = min(self.due, now)

    def begun(self) -> None:
        """Mark the start of a run, which covers all earlier requests to hurry."""
        self.hurried = False

    def finished(self, record: JobRecord, now: float, *, again: bool = False) -> None:
        """Record a successful run; the next is due after an interval, or now if hurried meanwhile. With `again` the job
        keeps its earlier due time, since the remaining work has waited as long."""
        self.record, self.error, self.skipped, self.failures = record, None, None, 0
        if again:
            self.due = min(self.due, now)
        else:
            self.due = now if self.hurried else now + self.job.interval_s

    def postpone(self, why: str, now: float, seconds: float) -> None:
        """Note why a run that is due cannot begin for so many seconds."""
        self.skipped = why
        self.due = max(self.due, now + seconds)

    def failed(self, why: str, now: float) -> None:
        """Record a failed run, to be retried after a pause."""
        self.failures = self.failures % ATTEMPTS + 1
        pause_s = FIRST_PAUSE_S * 2.0 ** (self.failures - 1)
        self.error, self.skipped = why, None
        self.due = now + (self.job.interval_s if self.failures == ATTEMPTS else min(pause_s, self.job.interval_s))


CLOSED_S: Final = 3_600.0
"""Seconds for which a store stays closed although jobs that run at intervals are due: some run every minute, and find
nothing to do in an unused store."""

OPEN_AGAIN_S: Final = 60.0
"""Seconds until opening a store for its jobs is tried again."""


class JobSchedule:
    """Every job of one store, and when it was used last. It outlives the closing of an unused store."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.entries = tuple(Entry(job) for job in jobs)
        self.by_name = {entry.job.name: entry for entry in self.entries}
        self.used_at = trio.current_time()  # a store is opened for a request
        self.is_known = False
        self.closed_until = 0.0

    def remember(self, records: Mapping[str, JobRecord], wall_us: int, now: float) -> None:
        """Load the records of an earlier daemon."""
        for entry in self.entries:
            entry.remember(records.get(entry.job.name), wall_us, now)
        self.is_known = True

    def open_at(self) -> float:
        """Return when a closed store is to be opened for its jobs: once it is unused."""
        dues = (
            entry.due if entry.hurried or entry.error else max(entry.due, self.closed_until) for entry in self.entries
        )
        return max(min(dues, default=math.inf), self.used_at + IDLE_S)

    def next(self) -> Entry:
        """Return the job due first; ties in the order of the jobs."""
        return min(self.entries, key=lambda entry: entry.due)

    def skip(self, now: float, why: str) -> None:
        """Note why the due jobs do not run now."""
        for entry in self.entries:
            if entry.due <= now:
                entry.skipped = why


IDLE_S: Final = 2.0
"""Seconds without a request after which a store counts as unused."""

PATIENCE_S: Final = 600.0
"""Seconds after which a due job runs although the store is used: a store read every second would otherwise never be
maintained, and a job never takes the writer for long."""

MAX_ASKED: Final = 16
"""Maximum number of queued requested runs."""

USED: Final = "the store is in use; it runs after 2 s without a request, or after 10 minutes"
WRITING: Final = "the store is being written; it runs when nothing waits to be written, or after 10 minutes"

ELSEWHERE: Final = "another daemon runs jobs in this shared store; it runs after that"

POSTPONED_S: Final = 10.0
"""Seconds until a job is tried again that another daemon kept from running."""

TURN_WAIT_S: Final = 10.0
"""Seconds that a requested run waits for jobs of another daemon."""

TURN_POLL_S: Final = 0.5

LEAVE_S: Final = 1.0
"""Seconds that a stop waits until others may run jobs at once; without an answer they may once JOBS_S are over."""

Guard = Callable[[], AbstractContextManager[object]]
"""Return a context manager that contains and logs defects."""


class JobContext(msgspec.Struct, frozen=True):
    """The dependencies of every runner.

    `identity` returns the write context of a background operation, by store and trigger. `tell` is called after each
    run with the names of the store and the job, and the result.
    """

    clock: Clock
    identity: Callable[[str, str], WriteContext]
    guard: Guard
    tell: Callable[[str, str, Done | MnemonError], None]
    threads: trio.CapacityLimiter


def one_thread() -> trio.CapacityLimiter:
    """Return the limiter for computations of all jobs: more threads would only compete with the event loop for the
    interpreter."""
    return trio.CapacityLimiter(1)


class Asked:
    """A requested run and its result."""

    def __init__(self, entry: Entry, *, dry_run: bool, sure: bool) -> None:
        self.entry, self.dry_run, self.sure = entry, dry_run, sure
        self.finished = trio.Event()
        self.result: Done | MnemonError | None = None

    def settle(self, result: Done | MnemonError) -> None:
        """Set the result and wake the caller."""
        self.result = result
        self.finished.set()


class StoreJobRunner:
    """Runs the jobs of one store in the task `attend`. For the event loop's thread."""

    def __init__(self, store: Store, agenda: JobSchedule, means: JobContext) -> None:
        self.store = store
        self.agenda = agenda
        self.running: str | None = None
        self._means = means
        self._asked: deque[Asked] = deque()
        self._current: Asked | None = None
        self._known = trio.Event()
        self._woken = trio.Event()
        self._resting = trio.Event()
        self._ended = False
        self._scope = trio.CancelScope()

    @property
    def is_busy(self) -> bool:
        """Return True while jobs run, are requested, or are not known yet."""
        return self.running is not None or self._current is not None or bool(self._asked) or not self.agenda.is_known

    def wake(self) -> None:
        """End a rest early: a job is due sooner."""
        self._woken.set()

    def leave(self) -> None:
        """Stop: start no more runs and cancel the current one."""
        self._ended = True
        self._scope.cancel()

    async def run(self, name: str, *, dry_run: bool = False, sure: bool = False) -> Done:
        """Run a job of `agenda.by_name` as soon as the current one is done, even if the store is in use.

        Runs even when the caller is cancelled meanwhile. Raises MnemonError: the failure of the run, BUSY when too many
        are queued, STOPPING when the daemon stops.
        """
        if self._ended:
            raise _stopping()
        if len(self._asked) >= MAX_ASKED:
            raise MnemonError(BUSY, f"{MAX_ASKED} jobs are waiting already", hint="repeat in a moment")
        asked = Asked(self.agenda.by_name[name], dry_run=dry_run, sure=sure)
        self._asked.append(asked)
        self._woken.set()
        await asked.finished.wait()
        if isinstance(asked.result, Done):
            return asked.result
        raise asked.result or _stopping()

    async def until_known(self) -> None:
        """Wait until the records of earlier runs are loaded."""
        await self._known.wait()

    async def until_resting(self) -> None:
        """Wait until the runner rests: for a time, or for the store to be unused."""
        await self._resting.wait()

    async def attend(self) -> None:
        """Run jobs until cancelled, or `leave`."""
        try:
            with self._scope:
                if not self.agenda.is_known:
                    await self._remember()
                self._known.set()
                while True:
                    await self._step()
        finally:
            self._ended, self.running = True, None
            self._known.set()
            self._resting.set()
            for asked in [*([self._current] if self._current else []), *self._asked]:
                asked.settle(_stopping())

    async def _step(self) -> None:
        entry, pause_s = self._next()
        if self._asked:
            self._current = self._asked.popleft()
            await self._run(self._current.entry, self._current)
            self._current = None
        elif pause_s > 0.0:
            await self._rest(pause_s)
        else:
            await self._run(entry, None)

    async def _remember(self) -> None:
        try:
            records = await self.store.read(read_jobs)
        except MnemonError:
            records = {}  # the runs due now report the failure of the store
        self.agenda.remember(records, self._means.clock.now_us(), trio.current_time())

    def _next(self) -> tuple[Entry, float]:
        """Return the next job, and the seconds until it may run or must be checked again."""
        now, entry = trio.current_time(), self.agenda.next()
        if entry.due > now:
            return entry, entry.due - now
        if now - entry.due >= PATIENCE_S:
            return entry, 0.0
        unused_s = now - self.agenda.used_at
        if unused_s < IDLE_S:
            self.agenda.skip(now, USED)
            return entry, IDLE_S - unused_s
        if not self.store.is_idle:
            self.agenda.skip(now, WRITING)
            return entry, IDLE_S
        return entry, 0.0

    async def _rest(self, seconds: float) -> None:
        self._woken = trio.Event()
        self._resting.set()
        with trio.move_on_after(seconds):
            await self._woken.wait()
        self._resting = trio.Event()

    async def _run(self, entry: Entry, asked: Asked | None) -> None:
        alone = self.store.shared is not None and not entry.job.of_each_daemon
        if alone and not (asked and asked.dry_run):
            if (why := await self._turn_refused(asked)) is not None:
                self._refused(entry, asked, why)
                return
            async with _holding(self.store):
                await self._run_now(entry, asked)
            if self.running is not None:  # it was cancelled
                self.running = None
                self._refused(entry, asked, rejected(BUSY, ELSEWHERE, "repeat in a moment"))
        else:
            await self._run_now(entry, asked)

    def _refused(self, entry: Entry, asked: Asked | None, why: MnemonError) -> None:
        entry.postpone(why.message, trio.current_time(), POSTPONED_S)
        if asked is not None:
            asked.settle(why)

    async def _turn_refused(self, asked: Asked | None) -> MnemonError | None:
        """Wait, for a requested run, until no other daemon runs jobs; return why that was in vain."""
        deadline = trio.current_time() + (0.0 if asked is None else TURN_WAIT_S)
        try:
            while not await self.store.hold_jobs():
                if trio.current_time() >= deadline:
                    return rejected(BUSY, ELSEWHERE, "repeat in a moment")
                await trio.sleep(TURN_POLL_S)
        except MnemonError as error:
            return error
        return None

    async def _run_now(self, entry: Entry, asked: Asked | None) -> None:
        self.running = entry.job.name
        entry.begun()
        work = self._work(entry, asked)
        result: Done | MnemonError = MnemonError(INTERNAL, f"a defect in mnemond ended the job {entry.job.name}")
        with self._means.guard():
            try:
                result = await entry.job.run(work)
            except MnemonError as error:
                result = error
        self.running = None
        if not work.dry_run:
            self._note(entry, work, result)
        if asked is not None:
            asked.settle(result)

    def _work(self, entry: Entry, asked: Asked | None) -> Work:
        identity = self._means.identity(self.store.name, f"system:{entry.job.name}")
        before_us = None if entry.record is None else entry.record.aged_us
        aged_us = aged(before_us, identity.now_us)
        return Work(
            name=entry.job.name,
            store=self.store,
            identity=identity,
            now_us=effective_now(aged_us, identity.now_us),
            aged_us=aged_us,
            begun=trio.current_time(),
            threads=self._means.threads,
            asked=asked is not None,
            sure=asked is not None and asked.sure,
            dry_run=asked is not None and asked.dry_run,
            used_at=lambda: self.agenda.used_at,
        )

    def _note(self, entry: Entry, work: Work, result: Done | MnemonError) -> None:
        now = trio.current_time()
        if isinstance(result, MnemonError):
            entry.failed(result.message, now)
        else:
            record = result.record(work.identity.now, work.aged_us, work.seconds())
            entry.finished(record, now, again=result.again)
        self._means.tell(self.store.name, entry.job.name, result)


@asynccontextmanager
async def _holding(store: Store) -> AsyncIterator[None]:
    """Keep other daemons from running jobs in a shared store until the end of the block. If they do nevertheless,
    because this one stood still for too long, the block is cancelled."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_hold, store, nursery.cancel_scope)
        try:
            yield
        finally:
            nursery.cancel_scope.cancel()
            with trio.move_on_after(LEAVE_S, shield=True), suppress(MnemonError):
                await store.leave_jobs()


async def _hold(store: Store, scope: trio.CancelScope) -> None:
    while True:
        await trio.sleep(JOBS_S / 3)
        with suppress(MnemonError):  # without a connection the job cannot write either
            if not await store.hold_jobs():
                scope.cancel()


def _stopping() -> MnemonError:
    return MnemonError(
        STOPPING, "the daemon is stopping; what the job changed already is stored", hint="it runs again by itself"
    )


class Scheduler:
    """Starts and stops the runners of all open stores, and opens closed ones for their jobs. For the event loop's
    thread; `run` owns the tasks."""

    def __init__(self, jobs: Sequence[Job], means: JobContext) -> None:
        self.jobs = tuple(jobs)
        self._means = means
        self._attendants: dict[str, StoreJobRunner] = {}
        self._closed: dict[str, JobSchedule] = {}
        self._open_at: dict[str, float] = {}
        """When a closed store is to be opened for its jobs, see `JobSchedule.open_at`."""
        self._closed_changed = trio.Event()
        self.open_store: Callable[[str], Awaitable[None]] | None = None
        """Opens a store of which jobs are due. Raises MnemonError."""
        self._nursery: trio.Nursery | None = None
        self._ended = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run jobs until cancelled or `end`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            for attendant in self._attendants.values():
                nursery.start_soon(attendant.attend)
            if self._ended:
                nursery.cancel_scope.cancel()
            await self._open_due()

    async def _open_due(self) -> None:
        """Open closed stores whose jobs are due, one at a time."""
        while True:
            self._closed_changed = trio.Event()
            name = min(self._open_at, key=self._open_at.__getitem__, default="")
            at = self._open_at.get(name, math.inf)
            if self.open_store is None or at > trio.current_time():
                with trio.move_on_at(at):
                    await self._closed_changed.wait()
                continue
            agenda = self._closed[name]
            try:
                await self.open_store(name)
            except MnemonError as error:
                for entry in agenda.entries:
                    if entry.due <= trio.current_time():
                        entry.postpone(error.message, trio.current_time(), OPEN_AGAIN_S)
                self._note_closed(name, agenda)
            if (runner := self._attendants.get(name)) is not None:
                await runner.until_resting()

    def end(self) -> None:
        """Stop all runners; waiting callers get STOPPING."""
        self._ended = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def attach(self, store: Store) -> None:
        """Start the runner of an opened store."""
        agenda = self._closed.get(store.name) or JobSchedule(self.jobs)
        self.forget(store.name)
        attendant = self._attendants[store.name] = StoreJobRunner(store, agenda, self._means)
        if self._nursery is not None and not self._ended:
            self._nursery.start_soon(attendant.attend)

    def is_busy(self, name: str) -> bool:
        """Return True while the runner of a store must not be stopped."""
        attendant = self._attendants.get(name)
        return attendant is not None and attendant.is_busy

    def detach(self, name: str) -> None:
        """Stop the runner of a store that is being closed. Its jobs stay due, unless `forget` is called next."""
        attendant = self._attendants.pop(name, None)
        if attendant is not None:
            attendant.leave()
            if attendant.agenda.is_known:
                attendant.agenda.closed_until = trio.current_time() + CLOSED_S
                self._note_closed(name, attendant.agenda)

    def _note_closed(self, name: str, agenda: JobSchedule) -> None:
        before = min(self._open_at.values(), default=math.inf)
        self._closed[name], self._open_at[name] = agenda, agenda.open_at()
        if self._open_at[name] < before:
            self._closed_changed.set()

    def forget(self, name: str) -> None:
        """Forget when jobs of a closed store are due: it is opened, removed, or replaced by another."""
        self._closed.pop(name, None)
        self._open_at.pop(name, None)

    def _agenda(self, name: str) -> JobSchedule | None:
        attendant = self._attendants.get(name)
        return self._closed.get(name) if attendant is None else attendant.agenda

    def used(self, name: str) -> None:
        """Note a request to a store, which may not be open yet."""
        if (agenda := self._agenda(name)) is not None:
            agenda.used_at = trio.current_time()

    def hurry(self, store: str, job: str) -> None:
        """Make a job of a store due as soon as it is unused. A closed one is opened for it."""
        if (agenda := self._agenda(store)) is not None:
            agenda.used_at = trio.current_time()
            agenda.by_name[job].hurry(agenda.used_at)
            if store in self._attendants:
                self._attendants[store].wake()
            else:
                self._note_closed(store, agenda)

    def of(self, name: str) -> StoreJobRunner:
        """Return the runner of an open store. Raises MnemonError(STOPPING) if none runs."""
        attendant = self._attendants.get(name)
        if self._nursery is None or self._ended or attendant is None:
            raise MnemonError(STOPPING, "no jobs are run: the daemon starts or stops", hint="repeat in a moment")
        return attendant

    def questions(self, name: str) -> list[str]:
        """Return the questions of a store's jobs, each with the job's name."""
        agenda = self._agenda(name)
        entries = () if agenda is None else agenda.entries
        return [f"{entry.job.name}: {entry.question}" for entry in entries if entry.question is not None]
