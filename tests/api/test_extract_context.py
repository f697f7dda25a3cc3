"""The exchanges of a conversation that were read last are the context of its next one, and are kept by nothing else."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

import msgspec
from trio.testing import MockClock

from mnemond.api.types_memories import ForgetParams
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.memory.exchanges import MAX_CONVERSATIONS, MAX_EARLIER, RecentExchanges
from mnemond.model.changes import QueuedExchange
from mnemond.store.exchanges import PendingExchange
from tests.api.factories import CALL
from tests.hooks.prompt_replies import DAY_US, Said, session


class Listening:
    """The rules, and the context that each exchange was read in."""

    def __init__(self) -> None:
        self.earlier: list[list[str]] = []

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        self.earlier.append([each.content for each in context.earlier])
        return RuleEngine().extract(messages, context)


def listening(it: Said) -> Listening:
    engine = Listening()
    it.read_by(engine)
    return engine


async def test_an_exchange_is_read_with_those_before_it(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        heard = listening(it)
        await it.say("The billing service needs a home", "We could host it")
        await it.run()
        await it.say("It runs on port 8443")
        await it.say("Something else", conversation_id="c2")
        await it.say("Another host", host="claude-code")
        await it.run()
        await it.say("And then?")
        await it.run()
        first = ["The billing service needs a home", "We could host it"]
        assert heard.earlier == [[], first, [], [], [*first, "It runs on port 8443"]]


async def test_what_was_said_before_gives_no_facts_again(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        await it.say("Remember: Ana works at Acme in the billing team")
        await it.say("ok")
        await it.run()
        await it.say("Remember: Bob works at Globex in the sales team")
        await it.run()
        assert await it.contents() == [
            "Ana works at Acme in the billing team",
            "Bob works at Globex in the sales team",
        ]


async def test_the_window_is_that_of_the_settings(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        heard = listening(it)
        for number in range(8):
            await it.say(f"What about {number}?", f"Nothing about {number}")
        await it.run()
        last = [text for number in range(2, 7) for text in (f"What about {number}?", f"Nothing about {number}")]
        assert (heard.earlier[0], heard.earlier[-1]) == ([], last)


async def test_a_day_later_it_is_forgotten(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        heard = listening(it)
        await it.say("The xyzzyplugh service needs a home")
        await it.run()
        it.at.over.clock.us += DAY_US + 1
        await it.run()
        assert kept(it) == []
        await it.say("It runs on port 8443")
        await it.run()
        assert heard.earlier[-1] == []


async def test_a_purge_leaves_no_word_of_it(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        heard = listening(it)
        await it.say("I work at Xyzzyplugh", "ok")
        await it.run()
        assert any("Xyzzyplugh" in text for text in kept(it))
        (fact,) = await it.memories()
        await it.at.over.changes.forget(CALL, ForgetParams(id=fact.id, purge=True))
        gc.collect()
        assert kept(it) == []
        await it.say("They moved to Lisbon")
        await it.run()
        assert heard.earlier[-1] == []


def kept(it: Said) -> list[str]:
    """All texts that the job keeps."""
    return [each.prompt + each.reply for found in it.job._recent._kept.values() for _, each in found]


# The exchanges in memory.


def waiting(number: int, conversation: str = "c1", **fields: str) -> PendingExchange:
    said = QueuedExchange(host="codex", conversation_id=conversation, at_us=DAY_US, prompt=f"p{number}", reply="")
    said = msgspec.structs.replace(said, **fields)
    return PendingExchange(number, f"id{number}", said, 0, 0, None)


def before(recent: RecentExchanges, number: int, conversation: str = "c1", window: int = 10) -> list[str]:
    return [each.content for each in recent.before("default", waiting(number, conversation), window)]


def test_what_was_fetched_before_a_purge_is_not_kept_after_it() -> None:
    recent = RecentExchanges()
    page = recent.page()
    recent.clear()
    page.add("default", waiting(1), 10)
    assert before(recent, 2) == []
    recent.page().add("default", waiting(1), 10)
    assert before(recent, 2) == ["p1"]


def test_only_turns_of_a_conversation_that_saw_no_purge_are_kept() -> None:
    recent = RecentExchanges()
    page = recent.page()
    for each in (
        waiting(1, ""), waiting(1, kind="summary"), waiting(1)._replace(purged="0a0b "),
    ):  # fmt: skip
        page.add("default", each, 10)
    page.add("default", waiting(1), 0)
    assert before(recent, 2) == []


def test_an_exchange_is_kept_once_and_is_no_context_of_earlier_ones() -> None:
    recent = RecentExchanges()
    page = recent.page()
    page.add("default", waiting(3), 10)
    page.add("default", waiting(3), 10)
    assert (before(recent, 4), before(recent, 3), before(recent, 2)) == (["p3"], [], [])
    assert before(recent, 4, window=0) == []


def test_memory_is_bounded() -> None:
    recent = RecentExchanges()
    page = recent.page()
    for number in range(MAX_CONVERSATIONS + 1):
        page.add("default", waiting(number, f"c{number}", reply="long " * MAX_EARLIER), 10)
    assert before(recent, 99, "c0") == []
    assert len(before(recent, 99, "c1")[1]) <= MAX_EARLIER
    for number in range(20):
        page.add("default", waiting(number), 4)
    assert before(recent, 99) == ["p16", "p17", "p18", "p19"]


def test_of_some_a_day_is_over() -> None:
    recent = RecentExchanges()
    page = recent.page()
    page.add("default", waiting(1), 10)
    later = waiting(2)
    page.add("default", later._replace(exchange=msgspec.structs.replace(later.exchange, at_us=2 * DAY_US)), 10)
    recent.expire(2 * DAY_US + 1)
    assert before(recent, 3) == ["p2"]
