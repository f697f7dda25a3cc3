"""Sizes of texts in a prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.text.prompt_escape import cut, quarters, token_count
from tests.examples import examples

TEXTS = st.text(alphabet="abé ñ→…数据库ひ한🙂\u0301", max_size=40)


@pytest.mark.parametrize(
    ("text", "size", "count"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("abcd", 4, 1),
        ("abcde", 5, 2),
        ("数据库", 12, 3),
        ("数据库 a", 14, 4),
        ("über → …", 8, 2),
        ("ひらがな", 16, 4),
        ("한국어", 12, 3),
        ("，。", 8, 2),
        ("🙂", 4, 1),
        ("тест", 4, 1),
    ],
)
def test_four_letters_or_one_character_of_cjk_are_a_token(text: str, size: int, count: int) -> None:
    assert quarters(text) == size
    assert token_count(size) == count


@pytest.mark.parametrize(
    ("text", "size", "beginning"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcd ef", 6, "abcd…"),
        ("数据库", 11, "数据…"),
        ("数据库", 8, "数…"),
        ("a数", 4, "a…"),
        ("ae\u0301xy", 4, "ae\u0301…"),
        ("ae\u0301xy", 3, "a…"),
        ("abc", 1, "…"),
        ("abc", 0, "…"),
        ("", 0, ""),
    ],
)
def test_a_beginning_ends_with_an_ellipsis_and_fits(text: str, size: int, beginning: str) -> None:
    assert cut(text, size) == beginning


@given(TEXTS, TEXTS, st.integers(1, 60))
@examples(100)
def test_sizes_add_up_and_bound_what_is_cut(one: str, other: str, size: int) -> None:
    assert quarters(one + other) == quarters(one) + quarters(other)
    beginning = cut(one, size)
    assert quarters(beginning) <= max(size, 1)
    assert beginning == one or one.startswith(beginning[:-1])
