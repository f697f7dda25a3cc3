"""Bytes become messages, however they are cut."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.wire.connection import MAX_MESSAGE_BYTES, MAX_SKIPPED, Framer

LINES = st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"").strip(b" \t\r")), max_size=8)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@given(LINES, st.lists(st.integers(0, 1000)), st.sampled_from([b"\n", b"\r\n", b" \n", b"\n\n"]), st.booleans())
def test_any_cut_gives_the_same_messages(lines: list[bytes], cuts: list[int], end: bytes, closed: bool) -> None:
    data = end.join(lines) + (end if closed else b"")
    framer = Framer()
    messages = [message for piece in pieces(data, cuts) for message in framer.feed(piece)]
    assert messages + framer.finish() == [line for line in lines if line]
    assert not framer.pending


def test_the_end_of_the_stream_ends_a_message_once() -> None:
    framer = Framer()
    assert framer.feed(b"one\ntwo") == [b"one"]
    assert framer.pending
    assert framer.finish() == [b"two"]
    assert framer.finish() == []


def test_blank_lines_and_blanks_before_a_message_are_nothing() -> None:
    framer = Framer()
    assert framer.feed(b"\n \r\n\t\n  ") == []
    assert not framer.pending
    assert framer.feed(b" x\r\n") == [b"x"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not(size: int) -> None:
    fits = b"x" * 1000
    for body, expected, overlong in ((fits, [fits], False), (fits + b"x", [], True)):
        framer = Framer(limit=1000)
        data = body + b"\n"
        got = [each for at in range(0, len(data), size) for each in framer.feed(data[at : at + size])]
        assert (got, framer.overlong) == (expected, overlong)


def test_what_was_complete_before_an_overlong_message_still_counts_and_nothing_after() -> None:
    framer = Framer(limit=4)
    assert framer.feed(b"a\nb\ntoolong\nc\n") == [b"a", b"b"]
    assert framer.overlong
    assert framer.feed(b"d\n") == []
    assert framer.finish() == []
    assert not framer.pending


def test_an_endless_message_takes_no_more_memory_than_the_limit() -> None:
    framer = Framer()
    tracemalloc.start()
    for _ in range(64):
        framer.feed(b"x" * 65536)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert framer.overlong
    assert peak < 3 * MAX_MESSAGE_BYTES


def test_drip_fed_bytes_are_looked_at_once() -> None:
    """Quadratic framing would look at 45 gigabytes here."""
    framer = Framer()
    length = 300_000
    for _ in range(length):
        framer.feed(b"x")
    assert [len(message) for message in framer.feed(b"\n")] == [length]


HOOK = b'{"hook_event_name":"PostToolUse","tool_response":"'


def test_a_hooks_payload_over_the_limit_is_read_to_its_end() -> None:
    framer = Framer(100)
    assert framer.feed(b'{"a":1}\n' + HOOK) == [b'{"a":1}']
    assert framer.beginning == HOOK
    assert framer.feed(b"x" * 100) == []
    assert (framer.overlong, framer.pending, framer.beginning) == (False, True, HOOK + b"x" * 100)
    assert framer.feed(b"x" * 5000) == []
    assert not framer.overlong
    assert framer.feed(b'"}\n{"b":2}\n') == []
    assert (framer.overlong, framer.pending) == (True, False)
    assert framer.feed(b'{"c":3}\n') == framer.finish() == []


def test_or_to_the_end_of_the_stream() -> None:
    framer = Framer(100)
    framer.feed(HOOK + b"x" * 100)
    assert not framer.overlong
    assert framer.finish() == []
    assert framer.overlong


def test_or_until_it_has_gone_on_for_too_long() -> None:
    framer = Framer(100)
    framer.feed(HOOK + b"x" * 100)
    for _ in range(MAX_SKIPPED >> 20):
        framer.feed(b"x" * (1 << 20))
        assert not framer.overlong
    framer.feed(b"x")
    assert framer.overlong


def test_one_that_arrives_whole_has_ended() -> None:
    framer = Framer(100)
    assert framer.feed(HOOK + b"x" * 100 + b'"}\n') == []
    assert framer.overlong
    assert framer.beginning.startswith(HOOK)
