"""The job protocol, the input and the result of a run, and changes in slices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Final, TypeVar, cast

import msgspec
import trio

from mnemond.index.snapshot import Snapshot
from mnemond.memory.write import WriteContext
from mnemond.model.changes import Change, ChangeSet, JobRecord, RetireInsight, RunResult, SetImportance
from mnemond.model.outcomes import Maintained
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.meta import job_fact
from mnemond.store.operations import View
from mnemond.store.store import Store

T = TypeVar("T")

METHOD: Final = "jobs"
"""Method name of the operations of jobs."""

HOUR_S: Final = 3_600.0
DAY_S: Final = 24 * HOUR_S

RESTS: Final = 3.0
"""Pause after a write, as a multiple of its duration, if the store was used meanwhile; a job then takes a quarter of
the writer's time. Beside 500 requests a second, which take most of what one interpreter can do, a prune without rests
took the rest and more: recalls queued up for a second and longer."""


STEPS: Final = 4
"""Steps of a computation in one stay in the thread, some 50 ms: other work of the thread waits no longer."""

Think = Callable[..., Awaitable[Any]]
"""Call a function with arguments in a thread."""


async def in_steps(steps: Generator[None, None, T], think: Think) -> T:
    """Return the value of a computation, a few steps at a time in a thread."""
    ended: list[T] = []
    while not ended:
        await think(_take_steps, steps, ended)
    return ended[0]


def _take_steps(steps: Generator[None, None, T], ended: list[T]) -> None:
    """Take a few steps, and note the value at the end: a StopIteration cannot leave a coroutine."""
    try:
        for _ in range(STEPS):
            next(steps)
    except StopIteration as stopped:
        ended.append(stopped.value)


def _never() -> float:
    return -math.inf


class Done(RunResult, frozen=True):
    """The result of a run, or the expected one of a dry run. `again`: work is left, so the job is due again at once."""

    again: bool = False

    def record(self, ran_at: str, aged_us: int, seconds: float) -> JobRecord:
        """Return what is stored of it."""
        return JobRecord(
            outcome=self.outcome,
            changed=self.changed,
            detail=self.detail,
            op_id=self.op_id,
            ran_at=ran_at,
            aged_us=aged_us,
            seconds=round(seconds, 3),
        )


class Work(msgspec.Struct, frozen=True):
    """One run of the job `name` on a store.

    All its transactions are parts of one operation, `identity`, so that it is undone as a whole. `now_us` is the
    effective time for the age of memories, `aged_us` the accumulated one to record (see `effective_now`). `asked`: run
    on request. `sure`: changes beyond the safety limits are confirmed. `dry_run`: nothing may be written. `begun`: by
    trio's clock. `threads`: for computations too long for the event loop. `used_at`: returns the time of the last
    request to the store, by trio's clock.
    """

    name: str
    store: Store
    identity: WriteContext
    now_us: int
    aged_us: int
    begun: float
    threads: trio.CapacityLimiter
    asked: bool = False
    sure: bool = False
    dry_run: bool = False
    used_at: Callable[[], float] = _never

    def seconds(self) -> float:
        """Return the seconds since the run began. For the event loop's thread."""
        return trio.current_time() - self.begun

    async def make_room(self, since: float) -> None:
        """Pause between two writes, the first begun at `since`, if the store was used meanwhile."""
        if self.used_at() >= since:
            await trio.sleep(RESTS * (trio.current_time() - since))

    def done(self, changed: int, detail: str = "", *, undoable: bool = False) -> Done:
        """Return the result of a successful run."""
        op_id = self.identity.op_id if undoable and changed and not self.dry_run else None
        return Done("done" if changed else "nothing", changed, detail, op_id)

    def facts(self, done: Done, seconds: float) -> tuple[tuple[str, str], ...]:
        """Return the record of the run, to be written in the transaction of its last change."""
        return (job_fact(self.name, done.record(self.identity.now, self.aged_us, seconds)),)

    async def think(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function of values in a thread."""
        return await trio.to_thread.run_sync(function, *arguments, limiter=self.threads)

    async def in_steps(self, steps: Generator[None, None, T]) -> T:
        """Return the value of a computation, a few steps at a time in a thread."""
        return await in_steps(steps, self.think)

    async def note(self, done: Done) -> Done:
        """Record a run whose last change, if any, was written before. Raises MnemonError."""
        if not self.dry_run:
            facts = self.facts(done, self.seconds())
            await self.store.rewrite(lambda connection: meta.note(connection, facts))
        return done

    async def in_parts(self, change: Callable[[Connection], tuple[int, bool]], undertaken: str = "") -> Done:
        """Call `change`, each time in a transaction of its own, until it returns (number changed, False). The last
        transaction records the run. Raises MnemonError."""
        changed, more = 0, True
        while more:
            seconds, before, since = self.seconds(), changed, trio.current_time()

            def part(connection: Connection, seconds: float = seconds, before: int = before) -> tuple[int, bool]:
                many, left = change(connection)
                if not left:
                    meta.note(connection, self.facts(self.done(before + many, undertaken), seconds))
                return many, left

            many, more = await self.store.rewrite(part)
            changed += many
            if more:
                await self.make_room(since)
        return self.done(changed, undertaken)


class Job(ABC):
    """Periodic maintenance of a store. Idempotent."""

    name: str
    summary: str
    """A line for users."""
    interval_s: float
    """Seconds from one run to the next."""
    first_s: float = 0.0
    """Seconds from the opening of a store to the very first run, at most an interval."""
    of_each_daemon: bool = False
    """True if several daemons of a shared store may run it at once, because it changes what each has for itself. Two
    daemons would find the same work for any other job, and do it twice."""

    @abstractmethod
    async def run(self, work: Work) -> Done:
        """Run in transactions so short that no other write waits long. May be cancelled at any moment.

        Raises MnemonError.
        """


# Changes of many memories in small writes, between which other writes run.


Choose = Callable[[Snapshot, Sequence[str]], Sequence[Change]]
"""Return the changes of some memories against the current snapshot."""


class Line(msgspec.Struct, frozen=True):
    """The log line of a run: `operation`, once a slice, or (`once`) only with the last slice."""

    operation: str
    once: bool = False


class _Slice(msgspec.Struct, frozen=True):
    ids: Sequence[str]
    last: bool
    before: int
    seconds: float


async def in_slices(work: Work, ids: Sequence[str], size: int, choose: Choose, line: Line) -> Done:
    """Change memories, at most `size` a write, one write after another; the last one records the run.

    Raises MnemonError; earlier writes stay.
    """
    changed = 0
    undoable = not line.once
    for start in range(0, max(1, len(ids)), size):
        part = _Slice(ids[start : start + size], start + size >= len(ids), changed, work.seconds())

        def decide(view: View, part: _Slice = part) -> ChangeSet:
            return _decided(work, part, choose(view.snapshot, part.ids), line)

        since = trio.current_time()
        outcome = cast("Maintained", await work.store.write(work.identity.proposal(METHOD, decide)))
        changed += outcome.changed
        if not part.last:
            await work.make_room(since)
    return work.done(changed, undoable=undoable)


def _decided(work: Work, part: _Slice, changes: Sequence[Change], line: Line) -> ChangeSet:
    many = sum(isinstance(change, RetireInsight | SetImportance) for change in changes)
    total = part.before + many
    change_set = work.identity.change_set(
        METHOD,
        tuple(changes),
        Maintained(changed=many, op_id=work.identity.op_id),
        operation=line.operation if part.last or not line.once else "",
        detail=f"{work.identity.triggered_by} memories={total if line.once else many}",
    )
    if not part.last:
        return change_set
    done = work.done(total, undoable=not line.once)
    return msgspec.structs.replace(change_set, facts=work.facts(done, part.seconds))
