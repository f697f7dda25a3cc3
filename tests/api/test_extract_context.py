"""The exchanges of a conversation that were said last are the context of its next one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trio.testing import MockClock

from mnemond.api.types_memories import ForgetParams
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.memory.exchanges import MAX_EARLIER, earlier_messages
from mnemond.model.passages import Passage
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
        await it.say("Another user", user_id="ana")
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
        await it.say("It runs on port 8443")
        await it.run()
        assert heard.earlier[-1] == []


async def test_a_purge_leaves_no_word_of_it(tmp_path: Path, mock_clock: MockClock) -> None:
    async with session(tmp_path, mock_clock) as it:
        heard = listening(it)
        await it.say("I work at Xyzzyplugh", "ok")
        await it.run()
        await it.say("And then?")
        await it.run()
        assert "I work at Xyzzyplugh" in heard.earlier[-1]
        (fact,) = await it.memories()
        await it.at.over.changes.forget(CALL, ForgetParams(id=fact.id, purge=True))
        await it.say("They moved to Lisbon")
        await it.run()
        assert heard.earlier[-1] == ["ok", "And then?"]


def test_messages_of_the_day_before_are_context_shortened_and_at_most_a_window() -> None:
    said = [
        Passage(
            id=str(hour),
            said_at=f"1970-01-0{day}T{hour:02}:00:00.000000Z",
            host="codex",
            prompt=f"p{hour}",
            answer=answer,
        )
        for day, hour, answer in ((1, 1, "a"), (1, 3, ""), (2, 1, "long " * MAX_EARLIER))
    ]
    at_us = DAY_US + 2 * DAY_US // 24
    found = earlier_messages(said, at_us, 10)
    assert [(each.role, each.content[:2]) for each in found] == [("user", "p3"), ("user", "p1"), ("assistant", "lo")]
    assert len(found[-1].content) <= MAX_EARLIER
    assert [earlier_messages(said, at_us, window) for window in (0, 1)] == [[], found[-1:]]
