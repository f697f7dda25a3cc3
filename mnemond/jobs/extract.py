"""extract: what was said in agents' sessions is read for facts, and each fact is remembered.

An exchange goes through small transactions: begun (its tries are counted before anything can go wrong), planned (its
facts take the place of what it said), then one for each fact, which remembers it and takes it out of the queue at once.
A process that ends anywhere between leaves a row that says what is left, so nothing is lost and nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, cast

import msgspec
import trio

from mnemond.embed.embedder import Embedder
from mnemond.errors import BUSY, STOPPING, STORAGE, MnemonError
from mnemond.extract.facts import Engine, Fact
from mnemond.extract.rules import RuleEngine
from mnemond.jobs.job import Done, Work
from mnemond.memory.draft import WriteContext, WriteRules
from mnemond.memory.exchanges import decoded, encoded, facts_of, propose_exchange_reading, write_of
from mnemond.memory.extraction import FactWrite, embedded
from mnemond.model.changes import SettleFact
from mnemond.model.outcomes import RememberResult
from mnemond.store import exchanges
from mnemond.store.exchanges import PendingExchange

NAME: Final = "extract"

HOST: Final = "host:"
"""Before the name of the host that causes a write (spec 15)."""

PORTION: Final = 16
"""Exchanges of one run, half a second of work; then it is looked whether somebody uses the store."""

DEFECT: Final = "a defect in mnemond ended its reading; the daemon's log says more"

_NOT_ITS_FAULT: Final = (BUSY, STOPPING, STORAGE)
"""What keeps any write from being written: no matter of one exchange."""


class ExtractionContext(msgspec.Struct, frozen=True):
    """What the facts of a store are read and written with, as it is now.

    `lacking` says why there is no `embedder`; `threads` are those in which it embeds; `missing` is called when a memory
    was stored without a vector.
    """

    rules: WriteRules
    embedder: Embedder | None
    lacking: str | None
    threads: trio.CapacityLimiter
    missing: Callable[[], None]


class ExtractDeps(msgspec.Struct, frozen=True):
    """What the job works with: the desk of a store, by its name; names for its writes; and where a defect ends, so that
    it ends the reading of one exchange and no other."""

    desk: Callable[[str], Awaitable[ExtractionContext]]
    identity: Callable[[str, str], WriteContext]
    guard: Callable[[], AbstractContextManager[object]]


class Extract:
    """Soon after something was said, while the store is unused, and every `lifecycle.extract_interval`: what failed is
    tried again then. How it ran is not kept over a restart, so that what an earlier daemon left is read as soon as the
    store is open."""

    name = NAME
    summary = "what was said in agents' sessions is read for facts, and these are remembered"
    first_s = 0.0

    def __init__(self, interval_s: float, means: ExtractDeps, engine: Engine | None = None) -> None:
        """`engine` reads; without one the rules do. It is called in a thread, and may take its time."""
        self.interval_s = interval_s
        self._means = means
        self._engine = engine or RuleEngine()

    async def run(self, work: Work) -> Done:
        """Read what waits, the oldest first; asked for, all of it, and, `sure`, what was set aside as well."""
        desk = await self._means.desk(work.store.name)
        if not desk.rules.config.extraction.enabled:
            return Done("nothing", detail="extraction.enabled is false")
        if work.dry_run:
            backlog = await work.store.read(exchanges.backlog)
            return work.done(backlog.pending + backlog.failed * work.sure, "exchanges would be read")
        if work.sure:
            await work.store.rewrite(exchanges.revive)
        read = remembered = 0
        found = await _portion(work, 0)
        while found:
            for waiting in found:
                remembered += await self._one(work, desk, waiting)
            read += len(found)
            found = await _portion(work, found[-1].number)
            if found and not work.asked:
                return msgspec.structs.replace(work.done(remembered, _told(read)), again=True)
        await _expire(work)
        return work.done(remembered, _told(read))

    async def _one(self, work: Work, desk: ExtractionContext, waiting: PendingExchange) -> int:
        """Go as far with one exchange as it goes; how many memories it became. Raises MnemonError where nothing can be
        written at all."""
        if not await work.store.rewrite(lambda it: exchanges.begin(it, waiting.number)):
            return 0
        planned = waiting if waiting.facts is not None else await self._planned(work, desk, waiting)
        if planned is None:
            return 0
        made: list[list[FactWrite]] = []
        with self._means.guard():
            made.append(await _ready(work, desk, planned))
        if not made:
            await _fail(work, waiting, DEFECT)
            return 0
        return await self._written(work, desk, planned, made[0])

    async def _planned(self, work: Work, desk: ExtractionContext, waiting: PendingExchange) -> PendingExchange | None:
        """It with its facts; None where there are none, or where they could not be found."""
        found: list[list[Fact]] = []
        with self._means.guard():
            found.append(await work.think(facts_of, waiting, work.store.snapshot, desk.rules.config, self._engine))
        if not found:
            await _fail(work, waiting, DEFECT)
        elif not found[0]:
            await work.store.rewrite(lambda it: exchanges.finish(it, waiting.number))
        else:
            text = encoded(found[0])
            if await work.store.rewrite(lambda it: exchanges.plan(it, waiting, text)):
                return waiting._replace(facts=text)
        return None

    async def _written(
        self, work: Work, desk: ExtractionContext, planned: PendingExchange, ready: Sequence[FactWrite]
    ) -> int:
        """Write one fact after another. One that is refused takes no other with it: it stays in the row."""
        remembered, refused, why, row = 0, list[Fact](), "", planned
        for at, write in enumerate(ready):
            left = [*(each.fact for each in ready[at + 1 :]), *refused]
            settled = SettleFact(row.number, row.facts or "", encoded(left) if left else None)
            try:
                outcome = await self._submitted(work, desk, row, write, settled)
            except MnemonError as error:
                if error.kind in _NOT_ITS_FAULT or error.outcome == "unknown":
                    raise
                refused, why = [*refused, write.fact], error.message
                continue
            row = row._replace(facts=settled.left, written=row.written + 1)
            remembered += outcome.action in ("added", "replaced", "merged")
        if refused:
            await _fail(work, planned, why)
        elif not ready:  # a purge took all of it
            await work.store.rewrite(lambda it: exchanges.finish(it, planned.number))
        return remembered

    async def _submitted(
        self, work: Work, desk: ExtractionContext, row: PendingExchange, write: FactWrite, settled: SettleFact
    ) -> RememberResult:
        """One fact, as an operation named after the exchange and its number in it, caused by the host."""
        own = self._means.identity(work.store.name, f"{HOST}{row.exchange.host}")
        identity = msgspec.structs.replace(own, op_id=f"{row.id}/{row.written + 1}")
        made_by = None if desk.embedder is None else desk.embedder.fingerprint
        proposal = propose_exchange_reading(write, row, settled, identity, desk.rules, made_by)
        outcome = cast("RememberResult", await work.store.write(proposal))
        if not outcome.embedded and outcome.action in ("added", "replaced"):
            desk.missing()
        return outcome


async def _portion(work: Work, after: int) -> list[PendingExchange]:
    """The oldest that wait behind a number: those whose time has come, or, where somebody asked for the run, all."""
    now_us = None if work.asked else work.identity.now_us
    return await work.store.read(lambda it: exchanges.oldest(it, PORTION, after, now_us))


async def _ready(work: Work, desk: ExtractionContext, planned: PendingExchange) -> list[FactWrite]:
    """The facts of a plan, read and embedded."""
    snapshot, facts = work.store.snapshot, decoded(planned.facts or "[]")

    def read() -> list[FactWrite]:
        writes = [write_of(each, planned, snapshot, desk.rules.config) for each in facts]
        return embedded(desk.embedder, writes, desk.lacking)

    return await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=desk.threads)


async def _fail(work: Work, waiting: PendingExchange, why: str) -> None:
    await work.store.rewrite(lambda it: exchanges.fail(it, waiting.number, why, work.identity.now_us))


async def _expire(work: Work) -> None:
    """Let go of what is too old, where there is any: a run that finds nothing writes nothing."""
    if await work.store.read(lambda it: exchanges.count_expired(it, work.now_us)):
        await work.store.rewrite(lambda it: exchanges.expire(it, work.now_us))


def _told(read: int) -> str:
    return f"exchanges read: {read}" if read else ""
