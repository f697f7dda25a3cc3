"""Which sentences of a prompt are searched with."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.transcripts import MAX_FIRST, MAX_LAST, MAX_SENTENCE, questions

MANY = [f"This is sentence number {number}." for number in range(20)]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("Why did we choose SQLite?", ["Why did we choose SQLite?"]),
        (
            "I looked at it. Why did we choose SQLite? Go on!\nThen say so.",
            ["I looked at it.", "Why did we choose SQLite?", "Then say so."],
        ),
        ("为什么选择它？请先看代码。", ["为什么选择它？", "请先看代码。"]),
        ("Why SQLite?", ["Why SQLite?"]),
        ("ok, go on", []),
        ("yes. why? 42?", ["why?"]),
        ("Use it as before. Use it as before.", ["Use it as before."]),
        (" ".join(MANY), [*MANY[:MAX_FIRST], *MANY[-MAX_LAST:]]),
        ("x" * 900, ["x" * MAX_SENTENCE]),
        ("… !", []),
        ("", []),
    ],
)
def test_sentences(prompt: str, found: list[str]) -> None:
    assert questions(prompt) == found


@given(st.text(max_size=400))
def test_bounded_whatever_is_said(prompt: str) -> None:
    found = questions(prompt)
    assert len(found) <= MAX_FIRST + MAX_LAST
    assert all(0 < len(each) <= MAX_SENTENCE for each in found)
    assert all(any(map(str.isalpha, each)) for each in found)


def test_a_quarter_of_a_megabyte_takes_no_time() -> None:
    begun = time.process_time()
    for piece in (". a ", "\n", "。", "x", " "):
        questions(piece * 250_000)
    assert time.process_time() - begun < 0.5
