"""Keywords, the words inside names, and the share of questions."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.features import (
    _NAME,
    _PART,
    LONGEST_KEYWORD,
    MAX_CONTENT,
    MAX_KEYWORDS,
    SHORTEST_PART,
    inner_terms,
    keywords,
    question_share,
)
from mnemond.text.tokens import index_terms
from tests.examples import examples
from tests.tables import each_row

# ---------------------------------------------------------------- keywords


def in_none(words: Iterable[str]) -> list[int]:
    return [0 for _ in words]


def test_rare_words_come_first_and_ties_are_alphabetical() -> None:
    seen = {"use": 90, "redis": 3, "cache": 3, "session": 10}
    chosen = keywords(
        "use redis session cache",
        document_frequencies=lambda words: [seen[word] for word in words],
        documents=100,
        tags=(),
        entities=(),
    )
    assert chosen == ("cache", "redis", "session", "use")


def test_a_word_said_twice_weighs_twice() -> None:
    text = "alpha beta beta"
    assert keywords(
        text, document_frequencies=lambda words: [9 for _ in words], documents=99, tags=(), entities=()
    ) == ("beta", "alpha")


def test_twelve_words_of_the_text_then_tags_then_entities() -> None:
    text = " ".join(f"word{number:02}" for number in range(30))
    chosen = keywords(
        text, document_frequencies=in_none, documents=50, tags=("Data-Base", "word00"), entities=("SQLite", "数据库")
    )
    assert chosen[:MAX_CONTENT] == tuple(f"word{number:02}" for number in range(12))
    assert chosen[MAX_CONTENT:] == ("data", "base", "sqlite", "数据", "据库")


@pytest.mark.parametrize(("documents", "expected"), [(4, 20), (5, 12)])
def test_a_small_store_keeps_every_word(documents: int, expected: int) -> None:
    text = " ".join(f"w{number}" for number in range(20))
    assert len(keywords(text, document_frequencies=in_none, documents=documents, tags=(), entities=())) == expected


def test_a_long_text_in_a_small_store_leaves_room_for_its_tags() -> None:
    text = " ".join(f"w{number}" for number in range(500))
    chosen = keywords(text, document_frequencies=in_none, documents=0, tags=("storage",), entities=("SQLite",))
    assert len(chosen) == MAX_KEYWORDS
    assert chosen[-2:] == ("storage", "sqlite")


def test_a_frequency_beyond_the_store_does_no_harm() -> None:
    assert keywords(
        "red blue", document_frequencies=lambda words: [10**6 for _ in words], documents=9, tags=(), entities=()
    ) == (
        "blue",
        "red",
    )


@given(st.text(max_size=200), st.integers(0, 20), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_has_a_bounded_list_without_repeats(text: str, documents: int, labels: list[str]) -> None:
    chosen = keywords(
        text,
        document_frequencies=lambda words: [len(word) for word in words],
        documents=documents,
        tags=labels,
        entities=labels,
    )
    assert len(chosen) == len(set(chosen)) <= MAX_KEYWORDS
    assert all(0 < len(word) <= LONGEST_KEYWORD for word in chosen)


def test_a_hash_is_cut() -> None:
    assert keywords("f" * 900, document_frequencies=in_none, documents=9, tags=(), entities=()) == ("f" * 64,)


# ---------------------------------------------------------------- words inside names, share of questions


@each_row(
    ("text", "terms"),
    [
        ("SetOption", ["set", "option"]),
        ("call setOption, then GetOptions()", ["set", "option", "get", "option"]),
        ("HTTPServer parseJSONFile", ["http", "server", "pars", "json", "file"]),
        ("iOS", ["os"]),  # a single letter is no word
        ("getX", ["get"]),
        ("London, NASA and plain words", []),
        ("snake_case and kebab-case", []),
        ("数据库SetOption数据库", ["set", "option"]),
        ("", []),
    ],
)
def test_parts_of_a_name_are_words_of_their_own(text: str, terms: list[str]) -> None:
    assert inner_terms(text) == terms


@each_row(
    ("text", "share"),
    [
        ("", 0.0),
        ("A statement.", 0.0),
        ("What now?", 1.0),
        ("What now? Ok.", 9 / 12),  # the blank between the two belongs to neither
        ("Ok.\nAnd you?\nFine", 8 / 15),
        ("你好。你在哪？", 4 / 7),
        ("Really??? No", 9 / 11),
        ("see https://a/b?c for more", 16 / 26),  # a question mark inside a word ends a sentence all the same
    ],
)
def test_how_much_of_a_text_asks(text: str, share: float) -> None:
    assert question_share(text) == pytest.approx(share)


@examples(100)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aA Z?？.!。\n", max_size=40)))
def test_any_text_has_a_share_and_parts(text: str) -> None:
    assert 0.0 <= question_share(text) <= 1.0
    assert (question_share(text) > 0.0) <= ("?" in text or "？" in text)
    assert all(inner_terms(text))
    assert question_share(text + "\nReally?") > 0.0


@examples(300)
@given(st.one_of(st.text(max_size=60), st.text(alphabet="aAbB éÉ中ǅ-_'7\n\x1c", max_size=40)))
def test_words_that_are_passed_over_have_no_parts(text: str) -> None:
    names = [name for name in _NAME.findall(text) if not (name[1:].islower() or name.isupper())]
    parts = [part for name in names if len(found := _PART.findall(name)) > 1 for part in found]
    assert inner_terms(text) == index_terms(" ".join(part for part in parts if len(part) >= SHORTEST_PART))
