"""Prompts as somebody typed them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.protocol.hooks.wrappers import without_wrappers


@pytest.mark.parametrize(
    ("prompt", "typed"),
    [
        ("plain", "plain"),
        ("<hook_context>old</hook_context>\n\nnew", "new"),
        ("a <system-reminder>be nice</system-reminder> b", "a  b"),
        ("<system-reminder>x <hook_context>y</hook_context> z</system-reminder>q", "q"),
        ("<recalled-data 0123abcd>\nm\n</recalled-data 0123abcd>\nq", "q"),
        ("what does <hook_context> mean?", "what does <hook_context> mean?"),
        ("<hook_context>a</hook_context", "<hook_context>a</hook_context"),
        ("<hook_contexts>a</hook_contexts>", "<hook_contexts>a</hook_contexts>"),
        ("", ""),
    ],
)
def test_what_others_put_in_is_left_out(prompt: str, typed: str) -> None:
    assert without_wrappers(prompt) == typed


def test_many_openings_take_no_longer_than_one() -> None:
    hostile = "<hook_context>" * 200_000
    assert without_wrappers(hostile) == hostile


@given(st.text("<hok_cntex>/ a", max_size=80))
def test_nothing_is_added(text: str) -> None:
    assert len(without_wrappers(text)) <= len(text)
