"""What waits to be summed up and the summaries, as rows: bounded, and what must not stay is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.model.changes import AddInsight, RetireInsight
from mnemond.model.memory import Insight
from mnemond.store import conversations, insights
from mnemond.store.connection import Connection
from mnemond.store.conversations import EVERY, Conversation, RollingSummary, Spoken
from mnemond.store.schema import create
from tests.store.factories import insight_id

NOW = "2026-02-01T00:00:00.000000Z"
MEMORY = "The billing service listens on port 8443"
LINES = "(user) The billing service listens on port 8443 now.\n(assistant) Orders of the shop are kept in Postgres."


@pytest.fixture
def on() -> Iterator[Connection]:
    connection = Connection(Path(":memory:"))
    create(connection)
    yield connection
    connection.close()


def summed_up(on: Connection, conversation: str = "c", text: str = LINES, generator: str = "rules") -> None:
    assert conversations.put(on, None, [], RollingSummary(Conversation(conversation), text, 0, NOW, "", generator))


def memory(number: int = 1, content: str = MEMORY, conversation: str | None = "c") -> Insight:
    return Insight(insight_id(number), content, NOW, NOW, conversation_id=conversation)


def text_of(on: Connection, conversation: str = "c") -> str | None:
    found = conversations.rolling_summary(on, Conversation(conversation))
    return None if found is None else found.text


def forget(on: Connection, gone: Insight) -> None:
    conversations.leave_out(on, gone, RetireInsight(gone.id, "forgotten"))


def test_a_forgotten_memory_takes_its_sentence_with_it(on: Connection) -> None:
    summed_up(on)
    summed_up(on, "other")
    conversations.add(
        on, Conversation("c"), "", [("user", f"Note: {MEMORY}."), ("assistant", "Orders are in Postgres.")], NOW
    )
    forget(on, memory(conversation=None))
    for conversation in ("c", "other"):
        assert text_of(on, conversation) == LINES.splitlines()[1]
    assert [each.content for each in conversations.waiting(on, Conversation("c"))] == ["Orders are in Postgres."]


def test_a_summary_of_which_nothing_is_left_goes(on: Connection) -> None:
    summed_up(on, text=LINES.splitlines()[0])
    forget(on, memory())
    assert text_of(on) is None


def test_a_models_summary_goes_as_a_whole(on: Connection) -> None:
    summed_up(on, generator="tiny-1b")
    summed_up(on, "other", "They talked about the weather in Lisbon.", "tiny-1b")
    forget(on, memory())
    assert (text_of(on), text_of(on, "other")) == (None, "They talked about the weather in Lisbon.")


def test_a_replaced_memory_leaves_what_its_successor_says(on: Connection) -> None:
    newer = "The billing service listens on port 9443"
    insights.insert(on, AddInsight(memory(2, newer)), None)
    summed_up(on, text=f"{LINES}\n(user) {newer} instead.")
    gone = memory()
    conversations.leave_out(on, gone, RetireInsight(gone.id, "superseded", insight_id(2)))
    assert text_of(on) == f"{LINES.splitlines()[1]}\n(user) {newer} instead."


@pytest.mark.parametrize(
    "change",
    [RetireInsight(insight_id(1), status) for status in ("superseded", "pruned", "expired")],
)
def test_other_ends_leave_a_summary(on: Connection, change: RetireInsight) -> None:
    summed_up(on)
    conversations.leave_out(on, memory(), change)
    conversations.leave_out(on, memory(conversation=None), change)
    assert text_of(on) == LINES


def test_a_replaced_memory_of_a_conversation_without_summary(on: Connection) -> None:
    gone = memory()
    conversations.leave_out(on, gone, RetireInsight(gone.id, "superseded", insight_id(2)))
    assert text_of(on) is None


def test_a_purge_drops_all(on: Connection) -> None:
    summed_up(on)
    conversations.add(on, Conversation("c"), "", [("user", "hello")], NOW)
    conversations.purge(on)
    assert (text_of(on), conversations.waiting(on, Conversation("c"))) == (None, [])


def test_it_is_not_put_if_something_changed_meanwhile(on: Connection) -> None:
    conversations.add(on, Conversation("c"), "p", [("user", "hello")], NOW)
    (message,) = conversations.waiting(on, Conversation("c"))
    assert message == Spoken(1, "user", "hello", NOW, "p")
    summary = RollingSummary(Conversation("c"), "x", 1, NOW)
    assert not conversations.put(on, summary, [message], summary)
    assert not conversations.put(on, None, [msgspec.structs.replace(message, content="bye")], summary)
    assert conversations.put(on, None, [message], summary)
    assert not conversations.put(on, summary, [message], summary)


def test_readers_do_not_share_a_conversation(on: Connection) -> None:
    ana, bo = Conversation("c", "ana"), Conversation("c", "bo", agent_id="coder")
    for of in (ana, bo, Conversation("c")):
        conversations.add(on, of, "", [("user", f"{of.user_id} says {at}") for at in range(EVERY)], NOW)
    assert conversations.due(on) == [ana, bo, Conversation("c")]
    for of in (ana, bo):
        said = conversations.waiting(on, of)
        assert [each.content for each in said] == [f"{of.user_id} says {at}" for at in range(EVERY)]
        assert conversations.put(on, None, said, RollingSummary(of, f"Of {of.user_id}", said[-1].number, NOW))
    assert conversations.due(on) == [Conversation("c")]
    assert (text_of(on), conversations.rolling_summary(on, ana)) == (None, RollingSummary(ana, "Of ana", 10, NOW))
    assert {each.conversation for each in conversations.newest(on, "c")} == {ana, bo}


def test_a_forgotten_memory_leaves_the_summaries_of_all_readers(on: Connection) -> None:
    of = [Conversation("c", user) for user in ("", "ana")]
    for each in of:
        assert conversations.put(on, None, [], RollingSummary(each, LINES, 0, NOW))
    forget(on, memory())
    found = [conversations.rolling_summary(on, each) for each in of]
    assert [each and each.text for each in found] == [LINES.splitlines()[1]] * 2


def test_tables_are_bounded(on: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "MAX_WAITING", 2)
    monkeypatch.setattr(conversations, "MAX_MESSAGES", 3)
    monkeypatch.setattr(conversations, "MAX_SUMMARIES", 2)
    for conversation in ("a", "b"):
        conversations.add(on, Conversation(conversation), "", [("user", str(at)) for at in range(4)], NOW)
    assert [[each.content for each in conversations.waiting(on, Conversation(name))] for name in "ab"] == [
        ["3"],
        ["2", "3"],
    ]
    for at, conversation in enumerate("abc"):
        later = RollingSummary(Conversation(conversation), "x", 0, f"2026-02-0{at + 1}T00:00:00.000000Z")
        assert conversations.put(on, None, [], later)
    assert [each.conversation.id for each in conversations.newest(on, "")] == ["c", "b"]
    assert conversations.newest(on, "z") == []
