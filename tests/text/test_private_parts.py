"""What is kept of an answer beside a private part: nothing with a word of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.prompt_words import german_function_words
from mnemond.text.transcripts import KEEP_ALL, words_of_private
from tests.examples import examples


def kept(prompt: str, answer: str, public: str = "Set it up") -> str:
    record = KEEP_ALL.at_prompt(prompt)
    return record.kept(public, answer, "exchange", words_of_private(prompt))[1]


REST = "The proxy listens on port 8443 now. I restarted it. All tests are green."


@pytest.mark.parametrize(
    ("private", "sentence"),
    [
        ("My PIN is 4711", "The number 4711 is stored."),
        ("My PIN is 4711", "I used 47 11 there."),
        ("My PIN is 47 11", "I used 4711 there."),
        ("the balance is 4,711.50", "You have 4711.50 left."),
        ("the password is hunter2xyz", "It is `DB=hunter2XYZ`."),
        ("the host is db-prod-7.acme.internal", "I connect to dbprod7acmeinternal."),
        ("Ana is pregnant", "Congratulations on the pregnancy of a colleague, Ana's."),
        ("we negotiate with Initech", "Negotiating takes long."),
        ("the class is SecretMerger", "See merger.py."),
        ("张伟的密码是蓝鲸", "我给张伟写了邮件。"),
        ("Der Schlüssel liegt unter der Matte", "Die MATTE ist nass."),
        ("x7", "Then x7 is set."),
    ],
)
def test_a_sentence_that_repeats_a_word_of_it_goes(private: str, sentence: str) -> None:
    prompt = f"Set it up <private>{private}</private>"
    assert kept(prompt, f"{sentence} {REST}").strip() == REST
    assert kept(prompt, f"{REST}\n{sentence}").strip() == REST


@pytest.mark.parametrize(
    ("prompt", "public", "answer", "expected"),
    [
        ("Set it up <private>PIN 4711</private>", "Set it up", REST, REST),
        ("Set up the PIN <private>PIN 4711</private>", "Set up the PIN", f"The PIN is. {REST}", f"The PIN is. {REST}"),
        ("Set it up <private>deploy 1</private>", "Set it up", f"1. deploy 1. {REST}", f"  {REST}"),
        ("Set it up <private>PIN 4711</private>", "Set it up", "The PIN is 4711. Done.", ""),
        ("<private>PIN 4711</private>", "", REST, ""),
        ("Set it up <private>of the</private>", "Set it up", REST, ""),
        ("Set it up <private>", "Set it up", REST, ""),
        (f"Set it up <private>{'word ' * 4_000}</private>", "Set it up", REST, ""),
        ("Set it up <private>PIN 4711</private>", "Set it up", REST * 1_000, ""),
        ("Off the record. Set it up <private>PIN 4711</private>", "Set it up", REST, ""),
    ],
)  # fmt: skip
def test_what_is_left_of_an_answer(prompt: str, public: str, answer: str, expected: str) -> None:
    """All of it where the words are those of the public part as well; nothing if little is left, if the whole prompt
    was private, and if the private part says nothing, or is too long to tell."""
    assert kept(prompt, answer, public) == expected


def test_what_is_not_known_any_more_keeps_nothing() -> None:
    """An earlier daemon had the words."""
    record = KEEP_ALL.at_prompt("Set it up <private>PIN</private>")
    assert record.kept("Set it up", REST, "exchange") == ("Set it up", "")


WORDS = st.sampled_from(
    [
        "the", "my", "is", "of", "und", "der", "Ana", "ana's", "deploy", "deploys", "Deploying", "merger", "47", "11",
        "4711", "port", "8443", "db_pass", "db-pass", "x7", "Müller", "STRASSE", "Straße", "张伟", "密码", "蓝鲸",
        "hunter2", "ok", "a", "7", "SecretMerger",
    ]
)  # fmt: skip
TEXTS = st.lists(WORDS | st.text("abö12 _-", min_size=1, max_size=5), max_size=6).map(" ".join)
ENDS = st.sampled_from([". ", "\n", "! ", ", ", "。", "; ", " "])


def content(text: str) -> set[str]:
    """The words of a text as anybody would split it, without those that say nothing."""
    found = re.findall(r"[^\W_]+", text.casefold())
    return {word for word in found if word not in german_function_words() and not word.isspace()}


@examples(2_000, least=200)
@given(
    TEXTS, TEXTS, TEXTS, st.lists(st.tuples(TEXTS, ENDS), max_size=8), st.sampled_from(["</private>", "</Private>", ""])
)
def test_no_word_of_a_private_part_alone_is_kept(
    before: str, private: str, behind: str, answer: list[tuple[str, str]], end: str
) -> None:
    prompt = f"{before} <private>{private}{end}{behind if end else ''}"
    public = f"{before} {behind if end else ''}"
    said = kept(prompt, "".join(text + mark for text, mark in answer), public.strip())
    own = content(private) - content(public)
    if any("\u4e00" <= each <= "\u9fff" for each in private):  # a run of Chinese has no words to compare
        own = {each for each in own if each.isascii()}
        assert not any(each in said and each in private and each not in public for each in ("张伟", "密码", "蓝鲸"))
    assert own.isdisjoint(content(said))
