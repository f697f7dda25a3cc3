"""What was said is read for facts: soon, while nobody asks anything, each once, and none that memory itself told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import trio
from trio.testing import MockClock

from mnemond.errors import BUSY, INTERNAL, MnemonError
from mnemond.extract.fact import Context, Extraction, Message
from mnemond.extract.rules import RuleEngine
from mnemond.handlers.door import OpenStore, settle
from mnemond.handlers.exchange_queue import ExchangeQueue
from mnemond.lifecycle.attendant import IDLE_S
from mnemond.lifecycle.extract import DEFECT, INTERVAL_S, PORTION, Extract
from mnemond.model.insight import Insight
from mnemond.model.outcomes import Queued
from mnemond.model.queued_exchange import KEPT_DAYS, MOST_TRIES, QueuedExchange
from mnemond.model.timestamp import format_us
from mnemond.pipelines.exchange_reading import decoded, without_echo
from mnemond.protocol.jobs import JobsRunResult
from mnemond.store import exchanges
from mnemond.store.connection import Connection
from mnemond.store.exchanges import NEVER_ENDED, Backlog, Waiting
from mnemond.store.store import Store
from tests.handlers.test_jobs import Office, office
from tests.handlers.toys import NOW_US

ANA = "I'm Ana, I work at Acme and I prefer tabs over spaces."
DAY_US = 86_400_000_000


class Said:
    """An office in which things are said."""

    def __init__(self, at: Office, clock: MockClock) -> None:
        self.at, self.clock = at, clock
        hurry = at.scheduler.hurry
        self.queue = ExchangeQueue(at.over.identities, lambda name: hurry(name, "extract"))
        self.said = 0

    @property
    def job(self) -> Extract:
        return next(job for job in self.at.scheduler.jobs if isinstance(job, Extract))

    async def warm(self) -> OpenStore:
        return await self.at.door.open("default")

    async def say(self, prompt: str, reply: str = "", **fields: Any) -> Queued:
        self.said += 1
        named = {"host": "codex", "conversation_id": "c1", "project": "api", "at_us": self.at.over.clock.us,
                 "key": str(self.said), "prompt": prompt, "reply": reply, **fields}  # fmt: skip
        return cast("Queued", await settle(self.queue.keep(await self.warm(), QueuedExchange(**named))))

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

    async def waiting(self) -> list[Waiting]:
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


ANAS = ["Ana prefers tabs over spaces", "Ana works at Acme", "User's name is Ana"]


async def test_it_is_read_soon_after_it_was_said(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.pass_time(IDLE_S)  # the run that every opened store has
        it.at.scheduler.used("default")
        await it.say(ANA)
        assert await it.memories() == []
        await it.pass_time(IDLE_S / 2)
        assert await it.memories() == []  # somebody asks something just now
        await it.pass_time(IDLE_S)
        assert await it.contents() == ANAS
        assert await it.backlog() == Backlog(0, 0)


async def test_a_fact_says_where_it_comes_from(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer tabs over spaces.", at_us=NOW_US - DAY_US)
        await it.run()
        (fact,) = await it.memories()
        assert (fact.channel, fact.source, fact.conversation_id) == ("extract", "user", "c1")
        assert (fact.tags, fact.scope.session_id) == (("project:api",), None)
        assert msgspec.json.decode(fact.metadata)["host"] == "codex"
        assert fact.created_at == fact.valid_from == format_us(NOW_US - DAY_US)
        ((cause, op_id),) = await it.rows("SELECT triggered_by, op_id FROM memory_operations")
        ((row,),) = await it.rows("SELECT id FROM exchanges")
        assert (cause, op_id) == ("host:codex", f"{row}/1")


async def test_a_row_that_is_done_holds_no_text(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        await it.say("what time is it?", "no idea")
        await it.run()
        found = await it.rows("SELECT state, prompt, reply, facts, written FROM exchanges ORDER BY number")
        assert found == [("done", "", "", None, 3), ("done", "", "", None, 0)]
        assert not (await it.say("again", key="1")).kept


async def test_what_is_said_twice_is_one_memory(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        for number in range(3):
            await it.say("I prefer tabs over spaces.", conversation_id=f"c{number}")
        await it.run()
        (fact,) = await it.memories()
        assert fact.corroboration_count == 2


async def test_of_many_a_portion_is_read_at_once_and_all_in_the_end(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.pass_time(IDLE_S)
        for number in range(2 * PORTION + 1):
            await it.say(f"what about number {number}?")
        await it.pass_time(IDLE_S)
        assert await it.backlog() == Backlog(0, 0)


async def test_what_was_left_is_read_when_the_store_is_opened(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.pass_time(IDLE_S)
        await it.say(ANA)
    async with session(tmp_path, mock_clock) as it:
        await it.pass_time(IDLE_S)
        assert await it.contents() == ANAS


# ------------------------------------------------------------ summaries


async def test_a_summary_is_kept_as_it_is(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        text = "We moved the billing service to PostgreSQL. What is left: the nightly export."
        await it.say("", text, kind="summary")
        await it.run()
        (kept,) = await it.memories()
        assert (kept.content, kept.category, kept.source) == (text, "context", "assistant")


async def test_a_later_summary_of_a_conversation_takes_the_place_of_the_earlier(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("", "The first half was about billing.", kind="summary")
        await it.say("", "Another conversation.", kind="summary", conversation_id="c2")
        await it.say("", "Billing is done; now the export.", kind="summary")
        await it.run()
        assert await it.contents() == ["Another conversation.", "Billing is done; now the export."]
        assert await it.rows("SELECT content FROM insights WHERE status = 'superseded'") == [
            ("The first half was about billing.",)
        ]


async def test_a_long_summary_becomes_several_memories(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("", "An old one.", kind="summary")
        await it.say("", "".join(f"Step {number} went well. " for number in range(600)), kind="summary")
        await it.run()
        assert [len(each) <= 8_000 for each in await it.contents()] == [True, True]
        assert "An old one." not in await it.contents()


# ------------------------------------------------------------ what memory said itself


async def test_what_was_recalled_is_not_remembered_again(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer tabs over spaces.")
        await it.run()
        told = "<recalled-data 0123456789abcdef>\nI prefer spaces over tabs.\n</recalled-data 0123456789abcdef>"
        for text in (told, "- User prefers tabs over spaces", "<t:2026-01-01> I prefer vim over emacs <ref:12345678>"):
            await it.say(text, text)
        await it.run()
        (only,) = await it.memories()
        assert (only.content, only.corroboration_count) == ("User prefers tabs over spaces", 0)


async def test_the_rest_of_what_was_said_stays(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer tabs over spaces.")
        await it.run()
        snapshot = (await it.warm()).store.snapshot
        text = "before\n  1. user prefers TABS over spaces!\nafter\nUser prefers tabs over spaces in Go"
        assert without_echo(text, snapshot) == "before\nafter\nUser prefers tabs over spaces in Go"


# ------------------------------------------------------------ failures


class Broken:
    """An engine that ends in a defect as often as it is told to, or where a message says so."""

    def __init__(self, times: int = 0, word: str = "\0") -> None:
        self.times, self.word = times, word

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        self.times -= 1
        if self.times >= 0 or any(self.word in each.content for each in messages):
            raise ValueError("a defect")
        return RuleEngine().extract(messages, context)


async def test_a_defect_is_tried_again_with_pauses_and_then_set_aside(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        it.job._engine = Broken(word="pickle")
        await it.say("I prefer pickle over json.")
        await it.say("I prefer tabs over spaces.")
        await it.run()
        assert await it.contents() == ["User prefers tabs over spaces"]
        assert await it.backlog() == Backlog(1, 0)
        for _ in range(MOST_TRIES):
            await it.pass_time(INTERVAL_S + 1_000)
        assert await it.backlog() == Backlog(0, 1)
        assert await it.rows("SELECT tries, error, prompt FROM exchanges WHERE state = 'failed'") == [
            (MOST_TRIES, DEFECT, "I prefer pickle over json.")
        ]
        defects = len(it.at.over.defects)
        assert defects == MOST_TRIES
        await it.pass_time(INTERVAL_S)
        assert len(it.at.over.defects) == defects  # no loop
        it.job._engine = RuleEngine()
        assert (await it.run()).outcome == "nothing"
        assert (await it.run(yes=True)).changed == 1
        it.at.over.defects.clear()


async def test_a_pause_is_kept_unless_somebody_asks(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        it.job._engine = Broken(times=1)
        await it.say(ANA)
        await it.run()
        it.at.over.defects.clear()
        await it.say("I like cats.")
        mock_clock.jump(IDLE_S)  # by the clock of the machine no time passed
        await it.at.settled()
        assert len(await it.waiting()) == 1
        await it.run()
        assert set(ANAS) < set(await it.contents())


async def test_one_that_ends_the_process_every_time_is_set_aside(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store = (await it.warm()).store
        (row,) = await it.waiting()
        for _ in range(MOST_TRIES):
            assert await store.rewrite(lambda on: exchanges.begin(on, row.number))
        await it.run()
        assert await it.rows("SELECT state, error FROM exchanges") == [("failed", NEVER_ENDED)]


async def test_one_fact_that_is_refused_takes_no_other_with_it(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store, refused = (await it.warm()).store, list[str]()
        written = Store.written

        async def refusing(self: Store, write: Any) -> Any:
            if write.op_id.endswith("/2") and not refused:
                refused.append(write.op_id)
                raise MnemonError(INTERNAL, "no", outcome="rejected")
            return await written(self, write)

        monkeypatch.setattr(Store, "written", refusing)
        await it.run()
        assert len(await it.memories()) == 2
        (row,) = await it.waiting()
        assert (row.written, [each.content for each in decoded(row.facts or "")]) == (2, ["Ana works at Acme"])
        await it.run()
        assert await it.contents() == ANAS
        assert store.snapshot.live == 3


async def test_a_store_that_takes_nothing_is_no_matter_of_an_exchange(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)

        async def busy(self: Store, write: Any) -> Any:
            raise MnemonError(BUSY, "later", outcome="rejected")

        with monkeypatch.context() as patched:
            patched.setattr(Store, "written", busy)
            with pytest.raises(MnemonError, match="later"):
                await it.run()
        assert await it.backlog() == Backlog(1, 0)
        await it.run()
        assert await it.contents() == ANAS


@pytest.mark.parametrize("stop", range(3))
async def test_ended_between_two_facts_it_goes_on_behind_the_last(
    stop: int, tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far it came, every fact is written once."""
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        written, begun = Store.written, list[str]()

        async def ending(self: Store, write: Any) -> Any:
            begun.append(write.op_id)
            if len(begun) > stop:
                raise trio.BrokenResourceError
            return await written(self, write)

        with monkeypatch.context() as patched:
            patched.setattr(Store, "written", ending)
            with pytest.raises(MnemonError):
                await it.run()
        it.at.over.defects.clear()
        assert len(await it.memories()) == stop
        await it.run()
        assert await it.contents() == ANAS
        assert len(await it.rows("SELECT 1 FROM memory_operations WHERE operation_type = 'CREATE'")) == 3


# ------------------------------------------------------------ purging, switching off, expiring


async def test_a_purge_reaches_what_waits(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store = (await it.warm()).store
        (row,) = await it.waiting()
        planned = '[{"content":"Xyzzy lives here"},{"content":"other","said":["Xyzzy lives here"]},{"content":"kept"}]'
        await store.rewrite(lambda on: exchanges.plan(on, row, planned))
        await it.say("Tell me: Xyzzy lives here, or not?", "Xyzzy lives here")
        await store.rewrite(lambda on: exchanges.purge(on, "Xyzzy lives here"))
        first, second = await it.waiting()
        assert first.facts == '[{"content":"kept"}]'
        assert (second.exchange.prompt, second.exchange.reply) == ("Tell me: , or not?", "")
        assert not await store.rewrite(lambda on: exchanges.advance(on, row.number, planned, None))
        assert not await store.rewrite(lambda on: exchanges.plan(on, row, "[]"))


async def test_switched_off_nothing_is_read(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        warm = await it.warm()
        off = msgspec.structs.replace(warm.policy.extraction, enabled=False)
        it.at.door._change("default", policy=msgspec.structs.replace(warm.policy, extraction=off))
        assert (await it.run()).outcome == "nothing"
        assert await it.backlog() == Backlog(1, 0)


async def test_a_dry_run_reads_nothing(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        done = await it.run(dry_run=True)
        assert (done.changed, await it.memories(), await it.backlog()) == (1, [], Backlog(1, 0))


async def test_keys_go_after_a_month(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("what time is it?")
        await it.run()
        it.at.over.clock.us += 10 * KEPT_DAYS * DAY_US  # a clock that jumps ages what is kept by two days a run
        for _ in range(KEPT_DAYS // 2):
            assert len(await it.rows("SELECT 1 FROM exchanges")) == 1
            await it.run()
        await it.run()
        assert await it.rows("SELECT 1 FROM exchanges") == []
