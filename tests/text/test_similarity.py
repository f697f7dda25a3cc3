"""Set similarities and the normalised form that two equal texts share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import MAX_CONTENT
from mnemond.text import caches, similarity
from mnemond.text.similarity import (
    MAX_CHARACTERS,
    MAX_COUNTED,
    LongTextCache,
    Overlap,
    normalised,
    overlap,
    token_set,
)
from mnemond.text.tokens import tokens
from tests.tables import each_row

WORDS = st.frozensets(st.sampled_from("abcdefghij"), max_size=8)


def measured(old: str, new: str) -> Overlap:
    return overlap(token_set(old), token_set(new))


@each_row(
    ("old", "new", "lexical"),
    [
        ("Chose SQLite as storage", "Chose PostgreSQL to replace SQLite as the primary database", 0.6667),
        ("Uses Redis", "Uses Redis for session cache with TTL 30 min", 0.2857),
        ("Team lacks Redis experience", "Chose SQLite over Redis because the team lacks Redis experience", 1.0),
        (
            "Chose Qdrant over Milvus for vector search",
            "Chose Qdrant over Milvus for vector search because filtering is faster",
            1.0,
        ),
        ("Deploys on Friday are allowed", "Deploys on Friday are not allowed", 1.0),
        ("API rate limit is 100 req/s", "API rate limit is 200 req/s", 0.8333),
        ("User prefers dark mode", "User does not prefer dark mode", 0.75),
        ("The office is in Berlin", "The office is in Munich", 0.3333),
        ("We no longer use Jenkins", "We no longer use Jenkins", 1.0),
        ("Prefers communicating in Chinese", "prefers communicating in chinese.", 1.0),
    ],
)
def test_the_lexical_similarity_is_that_of_the_decision_table(old: str, new: str, lexical: float) -> None:
    assert measured(old, new).lexical == pytest.approx(lexical, abs=5e-5)


def test_the_other_figures_of_the_decision_table() -> None:
    chose = measured("Chose SQLite as storage", "Chose PostgreSQL to replace SQLite as the primary database")
    assert chose.jaccard == pytest.approx(0.2857, abs=5e-5)
    lacks = measured("Team lacks Redis experience", "Chose SQLite over Redis because the team lacks Redis experience")
    assert lacks.novelty == 0.5
    short = "Chose Qdrant over Milvus for vector search"
    long = f"{short} because filtering is faster"
    assert measured(short, long).novelty == pytest.approx(0.3333, abs=5e-5)
    assert measured(long, short).novelty == 0


def test_every_figure_of_two_sets() -> None:
    old, new = frozenset("abcd"), frozenset("cdefgh")
    assert overlap(old, new) == Overlap(
        shared=2, jaccard=0.25, of_old=0.5, of_new=2 / 6, overlap=2 / 6, novelty=4 / 6, lexical=0.5
    )


@pytest.mark.parametrize(("old", "new", "novelty"), [("", "", 0.0), ("ab", "", 0.0), ("", "ab", 1.0)])
def test_an_empty_side_shares_nothing(old: str, new: str, novelty: float) -> None:
    assert overlap(frozenset(old), frozenset(new)) == Overlap(0, 0.0, 0.0, 0.0, 0.0, novelty, 0.0)


@pytest.mark.parametrize(("min_tokens", "lexical"), [(3, 0.5), (2, 1.0)])
def test_containment_counts_from_the_least_number_of_tokens_on(min_tokens: int, lexical: float) -> None:
    assert overlap(frozenset("ab"), frozenset("abcd"), min_tokens).lexical == lexical


@given(WORDS, WORDS)
def test_the_figures_agree_with_each_other(old: frozenset[str], new: frozenset[str]) -> None:
    there, back = overlap(old, new), overlap(new, old)
    assert (there.shared, there.jaccard, there.overlap, there.lexical) == (
        back.shared,
        back.jaccard,
        back.overlap,
        back.lexical,
    )
    assert (there.of_old, there.of_new) == (back.of_new, back.of_old)
    assert 0 <= there.jaccard <= there.overlap <= max(there.of_old, there.of_new) <= 1
    assert there.jaccard <= there.lexical <= 1
    assert not (old and new) or there.novelty + there.of_new == pytest.approx(1)


@each_row(
    ("one", "other"),
    [
        ("Prefers communicating in Chinese", "prefers communicating in chinese."),
        ("Uses  Redis\n\tfor cache", "uses redis for cache"),
        ("“Uses Redis”", "Uses Redis!"),
        ("- Uses Redis;", "* uses redis"),
        ("（使用Ｒｅｄｉｓ）。", "使用redis"),
        ("「三体」", "三体！"),
    ],
)
def test_texts_that_say_the_same_have_one_normalised_form(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@each_row(
    ("one", "other"),
    [
        ("-5 degrees", "5 degrees"),
        (".env is ignored", "env is ignored"),
        ("uses C#", "uses C"),
        ("uses C++", "uses C"),
        ("!!", "??"),
        ("/etc", "etc"),
        ("allowed", "not allowed"),
    ],
)
def test_texts_that_say_something_else_keep_their_difference(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.text(st.sampled_from("aB1 -*.!?'\"()（。」é\u00a0\n"), max_size=30) | st.text(max_size=30))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_token_sets_are_remembered_until_they_are_let_go() -> None:
    caches.clear_all()
    assert token_set("red green red") == {"red", "green"}
    assert token_set("red green red") is token_set("red green red")
    assert similarity._cached_token_set.cache_info().currsize == 1
    caches.clear_all()
    assert similarity._cached_token_set.cache_info().currsize == 0


def test_a_long_text_is_remembered_by_what_it_weighs() -> None:
    caches.clear_all()
    long = "red green " * MAX_COUNTED
    assert token_set(long) == set(tokens(long))
    assert token_set(long) is token_set(long)
    assert similarity._cached_token_set.cache_info().currsize == 0
    assert similarity._long_texts.characters == len(long)
    caches.clear_all()
    assert similarity._long_texts.characters == 0


@given(st.lists(st.sampled_from(["a b", "b c d", "记忆守护", "e " * 9, "f " * 16]), max_size=30))
def test_of_long_texts_those_asked_for_lately_are_remembered(asked: list[str]) -> None:
    most = 30
    kept = LongTextCache(most)
    expected: list[str] = []
    for text in asked:
        assert kept.token_set(text) == set(tokens(text))
        if len(text) <= most:
            expected = [each for each in expected if each != text] + [text]
        while sum(map(len, expected)) > most:
            expected.pop(0)
        assert list(kept._kept) == expected
        assert kept.characters == sum(map(len, expected)) <= most


def test_no_text_is_too_long_to_be_one_of_many() -> None:
    assert MAX_CONTENT * 16 <= MAX_CHARACTERS
