"""Widths, wrapping and short forms."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.cli.output import MIN_WRAP, Style, shorten, text_width, wrap


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"))), st.integers(1, 60))
def test_no_line_is_too_wide_and_no_visible_character_is_lost(text: str, width: int) -> None:
    wrapped = wrap(text, width)
    assert all(text_width(line) <= max(width, MIN_WRAP) for line in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


def test_a_chain_of_joiners_ends() -> None:
    chain = "\u200d".join("👩" * 50)
    assert "".join(wrap(chain, 20)) == chain


@given(st.text(), st.integers(3, 40))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert text_width(shorten(text, width)) <= width


def test_colours_are_added_only_when_asked_for() -> None:
    assert Style().strong("x") == "x"
    assert Style(color=True).strong("x") == "\x1b[1mx\x1b[0m"


def test_a_long_paragraph_is_wrapped_in_linear_time() -> None:
    wide = "測試" * 50_000  # measuring the rest for every line would take minutes
    assert "".join(wrap(wide, 80)) == wide
    assert {len(line) for line in wrap(wide, 80)} == {40}
