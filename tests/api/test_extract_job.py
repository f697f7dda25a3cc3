"""What was said is read for facts: soon, while nobody asks anything, each once, and none that memory itself told."""

from __future__ import annotations

from pathlib import Path

import msgspec
from trio.testing import MockClock

from mnemond.api.types_changes import UndoParams
from mnemond.jobs.extract import PORTION
from mnemond.jobs.scheduler import IDLE_S
from mnemond.model.changes import KEPT_DAYS, ChangeSet, PutInsight
from mnemond.model.memory import format_us
from mnemond.model.outcomes import Maintained
from mnemond.store import exchanges
from mnemond.store.exchanges import Backlog
from tests.api.factories import CALL, NOW_US
from tests.hooks.prompt_replies import ANA, ANAS, DAY_US, session


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


async def test_a_row_that_is_done_holds_no_text(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        await it.say("what time is it?", "no idea")
        await it.run()
        found = await it.rows("SELECT state, prompt, reply, facts, written FROM exchanges ORDER BY number")
        assert found == [("done", "", "", None, 3), ("done", "", "", None, 0)]
        assert not (await it.say("again", key="1")).kept


async def test_of_many_a_portion_is_read_at_once_and_all_in_the_end(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.pass_time(IDLE_S)
        for number in range(2 * PORTION + 1):
            await it.say(f"what about number {number}?")
        await it.pass_time(IDLE_S)
        assert await it.backlog() == Backlog(0, 0)


# ------------------------------------------------------------ summaries


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
        for text in (
            told,
            "- [User] I prefer tabs over spaces.",
            "<t:2026-01-01> I prefer vim over emacs <ref:12345678>",
        ):
            await it.say(text, text)
        await it.say("I prefer vim over emacs.\n[User] I prefer tabs over spaces.", conversation_id="c2")
        await it.run()
        other, only = sorted(await it.memories(), key=lambda it: it.content, reverse=True)
        assert other.content == "[User] I prefer vim over emacs."  # the rest of what was said stays
        assert (only.content, only.corroboration_count) == ("[User] I prefer tabs over spaces.", 0)


# ------------------------------------------------------------ purging, switching off, expiring


async def test_a_purge_reaches_what_waits(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say(ANA)
        store = (await it.warm()).store
        (row,) = await it.waiting()
        planned = '[{"content":"Xyzzy lives here"},{"content":"other","said":["Xyzzy lives here"]},{"content":"kept"}]'
        await store.rewrite(lambda on: exchanges.plan(on, row, planned))
        await it.say("Tell me: Xyzzy lives here, or not?", "Xyzzy lives here")
        await store.rewrite(lambda on: exchanges.purge(on, ["Xyzzy lives here"]))
        first, second = await it.waiting()
        assert first.facts == '[{"content":"kept"}]'
        assert (second.exchange.prompt, second.exchange.reply) == ("Tell me: , or not?", "")
        assert not await store.rewrite(lambda on: exchanges.advance(on, row.number, planned, None))
        assert not await store.rewrite(lambda on: exchanges.plan(on, row, "[]"))


async def test_what_was_purged_is_not_found_anew_in_other_words(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer pnpm over npm. I also prefer tabs over spaces.")
        store = (await it.warm()).store
        await store.rewrite(lambda on: exchanges.purge(on, ["[User] I prefer pnpm over npm."]))
        await it.say("I prefer vim over emacs.")
        await it.run()
        assert await it.contents() == ["[User] I also prefer tabs over spaces.", "[User] I prefer vim over emacs."]
        assert await it.rows("SELECT DISTINCT purged FROM exchanges") == [("",)]
        await it.say("I prefer pnpm over npm.")  # said again, it may be learned again
        await it.run()
        assert len(await it.contents()) == 3


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


async def test_a_fact_is_taken_back_by_its_operation(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("I prefer tabs over spaces.")
        await it.run()
        ((op_id,),) = await it.rows("SELECT op_id FROM memory_operations")
        undo = it.at.over.history
        await undo.undo(CALL, UndoParams(operation=op_id))
        assert await it.memories() == []
        assert (await it.run()).outcome == "nothing"


async def test_a_summary_that_somebody_pinned_stays(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("", "The first half was about billing.", kind="summary")
        await it.run()
        (kept,) = await it.memories()
        store = (await it.warm()).store
        pinned = msgspec.structs.replace(kept, pinned=True)
        now = format_us(NOW_US)
        await store.write(ChangeSet("pin", False, "test", now, (PutInsight(pinned),), Maintained(op_id="pin")))
        await it.say("", "Billing is done.", kind="summary")
        await it.say("", "Nobody knows of which conversation.", kind="summary", conversation_id="")
        await it.run()
        assert len(await it.memories()) == 3
