"""Uses and judgements of all devices count on each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.memory.sync.groups import RecordError
from mnemond.memory.sync.records import decode, encode
from mnemond.memory.sync.uses import FIRST, WEEK_US
from mnemond.model.sync import Record, UseValue, stamp_of
from tests.memory.sync_world import Device, settle
from tests.store.factories import START_US
from tests.tables import each_row


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Device, Device]]:
    devices = Device(tmp_path / "1.db", 1), Device(tmp_path / "2.db", 2)
    for each in devices:
        each.prepare()
    devices[0].remember("We deploy on Fridays", no_diff=True)
    settle(list(devices))
    yield devices
    for each in devices:
        each.close()


def told(device: Device) -> list[Any]:
    """Records of uses that a device wrote."""
    lines = [msgspec.json.decode(line) for part in device.published for line in part]
    return [each for each in lines if each["kind"] == "use"]


def counts(device: Device) -> tuple[int, str | None, int, int]:
    (it,) = device.rows().values()
    return it.access_count, it.last_accessed_at, it.useful, it.misled


def test_uses_add_up_and_are_told_when_they_doubled_or_a_week_passed(pair: tuple[Device, Device]) -> None:
    one, other = pair
    (key,) = one.rows()
    one.use(key, FIRST - 1)
    settle(list(pair))
    assert told(one) == [], "it may be pruned yet"
    one.use(key, 1)
    other.use(key, FIRST)
    settle(list(pair))
    assert counts(one) == counts(other)
    assert counts(one)[0] == 2 * FIRST
    assert (len(told(one)), len(told(other))) == (1, 1)
    one.use(key, FIRST - 1)
    settle(list(pair))
    assert (len(told(one)), counts(other)[0]) == (1, 2 * FIRST), "not twice as often"
    one.use(key, 1)
    settle(list(pair))
    assert counts(one) == counts(other)
    assert counts(other)[0] == 3 * FIRST
    one.use(key, 1)
    for each in pair:
        each.clock_us += WEEK_US
    settle(list(pair))
    assert counts(one) == counts(other)
    assert len(told(one)) == 3
    assert other.rows()[key].effective_importance == pytest.approx(one.rows()[key].effective_importance, rel=0.2)
    for _ in range(3):
        for each in pair:
            each.clock_us += WEEK_US
        settle(list(pair))
    assert len(told(one)) == 3, "without new uses nothing is told"


def test_judgements_travel_at_once_and_are_taken_back(pair: tuple[Device, Device]) -> None:
    one, other = pair
    (key,) = one.rows()
    one.judge(key, "useful")
    other.judge(key, "useful")
    other.judge(key, "misled")
    settle(list(pair))
    assert counts(one) == counts(other)
    assert counts(one)[2:] == (2, 1)
    one.undo(one.done[-1])
    settle(list(pair))
    assert counts(one)[2:] == counts(other)[2:] == (1, 1)


def test_the_only_judgement_is_taken_back(pair: tuple[Device, Device]) -> None:
    one, other = pair
    (key,) = one.rows()
    one.judge(key, "misled")
    settle(list(pair))
    one.undo(one.done[-1])
    settle(list(pair))
    assert counts(one)[2:] == counts(other)[2:] == (0, 0)


def test_uses_wait_for_their_memory_and_go_with_it(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("The gateway fails on weekends", no_diff=True)
    key = next(key for key, it in one.rows().items() if "gateway" in it.content)
    one.use(key, 5)
    one.scan()
    one.publish()
    lines = [line for part in one.published for line in part]
    other.unite([line for line in lines if b'"use"' in line])
    other.unite(lines)
    other.unite(lines)
    assert other.rows()[key].access_count == 5, "they are counted once"
    other.forget(key)
    one.use(key, 5)
    settle(list(pair))
    other.undo(other.done[-1])
    settle(list(pair))
    assert one.rows()[key].access_count == other.rows()[key].access_count == 10
    other.forget(key, purge=True)
    settle(list(pair))
    for each in pair:
        assert each.read(lambda it: it.count("SELECT count(*) FROM sync_rows WHERE kind = 'use'")) == 0
        assert told(each) == []


def record(**fields: Any) -> Record[UseValue]:
    value = UseValue(3, "2026-01-01T00:00:00.000000Z", 0, 0)
    it = Record(kind="use", key=f"abcdef {'0' * 16}", stamp=stamp_of(START_US, "0" * 16), value=value)
    return msgspec.structs.replace(it, **fields)


BAD = {
    "its key is no memory": record(key="abcdef x"),
    "its counts cannot be used": record(value=UseValue(-1, None, 0, 0)),
    "a time of it": record(value=UseValue(1, "soon", 0, 0)),
    "its last use is more than a day ahead": record(value=UseValue(1, "2999-01-01T00:00:00.000000Z", 0, 0)),
}


@each_row("why", BAD)
def test_uses_that_cannot_be_are_refused(why: str) -> None:
    assert decode(encode(record()), START_US) == record()
    with pytest.raises(RecordError, match=why):
        decode(encode(BAD[why]), START_US)
