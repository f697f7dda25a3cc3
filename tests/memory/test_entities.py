"""Decisions about names: which are made, which exclude each other, and that undo restores exactly what was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory.entities import Decision, NameDecision, propose_names
from mnemond.memory.relations import named_entity, named_row
from mnemond.model.outcomes import EntityResult
from mnemond.store import history, relations, reviews
from mnemond.store.connection import Connection, Value
from tests.examples import examples
from tests.memory.relation_world import RelationWorld

NAMES = ("Ana", "Ana Silva", "Anita", "Bea", "Carl")


class EntityWorld(RelationWorld):
    def decide(self, decision: Decision, name: str, other: str, *, propose: bool = False) -> EntityResult:
        wanted = NameDecision(decision=decision, name=name, other=other, propose=propose)
        self.us += 1
        result = self.write(propose_names(wanted, self.context()))
        assert isinstance(result, EntityResult)
        return result

    def things(self, names: tuple[str, ...] = NAMES) -> list[list[str]]:
        """The names of each thing, the one it goes by first."""
        found = self.ask(relations.roots)
        rows = {name: self.ask(lambda c, name=name: named_row(c, name)) for name in names}  # type: ignore[misc]
        by_root: dict[str, list[str]] = {}
        for name, row in rows.items():
            by_root.setdefault(found.of(row), []).append(name)
        return sorted(by_root.values())

    def state(self) -> object:
        """All that decisions change, and nothing of when they were made."""
        links = self.ask(relations.links)
        return (self.told(), sorted((it.kind, it.entity_id, it.other, it.name) for it in links))


@contextmanager
def a_world() -> Iterator[EntityWorld]:
    with TemporaryDirectory() as directory:
        yield EntityWorld(Path(directory) / "entities.db")


@pytest.fixture
def world(tmp_path: Path) -> EntityWorld:
    return EntityWorld(tmp_path / "entities.db")


def people(world: EntityWorld) -> EntityWorld:
    for number, name in enumerate(NAMES):
        world.add(name, "works_at", f"Firm{number}", since=f"20{10 + number}-01-01")
        world.add(name, "uses", "Vim", since="2020-01-01")
    return world


def refused(world: EntityWorld, decision: Decision, name: str, other: str) -> MnemonError:
    before = world.state()
    with pytest.raises(MnemonError) as caught:
        world.decide(decision, name, other)
    assert world.state() == before
    return caught.value


def test_a_chain_of_merges_is_one_thing(world: EntityWorld) -> None:
    people(world)
    world.decide("merge", "Ana", "Ana Silva")
    made = world.decide("merge", "Ana Silva", "Anita")
    assert (made.status, made.entity, made.other, made.relations) == ("merged", "Ana", "Anita", 2)
    assert world.things() == [["Ana", "Ana Silva", "Anita"], ["Bea"], ["Carl"]]
    assert [each[:3] for each in world.told() if each[1] == "works_at"][:3] == [
        ("Ana", "works_at", "Firm0"), ("Ana", "works_at", "Firm1"), ("Ana", "works_at", "Firm2"),
    ]  # fmt: skip
    assert world.decide("merge", "Anita", "Ana").status == "unchanged"
    assert {it.type for it in made.changed} == {"works_at"}  # what both did holds as before


def test_no_row_of_an_entity_is_deleted_or_changed(world: EntityWorld) -> None:
    people(world)
    read = "SELECT id, name, canonical_name, entity_type, created_at FROM entities ORDER BY id"
    before = world.ask(lambda it: it.rows(read))
    world.decide("merge", "Ana", "Ana Silva")
    world.decide("merge", "Bea", "Ana Silva")
    world.decide("split", "Bea", "Ana")
    assert world.ask(lambda it: it.rows(read)) == before


def test_what_was_merged_into_a_name_stays_with_it_in_a_split(world: EntityWorld) -> None:
    people(world)
    world.decide("merge", "Ana Silva", "Anita")
    world.decide("merge", "Ana", "Ana Silva")
    parted = world.decide("split", "Ana", "Ana Silva")
    assert (parted.status, parted.entity) == ("split", "Ana")
    assert world.things() == [["Ana"], ["Ana Silva", "Anita"], ["Bea"], ["Carl"]]


def test_a_split_of_a_name_from_the_one_below_it_cuts_between_them(world: EntityWorld) -> None:
    people(world)
    world.decide("merge", "Ana Silva", "Anita")
    world.decide("merge", "Ana", "Ana Silva")
    world.decide("split", "Anita", "Ana Silva")
    assert world.things() == [["Ana", "Ana Silva"], ["Anita"], ["Bea"], ["Carl"]]
    error = refused(world, "split", "Anita", "Ana")
    assert "two things already" in error.message


def test_merge_then_split_then_two_undos_are_as_before(world: EntityWorld) -> None:
    people(world)
    before = world.state()
    merged = world.decide("merge", "Ana", "Ana Silva")
    joined = world.state()
    parted = world.decide("split", "Ana", "Ana Silva")
    assert world.told() == before[0]  # type: ignore[index]
    world.undo(parted.op_id)
    assert world.state() == joined
    world.decide("split", "Ana", "Ana Silva")
    world.undo()
    with pytest.raises(MnemonError) as caught:
        world.undo(merged.op_id)
    error = caught.value
    assert "changed again since" in error.message


def test_what_was_decided_not_to_be_the_same_is_not_merged(world: EntityWorld) -> None:
    """Nor by way of a third name, whichever is merged into which."""
    people(world)
    apart = world.decide("not-same", "Ana", "Anita")
    assert apart.status == "not-same"
    assert world.decide("not-same", "Anita", "Ana").status == "unchanged"
    world.decide("merge", "Ana Silva", "Ana")
    for name, other in (("Anita", "Ana Silva"), ("Ana", "Anita"), ("Ana Silva", "Anita")):
        error = refused(world, "merge", name, other)
        assert error.kind is INVALID_PARAMS
        assert f"mnemonctl undo {apart.op_id}" in (error.hint or "")
    world.undo(apart.op_id)
    assert world.decide("merge", "Anita", "Ana").status == "merged"


def test_one_thing_is_not_declared_two(world: EntityWorld) -> None:
    people(world)
    world.decide("merge", "Ana", "Anita")
    assert "entity split" in (refused(world, "not-same", "Ana", "Anita").hint or "")


def test_an_undo_does_not_join_what_was_decided_not_to_be_the_same(world: EntityWorld) -> None:
    people(world)
    merged = world.decide("merge", "Ana", "Anita")
    world.undo(merged.op_id)
    [back] = world.ask(lambda c: [history.undone_by(c, merged.op_id)])
    world.decide("not-same", "Ana", "Anita")
    with pytest.raises(MnemonError, match="not to be the same"):
        world.undo(back)


def test_an_undo_makes_no_circle(world: EntityWorld) -> None:
    people(world)
    merged = world.decide("merge", "Ana", "Anita")
    world.undo(merged.op_id)
    back = world.ask(lambda c: history.undone_by(c, merged.op_id))
    world.decide("merge", "Anita", "Ana")
    with pytest.raises(MnemonError, match="joined with another"):
        world.undo(back)


def test_an_alias_finds_the_thing_and_is_split_from_it(world: EntityWorld) -> None:
    people(world)
    named = world.decide("alias", "Ana", "  Dr.   Silva ")
    assert (named.status, named.entity) == ("alias", "Ana")
    assert world.ask(lambda c: named_entity(c, "dr. silva")) == world.ask(lambda c: named_entity(c, "Ana"))
    assert world.decide("alias", "Ana", "DR. SILVA").status == "unchanged"
    error = refused(world, "alias", "Bea", "Dr. Silva")
    assert "is a name of 'Ana'" in error.message
    world.decide("split", "Ana", "Dr. Silva")
    with pytest.raises(MnemonError) as caught:
        world.ask(lambda c: named_entity(c, "Dr. Silva"))
    assert caught.value.kind is NOT_FOUND
    world.undo()
    assert world.ask(lambda c: named_entity(c, "Dr. Silva")) == world.ask(lambda c: named_entity(c, "Ana"))


def test_an_undone_split_of_an_alias_that_is_another_thing_s_by_now(world: EntityWorld) -> None:
    people(world)
    world.decide("alias", "Ana", "Doc")
    parted = world.decide("split", "Ana", "Doc")
    world.decide("alias", "Bea", "Doc")
    with pytest.raises(MnemonError, match="alias is that of another thing"):
        world.undo(parted.op_id)


def test_an_alias_that_is_a_thing_of_its_own_is_a_merge(world: EntityWorld) -> None:
    people(world)
    assert "entity merge" in (refused(world, "alias", "Ana", "Bea").hint or "")


def test_an_alias_that_memories_name_later_is_still_the_thing_and_can_be_split(world: EntityWorld) -> None:
    people(world)
    world.decide("alias", "Ana", "Nina")
    assert world.ask(lambda c: relations.row_named(c, "nina")) is None
    world.ask(
        lambda c: c.run(
            "INSERT INTO entities(id, name, canonical_name, entity_type, created_at)"
            " VALUES('d', 'Nina', 'nina', 'person', '')"
        )
    )
    assert world.ask(lambda c: named_entity(c, "Nina")) == world.ask(lambda c: named_entity(c, "Ana"))
    world.decide("split", "Ana", "Nina")
    assert world.ask(lambda c: named_entity(c, "Nina")) == "d"
    assert "not to be the same" in refused(world, "merge", "Nina", "Ana").message


def test_spellings_of_one_name_cannot_be_split(world: EntityWorld) -> None:
    world.add("Kubernetes", "uses", "etcd")
    assert "spellings of one name" in refused(world, "split", "Kubernetes", "k8s").message


def test_a_user_keeps_the_row_and_is_never_another_user(world: EntityWorld) -> None:
    world.add("user", "uses", "Vim")
    world.add("Ana", "uses", "Emacs")
    made = world.decide("merge", "Ana", "user")
    assert (made.status, made.entity) == ("merged", "User")
    assert sorted(each[:3] for each in world.told()) == [("User", "uses", "Emacs"), ("User", "uses", "Vim")]


def test_a_part_of_a_name_finds_the_only_thing_that_has_it(world: EntityWorld) -> None:
    world.add("Maria Costa", "uses", "Vim")
    assert world.ask(lambda c: named_entity(c, "costa")) == world.ask(lambda c: named_entity(c, "Maria Costa"))
    with pytest.raises(MnemonError) as caught:  # a write takes whole names
        world.ask(lambda c: named_row(c, "Costa"))
    error = caught.value
    assert (error.kind, error.hint) == (NOT_FOUND, "did you mean 'Maria Costa'?")
    world.add("Rui Costa", "uses", "Emacs")
    with pytest.raises(MnemonError) as caught:
        world.ask(lambda c: named_entity(c, "Costa"))
    error = caught.value
    assert (error.kind, error.message) == (AMBIGUOUS, "'Costa' may be 'Maria Costa', 'Rui Costa'")
    world.decide("merge", "Maria Costa", "Rui Costa")  # two names of one thing
    assert world.ask(lambda c: named_entity(c, "Costa")) == world.ask(lambda c: named_entity(c, "Maria Costa"))


def test_many_candidates_are_listed_as_far_as_they_fit(world: EntityWorld) -> None:
    for number in range(12):
        world.add(f"Kim N{number:02}", "uses", "Vim")
    with pytest.raises(MnemonError) as caught:
        world.ask(lambda c: named_entity(c, "Kim"))
    error = caught.value
    assert error.message.count("'Kim N") == 8
    assert error.message.endswith(" and others")


def test_a_proposed_merge_waits_as_a_review_and_changes_nothing(world: EntityWorld) -> None:
    people(world)
    before = world.state()
    asked = world.decide("merge", "Ana", "Anita", propose=True)
    assert (asked.status, asked.review) == ("proposed", None)
    assert world.state() == before
    [review] = world.ask(reviews.pending_names)
    assert world.ask(reviews.count_names) == 1
    assert world.engine.pending_reviews == 0  # no memory is in doubt
    assert world.decide("merge", "Anita", "Ana", propose=True).review == review.id
    merged = world.decide("merge", "Ana", "Anita")
    assert world.ask(reviews.pending_names) == []
    world.undo(merged.op_id)
    assert [it.id for it in world.ask(reviews.pending_names)] == [review.id]
    world.decide("not-same", "Ana", "Anita")
    assert world.ask(reviews.pending_names) == []


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["merge", "split", "not-same", "undo"]), st.integers(0, 4), st.integers(0, 4)), max_size=9
)


@examples(100)
@given(steps=STEPS)
def test_every_undo_restores_what_was_before(steps: list[Step]) -> None:
    """After any decisions each is undone, the last one first, and every state comes back; at no time are two names one
    that were decided not to be the same."""
    with a_world() as world:
        people(world)
        states: list[tuple[str, object]] = []
        for what, one, other in steps:
            before = world.state()
            try:
                if what == "undo":
                    if states:
                        op_id, state = states.pop()
                        world.undo(op_id)
                        assert world.state() == state
                    continue
                made = world.decide(what, NAMES[one], NAMES[other])  # type: ignore[arg-type]
            except MnemonError:
                assert world.state() == before
                continue
            if made.status != "unchanged":
                states.append((made.op_id, before))
            found = world.ask(relations.roots)
            apart = [it for it in world.ask(relations.links) if it.kind == "not_same"]
            assert all(found.of(it.entity_id) != found.of(it.other) for it in apart)
        for op_id, state in reversed(states):
            world.undo(op_id)
            assert world.state() == state


@examples(100)
@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_merges_are_the_classes_of_a_union_find(pairs: list[tuple[int, int]]) -> None:
    with a_world() as world:
        people(world)
        classes = [{name} for name in NAMES]
        for one, other in pairs:
            if one != other:
                world.decide("merge", NAMES[one], NAMES[other])
            joined = [it for it in classes if NAMES[one] in it or NAMES[other] in it]
            classes = [it for it in classes if it not in joined] + [set().union(*joined)]
        assert world.things() == sorted(sorted(it, key=NAMES.index) for it in classes)
        derived = {msgspec.structs.replace(it, id="") for it in world.rows()}
        assert all(it.source_id == world.ask(relations.roots).of(it.source_id) for it in derived)


def with_aliases(world: EntityWorld, many: int) -> None:
    """Give Ana so many other names, as decisions do."""

    def fill(it: Connection) -> None:
        ana = relations.row_named(it, "ana")
        link = (
            "INSERT INTO entity_links(kind, entity_id, other, name, op_id, created_at) VALUES('alias', ?, ?, ?, 'x', ?)"
        )
        it.run_many(link, [(ana, f"name {at}", f"Name {at}", world.now) for at in range(many)])
        alias = "INSERT INTO entity_aliases(alias, entity_id) VALUES(?, ?)"
        it.run_many(alias, [(f"name {at}", ana) for at in range(many)])

    world.engine.rewrite(fill)


def test_an_alias_does_not_read_the_others(world: EntityWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    people(world)
    with_aliases(world, 500)
    read: list[int] = []
    original = Connection.rows

    def rows(self: Connection, sql: str, values: Sequence[Value] = ()) -> list[Any]:
        found = original(self, sql, values)
        read.append(len(found))
        return found

    monkeypatch.setattr(Connection, "rows", rows)
    world.decide("alias", "Ana", "Nina")
    world.decide("split", "Ana", "Nina")
    world.decide("not-same", "Ana", "Bea")
    assert 0 < sum(read) < 250
    assert world.ask(lambda it: named_entity(it, "Name 499")) == world.ask(lambda it: named_entity(it, "Ana"))
