"""extract: extract the facts of queued exchanges, and remember each fact.

An exchange goes through small transactions: begun (its attempts are counted before anything can fail), planned (its
facts replace its text), then one for each fact, which remembers it and removes it from the queue. A crash at any point
leaves a row with the remaining work, so nothing is lost or done twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, cast

import msgspec
import trio

from mnemond.config.settings import Config
from mnemond.embed.embedder import Embedder
from mnemond.errors import BUSY, STOPPING, STORAGE, MnemonError
from mnemond.extract.facts import Context, Engine, Extraction, Fact, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.jobs.job import Done, Job, Work
from mnemond.memory.exchanges import (
    decoded,
    earlier_messages,
    encoded,
    facts_of,
    propose_exchange_reading,
    write_of,
)
from mnemond.memory.extraction import FactWrite, embedded
from mnemond.memory.held_texts import ordering
from mnemond.memory.questions.pairs import Allowance
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.answers import Dropped
from mnemond.model.changes import MAX_TRIES, SettleFact
from mnemond.model.memory import format_us
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import Filter
from mnemond.model.reviews import HeldText
from mnemond.recall.context import conversation_summary, known_memories
from mnemond.recall.session_outline import MAX_READ
from mnemond.store import exchanges, held_texts, imports, passages
from mnemond.store.connection import Connection
from mnemond.store.exchanges import PendingExchange

NAME: Final = "extract"

HOST: Final = "host:"
"""Prefix of the host's name in `triggered_by`."""

PORTION: Final = 16
"""Exchanges of one run, half a second of work; a longer queue continues when the store is unused again."""

DEFECT: Final = "a defect in mnemond ended its reading; the daemon's log says more"

_NOT_ITS_FAULT: Final = (BUSY, STOPPING, STORAGE)
"""Errors that affect every write, not one exchange."""


class ExtractionContext(msgspec.Struct, frozen=True):
    """The rules and the embedder of a store.

    `lacking` is the reason for a missing `embedder`; it embeds in `threads`; `missing` is called when a memory was
    stored without a vector. `allowance`: what a run may still replace; the job sets it.
    """

    rules: WriteRules
    embedder: Embedder | None
    lacking: str | None
    threads: trio.CapacityLimiter
    missing: Callable[[], None]
    allowance: Allowance | None = None


class ExtractDeps(msgspec.Struct, frozen=True):
    """The dependencies of the job: the extraction context of a store, by its name; write contexts; and a guard that
    limits a defect to one exchange. `engine` returns what reads the exchanges of a store with these settings."""

    desk: Callable[[str], Awaitable[ExtractionContext]]
    identity: Callable[[str, str], WriteContext]
    guard: Callable[[], AbstractContextManager[object]]
    engine: Callable[[Config], Engine] = lambda _: RuleEngine()


class _Noting:
    """An engine, what it left out, and why its model gave no answer that it may give later; "" otherwise."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.unread = ""
        self.dropped: tuple[Dropped, ...] = ()

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        found = self.engine.extract(messages, context)
        self.unread = found.unread if found.again else ""
        self.dropped = found.dropped
        return found


class Extract(Job):
    """Runs soon after an exchange was queued, and every `lifecycle.extract_interval` to retry failures. Runs are not
    recorded, so that the queue of an earlier daemon is read as soon as the store is open."""

    name = NAME
    summary = "what was said in agents' sessions is read for facts, and these are remembered"

    def __init__(self, interval_s: float, means: ExtractDeps) -> None:
        self.interval_s = interval_s
        self._means = means
        self._model_thread = trio.CapacityLimiter(1)

    async def run(self, work: Work) -> Done:
        """Read queued exchanges, the oldest first; on request all, and with `sure` failed ones as well."""
        desk = await self._means.desk(work.store.name)
        if not desk.rules.config.extraction.enabled:
            return Done("nothing", detail="extraction.enabled is false")
        if desk.rules.config.extraction.engine == "host":
            return Done("nothing", detail='extraction.engine is "host": facts come from the agent')
        if work.dry_run:
            backlog = await work.store.read(exchanges.backlog)
            return work.done(backlog.pending + backlog.failed * work.sure, "exchanges would be read")
        if work.sure:
            await work.store.rewrite(exchanges.revive)
        read = remembered = 0
        desk = msgspec.structs.replace(desk, allowance=Allowance(work.store.snapshot.live))
        found = await _portion(work, 0)
        while found:
            for waiting in found:
                remembered += await self._one(work, desk, waiting)
            read += len(found)
            found = await _portion(work, found[-1].number)
            if found and not work.asked:
                return msgspec.structs.replace(work.done(remembered, _summary(read)), again=True)
        await _expire(work)
        return work.done(remembered, _summary(read))

    async def _one(self, work: Work, desk: ExtractionContext, waiting: PendingExchange) -> int:
        """Process one exchange; return the number of memories. Raises MnemonError where nothing can be written."""
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
        """Return the exchange with its facts; None without facts or after a failure. A model that may
        answer later is asked again after a pause; the last attempt takes what the rules found."""
        store, config = work.store, desk.rules.config
        found: list[list[Fact]] = []
        engine = _Noting(self._means.engine(config))
        with self._means.guard():
            found.append(await self._facts(work, waiting, config, engine))
        if not found or (engine.unread and waiting.tries + 1 < MAX_TRIES):
            await _fail(work, waiting, engine.unread if found else DEFECT)
            return None
        said = waiting.exchange
        held = ordering(engine.dropped, said.at_us, said.conversation_id, said.scope)
        text = encoded(found[0]) if found[0] else None
        is_planned = await store.rewrite(lambda it: _plan(it, waiting, text, held, work.identity.now))
        return waiting._replace(facts=text) if is_planned else None

    async def _facts(self, work: Work, waiting: PendingExchange, config: Config, engine: _Noting) -> list[Fact]:
        """Extract facts in a thread: that of all jobs, or one that may wait for a model."""
        snapshot, exchange = work.store.snapshot, waiting.exchange
        before = (format_us(exchange.at_us), waiting.id)
        said = await work.store.read(
            lambda it: passages.of_conversation(it, exchange.conversation_id, exchange.scope, MAX_READ, before)
        )
        earlier = earlier_messages(said, exchange.at_us, config.extraction.message_window)
        if isinstance(engine.engine, RuleEngine):
            return await work.think(facts_of, waiting, snapshot, config, engine, earlier)
        wanted = Filter(scope=exchange.scope, now_us=work.now_us)
        existing = partial(known_memories, snapshot, wanted)
        summary = await work.think(conversation_summary, said)
        return await trio.to_thread.run_sync(
            facts_of, waiting, snapshot, config, engine, earlier, existing, summary, limiter=self._model_thread
        )

    async def _written(
        self, work: Work, desk: ExtractionContext, planned: PendingExchange, ready: Sequence[FactWrite]
    ) -> int:
        """Write one fact after another. A refused one stays in the row and does not affect the others."""
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
        """Write one fact, as an operation of the host named after the exchange and the fact's number; one of a
        transcript belongs to the operation of its import."""
        own = self._means.identity(work.store.name, f"{HOST}{row.exchange.host}")
        of_import = await work.store.read(partial(imports.operation_of, source=row.exchange.key))
        identity = msgspec.structs.replace(own, op_id=of_import or f"{row.id}/{row.written + 1}")
        made_by = None if desk.embedder is None else desk.embedder.fingerprint
        proposal = propose_exchange_reading(write, row, settled, identity, desk.rules, made_by)
        outcome = cast("RememberResult", await work.store.write(proposal))
        if not outcome.embedded and outcome.action in ("added", "replaced"):
            desk.missing()
        return outcome


def _plan(
    connection: Connection, waiting: PendingExchange, facts: str | None, held: Sequence[HeldText], now: str
) -> bool:
    """Replace the texts of an exchange by its facts (JSON), or finish one without any; return whether facts are left to
    write. What gives orders waits for a person, if nothing was purged since the exchange was read."""
    if exchanges.is_as_read(connection, waiting) and not waiting.purged:
        held_texts.hold(connection, held, now)
    if facts is None:
        exchanges.finish(connection, waiting.number)
        return False
    return exchanges.plan(connection, waiting, facts)


async def _portion(work: Work, after: int) -> list[PendingExchange]:
    """Read the oldest exchanges after a number: those due or, on a requested run, all."""
    now_us = None if work.asked else work.identity.now_us
    return await work.store.read(lambda it: exchanges.oldest(it, PORTION, after, now_us))


async def _ready(work: Work, desk: ExtractionContext, planned: PendingExchange) -> list[FactWrite]:
    """Prepare and embed the facts of an exchange."""
    snapshot, facts = work.store.snapshot, decoded(planned.facts or "[]")

    def read() -> list[FactWrite]:
        writes = [write_of(each, planned, snapshot, desk.rules.config, desk.allowance) for each in facts]
        return embedded(desk.embedder, writes, desk.lacking)

    return await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=desk.threads)


async def _fail(work: Work, waiting: PendingExchange, why: str) -> None:
    await work.store.rewrite(lambda it: exchanges.fail(it, waiting.number, why, work.identity.now_us))


async def _expire(work: Work) -> None:
    """Remove expired exchanges; write only if there are any."""
    if await work.store.read(lambda it: exchanges.count_expired(it, work.now_us)):
        await work.store.rewrite(lambda it: exchanges.expire(it, work.now_us))


def _summary(read: int) -> str:
    return f"exchanges read: {read}" if read else ""
