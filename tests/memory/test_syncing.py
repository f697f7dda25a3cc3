"""Whatever is done on three devices, and in whatever order their files come: they agree, and nothing is lost."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.memory.relations import Point
from mnemond.memory.sync import uses
from mnemond.model.memory import Insight, parse_rfc3339
from tests.memory.sync_world import Device, exchange, settle
from tests.store.factories import START_US

WHO = ("Ana", "Bob", "The gateway", "Billing")
WHAT = (
    "prefers tabs",
    "runs on port 8080",
    "was moved to Frankfurt in May",
    "is owned by the platform team",
    "uses SQLite",
)
TEXTS = tuple(f"{who} {what}" for who in WHO for what in WHAT)
PLACES = ("works at Acme", "works at Initech", "lives in Lisbon", "lives in Porto")
"""What relations are read from."""

ACTS = ("remember", "revise", "revise", "revise", "tag", "supersede", "forget", "link", "unlink", "undo", "purge")
KNOWLEDGE = (
    "relate", "relate", "end", "merge", "merge", "split", "not-same", "alias", "claim", "undo",
    "use", "judge",
)  # fmt: skip
PEOPLE = ("Ana", "Bob", "Max")
THINGS = ("Acme", "Initech", "Lisbon")
TIMES = tuple(Point(f"20{year}-01-01T00:00:00.000000Z", "year") for year in (20, 24))
MINUTE_US = 60_000_000
SCHEDULES = 24
"""Schedules of the short run."""


class Said:
    """What was acknowledged on any device. `texts`: with their memory. `replaced`: texts that a user who saw them put
    another one in the place of. `purged`: memories. `stated`: statements by hand with their memory, `withdrawn` those
    that were taken back by hand."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.purged: set[str] = set()
        self.stated: dict[bytes, str | None] = {}
        self.withdrawn: set[bytes] = set()

    def note_statements(self, before: dict[bytes, str | None], after: dict[bytes, str | None], what: str) -> None:
        self.stated |= {key: after[key] for key in after.keys() - before.keys()}
        self.withdrawn |= before.keys() - after.keys()

    def note(self, before: dict[str, Insight], after: dict[str, Insight]) -> None:
        for key, it in after.items():
            self.texts[it.content] = key
            if key in before and before[key].content != it.content:
                self.replaced.add(before[key].content)
        self.purged |= before.keys() - after.keys()


def act(device: Device, chance: random.Random, share: float) -> str:
    """One operation of the user of a device, or of a model that reads; return which. `share`: of operations
    on relations and names."""
    active = device.active()
    what = chance.choice(KNOWLEDGE if chance.random() < share else ACTS)
    if what in ("use", "judge") and active:
        if what == "use":
            device.use(chance.choice(active), chance.randint(1, 5))
        else:
            device.judge(chance.choice(active), chance.choice(("useful", "misled")))
        return what
    if what in KNOWLEDGE and what not in ("undo", "use", "judge"):
        act_on_knowledge(device, chance, what, active)
        return what
    if what == "remember" or len(active) < 2:
        text = f"{chance.choice(TEXTS)} ({device.number}.{device.made})"
        if chance.random() < 0.4:
            text = f"{chance.choice(PEOPLE)} {chance.choice(PLACES)} ({device.number}.{device.made})"
        result = device.remember(text, no_diff=True)
        assert not isinstance(result, MnemonError)
        return what
    one, other = chance.sample(active, 2)
    match what:
        case "revise":
            text = f"{chance.choice(TEXTS)} ({device.number}.{device.made}), corrected"
            assert not isinstance(device.revise(one, content=text), MnemonError)
        case "tag":
            device.revise(one, tags=(f"t{chance.randrange(9)}",), importance=chance.randint(1, 5))
        case "supersede":
            device.supersede(one, other)
        case "forget":
            device.forget(one)
        case "link":
            device.link(one, other, chance.choice((0.5, 0.7, 1.0)))
        case "unlink":
            device.unlink(one, other)
        case "undo":
            device.undo()
        case _:
            if chance.random() < 0.3:
                assert not isinstance(device.forget(one, purge=True), MnemonError)
    return what


def act_on_knowledge(device: Device, chance: random.Random, what: str, active: list[str]) -> None:
    one, other = chance.sample(PEOPLE, 2)
    match what:
        case "relate":
            memory = chance.choice(active) if active and chance.random() < 0.5 else None
            kind, target = chance.choice((("works_at", "Acme"), ("works_at", "Initech"), ("knows", other)))
            origin = chance.choice(("user", "host"))
            result = device.relate(one, kind, target, since=chance.choice(TIMES), memory_id=memory, origin=origin)
            assert not isinstance(result, MnemonError)
        case "end":
            device.end(one, chance.choice(("works_at", "lives_in")), at=chance.choice((*TIMES, None)))
        case "merge" | "split" | "not-same":
            device.decide(what, one, other)
        case "alias":
            device.decide(what, one, chance.choice((f"{one}x", "Chief", other)))
        case _:
            if active:
                device.claim(chance.choice(active), one, "works_at", chance.choice(("Acme", "Initech")))


def run_schedule(seed: int, steps: int = 14, *, wrong_clocks: bool = False) -> int:
    """Run one schedule; return how many memories were kept because of a conflict. With `wrong_clocks` some clocks are
    ahead by some days for a while."""
    chance = random.Random(seed)
    with patch.object(uses, "FIRST", 1), tempfile.TemporaryDirectory() as directory:
        devices = [Device(Path(directory) / f"{number}.db", number) for number in (1, 2, 3)]
        said, now_us = Said(), START_US
        skews = {each.name: chance.randint(-300, 300) for each in devices}
        try:
            for each in devices:
                each.prepare()
            for text in (*TEXTS[:3], "Bob works at Acme", "Max lives in Lisbon"):
                devices[0].remember(text, no_diff=True)
            share = (0.05, 0.9, 0.05, 0.5)[seed % 4]
            said.note({}, devices[0].rows())
            settle(devices)
            for _ in range(steps + (12 if share > 0.5 else 0)):
                device = chance.choice(devices)
                now_us += chance.randrange(600) * MINUTE_US
                device.clock_us = now_us + skews[device.name] * MINUTE_US
                if wrong_clocks and chance.random() < 0.2:
                    skews[device.name] = chance.choice((0, 1_300, 2_000, 4_000, 600_000))
                    device.clock_us = now_us + skews[device.name] * MINUTE_US
                    device.restamp()
                if chance.random() < 0.35:
                    exchange(device, [other for other in devices if other is not device], chance)
                else:
                    before, stated = device.rows(), device.stated()
                    what = act(device, chance, share)
                    said.note(before, device.rows())
                    said.note_statements(stated, device.stated(), what)
            for each in devices:
                each.clock_us = now_us
                each.restamp()
            settle(devices if wrong_clocks else [])
            for each in devices:  # each use is news by then
                each.clock_us = now_us + 2 * uses.WEEK_US
            settle(devices)
            return assert_agree(devices, said, with_last_use=not wrong_clocks)
        finally:
            for each in devices:
                each.close(max(it.latest_us for it in devices))


def assert_agree(devices: list[Device], said: Said, *, with_last_use: bool = True) -> int:
    first = devices[0].shared(with_last_use=with_last_use)
    for other in devices[1:]:
        assert other.shared(with_last_use=with_last_use) == first
    memories = [each for each in map(msgspec.json.decode, first) if "content" in each]
    kept = {each["content"] for each in memories}
    for text, key in said.texts.items():
        assert text in kept or text in said.replaced or key in said.purged, f"{text} is lost"
    assert said.purged.isdisjoint(each["id"] for each in memories)
    forgotten = {each["id"] for each in memories if each["status"] == "forgotten"}
    there = devices[0].stated()
    for statement, memory in said.stated.items():
        gone = statement in said.withdrawn or memory in said.purged or memory in forgotten
        assert statement in there or gone, f"{statement!r} is lost"
    active = {each["id"] for each in memories if each["status"] == "active"}
    conflicts = devices[0].conflicts()
    for each in devices:
        assert not each.defects
        assert each.conflicts() == conflicts
        assert {pair for pair in conflicts if pair <= active} <= each.waiting()
        for line in (line for lines in each.published for line in lines):
            if msgspec.json.decode(line)["key"] in said.purged:
                assert b'"content"' not in line, "a purged text is still in a file"
    return len(conflicts)


@pytest.mark.parametrize("schedules", [SCHEDULES // 2, pytest.param(SCHEDULES, marks=pytest.mark.check_all)])
def test_devices_agree_whatever_order_their_files_come_in(schedules: int) -> None:
    assert sum(run_schedule(seed) for seed in range(schedules)) > schedules // 20, "there is hardly any conflict"


def test_what_a_device_changes_is_never_taken_for_what_follows_for_all() -> None:
    """A successor was purged elsewhere, and the time of a change here was the next after that of the state before."""
    run_schedule(514, 18)


def test_a_clock_that_goes_back_by_minutes_changes_no_last_use() -> None:
    """A device looked for changes before the time of its last use, as its clock had been set back since."""
    run_schedule(1_813, 9)


@pytest.mark.check_all
def test_devices_agree_once_their_clocks_are_right() -> None:
    assert sum(run_schedule(seed, wrong_clocks=True) for seed in range(SCHEDULES)) > 0


@pytest.mark.deep
@pytest.mark.parametrize("first", range(5_000, 5_500, 100))
def test_devices_agree_in_five_hundred_schedules_of_wrong_clocks(first: int) -> None:
    for seed in range(first, first + 100):
        run_schedule(seed, 8 + seed % 12, wrong_clocks=True)


@pytest.mark.deep
@pytest.mark.parametrize("first", range(100, 2_100, 100))
def test_devices_agree_in_two_thousand_schedules(first: int) -> None:
    assert sum(run_schedule(seed, 8 + seed % 12) for seed in range(first, first + 100)) > 2


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Device, Device]]:
    devices = Device(tmp_path / "1.db", 1), Device(tmp_path / "2.db", 2)
    for each in devices:
        each.prepare()
    yield devices
    for each in devices:
        each.close(max(it.latest_us for it in devices))


@pytest.mark.parametrize("supersedes_first", [True, False])
def test_a_text_that_was_changed_after_it_was_superseded_elsewhere(
    pair: tuple[Device, Device], supersedes_first: bool
) -> None:
    one, other = pair
    for text in ("We deploy on Fridays", "Releases happen each Monday"):
        one.remember(text, no_diff=True)
    old, new = sorted(one.rows())
    settle(list(pair))
    early, late = (one, other) if supersedes_first else (other, one)
    early.clock_us = one.clock_us
    late.clock_us = early.clock_us + 5 * MINUTE_US
    one.supersede(old, new)
    other.revise(old, content="We deploy on Thursdays")
    settle(list(pair))
    assert one.shared() == other.shared()
    for each in pair:
        if supersedes_first:
            assert each.rows()[old].status == "active"
            assert each.waiting() == {frozenset((old, new))}
        else:
            assert each.rows()[old].status == "superseded"
        assert each.rows()[old].content == "We deploy on Thursdays"


def test_different_fields_are_no_conflict(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("We deploy on Fridays", no_diff=True)
    (key,) = one.rows()
    settle(list(pair))
    one.revise(key, content="We deploy on Thursdays")
    other.revise(key, tags=("release",), importance=5)
    settle(list(pair))
    for each in pair:
        it = each.rows()[key]
        assert (it.content, it.tags, it.importance) == ("We deploy on Thursdays", ("release",), 5)
        assert not each.conflicts()


def test_links_travel_wait_for_their_ends_and_go(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("We deploy on Fridays", "The gateway fails on weekends"):
        one.remember(text, no_diff=True)
    first, second = sorted(one.rows())
    one.link(first, second, 0.7)
    one.scan()
    one.publish()
    lines = [line for part in one.published for line in part]
    other.unite([line for line in lines if b'"edge"' in line])
    assert not other.rows()
    other.unite([line for line in lines if b'"edge"' not in line])
    assert one.shared() == other.shared()
    assert (first, second, "causal") in other.edges()
    other.unlink(first, second)
    settle(list(pair))
    assert (first, second, "causal") not in one.edges()


DAY_US = 24 * 60 * MINUTE_US


def test_a_device_whose_clock_was_a_year_ahead_is_read_again(pair: tuple[Device, Device]) -> None:
    one, other = pair
    now_us = one.clock_us
    one.clock_us += 365 * DAY_US
    for text in ("We deploy on Fridays", "The gateway fails on weekends"):
        one.remember(text, no_diff=True)
    first, second = sorted(one.rows())
    one.link(first, second, 0.7)
    settle([one])
    one.clock_us = other.clock_us = now_us
    one.revise(first, content="We deploy on Thursdays")
    settle([one, other])
    assert not other.rows(), "its stamps are refused, and each change would be later than those"
    one.restamp()
    settle([one, other])
    assert one.shared() == other.shared()
    assert other.rows()[first].content == "We deploy on Thursdays"
    assert (first, second, "causal") in other.edges()
    other.revise(first, content="We deploy on Wednesdays")
    settle([one, other])
    assert one.rows()[first].content == "We deploy on Wednesdays"
    assert not one.conflicts()
    far = f"{now_us + 2 * DAY_US:016x}"
    for lines in one.published:
        for each in map(msgspec.json.decode, lines):
            stamps = [stamp for stamp, _ in (each.get("value") or {}).get("groups", {}).values()]
            assert max([*stamps, each["stamp"]]) < far, "no file has a stamp that will be taken in a year"


def test_a_change_under_a_wrong_clock_is_not_later_than_the_sync(pair: tuple[Device, Device]) -> None:
    one, other = pair
    now_us = one.clock_us
    one.clock_us += 365 * DAY_US
    one.remember("We deploy on Fridays", no_diff=True)
    one.clock_us = now_us
    settle([one, other])
    assert [it.content for it in other.rows().values()] == ["We deploy on Fridays"]


def test_a_device_that_had_accepted_such_stamps_passes_them_on(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("We deploy on Fridays", no_diff=True)
    one.remember("The gateway fails on weekends", no_diff=True)
    first, second = sorted(one.rows())
    settle([one, other])
    now_us = max(one.clock_us, other.clock_us)
    one.clock_us = now_us + 40 * 60 * MINUTE_US
    other.clock_us = now_us + 20 * 60 * MINUTE_US
    one.revise(first, content="We deploy on Thursdays", tags=("a",))
    one.link(first, second, 0.7)
    exchange(one, [], None)
    exchange(other, [one], None)
    assert other.rows()[first].content == "We deploy on Thursdays", "its own clock is ahead as well"
    one.clock_us = now_us
    one.restamp()
    one.revise(first, content="We deploy on Wednesdays", tags=("b",))
    one.unlink(first, second)
    for each in (one, other):
        each.clock_us = now_us + DAY_US
    settle([one, other])
    assert one.shared() == other.shared()
    texts = {it.content for it in one.rows().values()}
    assert {"We deploy on Thursdays", "We deploy on Wednesdays"} <= texts, "the later one holds, and none is lost"
    assert one.conflicts() == other.conflicts() != set()


def uses_of(device: Device) -> list[tuple[str, int, int]]:
    return sorted((it.content, it.access_count, it.useful) for it in device.rows().values())


def test_relations_names_and_uses_of_a_clock_that_was_a_year_ahead_are_read_again(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Ana and Bob deploy on Fridays", no_diff=True)
    (key,) = one.rows()
    settle([one, other])
    now_us = max(one.clock_us, other.clock_us)
    one.clock_us = now_us + 365 * DAY_US
    one.relate("Ana", "works_at", "Acme")
    one.decide("merge", "Ana", "Bob")
    one.use(key, 5)
    one.judge(key, "useful")
    exchange(one, [], None)
    one.clock_us = other.clock_us = now_us
    one.decide("split", "Ana", "Bob")
    settle([one, other])
    assert not other.stated(), "its stamps are refused, and each change would be later than those"
    assert uses_of(one) != uses_of(other)
    assert one.scan() == 3
    one.restamp()
    settle([one, other])
    assert one.scan() == 0
    assert one.shared(with_last_use=False) == other.shared(with_last_use=False)
    assert list(other.stated()) == list(one.stated()) != []
    (it,) = other.rows().values()
    assert (it.access_count, it.useful) == (5, 1)
    assert it.last_accessed_at is not None
    assert parse_rfc3339(it.last_accessed_at) <= now_us + DAY_US, "no use is later than now"
    other.decide("merge", "Ana", "Bob")
    other.use(key, 5)
    settle([one, other])
    assert one.shared(with_last_use=False) == other.shared(with_last_use=False)
    assert any(b"decision" in each for each in one.shared())
    far = f"{now_us + 2 * DAY_US:016x}"
    assert all(each["stamp"] < far for lines in one.published for each in map(msgspec.json.decode, lines)
               if "stamp" in each)  # fmt: skip


def test_relations_names_and_uses_under_a_wrong_clock_are_not_later_than_the_sync(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Ana and Bob deploy on Fridays", no_diff=True)
    (key,) = one.rows()
    settle([one, other])
    now_us = one.clock_us
    one.clock_us += 365 * DAY_US
    one.relate("Ana", "works_at", "Acme")
    one.decide("merge", "Ana", "Bob")
    one.use(key, 5)
    one.clock_us = now_us
    settle([one, other])
    assert one.scan() == 0
    assert one.shared(with_last_use=False) == other.shared(with_last_use=False)
    assert other.stated()
    assert uses_of(one) == uses_of(other)


def test_a_device_that_had_accepted_stamps_of_relations_and_names_passes_them_on(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Ana and Bob deploy on Fridays", no_diff=True)
    (key,) = one.rows()
    settle([one, other])
    now_us = max(one.clock_us, other.clock_us)
    one.clock_us = now_us + 40 * 60 * MINUTE_US
    other.clock_us = now_us + 20 * 60 * MINUTE_US
    one.relate("Ana", "works_at", "Acme")
    one.decide("merge", "Ana", "Bob")
    one.use(key, 5)
    exchange(one, [], None)
    exchange(other, [one], None)
    assert other.stated(), "its own clock is ahead as well"
    assert uses_of(one) == uses_of(other)
    one.clock_us = now_us
    one.restamp()
    one.decide("split", "Ana", "Bob")
    one.judge(key, "useful")
    for each in (one, other):
        each.clock_us = now_us + DAY_US
    settle([one, other])
    assert one.shared(with_last_use=False) == other.shared(with_last_use=False)
    assert uses_of(one) == uses_of(other) == [("Ana and Bob deploy on Fridays", 5, 1)]
