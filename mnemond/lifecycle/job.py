"""What a job is, what it is given for one run, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import msgspec
import trio

from mnemond.model.job_record import JobRecord, RunOutcome
from mnemond.pipelines.identity import Identity
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.job_records import fact
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
    identity: Identity
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
        return (fact(self.name, record),)

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
