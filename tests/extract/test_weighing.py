"""Importance, dates, and which messages are an exchange."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import CLASSES
from mnemond.extract.facts import MAX_SENTENCE, USUAL, Context, Message, band, importance, latest_exchange, of_five
from mnemond.extract.quotes import with_dates
from mnemond.memory.extraction import extract_exchange
from mnemond.model.answers import Dropped
from mnemond.model.outcomes import Intent
from tests.extract.exchanges import DAY_US
from tests.tables import each_row

CONTEXT = Context(observed_us=DAY_US, classes=frozenset({*CLASSES, "agent_decision"}))


@each_row(
    ("text", "intent", "flags", "points"),
    [
        ("plain", "preference", "", 6),
        ("plain", "event", "", 5),
        ("plain", "relationship", "", 6),
        ("plain", "fact", "", 5),
        ("plain", "fact", "d", 6),
        ("plain", "event", "dcs", 6),
        ("it must be so", "fact", "", 7),
        ("it must be so", "fact", "d", 8),
        ("it must have been the cache", "fact", "", 5),
        ("the deadline for it", "event", "s", 8),
        ("always and critical", "fact", "d", 10),
        ("never, never again", "fact", "", 7),
        ("必须这样", "fact", "", 7),
        ("Wir müssen so", "fact", "", 7),
        ("muss immer so", "fact", "", 9),
        ("plain", "fact", "cs", 6),
        ("maybe so", "fact", "", 3),
        ("möglicherweise so", "fact", "", 3),
        ("可能这样", "fact", "", 3),
        ("nice weather", "fact", "", 3),
        ("maybe nice weather", "fact", "", 1),
        ("maybe always", "fact", "", 5),
        ("always critical " + "x" * MAX_SENTENCE, "fact", "", 5),
    ],
)
def test_the_rubric(text: str, intent: Intent, flags: str, points: int) -> None:
    weighed = importance(text, intent, decided="d" in flags, corrects="c" in flags, specific="s" in flags)
    assert weighed == points


@given(st.booleans(), st.booleans(), st.booleans(), st.sampled_from(["preference", "event", "relationship", "fact"]))
def test_without_emphasis_nothing_is_more_important_than_a_note_by_hand(
    decided: bool, corrects: bool, specific: bool, intent: Intent
) -> None:
    assert of_five(importance("plain", intent, decided=decided, corrects=corrects, specific=specific)) == USUAL


def test_what_the_assistant_says_by_itself_is_one_step_lower() -> None:
    said = "Decision: the staging database listens on port 5433"
    (theirs,) = extract_exchange([Message("user", said)], CONTEXT, window=10).facts
    (own,) = extract_exchange([Message("user", "Why?"), Message("assistant", said)], CONTEXT, window=10).facts
    assert (of_five(theirs.importance), of_five(own.importance)) == (3, 2)
    strict = msgspec.structs.replace(CONTEXT, threshold=own.importance + 1)
    none = extract_exchange([Message("user", "Why?"), Message("assistant", said)], strict, window=10)
    assert (none.facts, none.dropped[-1]) == ((), Dropped(f"[assistant] {said}", f"importance {own.importance}"))


def test_ten_become_five_and_bands() -> None:
    assert [of_five(each) for each in range(1, 11)] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    bands = [band(each) for each in range(1, 11)]
    assert bands == ["trivial"] * 3 + ["useful"] * 3 + ["important"] * 2 + ["critical"] * 2


@each_row(
    ("said", "told"),
    [
        ("We met yesterday", "We met yesterday (2026-02-17)"),
        ("Yesterday and tomorrow", "Yesterday (2026-02-17) and tomorrow (2026-02-19)"),
        ("last week it broke", "last week (2026-02-09 to 2026-02-15) it broke"),
        ("We will ship in March", "We will ship in March"),
        ("It broke on 2026-02-17", "It broke on 2026-02-17"),
        ("It broke on May 8, 2023", "It broke on May 8, 2023"),
        ("We met yesterday (2026-02-17)", "We met yesterday (2026-02-17)"),
        ("recently it broke", "recently it broke"),
        ("昨天上线了", "昨天（2026-02-17）上线了"),
        ("nothing", "nothing"),
    ],
)
def test_relative_dates_get_the_absolute_one(said: str, told: str) -> None:
    assert with_dates(said, DAY_US) == told


@each_row("said_us", [-(10**18), -(10**17), 0, 10**17, 10**18])
def test_dates_at_the_ends_of_time(said_us: int) -> None:
    assert with_dates("We met yesterday", said_us).startswith("We met yesterday")


def talk(roles: str) -> list[Message]:
    names = {"u": "user", "a": "assistant", "s": "system"}
    return [Message(names[role], str(at)) for at, role in enumerate(roles)]


@each_row(
    ("roles", "window", "earlier", "latest"),
    [
        ("", 10, "", ""),
        ("ua", 10, "", "01"),
        ("uaua", 10, "01", "23"),
        ("uauaa", 1, "1", "234"),
        ("uauu", 10, "01", "23"),
        ("suaua", 2, "12", "34"),
        ("uaua", 0, "", "23"),
        ("aa", 10, "", "01"),
        ("uas", 10, "", "012"),
    ],
)
def test_the_latest_exchange(roles: str, window: int, earlier: str, latest: str) -> None:
    found = latest_exchange(talk(roles), window)
    assert ["".join(each.content for each in part) for part in found] == [earlier, latest]
