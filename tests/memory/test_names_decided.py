"""Decisions about names: two that are one, one that is not another, an alias; and what relations become of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.model.memory import Entity
from mnemond.model.outcomes import Maintained
from mnemond.model.relations import AddEntity, AddLink, ExpireLink, KnowledgeChange, LinkKind
from mnemond.store import edges, history, relations
from mnemond.text.entities import canonical_name
from tests.memory.relation_world import DAY_US, RelationWorld


class NamesWorld(RelationWorld):
    def decide(self, *changes: KnowledgeChange) -> str:
        context = self.context()
        change_set = context.change_set("entity", (), Maintained(op_id=context.op_id))
        self.write(msgspec.structs.replace(change_set, knowledge=changes))
        return context.op_id

    def id_of(self, name: str) -> str:
        found = self.ask(lambda it: relations.entity_named(it, canonical_name(name)))
        assert found is not None
        return found.id

    def link(self, kind: LinkKind, name: str, other: str) -> str:
        target = canonical_name(other) if kind == "alias" else self.id_of(other)
        return self.decide(AddLink(kind, self.id_of(name), target, other if kind == "alias" else ""))

    def links(self, *, expired: bool = False) -> list[tuple[str, str]]:
        return [(it.kind, it.name) for it in self.ask(lambda c: relations.links(c, expired=expired))]


@pytest.fixture
def world(tmp_path: Path) -> NamesWorld:
    return NamesWorld(tmp_path / "names.db")


def test_two_names_that_are_one_have_one_history(world: NamesWorld) -> None:
    """A functional relation of both is one: the later employer ends the earlier one."""
    world.add("Ana", "works_at", "Acme", since="2024-01-01")
    world.add("Ana Silva", "works_at", "Initech", since="2025-01-01")
    apart = [
        ("Ana Silva", "works_at", "Initech", "2025-01-01", None),
        ("Ana", "works_at", "Acme", "2024-01-01", None),
    ]
    assert world.told() == apart
    merged = world.link("same", "Ana", "Ana Silva")
    assert world.told() == [
        ("Ana", "works_at", "Acme", "2024-01-01", "2025-01-01"),
        ("Ana", "works_at", "Initech", "2025-01-01", None),
    ]
    found = world.ask(relations.roots)
    assert found.of(world.id_of("Ana Silva")) == world.id_of("Ana")
    assert world.ask(lambda c: relations.entity(c, world.id_of("Ana Silva"))) is not None
    world.undo(merged)
    assert world.told() == apart
    assert world.links() == []
    assert world.links(expired=True) == [("same", "")]


def test_an_undone_merge_is_made_again_by_undoing_that(world: NamesWorld) -> None:
    world.add("Ana", "uses", "Vim")
    world.add("Anita", "uses", "Emacs")
    merged = world.link("same", "Ana", "Anita")
    world.undo(merged)
    again = world.ask(lambda c: history.undone_by(c, merged))
    assert again is not None
    world.undo(again)
    assert sorted(each[0] for each in world.told()) == ["Ana", "Ana"]


def test_an_alias_is_another_name_of_a_thing(world: NamesWorld) -> None:
    world.add("Kubernetes", "runs_on", "Linux")
    world.decide(AddEntity("c" * 32, "Kubi", canonical_name("Kubi"), "tool"))
    world.add("Kubi", "uses", "etcd")
    named = world.link("alias", "Kubernetes", "Kubi")
    world.link("alias", "Kubernetes", "kube")
    assert sorted({each[0] for each in world.told()}) == ["Kubernetes"]
    assert world.id_of("kube") == world.id_of("Kubernetes")
    world.undo(named)
    assert sorted({each[0] for each in world.told()}) == ["Kubernetes", "Kubi"]
    world.link("alias", "Kubernetes", "kube")  # as it is already
    assert world.links() == [("alias", "kube")]


def test_a_name_is_an_alias_of_one_thing_at_a_time(world: NamesWorld) -> None:
    """The later decision counts, and undoing it brings back the earlier one, as a name and in relations."""
    for name in ("Ana", "Eva", "Kit"):
        world.add(name, "uses", f"{name}Tool")
    world.link("alias", "Eva", "Kit")
    second = world.link("alias", "Ana", "Kit")
    assert world.links() == [("alias", "Kit")]
    assert [row[:3] for row in world.told()] == [
        ("Ana", "uses", "AnaTool"), ("Ana", "uses", "KitTool"), ("Eva", "uses", "EvaTool")
    ]  # fmt: skip
    world.undo(second)
    assert [row[:3] for row in world.told()] == [
        ("Ana", "uses", "AnaTool"), ("Eva", "uses", "EvaTool"), ("Eva", "uses", "KitTool")
    ]  # fmt: skip
    of = world.ask(lambda c: c.column("SELECT entity_id FROM entity_aliases WHERE alias = 'kit'"))
    assert of == [world.id_of("Eva")]


def test_what_is_not_the_same_stays_two(world: NamesWorld) -> None:
    world.add("Ana", "uses", "Vim")
    world.add("Anna", "uses", "Emacs")
    before = world.told()
    world.link("not_same", "Ana", "Anna")
    assert world.told() == before
    (link,) = world.ask(relations.links)
    world.decide(ExpireLink(link.id))
    world.decide(ExpireLink(link.id))  # as it is already
    assert world.links() == []


def test_a_page_of_a_name_has_what_rests_on_its_statements(world: NamesWorld) -> None:
    """Rows by source and target and their evidence; what began later ended the row before, and is its evidence too."""
    first = world.remember("Ana works at Acme since 2024-01-01")
    world.say("Ana", "works_at", "Acme", memory=first, since="2024-01-01T00:00:00.000000Z")
    world.us += DAY_US
    second = world.remember("Ana works at Initech since 2025-01-01")
    other = world.remember("Ana uses Vim")
    world.say("Ana", "works_at", "Initech", memory=second, since="2025-01-01T00:00:00.000000Z")
    world.say("Ana", "uses", "Vim", memory=other)
    world.us += DAY_US
    world.close("Ana", "works_at", at="2026-01-01")
    ana, acme, vim = (world.id_of(name) for name in ("Ana", "Acme", "Vim"))
    found = world.ask(lambda c: relations.relationships(c, {ana, acme}, kind="works_at"))
    believed = [it for it in found if it.expired_at is None]
    assert [it.target for it in world.ask(lambda c: relations.views(c, believed))] == ["Acme", "Initech"]
    evidence = world.ask(lambda c: relations.evidence_for(c, found))
    assert {each.memory_id for each in evidence[believed[0].id]} == {first, second}
    assert [each.kind for each in evidence[believed[1].id]] == ["start", "end"]
    withdrawn = [it for it in found if it.expired_at is not None]
    assert all({each.memory_id for each in evidence[it.id]} <= {first, second, None} for it in withdrawn)
    assert world.ask(lambda c: relations.relationships(c, {vim}, kind="works_at")) == []
    for memory, name in ((first, "Ana"), (second, "Ana"), (other, "Vim")):
        named = Entity(name, canonical_name(name), "person")
        world.ask(lambda c, memory=memory, named=named: edges.mention(c, memory, [named], world.now))  # type: ignore[misc]
    ana, vim = world.id_of("Ana"), world.id_of("Vim")
    assert [each.id for each in world.ask(lambda c: relations.memories_naming(c, {ana}))] == [first, second]
    before = world.now
    world.us += 1_000_000
    world.forget(second)
    assert [each.id for each in world.ask(lambda c: relations.memories_naming(c, {ana, vim}))] == [first, other]
    known = world.ask(lambda c: relations.memories_naming(c, {ana}, before))
    assert [each.id for each in known] == [first, second]
