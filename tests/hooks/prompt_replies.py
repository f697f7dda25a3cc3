"""An office in which things are said, to be read for facts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from trio.testing import MockClock

from mnemond.api.store_access import OpenStore
from mnemond.api.types_jobs import JobsRunResult
from mnemond.extract.facts import Engine
from mnemond.hooks.memory import ExchangeQueue
from mnemond.jobs.extract import Extract
from mnemond.model.changes import QueuedExchange
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Queued
from mnemond.store import exchanges
from mnemond.store.connection import Connection
from mnemond.store.exchanges import Backlog, PendingExchange
from tests.api.test_jobs import Office, office

ANA = "My name is Ana. I work at Acme. I prefer tabs over spaces."
DAY_US = 86_400_000_000


class Said:
    """An office in which things are said."""

    def __init__(self, at: Office, clock: MockClock) -> None:
        self.at, self.clock = at, clock
        hurry = at.scheduler.hurry
        self.queue = ExchangeQueue(at.over.identities, lambda name: hurry(name, "extract"))
        self.said = 0

    def read_by(self, engine: Engine) -> None:
        """Let the job read with this engine."""
        self.job._means = msgspec.structs.replace(self.job._means, engine=lambda _: engine)

    @property
    def job(self) -> Extract:
        return next(job for job in self.at.scheduler.jobs if isinstance(job, Extract))

    async def warm(self) -> OpenStore:
        return await self.at.open_stores.open("default")

    async def say(self, prompt: str, reply: str = "", **fields: Any) -> Queued:
        self.said += 1
        named = {"host": "codex", "conversation_id": "c1", "project": "api", "at_us": self.at.over.clock.us,
                 "key": str(self.said), "prompt": prompt, "reply": reply, **fields}  # fmt: skip
        return await self.queue.keep(await self.warm(), QueuedExchange(**named))

    async def run(self, **fields: bool) -> JobsRunResult:
        return await self.at.run("extract", **fields)

    async def pass_time(self, seconds: float) -> None:
        await self.at.settled()
        self.at.over.clock.us += int(seconds * 1e6)
        self.clock.jump(seconds)
        await self.at.settled()

    async def memories(self) -> list[Insight]:
        snapshot = (await self.warm()).store.snapshot
        return [snapshot.insight(row) for row in snapshot.alive().nonzero()[0].tolist()]

    async def contents(self) -> list[str]:
        return sorted(it.content for it in await self.memories())

    async def backlog(self) -> Backlog:
        return await (await self.warm()).store.read(exchanges.backlog)

    async def waiting(self) -> list[PendingExchange]:
        return await (await self.warm()).store.read(lambda it: exchanges.oldest(it, 1_000))

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        def read(it: Connection) -> list[tuple[Any, ...]]:
            return it.rows(sql)

        return await (await self.warm()).store.read(read)


@asynccontextmanager
async def session(path: Path, clock: MockClock) -> AsyncIterator[Said]:
    async with office(path) as at:
        said = Said(at, clock)
        await said.warm()
        yield said


ANAS = ["[Ana] I prefer tabs over spaces.", "[Ana] I work at Acme.", "[Ana] My name is Ana."]
