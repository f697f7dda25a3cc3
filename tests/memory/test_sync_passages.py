"""What was said in sessions, on three devices that exchange files in any order: they agree; nothing purged stays."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import msgspec
import pytest

from mnemond.config.writing import ExtractionSettings
from mnemond.errors import MnemonError
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.sync.groups import RecordError
from mnemond.memory.sync.records import decode, encode
from mnemond.model.changes import LONGEST_NAME, LONGEST_PROMPT, QueuedExchange
from mnemond.model.memory import DAY_US, format_us
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import DropPassage
from mnemond.model.sync import Known
from mnemond.store import sync_state
from tests.memory.sync_world import Device, exchange, settle
from tests.store.factories import START_US
from tests.tables import each_row

ACTS = ("keep", "keep", "keep", "forget", "undo", "purge", "cut", "expire", "exchange", "exchange", "exchange")
SCHEDULES = 30


def keep(device: Device, number: int, session: str = "s") -> None:
    """Keep a turn, which any device may have."""
    said = QueuedExchange(
        host="codex", at_us=START_US + number, conversation_id=session, prompt=f"What is port {number} for?",
        reply=f"The gateway listens on port {number}. Ask Ana.", key=f"turn {number}",
    )  # fmt: skip
    _write(device, propose_queueing(said, device.identity(), ExtractionSettings(enabled=False)))


def _write(device: Device, proposal: object) -> None:
    device._write(proposal)


def expire(device: Device, passage_id: str) -> None:
    """What the job of retention does."""
    identity = device.identity()
    change_set = identity.change_set("jobs", (), Maintained(op_id=identity.op_id), operation="")
    change_set = msgspec.structs.replace(change_set, passages=(DropPassage(passage_id, "expired"),))
    _write(device, identity.proposal("jobs", lambda _: change_set))


def rows(device: Device) -> dict[str, tuple[str, bool, str]]:
    """Id, whether it is in recall, and the text of each turn."""
    sql = "SELECT dedupe_key, id, gone_op IS NULL, prompt || ' ' || answer FROM passages"
    return {key: (name, bool(live), text) for key, name, live, text in device.read(lambda it: it.rows(sql))}


def known(device: Device) -> dict[str, Known[None]]:
    found: dict[str, Known[None]] = device.read(lambda it: sync_state.all_of(it, "passage"))
    return found


def published(device: Device) -> str:
    return "\n".join(line.decode() for lines in device.published for line in lines)


def act(device: Device, chance: random.Random, gone: set[str], what: str, number: int) -> None:
    """One operation of the user of a device, or of a job. `gone`: words that a purge has to leave nowhere."""
    here = rows(device)
    key, (name, live, text) = chance.choice(sorted(here.items())) if here else ("", ("", False, ""))
    match what:
        case "keep":
            keep(device, number, "paused" if number % 7 == 0 else "s")
        case "forget" if live:
            assert not isinstance(device.forget(name), MnemonError)
        case "undo":
            device.undo()
        case "purge" if key:
            assert not isinstance(device.forget(name, purge=True), MnemonError)
            gone.add(key)
        case "cut" if "listens" in text:
            sentence = text[text.index("The gateway") : text.index(" Ask Ana")]
            device.remember(sentence, no_diff=True)
            memory = next(each for each, it in device.rows().items() if it.content == sentence)
            assert not isinstance(device.forget(memory, purge=True), MnemonError)
            if int(sentence.split()[-1].strip(".")) % 7:  # of a session that was paused nothing leaves a device
                gone.add(sentence)
        case "expire" if key:
            expire(device, name)
        case _:
            pass


def run_schedule(seed: int, steps: int = 24) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        devices = [Device(Path(directory) / f"{number}.db", number) for number in (1, 2, 3)]
        gone: set[str] = set()
        try:
            for each in devices:
                each.prepare()
                each.partial.add("paused")
            for step in range(steps):
                device = chance.choice(devices)
                what = chance.choice(ACTS)
                if what == "exchange":
                    exchange(device, [other for other in devices if other is not device], chance)
                else:  # one in four turns is on another device as well: both imported it
                    act(device, chance, gone, what, step // 4 if chance.random() < 0.25 else 100 + step)
                for each in devices:
                    each.clock_us = max(it.clock_us for it in devices)
            settle(devices)
            assert_agree(devices, gone)
        finally:
            for each in devices:
                each.close()


def assert_agree(devices: list[Device], gone: set[str]) -> None:
    states = [{key: it for key, it in known(each).items() if it.state != "withheld"} for each in devices]
    of_all = [key for key in states[0] if all(key in state for state in states)]
    for key in of_all:
        assert len({(state[key].stamp, state[key].state) for state in states}) == 1, key
    for device, state in zip(devices, states, strict=True):
        here = rows(device)
        assert not device.defects
        for key, (_, live, text) in here.items():
            assert not any(words in text for words in gone)
            if key in state:
                assert state[key].state in (("kept", "cut") if live else ("gone", "cut"))
        for words in gone:
            assert words not in here
            assert words not in published(device) or (words in state and state[words].state == "purged"), words
        assert "paused" not in published(device)
    for key in set.intersection(*(set(rows(each)) for each in devices)):
        if key in states[0] and states[0][key].state == "kept":
            assert len({rows(each)[key][2] for each in devices}) == 1


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.check_all) for first in range(10, SCHEDULES, 10))]
)
def test_devices_agree_whatever_order_their_files_come_in(first: int) -> None:
    for seed in range(first, first + 10):
        run_schedule(seed)


def test_an_exchange_that_comes_with_its_purge_is_not_kept() -> None:
    run_schedule(113, 29)


@pytest.mark.deep
@pytest.mark.parametrize("first", range(100, 1_100, 100))
def test_devices_agree_in_a_thousand_schedules(first: int) -> None:
    for seed in range(first, first + 100):
        run_schedule(seed, 16 + seed % 20)


def two(path: Path) -> tuple[Device, Device]:
    devices = Device(path / "1.db", 1), Device(path / "2.db", 2)
    for each in devices:
        each.prepare()
    return devices


def test_what_is_too_old_here_does_not_come_and_what_went_by_age_does_not_come_back(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    keep(one, 1)
    keep(one, 2)
    other.since = format_us(START_US + 2)
    settle([one, other])
    assert [text[:17] for _, _, text in rows(other).values()] == ["What is port 2 fo"]
    expire(other, next(name for name, _, _ in rows(other).values()))
    other.purges = -1  # its files are written anew
    settle([one, other])
    assert (len(rows(one)), rows(other)) == (2, {})
    assert "What is" not in published(other)
    one.close()
    other.close()


def test_a_clock_that_was_ahead_keeps_nothing_back_for_good(tmp_path: Path) -> None:
    one, other = two(tmp_path)
    now_us = one.clock_us
    one.clock_us = int(now_us + 30 * DAY_US)
    keep(one, 1)
    assert one.scan() == 0
    one.clock_us = other.clock_us = now_us
    settle([one, other])
    assert (one.scan(), rows(other)) == (1, {}), "its stamp is refused"
    one.restamp()
    settle([one, other])
    assert len(rows(other)) == 1
    latest_us = one.latest_us
    one.close(latest_us)
    other.close(latest_us)


@each_row(
    "fields",
    [
        {"key": "turn"},
        {"state": "gone"},
        {"state": "lost"},
        {"value": None},
        {"stamp": "now"},
        {"prompt": "x" * (2 * LONGEST_PROMPT + 1)},
        {"prompt": " ", "answer": ""},
        {"prompt": "My key is AKIA" + "PIX6EA6QOM66ZJOJ"},
        {"host": "h" * (LONGEST_NAME + 1)},
        {"conversation_id": 7},
        {"said_at": "soon"},
        {"said_at": "2999-01-01T00:00:00.000000Z"},
        {"id": "1"},
        {"kind": "memory"},
    ],
)
def test_a_record_that_cannot_be_is_refused(tmp_path: Path, fields: dict[str, object]) -> None:
    one, other = two(tmp_path)
    keep(one, 1)
    settle([one, other])
    (line,) = [line for lines in one.published for line in lines]
    assert encode(decode(line, one.clock_us)) == line
    record = msgspec.json.decode(line)
    for name, value in fields.items():
        part = record if name in ("key", "state", "stamp", "value") else record["value"]
        part[name] = value
    with pytest.raises(RecordError):
        decode(msgspec.json.encode(record), one.clock_us)
    one.close()
    other.close()
