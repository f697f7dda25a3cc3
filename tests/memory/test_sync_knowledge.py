"""Relations and decisions about names reach the other devices, and hold there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.memory.relations import Point
from mnemond.memory.relations_seen import seen
from mnemond.memory.sync.knowledge import counting
from mnemond.memory.sync.records import decode, name_key
from mnemond.model.memory import Scope
from mnemond.model.relations import RelationshipView
from mnemond.model.sync import Name, NameValue, Record, stamp_of
from mnemond.store import history, relations
from mnemond.store.connection import Connection
from tests.memory.sync_world import Device, settle
from tests.store.factories import START_US

Y2020, Y2024 = Point("2020-01-01T00:00:00.000000Z", "year"), Point("2024-01-01T00:00:00.000000Z", "year")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Device, Device]]:
    devices = Device(tmp_path / "1.db", 1), Device(tmp_path / "2.db", 2)
    for each in devices:
        each.prepare()
    yield devices
    for each in devices:
        each.close()


def known(device: Device) -> list[tuple[str, str, str, str | None, str | None]]:
    def look(connection: Connection) -> list[RelationshipView]:
        return relations.views(connection, seen(connection, None, None, Scope()))

    return sorted(
        (it.source, it.type, it.target, it.valid_from and it.valid_from[:10], it.invalid_at and it.invalid_at[:10])
        for it in device.read(look)
    )


def one_thing(device: Device, *names: str) -> bool:
    def look(connection: Connection) -> set[str]:
        found = relations.roots(connection)
        rows = [it.id for each in names if (it := relations.entity_named(connection, each.lower())) is not None]
        assert len(rows) == len(names)
        return {found.of(each) for each in rows}

    return len(device.read(look)) == 1


def lines_of(device: Device) -> list[Any]:
    return [msgspec.json.decode(line) for part in device.published for line in part]


def done(result: object) -> None:
    assert not isinstance(result, MnemonError), result


def test_a_relation_by_hand_its_end_and_its_undo_travel(pair: tuple[Device, Device]) -> None:
    one, other = pair
    done(one.relate("Ana", "works_at", "Acme", since=Y2020))
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", "2020-01-01", None)]
    done(other.end("Ana", "works_at", at=Y2024, origin="host"))
    ended = other.done[-1]
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", "2020-01-01", "2024-01-01")]
    done(other.undo(ended))
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", "2020-01-01", None)]
    done(other.undo(other.done[-1]))
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", "2020-01-01", "2024-01-01")]
    assert one.shared() == other.shared()


def test_what_two_devices_note_independently_is_one_statement(pair: tuple[Device, Device]) -> None:
    one, other = pair
    done(one.relate("Ana", "works_at", "Acme", since=Y2020))
    other.clock_us += 60_000_000
    done(other.relate("Ana", "works_at", "Acme", since=Y2020))
    done(other.relate("Ana", "works_at", "Beta", since=Y2020))  # said of the same moment: the later one counts
    settle(list(pair))
    for each in pair:
        rows = each.read(lambda it: relations.all_evidence(it))
        assert sorted((it.origin, it.at, it.created_at) for it in rows) == sorted(
            (it.origin, it.at, it.created_at) for it in one.read(lambda it: relations.all_evidence(it))
        )
        assert len(rows) == 2
        assert known(each) == [("Ana", "works_at", "Beta", "2020-01-01", None)]


def test_what_a_model_read_travels_and_is_taken_back(pair: tuple[Device, Device]) -> None:
    """On a device as on the other it counts with its memory, and an undo by one ends it for both."""
    one, other = pair
    one.remember("The desk of Ana is at Acme", no_diff=True)
    (key,) = one.rows()
    claimed = one.claim(key, "Ana", "works_at", "Acme")
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", None, None)]
    done(other.forget(key))
    settle(list(pair))
    assert known(one) == known(other) == []
    done(other.undo())
    settle(list(pair))
    assert known(one) == known(other) == [("Ana", "works_at", "Acme", None, None)]
    done(one.undo(claimed))
    settle(list(pair))
    assert known(one) == known(other) == []


def test_a_statement_waits_for_its_memory_and_goes_with_it(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Some minutes of a meeting about zanzibar", no_diff=True)
    (key,) = one.rows()
    done(one.relate("Ana", "works_at", "Acme", since=Y2020, memory_id=key))
    one.scan()
    one.publish()
    lines = [line for part in one.published for line in part]
    other.unite([line for line in lines if b'"relation"' in line])
    assert known(other) == []
    other.unite([line for line in lines if b'"relation"' not in line])
    assert known(other) == known(one) != []
    done(other.forget(key, purge=True))
    settle(list(pair))
    for each in pair:
        assert known(each) == []
        assert b"Acme" not in b"".join(line for part in each.published for line in part)
        assert each.read(lambda it: it.count("SELECT count(*) FROM sync_rows WHERE instr(value, 'Acme')")) == 0
    other.unite(lines)
    assert known(other) == [], "a purge holds against everything"


def test_a_statement_that_waits_is_dropped_with_the_purge_of_its_memory(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Some minutes of a meeting", no_diff=True)
    (key,) = one.rows()
    done(one.relate("Ana", "works_at", "Acme", since=Y2020, memory_id=key))
    one.scan()
    one.publish()
    other.unite([line for part in one.published for line in part if b'"relation"' in line])
    done(one.forget(key, purge=True))
    settle(list(pair))
    assert other.read(lambda it: it.count("SELECT count(*) FROM sync_rows WHERE instr(value, 'Acme')")) == 0


def test_decisions_about_names_travel_and_are_taken_back(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Smith prefers tabs", "Bob Miller prefers tabs", "Bob Jones likes tea"):
        one.remember(text, no_diff=True)
    settle(list(pair))
    done(one.decide("merge", "Robert Smith", "Bob Miller"))
    done(one.decide("not-same", "Bob Jones", "Bob Miller"))
    done(one.decide("alias", "Bob Jones", "Jonesy"))
    settle(list(pair))
    for each in pair:
        assert one_thing(each, "Robert Smith", "Bob Miller")
        assert one_thing(each, "Bob Jones", "Jonesy")
        assert isinstance(each.decide("merge", "Bob Jones", "Bob Miller"), MnemonError)
    done(other.decide("split", "Robert Smith", "Bob Miller"))
    settle(list(pair))
    assert not one_thing(one, "Robert Smith", "Bob Miller")
    assert isinstance(one.decide("merge", "Robert Smith", "Bob Miller"), MnemonError), "it is remembered"
    done(other.undo(other.done[-1]))
    settle(list(pair))
    assert one_thing(one, "Robert Smith", "Bob Miller")
    assert one.shared() == other.shared()


def test_a_name_that_was_joined_with_two_others_asks_a_person(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Smith prefers tabs", "Bob Miller prefers tabs", "Bob Jones likes tea"):
        one.remember(text, no_diff=True)
    settle(list(pair))
    done(one.decide("merge", "Robert Smith", "Bob Miller"))
    other.clock_us = one.clock_us
    done(other.decide("merge", "Bob Jones", "Bob Miller"))
    settle(list(pair))
    for each in pair:
        assert one_thing(each, "Bob Jones", "Bob Miller")
        assert not one_thing(each, "Robert Smith", "Bob Miller")
        assert len(each.waiting()) == 1
    done(other.undo(other.done[-1]))
    settle(list(pair))
    for each in pair:
        assert one_thing(each, "Robert Smith", "Bob Miller"), "what it contradicted counts again"


def test_chains_of_merges_join_nothing_that_was_kept_apart(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Smith prefers tabs", "Bob Miller prefers tabs", "Bob Jones likes tea"):
        one.remember(text, no_diff=True)
    settle(list(pair))
    done(one.decide("not-same", "Robert Smith", "Bob Jones"))
    done(one.decide("merge", "Robert Smith", "Bob Miller"))
    other.clock_us = one.clock_us
    done(other.decide("merge", "Bob Miller", "Bob Jones"))
    settle(list(pair))
    for each in pair:
        assert not one_thing(each, "Robert Smith", "Bob Jones")
        assert one_thing(each, "Bob Miller", "Bob Jones")
    assert one.shared() == other.shared()


def test_names_are_joined_only_for_a_person(pair: tuple[Device, Device], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = pair
    for text in ("Robert Smith prefers tabs", "Bob Miller prefers tabs"):
        one.remember(text, no_diff=True)
    settle(list(pair))
    done(one.decide("merge", "Robert Smith", "Bob Miller"))
    done(one.decide("alias", "Robert Smith", "Robby"))
    with monkeypatch.context() as patch:
        by = other.identity
        patch.setattr(other, "identity", lambda: msgspec.structs.replace(by(), by_person=False))
        settle(list(pair))
        assert not one_thing(other, "Robert Smith", "Bob Miller")
        assert one_thing(other, "Robert Smith", "Robby"), "an alias joins no two things"
        assert len(other.waiting()) == 1
    assert one_thing(one, "Robert Smith", "Bob Miller"), "that it waits is no decision"
    settle(list(pair))
    assert one_thing(other, "Robert Smith", "Bob Miller")


def test_origins_travel_unchanged(pair: tuple[Device, Device]) -> None:
    one, other = pair
    one.remember("Robert Smith prefers tabs", no_diff=True)
    done(one.relate("Ana", "works_at", "Acme", since=Y2020, origin="host"))
    by = one.identity
    one.identity = lambda: msgspec.structs.replace(by(), triggered_by="host:codex", by_person=False)  # type: ignore[method-assign]
    done(one.decide("alias", "Robert Smith", "Robby"))
    settle(list(pair))
    assert [it.origin for it in other.read(lambda it: relations.all_evidence(it))] == ["host"]
    other.published, other.seq = [], -1  # as for a target that is new: what came from others as well
    other.scan()
    other.publish()
    found = [decode(line, START_US * 2) for part in other.published for line in part]
    assert [it.value.by for it in found if it.kind == "name" and it.value] == ["host:codex"]
    assert [it.value.origin for it in found if it.kind == "relation" and it.value] == ["host"]
    last = next(other.read(history.newest_first))
    assert last.triggered_by == "system:sync"
    assert [it.operation_type for it in other.read(lambda it: history.of_operation(it, last.op_id))] == ["sync"]


def test_a_purge_takes_names_along_that_only_it_had(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Zanzibar prefers tabs", "Bob Miller prefers tabs"):
        one.remember(text, no_diff=True)
    gone = next(key for key, it in one.rows().items() if "Zanzibar" in it.content)
    done(one.decide("merge", "Bob Miller", "Robert Zanzibar"))
    settle(list(pair))
    assert one_thing(other, "Robert Zanzibar", "Bob Miller")
    done(other.forget(gone, purge=True))
    settle(list(pair))
    for each in pair:
        assert each.read(lambda it: it.count("SELECT count(*) FROM sync_rows WHERE instr(value, 'Zanzibar')")) == 0
        assert b"anzibar" not in b"".join(line for part in each.published for line in part)
        assert each.read(lambda it: relations.links(it)) == []


def naively(known: list[Record[NameValue]]) -> dict[str, NameValue]:
    """What `counting` accepts, by looking at all names for each decision."""
    accepted = {it.key: it.value for it in known if it.value and it.value.decision == "not_same"}
    joined: list[tuple[Name, Name]] = []

    def thing(name: Name) -> set[Name]:
        found, before = {name}, set[Name]()
        while found != before:
            before = set(found)
            found |= {each for pair in joined if found.intersection(pair) for each in pair}
        return found

    for it in sorted(known, key=lambda it: (it.stamp, it.key), reverse=True):
        if it.value is None or it.value.decision == "not_same" or it.value.other in thing(it.value.one):
            continue
        both = thing(it.value.one) | thing(it.value.other)
        apart = any(
            both.issuperset((each.one, each.other)) for each in accepted.values() if each.decision == "not_same"
        )
        users = sum(each.sense == "user" for each in both)
        if not apart and users < 2 and it.value.other not in {below for _, below in joined}:
            joined.append((it.value.one, it.value.other))
            accepted[it.key] = it.value
    return accepted


NAMES = [Name(each.upper(), each, "person") for each in "abcde"] + [
    Name("User", each, "user", "user") for each in ("default", "ana")
]


@given(
    st.lists(
        st.tuples(st.sampled_from(["same", "same", "not_same"]), st.sampled_from(NAMES), st.sampled_from(NAMES[:5])),
        max_size=12, unique_by=lambda it: frozenset(it[1:]),
    ),
    st.randoms(),
)  # fmt: skip
def test_which_decisions_count_needs_no_order(decided: list[tuple[Any, Name, Name]], chance: Any) -> None:
    known = []
    for number, (decision, one, other) in enumerate(decided):
        if one != other:
            value = NameValue(decision, one, other, "user", Y2020.at)
            known.append(Record(kind="name", key=name_key(value), stamp=stamp_of(number, "0" * 16), value=value))
    expected = naively(known)
    chance.shuffle(known)
    found = counting(known)
    assert found.accepted == expected
    assert found.accepted.keys().isdisjoint(found.contradicted)


def test_a_decision_stays_where_another_memory_has_the_names(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Zanzibar prefers tabs", "Bob Miller prefers tabs"):
        one.remember(text, no_diff=True)
    gone = next(key for key, it in one.rows().items() if "Zanzibar" in it.content)
    done(one.decide("merge", "Bob Miller", "Robert Zanzibar"))
    settle(list(pair))
    other.remember("Robert Zanzibar likes tea", no_diff=True)
    other.clock_us = one.clock_us
    done(one.forget(gone, purge=True))
    assert one.read(lambda it: relations.links(it)) == [], "the first device has the name nowhere else"
    settle(list(pair))
    for each in pair:
        assert one_thing(each, "Robert Zanzibar", "Bob Miller")
    assert one.shared() == other.shared()


def test_names_that_were_joined_by_way_of_a_purged_one_stay_joined(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Zanzibar prefers tabs", "Bob Miller prefers tabs", "Max Payne likes tea"):
        one.remember(text, no_diff=True)
    gone = next(key for key, it in one.rows().items() if "Zanzibar" in it.content)
    done(one.decide("merge", "Robert Zanzibar", "Max Payne"))
    done(one.decide("merge", "Bob Miller", "Robert Zanzibar"))
    settle(list(pair))
    done(other.forget(gone, purge=True))
    settle(list(pair))
    for each in pair:
        assert one_thing(each, "Bob Miller", "Max Payne")
        assert b"anzibar" not in b"".join(line for part in each.published for line in part)
    assert one.shared() == other.shared()


def test_a_decision_whose_rows_are_gone_is_taken_back(pair: tuple[Device, Device]) -> None:
    one, other = pair
    for text in ("Robert Smith prefers tabs", "Bob Miller prefers tabs"):
        one.remember(text, no_diff=True)
    done(one.decide("not-same", "Robert Smith", "Bob Miller"))
    done(one.relate("Ana", "works_at", "Acme", since=Y2020))
    settle(list(pair))

    def lose(connection: Connection) -> None:  # as where rows were damaged
        connection.run("DELETE FROM entity_links")
        connection.run("DELETE FROM relationship_evidence")
        connection.run("DELETE FROM meta WHERE key LIKE 'sync_%'")

    one.engine.rewrite(lose)
    settle(list(pair))
    assert other.read(lambda it: relations.links(it)) == []
    assert len(one.read(lambda it: relations.all_evidence(it))) == 1, "a statement comes back from the others"
