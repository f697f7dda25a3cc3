"""Statements and intervals in a store: what is read, given, ended and taken back, and what was known when."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.memory.relations import (
    Point,
    RelationToAdd,
    RelationToClose,
    propose_addition,
    propose_closing,
)
from mnemond.memory.relations_seen import seen
from mnemond.model.changes import RetireInsight
from mnemond.model.memory import Entity, Scope
from mnemond.model.outcomes import Maintained
from mnemond.model.relations import AddLink, ExpireEvidence, When
from mnemond.store import relations
from mnemond.store.edges import entity_id
from mnemond.text.entities import canonical_name
from tests.memory.relation_world import DAY_US, RelationWorld
from tests.store.factories import bytes_of


@pytest.fixture
def world(tmp_path: Path) -> RelationWorld:
    return RelationWorld(tmp_path / "a.db")


def test_a_statement_is_added_closed_and_undone(world: RelationWorld) -> None:
    world.add("Ana", "primary_editor", "Vim")
    world.us += DAY_US
    world.add("Ana", "primary_editor", "Emacs")
    [first, second] = sorted(world.rows(), key=lambda it: it.valid_from or "")
    assert (first.invalidated_by, first.invalid_at, second.granularity) == (second.first_id, world.now, "seen")
    world.us += DAY_US
    world.close("Ana", "primary_editor")
    assert [it.invalid_at is None for it in world.rows()] == [False, False]
    world.undo()
    assert [it.invalid_at is None for it in world.rows()] == [False, True]
    world.undo()
    assert [row[2:] for row in world.told()] == [("Vim", None, None)]
    world.undo()
    assert world.told() == []
    with pytest.raises(MnemonError, match="nothing can be taken back"):
        world.undo()


def test_an_undo_can_be_undone_and_no_operation_twice(world: RelationWorld) -> None:
    done = world.add("Ana", "uses", "Vim")
    world.undo(done)
    with pytest.raises(MnemonError, match="was taken back by"):
        world.undo(done)
    world.undo(f"operation-{world.operations - 1:06}")
    assert [row[2] for row in world.told()] == ["Vim"]
    with pytest.raises(MnemonError, match=r"was taken back|changed again"):
        world.undo("operation-000001")


def test_the_newest_of_both_kinds_is_undone_first(world: RelationWorld) -> None:
    world.add("Ana", "uses", "Vim")
    world.remember("a memory of its own")
    newest = f"operation-{world.operations:06}"
    assert world.undo() == newest
    assert world.undo() == "operation-000001"


def test_a_beginning_of_an_op_id(world: RelationWorld) -> None:
    world.add("Ana", "uses", "Vim")
    with pytest.raises(MnemonError, match="no operation"):
        world.undo("oper")
    assert world.undo("operation-00000") == "operation-000001"
    world.remember("a memory")
    with pytest.raises(MnemonError, match="several op_ids"):
        world.undo("operation-0")


def test_an_interval_that_becomes_two_gives_its_name_to_one_of_them(world: RelationWorld) -> None:
    """What was seen to hold now began again, as it turns out: the part that goes on keeps the name."""
    world.add("Ana", "works_at", "Acme")
    [before] = world.rows()
    world.us += DAY_US
    world.add("Ana", "works_at", "Acme", since="2024-01-01T00:00:00.000000Z", until="2025-01-01T00:00:00.000000Z")
    first, second = sorted(world.rows(), key=lambda it: it.valid_from or "")
    assert (first.invalid_at, second.invalid_at) == ("2025-01-01T00:00:00.000000Z", None)
    assert second.first_id == before.first_id != first.first_id


def test_names_that_stand_together_without_a_relation(world: RelationWorld) -> None:
    """A merged name counts as one, a forgotten memory not, and what is stated is no mere co-occurrence."""

    def note(text: str, *names: str) -> str:
        mentions = tuple(Entity(name, canonical_name(name), "person") for name in names)
        return world.note(text, mentions)

    first = note("Ana and Bob went to Oslo", "Ana", "Bob", "Oslo")
    second = note("Bob met Ana Silva", "Ana Silva", "Bob")
    gone = note("Ana saw Eva", "Ana", "Eva")
    world.forget(gone)
    world.add("Ana", "uses", "Vim")
    note("Ana wrote it with Vim", "Ana", "Vim")
    ids = {name: entity_id(Entity(name, canonical_name(name), "concept")) for name in ("Ana", "Ana Silva")}

    def found(limit: int = 10) -> list[tuple[str, float, int, list[str]]]:
        members = world.ask(lambda c: relations.roots(c).members(ids["Ana"]))
        views = world.ask(lambda c: relations.together(c, members, seen(c, members, None, Scope()), limit))
        return [(it.name, it.strength, it.memories, it.memory_ids) for it in views]

    assert found() == [("Bob", 0.5, 1, [first]), ("Oslo", 0.5, 1, [first])]
    context = world.context()
    merged = context.change_set("entity", (), Maintained(op_id=context.op_id))
    links = (AddLink("same", ids["Ana"], ids["Ana Silva"]),)
    world.write(msgspec.structs.replace(merged, knowledge=links))
    assert found() == [("Bob", 0.625, 2, [second, first]), ("Oslo", 0.5, 1, [first])]
    assert [it[0] for it in found(1)] == ["Bob"]


def test_what_cannot_be_closed(world: RelationWorld) -> None:
    with pytest.raises(MnemonError, match="names 'Ana'"):
        world.close("Ana", "uses")
    world.add("Ana", "uses", "Vim", since="2026-01-01T00:00:00.000000Z")
    for kind, target, at in (
        ("uses", "Emacs", None),
        ("owns", None, None),
        ("uses", "Vim", "2025-01-01T00:00:00.000000Z"),
    ):
        with pytest.raises(MnemonError, match="nothing can end"):
            world.close("Ana", kind, target, at=at)
    with pytest.raises(MnemonError, match="its source and type"):
        world.write(propose_closing(RelationToClose(), world.context()))


def test_a_relation_is_closed_by_its_id_or_its_value(world: RelationWorld) -> None:
    world.add("billing service", "limit", "200 req/s")
    world.add("Ana", "uses", "Vim")
    [limit] = [it for it in world.rows() if it.value is not None]
    assert limit.value == "200 req/s"
    world.us += DAY_US
    world.close("Billing  Service".lower(), "limit", "200 REQ/s")
    [vim] = [it for it in world.rows() if it.type == "uses"]
    world.write(propose_closing(RelationToClose(id=vim.first_id[:8]), world.context()))
    assert all(it.invalid_at == world.now for it in world.rows())
    with pytest.raises(MnemonError, match="several ids"):
        world.write(propose_closing(RelationToClose(id=""), world.context()))


def test_the_memory_that_says_so(world: RelationWorld) -> None:
    it = world.remember("a note about Ana")
    point = Point("2024-01-01T00:00:00.000000Z", "year")
    given = RelationToAdd(
        source="Ana", type="uses", target="Vim", since=point, until=Point(world.now), memory_id=it[:8]
    )
    world.write(propose_addition(given, world.context()))
    [row] = world.rows()
    evidence = world.ask(lambda c: relations.evidence_for(c, [row]))[row.id]
    assert [(each.memory_id, each.kind) for each in evidence] == [(it, "start"), (it, "end")]
    world.remember("another")
    for wrong, sentence in (("ffffffff", "no memory"), ("0000", "several memories")):
        add = propose_addition(
            RelationToAdd(source="Ana", type="uses", target="Emacs", memory_id=wrong), world.context()
        )
        with pytest.raises(MnemonError, match=sentence):
            world.write(add)


@pytest.mark.parametrize("way", ["forgotten", "superseded", "merged", "quarantined", "reworded", "purged"])
def test_a_relation_holds_as_long_as_its_memory(world: RelationWorld, way: str) -> None:
    """Without a scope and with one, at every read; an undo brings both back, and what was known before stays known."""
    world.add("Ana", "works_at", "Acme", since="2024-03-01T00:00:00.000000Z")
    quote = "Ana has moved to Globex" if way == "reworded" else ""
    it = world.remember(f"{quote or 'Ana has moved'}. More of it")
    world.say("Ana", "works_at", "Globex", memory=it, since="2025-01-01T00:00:00.000000Z", quote=quote)
    both = [
        ("Ana", "works_at", "Acme", "2024-03-01", "2025-01-01"), ("Ana", "works_at", "Globex", "2025-01-01", None)
    ]  # fmt: skip
    assert world.told() == both
    before, done = world.now, None
    world.us += DAY_US
    match way:
        case "reworded":
            done = world.reword(it, "Ana has stayed. More of it")
        case "quarantined":
            done = world.reword(it, "Ana has moved. More of it", quarantined=True)
        case "purged":
            world.purge(it)
        case _:
            done = world.change(RetireInsight(it, way))  # type: ignore[arg-type]
    assert world.told() == [("Ana", "works_at", "Acme", "2024-03-01", None)]
    assert [row.target_id for row in world.ask(lambda c: seen(c, None, None, Scope("bea")))] == [
        entity_id(Entity("Acme", "acme", "concept"))
    ]
    if way in ("forgotten", "superseded", "merged"):
        assert world.told(When(None, before)) == both
    if done is not None:
        world.undo(done)
        assert world.told() == both


def test_what_was_changed_since_is_not_undone(world: RelationWorld) -> None:
    it = world.remember("a note about Ana")
    said = world.say("Ana", "uses", "Vim", memory=it)
    [stated] = world.ask(relations.all_evidence)
    context = world.context()
    taken_back = context.change_set("test", (), Maintained(op_id=context.op_id))
    world.write(msgspec.structs.replace(taken_back, knowledge=(ExpireEvidence(stated.id),)))
    with pytest.raises(MnemonError, match="changed again since"):
        world.undo(said)


def test_a_purge_leaves_no_word_of_what_a_memory_said(world: RelationWorld, tmp_path: Path) -> None:
    gone = world.remember("Zebedee prefers quinquereme sauces")
    world.say("Zebedee", "prefers", "quinquereme", memory=gone, quote="Zebedee prefers quinquereme sauces")
    kept = world.remember("Ana works at Acme since 2024-01-01")
    world.say("Ana", "works_at", "Acme", memory=kept, since="2024-01-01T00:00:00.000000Z")
    also = world.remember("Ana works at Acme")
    world.say("Ana", "works_at", "Acme", memory=also)
    assert len(world.told()) == 2
    world.purge(gone)
    world.purge(kept)
    assert world.told() == [("Ana", "works_at", "Acme", None, None)]
    assert world.ask(lambda c: relations.evidence_of_memory(c, also))
    world.engine.close()
    stored = bytes_of(tmp_path)
    assert b"quinquereme" not in stored
    assert b"Ana works at Acme since" not in stored


def test_the_user_is_one_thing_and_another_users_own(world: RelationWorld) -> None:
    world.add("User", "uses", "Vim")
    world.add("me", "uses", "Emacs")
    other = RelationToAdd(source="I", type="uses", target="Nano", user="bob")
    world.write(propose_addition(other, world.context()))
    sources = {it.source_id for it in world.rows()}
    assert sources == {relations.user_id("default"), relations.user_id("bob")}


def test_entities_of_relations_alone_survive_a_purge_of_others(world: RelationWorld) -> None:
    world.add("Nadia", "knows", "Omar")
    it = world.remember("something else")
    world.purge(it)
    assert [row[0] for row in world.told()] == ["Nadia"]


def test_what_stood_together_at_a_time(world: RelationWorld) -> None:
    """As the memories held then, and as they were known."""

    def note(text: str, *names: str) -> str:
        return world.note(text, tuple(Entity(name, canonical_name(name), "person") for name in names))

    def found(**times: str) -> dict[str, list[str]]:
        members = [entity_id(Entity("Ana", "ana", "person"))]
        when = When(**times)
        stated = world.ask(lambda c: seen(c, members, when.known_at, Scope()))
        views = world.ask(lambda c: relations.together(c, members, stated, 10, Scope(), when))
        return {it.name: it.memory_ids for it in views}

    before = world.now
    oslo = note("Ana and Bob went to Oslo", "Ana", "Bob", "Oslo")
    then = world.now
    world.us += DAY_US
    rome = note("Ana and Bob went to Rome", "Ana", "Bob", "Rome")
    world.us += DAY_US
    world.change(RetireInsight(oslo, "superseded", rome))
    gone = note("Ana saw Eva", "Ana", "Eva")
    later = world.now
    world.us += DAY_US
    world.forget(gone)
    assert found() == {"Bob": [rome], "Rome": [rome]}
    assert found(as_of=before) == found(known_at=before) == {}
    assert found(as_of=then) == found(known_at=then) == {"Bob": [oslo], "Oslo": [oslo]}
    assert found(as_of=then, known_at=later) == {}  # it was known not to hold any more
    assert found(known_at=later) == {"Bob": [rome], "Rome": [rome], "Eva": [gone]}
    assert found(as_of=later) == {"Bob": [rome], "Rome": [rome]}
