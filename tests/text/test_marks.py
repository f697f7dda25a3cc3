"""Runs of combining marks are found and cut in linear time."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.tokens import MAX_MARKS, capped, index_terms, long_run_at, tokens


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
