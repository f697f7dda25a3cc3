"""What a job is, what it is given for one run, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar, cast

import msgspec
import trio

from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import WriteContext
from mnemond.model.changes import Change, ChangeSet, JobRecord, RetireInsight, RunOutcome, SetImportance
from mnemond.model.outcomes import Maintained
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.meta import job_fact
from mnemond.store.operations import View
from mnemond.store.store import Store

T = TypeVar("T")

METHOD: Final = "jobs"
"""What operations of jobs are called where others have the name of their method."""

HOUR_S: Final = 3_600.0
DAY_S: Final = 24 * HOUR_S


RESTS: Final = 3.0
"""For so many times as long as a write took, a job leaves a store alone that somebody used meanwhile; a quarter of the
writer's time is its own then. Beside 500 requests a second, which take most of what one interpreter can do, a prune
without rests took the rest and more: recalls queued up for a second and longer."""


def _never() -> float:
    return -math.inf


class Done(msgspec.Struct, frozen=True):
    """What a run came to; the fields are those of `JobRecord`. Of a dry run, what it would have come to. `again`: it
    left something, and is due again at once."""

    outcome: RunOutcome
    changed: int = 0
    detail: str = ""
    op_id: str | None = None
    again: bool = False


class Work(msgspec.Struct, frozen=True):
    """One run of the job `name` on a store.

    All its transactions are parts of one operation, `identity`, so that it is taken back as a whole. `now_us` is what
    counts as now for the age of memories, `aged_us` what is kept of it (`model.ageing`). `sure`: it may change more
    than it would dare by itself. `dry_run`: nothing may be written. `begun`: by trio's clock. `threads`: where to
    think for longer than the event loop can wait. `used_at`: when somebody asked something of the store last, by trio's
    clock.
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
        """Since the run began. For the event loop's thread."""
        return trio.current_time() - self.begun

    async def make_room(self, since: float) -> None:
        """Between two writes, of which the first began at `since`: rest, if anybody else wants something meanwhile."""
        if self.used_at() >= since:
            await trio.sleep(RESTS * (trio.current_time() - since))

    def done(self, changed: int, detail: str = "", *, undoable: bool = False) -> Done:
        """It went through, and changed so much."""
        op_id = self.identity.op_id if undoable and changed and not self.dry_run else None
        return Done("done" if changed else "nothing", changed, detail, op_id)

    def facts(self, done: Done, seconds: float) -> tuple[tuple[str, str], ...]:
        """What the transaction of the last change writes down beside it."""
        record = JobRecord(
            self.identity.now, self.aged_us, done.outcome, done.changed, done.detail, round(seconds, 3), done.op_id
        )
        return (job_fact(self.name, record),)

    async def think(self, function: Callable[..., T], *arguments: object) -> T:
        """What a function of values returns, worked out beside the event loop."""
        return await trio.to_thread.run_sync(function, *arguments, limiter=self.threads)

    async def note(self, done: Done) -> Done:
        """Write down how a run ended whose last change, if it made any, was written before. Raises MnemonError."""
        if not self.dry_run:
            facts = self.facts(done, self.seconds())
            await self.store.rewrite(lambda connection: meta.note(connection, facts))
        return done

    async def in_parts(self, change: Callable[[Connection], tuple[int, bool]], undertaken: str = "") -> Done:
        """Call `change`, each time in a transaction of its own, until it says (how many it changed, False): there is
        no more. The last of these transactions notes the run. Raises MnemonError."""
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


class Job(Protocol):
    """Something to be done to a store every so often. Running it twice does what running it once does."""

    @property
    def name(self) -> str:
        """What it is called, by people too."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def interval_s(self) -> float:
        """Seconds from one run to the next."""
        ...

    @property
    def first_s(self) -> float:
        """Seconds that a store is open before the first run of all, at most an interval."""
        ...

    async def run(self, work: Work) -> Done:
        """Do it, as transactions so short that no other write waits long; cancelled at any moment it leaves whole ones.

        Raises MnemonError.
        """
        ...


# Many memories changed as many small writes, with everybody else's writes between them.


Choose = Callable[[Snapshot, Sequence[str]], Sequence[Change]]
"""What becomes of some memories, by the store as it is when their turn comes."""


class Line(msgspec.Struct, frozen=True):
    """What the log says of a run: `operation`, once a slice, or (`once`) with the last alone."""

    operation: str
    once: bool = False


class _Slice(msgspec.Struct, frozen=True):
    ids: Sequence[str]
    last: bool
    before: int
    seconds: float


async def in_slices(work: Work, ids: Sequence[str], size: int, choose: Choose, line: Line) -> Done:
    """Change memories, at most `size` a write, one write after another; the last one notes the run.

    Raises MnemonError; what was written before is whole and stays.
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
    told = total if line.once else many
    change_set = work.identity.change_set(
        METHOD,
        tuple(changes),
        Maintained(changed=many, op_id=work.identity.op_id),
        operation=line.operation if part.last or not line.once else "",
        detail=f"{work.identity.triggered_by} memories={told}",
    )
    if not part.last:
        return change_set
    done = work.done(total, undoable=not line.once)
    return msgspec.structs.replace(change_set, facts=work.facts(done, part.seconds))
