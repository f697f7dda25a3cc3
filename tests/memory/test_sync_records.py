"""Records of devices: what is refused, and that uniting them needs no order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.sync.groups import (
    GROUPS,
    LOCAL,
    KnownMemory,
    MemoryValue,
    RecordError,
    changed,
    copy_key,
    memory_of,
    next_stamp,
    united,
    unknown,
    values_of,
)
from mnemond.memory.sync.records import MAX_LINE, UnknownKindError, decode, encode, name_key, relation_key
from mnemond.model.memory import Insight
from mnemond.model.sync import AHEAD_US, EdgeValue, Name, NameValue, Record, RelationValue, stamp_of
from tests.store.factories import START_US, remember
from tests.tables import each_row

NOW_US = START_US + 1_000
IT: Insight = remember(1).changes[0].insight  # type: ignore[union-attr]
DEVICES = ("0" * 16, "1" * 16, "f" * 16)


STAMP = stamp_of(START_US, DEVICES[0])
VALUE = MemoryValue({group: (STAMP, value) for group, value in values_of(IT).items()}, updated_at=IT.updated_at)


def record(key: str = IT.id, **fields: Any) -> Record[MemoryValue]:
    return Record(kind="memory", key=key, stamp=STAMP, value=msgspec.structs.replace(VALUE, **fields))


def test_every_field_of_a_memory_is_shared_or_local_for_a_reason() -> None:
    shared = [name for names in GROUPS.values() for name in names]
    assert sorted([*shared, *LOCAL]) == sorted(Insight.__struct_fields__)


def test_a_record_comes_back_as_it_was() -> None:
    it = record(mentions=[("Ana", "ana", "person")], queries=["who?"], past=[stamp_of(1, DEVICES[1])])
    assert encode(decode(encode(it), NOW_US)) == encode(it)
    assert decode(encode(EDGE), NOW_US) == EDGE
    values = {group: value for group, (_, value) in VALUE.groups.items()}
    assert memory_of(IT.id, values, IT.updated_at) == msgspec.structs.replace(
        IT, access_count=0, last_accessed_at=None, effective_importance=0.5
    )


def with_value(group: str, name: str, value: object) -> Record[MemoryValue]:
    stamp, values = VALUE.groups[group]
    return record(groups=VALUE.groups | {group: (stamp, values | {name: value})})


EDGE = Record(kind="edge", key="a b causal", stamp=stamp_of(1, DEVICES[0]), value=EdgeValue(0.5, "{}", "user"))
BAD: dict[str, Record[Any]] = {
    "its state is none of its kind": msgspec.structs.replace(EDGE, value=None),
    "its state is none of": msgspec.structs.replace(record(), state="withheld"),
    "its state": msgspec.structs.replace(EDGE, state="purged", value=None),
    "its stamp is not that": msgspec.structs.replace(record(), stamp=stamp_of(START_US, DEVICES[1])),
    "a value cannot be used: Expected `str`": with_value("text", "content", 7),
    "its text has 0 characters": with_value("text", "content", ""),
    "its text has 90,000 characters": with_value("text", "content", "x" * 90_000),
    "its importance is not": with_value("importance", "importance", 9),
    "a value cannot be used: Invalid enum value 'lost'": with_value("state", "status", "lost"),
    "a value cannot be used": with_value("origin", "created_at", "yesterday"),
    "a value cannot be used:": with_value("metadata", "metadata", "[]"),
    "its group pinned has other fields": with_value("pinned", "more", 1),
    "its key is no id": record("a b"),
    "no command could name": record("...a."),
    "its key is": record(of="a/b"),
    "too many parts": record(queries=["?"] * 1_001),
    "more than a day ahead": record(past=[stamp_of(NOW_US + AHEAD_US + 1, DEVICES[0])]),
    "a stamp of it is none": record(past=["now"]),
    "its key is no link": msgspec.structs.replace(EDGE, key="a a causal"),
    "its key is no": msgspec.structs.replace(EDGE, key="a b"),
    "its key is no l": msgspec.structs.replace(EDGE, key="a b friend"),
    "its weight or its origin": msgspec.structs.replace(EDGE, value=EdgeValue(2.0, "{}", "user")),
    "its weight or": msgspec.structs.replace(EDGE, value=EdgeValue(0.5, "{}", "auto")),
    "its metadata is too long": msgspec.structs.replace(EDGE, value=EdgeValue(0.5, "x" * 5_000, "user")),
    "its metadata is no object": msgspec.structs.replace(EDGE, value=EdgeValue(0.5, "[]", "user")),
}


@each_row("why", BAD)
def test_what_cannot_be_used_is_refused(why: str) -> None:
    with pytest.raises(RecordError, match=why):
        decode(encode(BAD[why]), NOW_US)


AT = "2024-01-01T00:00:00.000000Z"
ANA, ACME = Name("Ana", "ana", "person"), Name("Acme", "acme", "organization")
USER = Name("User", "default", "user", "user")
WORKS = RelationValue(ANA, "works_at", "", ACME, None, "start", AT, "year", "user", 0.9, "", AT, None)
JOINED = NameValue("same", ANA, ACME, "user", AT)


def stated(memory: str | None = None, **fields: Any) -> Record[RelationValue]:
    value = msgspec.structs.replace(WORKS, memory=memory, **fields)
    return Record(kind="relation", key=relation_key(value), stamp=stamp_of(1, DEVICES[0]), value=value)


def decided(**fields: Any) -> Record[NameValue]:
    value = msgspec.structs.replace(JOINED, **fields)
    return Record(kind="name", key=name_key(value), stamp=stamp_of(1, DEVICES[0]), value=value)


def gone(it: Record[Any]) -> Record[Any]:
    return msgspec.structs.replace(it, state="gone", value=None)


@each_row(
    "it",
    [
        stated(), stated(IT.id, quote="Ana joined Acme", origin="model"), stated(target=None, value="tea"),
        stated(source=USER), stated(target=ANA),
        gone(stated()), decided(), decided(decision="not_same"),
        decided(decision="alias", other=Name("Annie", "annie", "")), gone(decided()),
    ],
)  # fmt: skip
def test_relations_and_names_come_back_as_they_were(it: Record[Any]) -> None:
    assert decode(encode(it), NOW_US) == it


BAD_FACTS: dict[str, Record[Any]] = {
    "its key is no hash": msgspec.structs.replace(stated(), key="x"),
    "its key is that of another statement": msgspec.structs.replace(stated(), key="0" * 24),
    "its key is that of another decision": msgspec.structs.replace(decided(), key="0" * 24),
    "its memory is no id": stated("a b"),
    "its type cannot be used": stated(type="Works At"),
    "its type cannot": stated(slot="x" * 41),
    "it has no target, or two": stated(value="tea"),
    "it has no target": stated(target=None),
    "a name in it is not one line": stated(source=Name("An\na", "ana", "person")),
    "a name in it is not one": stated(source=Name("A" * 401, "ana", "person")),
    "a name in it has a kind": stated(source=Name("Ana", "ana", "Person")),
    "a name in it is no user": stated(source=Name("Ana", "ana", "person", "user")),
    "its target is too long": stated(target=None, value="x" * 401),
    "its strength or its sentence": stated(strength=2.0),
    "it was read from a memory": stated(origin="model"),
    "a time of it cannot be used": stated(at="2024-01-01"),
    "a time of it cannot": decided(created_at="now"),
    "it is about one name": decided(other=ANA._replace(name="ANA")),
    "a user is no name of another": decided(other=USER),
    "it does not name what decided": decided(by="x" * 201),
    "more than a day ahead": msgspec.structs.replace(decided(), stamp=stamp_of(NOW_US + AHEAD_US + 1, DEVICES[0])),
}


@each_row("why", BAD_FACTS)
def test_relations_and_names_that_cannot_be_used_are_refused(why: str) -> None:
    with pytest.raises(RecordError, match=why):
        decode(encode(BAD_FACTS[why]), NOW_US)


def test_a_kind_of_a_later_version_is_told_from_a_line_that_is_damaged() -> None:
    with pytest.raises(UnknownKindError, match="does not know records of the kind 'dream': update it"):
        decode(b'{"mnemond_sync":1,"kind":"dream","key":"x"}', NOW_US)


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(RecordError, match="more than"):
        decode(b"x" * (MAX_LINE + 1), NOW_US)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_a_record_or_refused(line: bytes) -> None:
    with pytest.raises(RecordError):
        decode(line, NOW_US)


STAMPS = st.builds(stamp_of, st.integers(0, 5), st.sampled_from(DEVICES))


def written(stamps: dict[str, str], purged: str | None) -> Record[MemoryValue]:
    """A record whose fields follow from the stamps, as those of one write do."""
    if purged is not None:
        return Record(kind="memory", key="a", stamp=purged, state="purged")
    values = values_of(IT)
    values["text"] = values["text"] | {"content": stamps["text"]}
    values["tags"] = {"tags": [stamps["tags"]]}
    groups = {group: (stamps.get(group, stamp_of(0, DEVICES[0])), value) for group, value in values.items()}
    return Record(kind="memory", key="a", stamp=max(stamps.values()), value=MemoryValue(groups))


RECORDS = st.lists(
    st.builds(written, st.fixed_dictionaries({"text": STAMPS, "tags": STAMPS, "pinned": STAMPS}), st.none())
    | st.builds(written, st.just({}), STAMPS),
    max_size=6,
)


def folded(records: list[Record[MemoryValue]]) -> KnownMemory:
    known = unknown("a")
    for each in records:
        known = united(known, each).known
    return known


@given(RECORDS, st.randoms(use_true_random=False))
def test_uniting_needs_no_order_and_no_repeat_changes_anything(records: list[Record[MemoryValue]], chance: Any) -> None:
    once = folded(records)
    again = [*records, *records]
    chance.shuffle(again)
    other = folded(again)
    assert (other.stamp, other.state) == (once.stamp, once.state)
    assert (other.value and other.value.groups) == (once.value and once.value.groups)
    assert all(united(other, each).known == other for each in records)


def test_a_change_is_later_than_all_that_was_known() -> None:
    known = united(unknown(IT.id), record()).known
    assert changed(known, values_of(IT), 0, DEVICES[1]) is known
    text = msgspec.structs.replace(IT, content="another text")
    now, before = changed(known, values_of(text), 0, DEVICES[1]).value, known.value
    assert now is not None
    assert before is not None
    assert now.groups["text"][0] == stamp_of(START_US + 1, DEVICES[1])
    assert now.groups["state"][0] == now.groups["text"][0]
    assert now.groups["tags"] == before.groups["tags"]
    assert now.past == [before.groups["text"][0]]


def test_what_follows_from_a_state_has_one_stamp_everywhere_that_no_device_gives() -> None:
    stamp = stamp_of(7, DEVICES[0])
    found = {
        next_stamp(stamp, value) for value in ({"status": "active"}, {"status": "active"}, {"status": "forgotten"})
    }
    assert len(found) == 2
    assert {each[:16] for each in found} == {stamp_of(8, "")[:16]}
    assert found.isdisjoint(stamp_of(8, each) for each in DEVICES)


def test_a_copy_has_one_id_everywhere() -> None:
    stamp = stamp_of(1, DEVICES[0])
    assert copy_key("a", stamp) == copy_key("a", stamp) != copy_key("b", stamp)
    assert len(copy_key("a", stamp)) == 36
