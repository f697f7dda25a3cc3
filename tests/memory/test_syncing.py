"""Whatever is done on three devices, and in whatever order their files come: they agree, and nothing is lost."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.model.memory import Insight
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
ACTS = ("remember", "revise", "revise", "revise", "tag", "supersede", "forget", "link", "unlink", "undo", "purge")
MINUTE_US = 60_000_000
SCHEDULES = 12
"""Schedules of the short run."""


class Said:
    """What was acknowledged on any device. `texts`: with their memory. `replaced`: texts that a user who saw them put
    another one in the place of. `purged`: memories."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.purged: set[str] = set()

    def note(self, before: dict[str, Insight], after: dict[str, Insight]) -> None:
        for key, it in after.items():
            self.texts[it.content] = key
            if key in before and before[key].content != it.content:
                self.replaced.add(before[key].content)
        self.purged |= before.keys() - after.keys()


def act(device: Device, chance: random.Random) -> None:
    """One operation of the user of a device."""
    active = device.active()
    what = chance.choice(ACTS)
    if what == "remember" or len(active) < 2:
        text = f"{chance.choice(TEXTS)} ({device.number}.{device.made})"
        result = device.remember(text, no_diff=True)
        assert not isinstance(result, MnemonError)
        return
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


def run_schedule(seed: int, steps: int = 14) -> int:
    """Run one schedule; return how many memories were kept because of a conflict."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        devices = [Device(Path(directory) / f"{number}.db", number) for number in (1, 2, 3)]
        said, now_us = Said(), START_US
        skews = {each.name: chance.randint(-300, 300) for each in devices}
        try:
            for each in devices:
                each.prepare()
            for text in TEXTS[:3]:
                devices[0].remember(text, no_diff=True)
            said.note({}, devices[0].rows())
            settle(devices)
            for _ in range(steps):
                device = chance.choice(devices)
                now_us += chance.randrange(600) * MINUTE_US
                device.clock_us = now_us + skews[device.name] * MINUTE_US
                if chance.random() < 0.35:
                    exchange(device, [other for other in devices if other is not device], chance)
                else:
                    before = device.rows()
                    act(device, chance)
                    said.note(before, device.rows())
            for each in devices:
                each.clock_us = now_us
            settle(devices)
            return assert_agree(devices, said)
        finally:
            for each in devices:
                each.close()


def assert_agree(devices: list[Device], said: Said) -> int:
    first = devices[0].shared()
    for other in devices[1:]:
        assert other.shared() == first
    memories = [each for each in map(msgspec.json.decode, first) if "content" in each]
    kept = {each["content"] for each in memories}
    for text, key in said.texts.items():
        assert text in kept or text in said.replaced or key in said.purged, f"{text} is lost"
    assert said.purged.isdisjoint(each["id"] for each in memories)
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


def test_devices_agree_whatever_order_their_files_come_in() -> None:
    assert sum(run_schedule(seed) for seed in range(SCHEDULES)) > SCHEDULES // 10, "there is hardly any conflict"


@pytest.mark.deep
def test_devices_agree_in_two_thousand_schedules() -> None:
    assert sum(run_schedule(seed, 8 + seed % 12) for seed in range(100, 2_100)) > 200
