"""Facts that somebody else has found, completed by the rules."""

from __future__ import annotations

from mnemond.extract.facts import Context
from mnemond.extract.host_facts import MAX_HOST_FACT, completed, parts
from mnemond.model.outcomes import HostFact
from tests.extract.exchanges import DAY_US
from tests.tables import each_row

CONTEXT = Context(observed_us=DAY_US)


def test_what_is_left_out_is_filled_in() -> None:
    (fact,) = completed([HostFact(content="Ana works at Acme")], CONTEXT).facts
    assert (fact.importance, fact.confidence, fact.said_us, fact.attributed_to) == (6, 1.0, DAY_US, "user")
    assert {each.name: each.kind for each in fact.entities} == {"Ana": "person", "Acme": "organization"}


def test_what_is_given_stays() -> None:
    given = HostFact(
        content="We use Go", intent="event", importance=9, confidence=0.5, entities=("Golang team",),
        event_time="1970-01-01T00:00:00.000001Z",
        message_ids=("m1",), attributed_to="assistant", category="decision",
    )  # fmt: skip
    (fact,) = completed([given], CONTEXT).facts
    assert (fact.intent, fact.category, fact.importance, fact.confidence) == ("event", "decision", 9, 0.5)
    assert (fact.said_us, fact.message_ids, fact.attributed_to) == (1, ("m1",), "assistant")
    assert [each.name for each in fact.entities] == ["Golang team", "Go"]


@each_row(
    ("given", "kinds"),
    [
        (HostFact(content="x y z", category="preference"), ("preference", "preference")),
        (HostFact(content="x y z", category="context"), ("event", "context")),
        (HostFact(content="x y z", category="decision"), ("fact", "decision")),
        (HostFact(content="x y z", intent="relationship"), ("relationship", "fact")),
        (HostFact(content="x y z"), ("fact", "fact")),
        (HostFact(content="I prefer tabs"), ("preference", "preference")),
    ],
)
def test_category_and_intent_follow_from_each_other(given: HostFact, kinds: tuple[str, str]) -> None:
    (fact,) = completed([given], CONTEXT).facts
    assert (fact.intent, fact.category) == kinds


def test_repetitions_and_trifles_are_dropped() -> None:
    found = completed(
        [HostFact(content="a b"), HostFact(content="a b"), HostFact(content="c d", importance=2)], CONTEXT
    )
    assert [each.content for each in found.facts] == ["a b"]
    assert [each.reason for each in found.dropped] == ["said before", "importance 2"]
    assert found.engine == "host"


def test_what_is_too_long_becomes_several_without_losing_a_word() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 400
    pieces = parts(text)
    assert len(pieces) == 3
    assert all(len(each) <= MAX_HOST_FACT for each in pieces)
    assert " ".join(pieces).split() == text.split()
    assert all(each.endswith(".") for each in pieces)
    assert [len(each) for each in parts("x" * 20_000)] == [8_000, 8_000, 4_000]
    assert parts("  ") == []
