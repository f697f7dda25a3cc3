"""Events: their order, what is kept of them, and readers that lag."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.api.events import EACH_CONNECTION, KEPT, Feed
from mnemond.errors import INVALID_PARAMS, TOO_LARGE, MnemonError

FIRST = 1_000_000
ALL = frozenset({"memory", "job"})


class Happening(msgspec.Struct):
    """What happened."""

    number: int


class Readers:
    """Connections that take what they are told, as long as they have room."""

    def __init__(self) -> None:
        self.lines: dict[int, list[dict[str, Any]]] = {}
        self.room: dict[int, int] = {}

    def tell(self, connection: int, line: bytes) -> bool:
        room = self.room.get(connection, 10**9)
        if not room:
            return False
        self.room[connection] = room - 1
        self.lines.setdefault(connection, []).append(msgspec.json.decode(line))
        return True

    def numbers(self, connection: int = 1) -> list[int]:
        """Of the events it was told of."""
        return [
            line["params"]["data"]["number"] for line in self.lines.get(connection, []) if line["method"] == "event"
        ]

    def dropped(self, connection: int = 1) -> list[tuple[int, int]]:
        """What it was told is lost."""
        lines = [line["params"] for line in self.lines.get(connection, []) if line["method"] == "event.dropped"]
        return [(params["from"], params["to"]) for params in lines]


def fed() -> tuple[Feed, Readers]:
    feed, readers = Feed(FIRST), Readers()
    feed.send = readers.tell
    return feed, readers


def emit(feed: Feed, *numbers: int, topic: str = "memory") -> None:
    for number in numbers:
        feed.emit(topic, Happening(number))


def test_without_a_server_nobody_is_told() -> None:
    feed = Feed(FIRST)
    feed.subscribe(1, ALL, None)
    emit(feed, 1)
    assert feed.seq == FIRST + 1


def test_what_it_missed_comes_first_when_it_is_pumped() -> None:
    feed, readers = fed()
    emit(feed, 1, 2, 3)
    feed.subscribe(1, ALL, FIRST + 1)
    feed.subscribe(2, ALL, None)
    assert readers.lines == {}
    feed.pump(1)
    assert readers.numbers() == [2, 3]
    emit(feed, 4)
    assert readers.numbers() == [2, 3, 4]
    assert readers.numbers(2) == [4]


def test_of_an_earlier_run_it_is_told_that_something_may_be_lost() -> None:
    feed, readers = fed()
    emit(feed, 1)
    feed.subscribe(1, ALL, 17)
    feed.pump(1)
    assert readers.dropped() == [(18, FIRST)]
    assert readers.numbers() == [1]


def test_a_number_that_is_still_to_come_is_refused() -> None:
    feed, _ = fed()
    with pytest.raises(MnemonError) as refused:
        feed.subscribe(1, ALL, FIRST + 1)
    assert refused.value.kind is INVALID_PARAMS


def test_what_is_too_old_is_said_to_be_dropped_once() -> None:
    feed, readers = fed()
    feed.subscribe(1, ALL, None)
    readers.room[1] = 0
    emit(feed, *range(KEPT + 5))
    feed.pump(1)
    assert readers.lines == {}
    readers.room[1] = 10**9
    feed.pump(1)
    feed.pump(1)
    assert readers.dropped() == [(FIRST + 1, FIRST + 5)]
    assert readers.numbers() == list(range(5, KEPT + 5))


def test_one_that_ended_or_whose_connection_is_gone_hears_nothing() -> None:
    feed, readers = fed()
    one, other = feed.subscribe(1, ALL, None), feed.subscribe(1, ALL, None)
    feed.subscribe(2, ALL, None)
    assert not feed.unsubscribe(2, one)
    assert feed.unsubscribe(1, one)
    assert not feed.unsubscribe(1, one)
    feed.unsubscribe_all(2)
    emit(feed, 1)
    assert [line["params"]["subscription"] for line in readers.lines.pop(1)] == [other]
    assert readers.lines == {}


def test_a_connection_has_so_many_and_no_more() -> None:
    feed, _ = fed()
    for _ in range(EACH_CONNECTION):
        feed.subscribe(1, ALL, None)
    with pytest.raises(MnemonError) as refused:
        feed.subscribe(1, ALL, None)
    assert refused.value.kind is TOO_LARGE
    feed.subscribe(2, ALL, None)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 700)), max_size=12))
def test_each_event_arrives_once_in_order_or_is_said_to_be_dropped(steps: list[tuple[int, int]]) -> None:
    feed, readers = fed()
    feed.subscribe(1, ALL, None)
    happened = 0
    for kind, amount in steps:
        if kind < 2:
            readers.room[1] = amount * kind
        else:
            emit(feed, *range(happened + 1, happened + 1 + amount))
            happened += amount
        feed.pump(1)
    readers.room[1] = 10**9
    feed.pump(1)
    lost = {seq - FIRST for first, last in readers.dropped() for seq in range(first, last + 1)}
    assert sorted([*lost, *readers.numbers()]) == list(range(1, happened + 1))
    assert readers.numbers() == sorted(readers.numbers())
