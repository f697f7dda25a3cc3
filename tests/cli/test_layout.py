"""Widths, wrapping and short forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.cli.output import MIN_WRAP, Style, body, fraction, milliseconds, shorten, text_width, wrap
from mnemond.wire.params import plural
from tests.tables import each_row


def test_wrapping_breaks_at_spaces() -> None:
    assert wrap("one two three four five six", 20) == ["one two three four", "five six"]


def test_wide_characters_take_two_cells() -> None:
    assert text_width("東京") == 4
    assert wrap("東京都千代田区丸の内一丁目", 20) == ["東京都千代田区丸の内", "一丁目"]


def test_combining_marks_take_none() -> None:
    assert text_width("e\u0301") == 1


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"))), st.integers(1, 60))
def test_no_line_is_too_wide_and_no_visible_character_is_lost(text: str, width: int) -> None:
    wrapped = wrap(text, width)
    assert all(text_width(line) <= max(width, MIN_WRAP) for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


def test_joiners_take_no_cell_and_are_not_cut_off() -> None:
    family = "👨\u200d👩\u200d👧"
    assert text_width(family) == 6
    assert wrap("一二三四五六七八九" + family, 20) == ["一二三四五六七八九", family]
    assert shorten("一二三四五六七" + family, 19) == "一二三四五六七…"


def test_a_chain_of_joiners_ends() -> None:
    chain = "\u200d".join("👩" * 50)
    assert "".join(wrap(chain, 20)) == chain


@given(st.text(), st.integers(3, 40))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert text_width(shorten(text, width)) <= width


def test_a_body_keeps_its_paragraphs() -> None:
    assert body("first\n\nsecond", Style(columns=40)) == "   first\n\n   second"


@each_row(("value", "shown"), [(0.85, ".85"), (1.0, "1.0"), (0.0, "0"), (0.999, "1.0"), (0.001, ".00")])
def test_fractions(value: float, shown: str) -> None:
    assert fraction(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.123, "0.12"), (1.25, "1.2"), (123.4, "123")])
def test_milliseconds(value: float, shown: str) -> None:
    assert milliseconds(value) == shown


def test_plurals() -> None:
    assert [plural(n, "memory") for n in (0, 1, 2000)] == ["0 memories", "1 memory", "2,000 memories"]


def test_colours_are_added_only_when_asked_for() -> None:
    assert Style().strong("x") == "x"
    assert Style(color=True).strong("x") == "\x1b[1mx\x1b[0m"


def test_a_long_paragraph_is_wrapped_in_linear_time() -> None:
    wide = "測試" * 50_000  # measuring the rest for every line would take minutes
    assert "".join(wrap(wide, 80)) == wide
    assert {len(line) for line in wrap(wide, 80)} == {40}


def test_a_short_form_looks_at_no_more_than_it_can_show() -> None:
    assert shorten("記" * 1_000_000, 20) == "記" * 9 + "…"
