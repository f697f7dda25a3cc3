"""Nesting is measured before anything decodes it."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.wire.jsonrpc import MAX_DEPTH, too_deep
from tests.tables import each_row

JSON = st.recursive(
    st.text(alphabet='[]{}"\\a') | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[{"\\'), inner, max_size=3),
    max_leaves=40,
)


def depth(value: object) -> int:
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 1 + max(map(depth, value.values()), default=0) if isinstance(value, dict) else 0


@given(JSON, st.integers(0, 4))
def test_agrees_with_counting_levels(value: object, limit: int) -> None:
    assert too_deep(json.dumps(value).encode(), limit) == (depth(value) > limit)


@each_row("opening", [b"[", b'{"a":'])
def test_the_limit_itself_is_allowed(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    assert not too_deep(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH)
    assert too_deep(opening * (MAX_DEPTH + 1))


def test_wide_is_not_deep() -> None:
    assert not too_deep(b"[" + b"[]," * 1000 + b"[]]")


def test_brackets_in_text_do_not_count() -> None:
    assert not too_deep(msgspec.json.encode({"code": '[[{{\\"' * 1000}))


@each_row(
    "hostile",
    [
        b'"' + b'\\"' * 500_000,
        b'"\\"' * 340_000,
        b"[" * (1 << 20),
        b"[]" * (1 << 19),
        b'[["' * 300_000,
        b"\\" * (1 << 20),
        b'[""],' * 200_000,
        b'["\\\\\\""],' * 100_000,
    ],
)
def test_hostile_megabytes_take_linear_time(hostile: bytes) -> None:
    """A quadratic scan of any of these takes hours, not the few hundredths of a second of a linear one."""
    too_deep(hostile)


@each_row(
    ("text", "deep"),
    [
        (rb'"\\",[[[', True),
        (rb'"\\\",[[[', False),
        (rb'"\\\"",[[[', True),
        (rb'"\"[[["', False),
        (rb'"\u005b",[[[', True),
        (b'[[["', True),
        (b'"[[[', False),
        (b"]]][[[", False),
    ],
)
def test_what_an_escape_hides(text: bytes, deep: bool) -> None:
    assert too_deep(text, 2) == deep
