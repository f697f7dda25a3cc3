"""The code that devices share, and the lines that are signed with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.sync.code import StrangerError, code_of, secret_from, secret_of, signed, verified
from mnemond.memory.sync.groups import RecordError
from tests.tables import each_row

SECRET = secret_of("one")
LINE = b'{"mnemond_sync":1,"kind":"memory","key":"abcdef"}'


@given(st.binary(min_size=16, max_size=16))
def test_a_code_is_read_as_it_is_typed(secret: bytes) -> None:
    code = code_of(secret)
    assert len(code) == 34
    for typed in (code, code.lower(), code.replace("-", ""), f" {code.replace('-', ' ')} \n"):
        assert secret_from(typed) == secret


@given(st.binary(min_size=16, max_size=16), st.integers(0, 25))
def test_a_part_of_a_code_is_none(secret: bytes, length: int) -> None:
    with pytest.raises(ValueError, match="missing"):
        secret_from(code_of(secret).replace("-", "")[:length])


@each_row("text", ["", "ä", "AAAA-AAA1", "0" * 28, "A" * 27 + "B"])
def test_what_is_no_code(text: str) -> None:
    with pytest.raises(ValueError, match="missing"):
        secret_from(text)


def test_secrets_differ() -> None:
    assert len({secret_of(f"{number}") for number in range(100)}) == 100


def test_a_line_comes_back_as_it_was() -> None:
    line = signed(LINE, SECRET)
    assert line.startswith(b'{"mac":"')
    assert verified(line, SECRET) == LINE


@given(st.integers(0, len(signed(LINE, SECRET)) - 1), st.integers(1, 255))
def test_a_line_that_was_changed_is_refused(at: int, change: int) -> None:
    line = bytearray(signed(LINE, SECRET))
    line[at] ^= change
    with pytest.raises(RecordError):
        verified(bytes(line), SECRET)


@given(st.binary(max_size=100))
def test_any_bytes_are_refused(line: bytes) -> None:
    with pytest.raises(RecordError):
        verified(line, SECRET)


@each_row("line", [LINE, signed(LINE, secret_of("two")), b'{"mac":"","mnemond_sync":1}'])
def test_a_line_with_another_code_is_that_of_a_stranger(line: bytes) -> None:
    with pytest.raises(StrangerError):
        verified(line, SECRET)


@each_row("line", [signed(LINE, SECRET)[:-1], b"", b"[]", b"[" * 100_000, b'{"mnemond_sync":2}'])
def test_a_line_that_was_cut_or_is_of_another_version_is_none_of_a_stranger(line: bytes) -> None:
    with pytest.raises(RecordError) as caught:
        verified(line, SECRET)
    assert not isinstance(caught.value, StrangerError)
