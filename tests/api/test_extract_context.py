"""The exchanges of a conversation that were said last are the context of its next one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trio.testing import MockClock

from mnemond.api.types_memories import ForgetParams
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from tests.api.factories import CALL
from tests.hooks.prompt_replies import Said, session


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
