"""The one task that runs the jobs of one store, one at a time, while nobody uses it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

import msgspec
import trio

from mnemond.clock import Clock
from mnemond.errors import BUSY, INTERNAL, STOPPING, MnemonError
from mnemond.lifecycle.agenda import Agenda, Entry, record_of
from mnemond.lifecycle.job import Done, Job, Work
from mnemond.model.ageing import aged, effective_now
from mnemond.pipelines.identity import Identity
from mnemond.store.job_records import read_all
from mnemond.store.store import Store

IDLE_S: Final = 2.0
"""Seconds without a request from which a store counts as unused (spec 13)."""

PATIENCE_S: Final = 600.0
"""Seconds after which a job that is due runs although the store is used: it never takes the writer for long, and a
store that somebody looks at every second would otherwise never be put in order."""

MOST_ASKED: Final = 16
"""Runs that wait to be carried out because somebody asked for them."""

USED: Final = "the store is in use; it runs when nobody asked anything for 2 s, or after 10 minutes"
WRITING: Final = "the store is being written; it runs when nothing waits to be written, or after 10 minutes"

Guard = Callable[[], AbstractContextManager[object]]
"""Where a defect ends, so that it ends nothing else."""


class Means(msgspec.Struct, frozen=True):
    """What every attendant works with.

    `identity` names an operation of the daemon's own: of which store, caused by what. `tell` hears of each run: the
    store's name, the job's, and what it came to.
    """

    clock: Clock
    identity: Callable[[str, str], Identity]
    guard: Guard
    tell: Callable[[str, str, Done | MnemonError], None]
    threads: trio.CapacityLimiter


def one_thread() -> trio.CapacityLimiter:
    """Where the jobs of all stores think: more of them at once would only fight the event loop for the interpreter."""
    return trio.CapacityLimiter(1)


class Asked:
    """A run that somebody asked for, and what it came to."""

    def __init__(self, entry: Entry, *, dry_run: bool, sure: bool) -> None:
        self.entry, self.dry_run, self.sure = entry, dry_run, sure
        self.finished = trio.Event()
        self.result: Done | MnemonError | None = None

    def settle(self, result: Done | MnemonError) -> None:
        """Tell whoever waits."""
        self.result = result
        self.finished.set()


class Attendant:
    """For the event loop's thread. `attend` is the task; all else returns at once or waits for it."""

    def __init__(self, store: Store, jobs: Sequence[Job], means: Means) -> None:
        self.store = store
        self.agenda = Agenda(jobs)
        self.running: str | None = None
        self._means = means
        self._asked: deque[Asked] = deque()
        self._current: Asked | None = None
        self._used_at = trio.current_time()  # whoever opened it asks something of it
        self._known = trio.Event()
        self._woken = trio.Event()
        self._resting = trio.Event()
        self._ended = False
        self._scope = trio.CancelScope()

    # ------------------------------------------------------------ what others do

    def used(self) -> None:
        """Somebody asked something of the store."""
        self._used_at = trio.current_time()

    def hurry(self, name: str) -> None:
        """Somebody gave this job something to do: it runs as soon as the store is unused."""
        self.used()
        self.agenda.by_name[name].hurry(trio.current_time())
        self._woken.set()

    def leave(self) -> None:
        """The store is being closed: begin nothing any more, and leave what was begun."""
        self._ended = True
        self._scope.cancel()

    async def run(self, name: str, *, dry_run: bool = False, sure: bool = False) -> Done:
        """Run a job of `agenda.by_name` as soon as the one before is done, in use or not; what it came to.

        It is carried out even when the caller is cancelled meanwhile. Raises MnemonError: what kept it from it, BUSY
        when too many wait, STOPPING when the daemon stops.
        """
        if self._ended:
            raise _stopping()
        if len(self._asked) >= MOST_ASKED:
            raise MnemonError(BUSY, f"{MOST_ASKED} jobs are waiting already", hint="repeat in a moment")
        asked = Asked(self.agenda.by_name[name], dry_run=dry_run, sure=sure)
        self._asked.append(asked)
        self._woken.set()
        await asked.finished.wait()
        if isinstance(asked.result, Done):
            return asked.result
        raise asked.result or _stopping()

    async def until_known(self) -> None:
        """Wait until it knows how jobs ran before the store was opened."""
        await self._known.wait()

    async def until_resting(self) -> None:
        """Wait until it waits itself: for a time, or for the store to be unused."""
        await self._resting.wait()

    # ------------------------------------------------------------ the task

    async def attend(self) -> None:
        """Run jobs until cancelled, or `leave`."""
        try:
            with self._scope:
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
            records = await self.store.read(read_all)
        except MnemonError:
            records = {}  # whatever is wrong with the store is said by the runs that are due now
        self.agenda.remember(records, self._means.clock.now_us(), trio.current_time())

    def _next(self) -> tuple[Entry, float]:
        """The job whose turn is next, and the seconds until something has to be looked at again."""
        now, entry = trio.current_time(), self.agenda.next()
        if entry.due > now:
            return entry, entry.due - now
        if now - entry.due >= PATIENCE_S:
            return entry, 0.0
        unused_s = now - self._used_at
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
            used_at=lambda: self._used_at,
        )

    def _note(self, entry: Entry, work: Work, result: Done | MnemonError) -> None:
        now = trio.current_time()
        if isinstance(result, MnemonError):
            entry.failed(result.message, now)
        else:
            record = record_of(result, work.identity.now, work.aged_us, work.seconds())
            entry.finished(record, now, again=result.again)
        self._means.tell(self.store.name, entry.job.name, result)


def _stopping() -> MnemonError:
    return MnemonError(
        STOPPING, "the daemon is stopping; what the job changed already is stored", hint="it runs again by itself"
    )
