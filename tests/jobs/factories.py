"""A store on disk that is looked after, with both clocks moved by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.api.requests import Identities
from mnemond.config.settings import Config
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.jobs.job import Done, Job
from mnemond.jobs.scheduler import IDLE_S, JobContext, Scheduler, StoreJobRunner
from mnemond.memory import undo
from mnemond.memory.undo import Vectors
from mnemond.memory.write import write_rules
from mnemond.model.changes import AddEdge, AddInsight, Change, ChangeSet, CountUse, JobRecord
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.model.outcomes import Maintained
from mnemond.store.meta import read_jobs
from mnemond.store.store import Store, open_store
from tests.store.factories import EMBEDDER, insight_id, vector_of
from tests.store.mirror import Portrait, of_file, portrait

HOUR_S = 3_600.0
DAY_S = 24 * HOUR_S
DAY_US = 86_400_000_000
NOW_US = 1_770_000_000_000_000
FILE = "mnemon.db"


class HandClock:
    """The machine's clock, which may jump."""

    def __init__(self) -> None:
        self.us = NOW_US

    def now_us(self) -> int:
        return self.us


class CountingIds:
    def __init__(self) -> None:
        self.made = 0

    def new(self) -> str:
        self.made += 1
        return f"aaaaaaaa-0000-4000-8000-{self.made:012x}"


class Keeping:
    """`pass_time` moves both clocks; the machine's alone jumps with `clock.us`."""

    def __init__(self, path: Path, jobs: Sequence[Job], mock: MockClock, clock: HandClock | None = None) -> None:
        self.path = path / FILE
        self.mock = mock
        self.clock = clock or HandClock()
        self.told: list[tuple[str, Done | MnemonError]] = []
        self.defects: list[BaseException] = []
        self.store: Store = open_store(
            "default", self.path, choose_embedder=lambda: EMBEDDER, now_us=self.clock.now_us,
            loop=trio.lowlevel.current_trio_token(), on_defect=lambda _, error: self.defects.append(error),
        )  # fmt: skip
        self.store.start()
        self._identities = Identities(self.clock, CountingIds())
        means = JobContext(self.clock, self._identities.own, self._guard, self._tell, trio.CapacityLimiter(1))
        self.scheduler = Scheduler(jobs, means)
        self._writes = 0

    def _tell(self, store: str, job: str, result: Done | MnemonError) -> None:
        assert store == "default"
        self.told.append((job, result))

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.defects.append(error)

    @property
    def attendant(self) -> StoreJobRunner:
        return self.scheduler.of("default")

    @property
    def snapshot(self) -> Snapshot:
        return self.store.snapshot

    async def settled(self) -> None:
        """Everything that was due is done."""
        await wait_all_tasks_blocked()
        await self.attendant.until_resting()

    async def pass_time(self, seconds: float) -> None:
        """Time passes, as both clocks tell it."""
        self.clock.us += int(seconds * 1e6)
        self.mock.jump(seconds)
        await self.settled()

    async def change(self, *changes: Change) -> None:
        """One write, at the time of the machine's clock."""
        self._writes += 1
        name = f"write-{self._writes}-{self.clock.us}"
        await self.store.write(
            ChangeSet(name, False, "test", format_us(self.clock.us), changes, Maintained(op_id=name))
        )

    async def remember(self, *numbers: int, days_ago: float = 0.0, **fields: object) -> None:
        """Memories of one age, so many days ago."""
        made = format_us(self.clock.us - int(days_ago * DAY_US))
        plain = [Insight(insight_id(number), made, made, content=f"memory number {number}") for number in numbers]
        await self.change(*(AddInsight(msgspec.structs.replace(it, **fields), vector_of(1)) for it in plain))

    async def link(self, one: int, other: int, weight: float = 0.5) -> None:
        ends = ((insight_id(one), insight_id(other)), (insight_id(other), insight_id(one)))
        await self.change(*(AddEdge(Edge(source, target, "entity", weight)) for source, target in ends))

    async def use(self, *numbers: int) -> None:
        now = format_us(self.clock.us)
        await self.change(*(CountUse(insight_id(number), 1, now) for number in numbers))

    async def take_back(self, op_id: str) -> None:
        """Undo an operation."""
        found = await self.store.read(lambda it: undo.look(it, op_id))
        identity = self._identities.own("default", "user")
        await self.store.write(undo.propose(found, Vectors({}), identity, write_rules(None, Config())))

    def live(self) -> set[int]:
        """Numbers of the live memories."""
        rows = self.snapshot.alive().nonzero()[0].tolist()
        return {int(self.snapshot.insight(row).id[:8], 16) for row in rows}

    def insight(self, number: int) -> Insight:
        row = self.snapshot.row_of(insight_id(number))
        assert row is not None
        return self.snapshot.insight(row)

    async def records(self) -> dict[str, JobRecord]:
        return await self.store.read(read_jobs)

    async def lines(self) -> list[tuple[str, str | None, str]]:
        sql = "SELECT operation, insight_id, detail FROM oplog ORDER BY id"
        return await self.store.read(lambda it: [tuple(row) for row in it.rows(sql)])

    async def history(self) -> list[tuple[str, str, str]]:
        """What jobs did: the kind of change, to which memory, caused by what."""
        sql = (
            "SELECT operation_type, memory_id, triggered_by FROM memory_operations"
            " WHERE triggered_by LIKE 'system:%' ORDER BY id"
        )
        return await self.store.read(lambda it: [tuple(row) for row in it.rows(sql)])

    async def mirrored(self) -> Portrait:
        """What readers see, after it was found to be what the file says."""
        await self.store.read(lambda _: None)
        seen = portrait(self.snapshot)
        assert seen == of_file(self.path)
        return seen


@asynccontextmanager
async def kept(path: Path, mock: MockClock, *jobs: Job, clock: HandClock | None = None) -> AsyncIterator[Keeping]:
    """A store that is looked after; what is due first was done when this is entered."""
    over = Keeping(path, jobs, mock, clock)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(over.scheduler.run)
            over.scheduler.attach(over.store)
            await over.settled()
            mock.jump(IDLE_S)
            await over.settled()
            yield over
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await over.store.close()
    assert over.defects == []


__all__ = ["DAY_S", "DAY_US", "HOUR_S", "IDLE_S", "NOW_US", "HandClock", "Keeping", "kept"]
