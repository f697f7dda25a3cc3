"""Tokens, index terms and runs of marks."""

from __future__ import annotations

import re
import threading
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from mnemond.text.similarity import token_set
from mnemond.text.tokens import (
    _ASCII_INDEX_WORD,
    FUNCTION_WORDS,
    MAX_MARKS,
    MAX_TERM,
    _term,
    capped,
    fold,
    index_term,
    index_terms,
    latin_words,
    long_run_at,
    tokens,
)
from tests.tables import each_row

# ---------------------------------------------------------------- token lists and the terms of the keyword index


@each_row(
    ("text", "expected"),
    [
        ("Chose Qdrant as the vector database", {"chose", "qdrant", "vector", "database"}),
        ("为什么选择", {"为什", "什么", "么选", "选择"}),
        ("库", {"库"}),
        ("", set()),
        ("Should we use Redis?", {"use", "redis"}),
        ("User does not prefer dark mode", {"user", "prefer", "dark", "mode"}),
        ("API rate limit is 100 req/s", {"api", "rate", "limit", "100", "req", "s"}),
        ("SQLite over Redis because", {"sqlite", "over", "redis", "because"}),
        ("snake_case and kebab-case", {"snake", "case", "kebab"}),
        ("...!? -- _", set()),
    ],
)
def test_tokens_are_folded_words_without_function_words(text: str, expected: set[str]) -> None:
    assert set(tokens(text)) == expected


def test_tokens_keep_order_and_repeats() -> None:
    assert tokens("red green red") == ["red", "green", "red"]


def test_the_function_words_are_about_ninety_and_spare_the_words_that_matter() -> None:
    assert 85 <= len(FUNCTION_WORDS) <= 95
    assert {"not", "no", "a", "i"} <= FUNCTION_WORDS
    assert not {"over", "because", "user", "s", "b"} & FUNCTION_WORDS


@each_row(
    ("text", "expected"),
    [
        ("ﬁnance ＡＢＣ Straße", ["finance", "abc", "strasse"]),
        ("Café", ["café"]),
        ("中文Qdrant混合", ["中文", "qdrant", "混合"]),
        ("決定しました", ["決定", "定し", "しま", "まし", "した"]),
        ("ﾀﾜｰ", ["タワ", "ワー"]),
        ("한국어", ["한국", "국어"]),
        ("東京・大阪", ["東京", "大阪"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Привет, мир", ["привет", "мир"]),
    ],
)
def test_every_script_is_cut_where_its_readers_would_cut_it(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@each_row(
    ("text", "expected"),
    [
        ("running runs", ["run", "run"]),
        ("Caroline's dogs' beds", ["carolin", "dog", "bed"]),
        ("I don't, they're, we've, it's", []),
        ("I don’t think it’s Mike’s", ["think", "mike"]),
        ("yes the API", ["api"]),
        ("v0.34.1", ["v0", "34", "1"]),
        ("我们选择PostgreSQL数据库", ["我们", "们选", "选择", "postgresql", "数据", "据库"]),
    ],
)
def test_index_terms_are_stems_without_stop_words_and_possessives(text: str, expected: list[str]) -> None:
    assert index_terms(text) == expected


def test_a_long_run_becomes_several_terms_alike_wherever_it_stands() -> None:
    blob = "0123456789abcdef" * 20
    assert max(map(len, index_terms(blob))) <= MAX_TERM
    assert index_terms(blob) == index_terms(f"see {blob}")[1:]
    assert index_terms(blob + " é")[:-1] == index_terms(blob)


def test_ascii_and_other_text_are_read_alike() -> None:
    text = "Mike's servers don't restart; they've crashed 3 times_over"
    assert index_terms(text + " ") == index_terms(text + "\u00a0")
    assert tokens(text + " ") == tokens(text + "\u00a0")


@given(st.text(max_size=60))
def test_folding_twice_changes_nothing_and_any_text_has_terms(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert all(tokens(text))
    assert all(index_terms(text))


@given(st.text(max_size=60) | st.text("记忆库ー々がか\u3099한글ᄀ\u1161\uf900aé7 ", max_size=30))
@example("ᄀᄀ\u1161ᆨ")
def test_one_token_stands_for_what_it_would_as_a_text(text: str) -> None:
    for token in tokens(text):
        assert index_term(token) == next(iter(index_terms(token)), "")


def test_terms_are_right_when_threads_stem_at_the_same_time() -> None:
    words = [f"running{number}ing" for number in range(400)]
    alone = [index_terms(word) for word in words]
    from mnemond.text import tokens as module

    module._term.cache_clear()
    seen: list[list[list[str]]] = []
    threads = [threading.Thread(target=lambda: seen.append([index_terms(word) for word in words])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [alone] * 4


@given(st.one_of(st.text(st.characters(max_codepoint=127)), st.text()))
@example("it's_K9 a-b\x00c\x1fd")
def test_latin_words_are_the_runs_of_the_folded_text(text: str) -> None:
    assert latin_words(text) == frozenset(re.findall("[a-z0-9]+", fold(text)))


@given(st.one_of(st.text(st.characters(max_codepoint=127)), st.text(alphabet="aAsS' 7-", max_size=150)))
@example(f"a {'b' * MAX_TERM} c")
@example(f"a {'b' * (MAX_TERM + 1)} c")
def test_index_terms_of_an_ascii_text_are_those_of_its_words(text: str) -> None:
    words = _ASCII_INDEX_WORD.findall(text.lower())
    assert index_terms(text) == [term for word in words if (term := _term(word))]


@given(st.text(st.characters(max_codepoint=127)))
def test_tokens_of_an_ascii_text_are_its_runs_without_function_words(text: str) -> None:
    assert tokens(text) == [word for word in re.findall("[a-z0-9]+", text.lower()) if word not in FUNCTION_WORDS]
    assert token_set(text) == frozenset(tokens(text))


# ---------------------------------------------------------------- runs of combining marks


def test_ordinary_text_is_left_alone() -> None:
    for text in ("plain", "café", "e\u0301" * 1000, "नमस्ते", "记" * 8000, "a" + "\u0316" * MAX_MARKS):
        assert capped(text) is text or capped(text) == text
        assert long_run_at(text) is None


def test_a_long_run_is_found_and_cut() -> None:
    text = "ab" + "\u0316\u0301" * 500 + "c"
    assert long_run_at(text) == 2
    assert capped(text) == "ab" + "\u0316\u0301" * (MAX_MARKS // 2) + "c"


@given(st.integers(0, 100), st.integers(0, 3 * MAX_MARKS), st.sampled_from(["记", "a", "é"]))
def test_a_long_run_is_found_wherever_it_begins(before: int, marks: int, letter: str) -> None:
    text = letter * before + "\u0316" * marks + letter * 100
    assert long_run_at(text) == (before if marks > MAX_MARKS else None)
    assert capped(text) == letter * before + "\u0316" * min(marks, MAX_MARKS) + letter * 100


def test_a_megabyte_of_marks_does_not_take_its_square() -> None:
    hostile = "a" + "\u0316\u0301" * 250_000  # normalising it as it stands would take minutes
    assert len(capped(hostile)) == 1 + MAX_MARKS
    assert len(index_terms(hostile)) <= 2
    assert len(tokens(hostile)) == 1


@given(st.text(st.sampled_from("aé\u0301\u0316\u3099\U0001d165记")))
def test_what_is_left_has_no_long_run(text: str) -> None:
    run = longest = 0
    for character in capped(text * 8):
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    assert longest <= MAX_MARKS


@given(st.lists(st.tuples(st.sampled_from("aé记"), st.integers(0, MAX_MARKS + 2)), max_size=6))
def test_of_runs_as_long_as_may_be_and_longer_ones_the_first_too_long_is_found(runs: list[tuple[str, int]]) -> None:
    text, first = "", None
    for letter, marks in runs:
        text += letter
        if first is None and marks > MAX_MARKS:
            first = len(text)
        text += "\u0316" * marks
    assert long_run_at(text) == first
