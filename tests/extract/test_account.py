"""Every content word that is read stands in a fact or in a part that was left out, and the list that is shown says what
it does not show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.extract.account import (
    MAX_CHARACTERS,
    MAX_SHOWN,
    SHOWN_LENGTH,
    bounded,
    content_words,
    missing,
    stems,
)
from mnemond.extract.facts import Message
from mnemond.model.answers import Dropped
from tests.examples import examples
from tests.extract.exchanges import exchanges, extracted
from tests.extract.test_hostile import PIECES

CLAUSES = st.sampled_from(
    [
        "I'm Ana", "my sister Noor cycles alongside", "we chose NATS over Kafka", "the port is 8443, not 443",
        "if we used Redis, we'd need two servers", "can you rename it?", "never add docstrings to tests",
        "thanks a lot",
        "btw the nightly job takes 40 minutes", "she answers mails only on Thursdays",
        "it runs in Frankfurt",
        'my boss said "we will rewrite everything by Christmas"', "I am vegetarian and allergic to peanuts",
        "fix the typo in line 3", "translate this: ich wohne in Graz", "the tests are failing now",
        "I left Deloitte in January and now work as a bookkeeper", "i dont have docker, only podman",
        "Ich wohne in Graz und arbeite bei der Post", "kannst du das prüfen?", "我叫王芳，住在上海", "帮我看看这个报错",
        "see [the docs](https://example.com/a/b)", "**always** use `uv` here", "# Notes", "| a | b |", "- one item",
        "mine are in iCloud, hers aren't", "I'd better go", "they're gone", "etc. and so on", "e.g. this one",
    ]
)  # fmt: skip
JOINED = st.lists(
    st.tuples(CLAUSES, st.sampled_from([". ", ", ", " and ", "\n", "\n\n", "; ", "! ", ": ", " - "]))
).map(lambda parts: "".join(clause + mark for clause, mark in parts))
MESSAGES = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), JOINED | PIECES), max_size=4)


def unaccounted(messages: list[Message]) -> list[str]:
    found = extracted(*messages)
    stated = [*(each.content for each in found.facts), *(each.text for each in found.dropped)]
    return [piece for message in messages for piece in missing(message.content, stated)]


@given(MESSAGES)
@examples(400, least=80)
def test_no_content_word_is_lost(said: list[tuple[str, str]]) -> None:
    assert unaccounted([Message(role, text) for role, text in said]) == []


@pytest.mark.parametrize("name", ["known", "unseen"])
def test_no_content_word_of_an_exchange_is_lost(name: str) -> None:
    for each in exchanges(name):
        assert unaccounted([Message("user", each.user), Message("assistant", each.assistant)]) == [], each.name


def test_a_long_conversation_is_accounted_for() -> None:
    text = " ".join(f"The service{at} runs on port {8000 + at}. Is it{at} up?" for at in range(3_000))
    assert unaccounted([Message("user", text), Message("assistant", "x " * 60_000)]) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I'm not sure we've got it", ["sure", "got"]),
        ("Ana's tests don't pass", ["ana", "test", "pass"]),
        ("he goes, I go", ["go", "go"]),
        ("port 443, v2.3", ["port", "443", "v2", "3"]),
        ("我叫王芳 GitLab", ["叫", "王", "芳", "gitlab"]),
        ("", []),
    ],
)
def test_content_words(text: str, words: list[str]) -> None:
    assert [stem for stem, _, _ in content_words(text)] == words


def test_pieces_that_are_missing() -> None:
    assert missing("The port is 8443, and tea is hot", ["port"]) == ["8443, and tea is hot"]
    assert missing("The port is 8443", ["8443", "a port"]) == []
    assert stems(["tests", "testing"]) == stems(["test"])


@given(st.lists(st.tuples(st.text("ab \n", max_size=900), st.sampled_from(["quote", "request"])), max_size=120))
@examples(100)
def test_the_list_that_is_shown_counts_what_it_does_not_show(parts: list[tuple[str, str]]) -> None:
    shown = bounded([Dropped(*each) for each in parts])
    assert len(shown) <= MAX_SHOWN
    assert all(len(each.text) <= SHOWN_LENGTH for each in shown)
    assert sum(len(each.text) for each in shown) <= MAX_CHARACTERS + 40
    words = sum(len(text.split()) for text, _ in parts)
    listed = [each for each in shown if each.reason != "not shown"]
    more = sum(each.omitted for each in shown if each.reason == "not shown")
    assert sum(len(each.text.split()) + each.omitted for each in listed) + more == words
