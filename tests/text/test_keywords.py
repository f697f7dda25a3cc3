"""Keywords of spec 6.2."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.features import LONGEST_KEYWORD, MAX_CONTENT, MAX_KEYWORDS, keywords


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
