"""What rules take out of a session: by class and language, word for word, in linear time."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import CLASSES
from mnemond.extract.coverage import MAX_SHOWN, SHOWN_LENGTH, bounded
from mnemond.extract.facts import Fact, Message, stated_name
from mnemond.extract.quotes import is_instruction, labelled, without_label
from tests.examples import examples
from tests.extract.exchanges import DAY_US, contents, extracted
from tests.extract.test_hostile import PIECES
from tests.tables import each_row

QUOTES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "quotes.toml").read_text("utf-8"))["quotes"]


@each_row("each", QUOTES)
def test_what_is_taken_of_an_exchange(each: dict[str, Any]) -> None:
    more: dict[str, Any] = {"classes": frozenset(each["classes"])} if "classes" in each else {}
    facts = extracted(each["said"], *([each["answer"]] if "answer" in each else []), **more).facts
    assert [[it.family, it.content] for it in facts] == each.get("kept", [])
    assert all(it.general == each.get("general", False) for it in facts)


def test_there_is_a_quote_of_each_class_in_each_language() -> None:
    for written in (r"\b(?:the|to|I|my|in)\b", r"[äöüß]|\b(?:der|auf|nicht|[Ii]ch)\b", "[\u4e00-\u9fff]"):
        found = {kind for each in QUOTES for kind, text in each.get("kept", ()) if re.search(written, text)}
        assert found == set(CLASSES)


WORD = re.compile(r"\w+")
ADDED = re.compile(
    r"\A\[[^\[\]\n]{1,60}\] | \(\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?\)|（\d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)?）"
)
SAID = st.lists(
    st.tuples(st.sampled_from([each["said"] for each in QUOTES]), st.sampled_from([" ", "\n", "\n\n", ". ", ", "]))
).map(lambda parts: "".join(text + mark for text, mark in parts))


@given(SAID | PIECES, SAID | PIECES)
@examples(300, least=60)
def test_without_marked_additions_the_words_of_a_quote_stand_in_its_exchange_in_order(user: str, answer: str) -> None:
    for fact in extracted(user, answer).facts:
        said = iter(WORD.findall(answer if fact.attributed_to == "assistant" else user))
        assert all(word in said for word in WORD.findall(ADDED.sub("", fact.content))), fact.content


def test_classes_that_are_off_are_left_to_the_record() -> None:
    said = "I prefer tabs. Never push to main. The API runs on port 8080 in Frankfurt."
    assert contents(said, classes=frozenset({"preference"})) == ["[User] I prefer tabs."]
    assert contents(said, classes=frozenset()) == []
    assert contents(said, classes=frozenset({"other"})) == ["The API runs on port 8080 in Frankfurt."]


@each_row(
    ("kind", "said", "category", "intent", "importance"),
    [
        ("instruction", "Never push to main", "preference", "preference", 8),
        ("preference", "I prefer tabs over spaces", "preference", "preference", 6),
        ("decision", "We decided to use tabs", "decision", "fact", 6),
        ("correction", "Correction: the owner is Ana", "fact", "fact", 6),
        ("person", "my name is Ana", "fact", "relationship", 6),
        ("asked", "remember that the cake takes an hour", "fact", "fact", 5),
        ("asked", "remember: never push to main", "preference", "preference", 8),
        ("asked", "Remember: we decided to use tabs", "decision", "fact", 6),
    ],
)
def test_each_class_has_its_category(kind: str, said: str, category: str, intent: str, importance: int) -> None:
    (fact,) = extracted(said).facts
    assert (fact.family, fact.category, fact.intent) == (kind, category, intent)
    assert fact.importance == importance
    assert fact.corrects == (kind == "correction")


def test_what_is_asked_never_ends_in_nothing() -> None:
    for said in ("We use Redis. Remember that.", "The key is with Ana, note that down", "我们用 Redis。记住这点"):
        assert len(contents(said)) == 1, said


def test_a_name_given_before_is_the_speakers() -> None:
    earlier = (Message("user", "my name is Jonas"),)
    assert contents("I prefer short answers", earlier=earlier) == ["[Jonas] I prefer short answers"]
    assert contents("I prefer short answers", speaker="Kim") == ["[Kim] I prefer short answers"]
    assert contents(Message("user", "I prefer short answers", name="ana")) == ["[ana] I prefer short answers"]
    assert without_label(labelled("I prefer tea", "a\\gb")) == "I prefer tea"


@each_row(
    ("said", "name"),
    [
        ("My name is Anna.", "Anna"), ("My name is actually Lena.", "Lena"), ("my name is ahmed", "ahmed"),
        ("my name is kelly", "kelly"), ("My name is von Berg.", "von Berg"), ("我的名字是安娜。", "安娜"),
        ("my name is anna schmidt", "anna"), ("Ich heiße Jonas.", "Jonas"),
        ("My name is misspelled as Anna.", None), ("my name is short for Alexander", None),
        ("My name is often mistaken for Sara.", None), ("My name is autocorrected to Ducks by the phone.", None),
    ],
)  # fmt: skip
def test_a_name_that_a_person_gives(said: str, name: str | None) -> None:
    assert stated_name(said) == name


def test_nobody_is_called_what_memory_said() -> None:
    recalled = "<recalled-data 0123456789abcdef>\n<t:2026-01-02> My name is Bob.\n</recalled-data 0123456789abcdef>\n"
    assert contents(f"{recalled}I prefer tabs over spaces.") == ["[User] I prefer tabs over spaces."]


def test_a_message_has_its_own_time_and_id() -> None:
    said_us = DAY_US - 10 * 86_400_000_000
    (fact,) = extracted(Message("user", "We decided on NATS yesterday", said_us=said_us, id="m7")).facts
    assert (fact.content, fact.said_us, fact.message_ids) == (
        "We decided on NATS yesterday (2026-02-07)", said_us, ("m7",)
    )  # fmt: skip


def test_other_roles_say_nothing() -> None:
    assert contents(Message("system", "Always answer in French."), Message("tool", "We never deploy on Fridays")) == []


def test_what_was_said_before_is_not_said_again_and_another_number_is_another_thing() -> None:
    found = extracted("We never deploy on Fridays. We never deploy on Fridays!")
    assert [each.content for each in found.facts] == ["We never deploy on Fridays."]
    assert [each.reason for each in found.dropped] == ["said before"]
    two = "Never more than 3 retries. Never more than 5 retries."
    assert len(contents(two)) == 2


def test_what_matters_too_little_is_left_out() -> None:
    (dropped,) = extracted("I prefer tabs", threshold=7).dropped
    assert (dropped.text, dropped.reason) == ("I prefer tabs", "importance 6")


def test_only_so_many_facts() -> None:
    found = extracted(" ".join(f"Never restart service{at}." for at in range(9)), most=3)
    assert len(found.facts) == 3
    assert found.dropped[-1].reason == "too many"


def test_what_was_pasted_into_a_long_message_is_left_out() -> None:
    pasted = " ".join(f"Never restart module{at}." for at in range(60))
    found = extracted(f"We never deploy on Fridays. {pasted} We always squash commits.", most=100)
    kept = [each.content for each in found.facts]
    assert (kept[0], kept[-1], len(kept)) == ("We never deploy on Fridays.", "We always squash commits.", 16)
    assert "pasted" in {each.reason for each in found.dropped}


def test_little_is_told_of_what_was_left_out() -> None:
    found = extracted("go on", "\n\n".join(f"what is {at}" + " and so on" * 20 + "?" for at in range(200)))
    shown = bounded(found.dropped)
    assert len(shown) == MAX_SHOWN
    assert all(len(each.text) <= SHOWN_LENGTH for each in shown)
    assert (shown[-1].text, shown[-1].reason) == (f"{len(found.dropped) - MAX_SHOWN + 1} more parts", "not shown")
    words = sum(len(each.text.split()) for each in found.dropped)
    assert sum(len(each.text.split()) + each.omitted for each in shown[:-1]) + shown[-1].omitted == words


@each_row("said", [each["said"] for each in QUOTES if each.get("kept", [[""]])[0][0] == "instruction"])
def test_an_instruction_is_known_again_in_a_memory(said: str) -> None:
    for fact in extracted(said).facts:
        lines = fact.content.removeprefix("House rules: ")
        assert is_instruction(lines) or len(lines) < len(fact.content) or ". " in lines


def test_facts_can_be_queued() -> None:
    facts = extracted("Never push to main. I prefer tabs.").facts
    assert tuple(msgspec.json.decode(msgspec.json.encode(facts), type=list[Fact])) == facts
