"""update: what differs, what follows from it, and that all of it happens under the writer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from mnemond.errors import NOT_FOUND, OP_ID_REUSED, MnemonError
from mnemond.memory import update
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge, Scope
from tests.memory.audit_world import vector_for
from tests.memory.revision_world import PAIRING, RevisionWorld

WORD = "hunter2Xk9qLmT4"


def test_what_is_given_changes_and_nothing_else(world: RevisionWorld) -> None:
    one = world.new("We chose SQLite as storage", category="decision", tags=("db",), source="user")
    before = world.insight(one)
    done = world.update(one, importance=5, tags=("db", "storage", "db"))
    after = world.insight(one)
    assert done.changed == ["importance", "tags"]
    assert (after.importance, after.tags) == (5, ("db", "storage"))
    assert done.embedded is True
    assert done.effective_importance == after.effective_importance > before.effective_importance
    assert set(after.keywords.split()) >= {"storage"}
    same = ("content", "category", "entities", "source", "created_at", "valid_from", "corroboration_count")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    assert after.updated_at > before.updated_at
    revised = [record for record in world.records() if record.operation_type == "UPDATE"]
    states = [(record.before, record.after) for record in revised]
    assert [(old and old.insight, new and new.insight.importance) for old, new in states] == [(before, 5)]


def test_a_value_that_is_there_already_is_no_change(world: RevisionWorld) -> None:
    one = world.new("We chose SQLite as storage", tags=("db",), created_at="2026-02-03T04:05:06Z")
    before, lines = world.insight(one), world.lines()
    done = world.update(
        one, content="We chose SQLite as storage", tags=("db",), importance=3, created_at="2026-02-03T05:05:06+01:00"
    )
    assert done.changed == []
    assert world.insight(one) == before
    assert world.lines() == lines


def test_a_new_text_is_read_embedded_and_linked_anew(world: RevisionWorld) -> None:
    redis = world.new("The Redis cache holds sessions")
    kafka = world.new("Kafka carries the events of orders")
    one = world.new("Redis keeps the queue", tags=("infra",), entities=("Project Foxglove",))
    assert redis in world.ends(one, "entity")
    done = world.update(one, content="Kafka carries the queue because orders grew on 2026-03-04")
    after = world.insight(one)
    assert done.changed == ["content", "entities"]
    assert "Project Foxglove" in after.entities  # somebody provided it
    assert "Kafka" in after.entities
    assert "Redis" not in after.entities
    assert after.event_start == "2026-03-04T00:00:00.000000Z"
    assert world.ends(one, "entity") == {kafka}
    assert done.edges_created.entity == 1
    row = world.snapshot.row_of(one)
    assert row is not None
    vector = world.snapshot.vector(row)
    assert vector is not None
    assert vector.tolist() == pytest.approx(vector_for(after.content).tolist(), abs=1e-6)
    assert world.read(lambda it: it.rows("SELECT name FROM entities WHERE name = 'Kafka'")) == [("Kafka",)]


def test_another_memory_of_the_new_text_is_named(world: RevisionWorld) -> None:
    first, second = world.new("Billing runs in Oslo"), world.new("billing runs in Oslo")
    one = world.new("Mail runs in Bergen")
    done = world.update(one, content="Billing runs in Oslo.")
    assert done.same_text == first
    merged = world.merge(one, first)
    assert (merged.content, merged.id) == ("Billing runs in Oslo.", first)
    assert world.update(first, content="Billing runs in  Oslo").same_text == second
    assert world.update(second, content="Billing runs in Graz").same_text is None
    assert world.update(first, importance=5).same_text is None
    assert world.update(first, content="Billing runs in  Oslo").same_text is None, "nothing changed"


def test_a_memory_of_the_new_text_for_other_readers_is_not_named(world: RevisionWorld) -> None:
    world.new("Billing runs in Oslo", scope=Scope("u1"))
    one = world.new("Mail runs in Bergen")
    assert world.update(one, content="Billing runs in Oslo").same_text is None


def test_links_somebody_made_and_those_in_time_stay(world: RevisionWorld) -> None:
    other = world.new("The Redis cache holds sessions")
    one = world.new("The Redis queue holds orders")
    world.change(AddEdge(Edge(one, other, "causal", 0.5, '{"why":"said so"}', "user"), audited=True))
    time = world.ends(one, "temporal")
    assert time == {other}
    world.update(one, content="Lunch is at noon")
    kinds = {edge.edge_type: edge.created_by for edge in world.links(one)}
    assert kinds == {"temporal": "auto", "causal": "user"}


def test_the_same_links_are_left_alone(world: RevisionWorld) -> None:
    other = world.new("The Redis cache holds sessions")
    one = world.new("The Redis queue holds orders")
    before = world.links(one)
    done = world.update(one, entities=("Redis", "Orders Team"))
    assert done.changed == ["entities"]
    assert world.links(one) == before
    assert world.ends(one, "entity") == {other}
    assert (done.edges_created.entity, done.edges_created.temporal) == (0, 0)


def test_another_time_moves_it_in_its_chain(world: RevisionWorld) -> None:
    days = [f"2026-0{month}-01T00:00:00Z" for month in (1, 3, 5, 7)]
    first, second, third, last = [
        world.new(f"standup number {n}", created_at=day, conversation_id="c") for n, day in enumerate(days)
    ]
    done = world.update(second, created_at="2026-06-01T00:00:00Z")
    assert done.changed == ["created_at"]
    assert world.insight(second).valid_from == "2026-06-01T00:00:00.000000Z"
    assert world.ends(first, "temporal") == {third}
    assert world.ends(second, "temporal") == {third, last}
    assert world.ends(third, "temporal") == {first, second}


def test_another_conversation_is_another_chain(world: RevisionWorld) -> None:
    first, second, third = [
        world.new(f"standup number {n}", created_at=f"2026-0{n}-01T00:00:00Z", conversation_id="c") for n in (1, 3, 5)
    ]
    assert world.update(second, conversation_id=None).changed == ["conversation_id"]
    assert world.ends(second, "temporal") == set()
    assert world.ends(first, "temporal") == {third}
    assert world.insight(second).conversation_id is None
    assert world.update(second, source="bob").changed == ["source"]
    assert world.insight(second).source == "bob"


def test_entities_are_taken_in_the_given_mode(world: RevisionWorld) -> None:
    one = world.new("Redis keeps the queue")
    world.update(one, entities=("Foxglove",), entity_mode="provided")
    assert world.insight(one).entities == ("Foxglove",)
    world.update(one, entities=("Foxglove",), entity_mode="merge")
    assert world.insight(one).entities == ("Foxglove", "Redis")
    world.update(one, entities=(), entity_mode="provided")
    assert world.insight(one).entities == ()


def test_a_pair_whose_text_changes_is_one_no_more(tmp_path: Path) -> None:
    world = RevisionWorld(tmp_path / "mnemon.db", PAIRING)
    first = world.new("The deploy of the api failed at night")
    again = world.remember("The deploy of the api failed at night with an error again", no_diff=False)
    second = world.active()[-1]
    if world.insight(second).paired_with is None:  # the diff decides by itself; a pair is what this is about
        world.revise(first, paired_with=second)
        world.revise(second, paired_with=first)
    world.update(second, content="Lunch is at noon")
    assert world.insight(first).paired_with is None
    assert world.insight(second).paired_with is None
    assert again is not None
    world.mirrored()
    world.engine.close()


def test_secrets_do_not_get_in(world: RevisionWorld) -> None:
    one = world.new("the token is elsewhere")
    done = world.update(one, content=f"log in with password={WORD}", tags=(f"password={WORD}",))
    assert done.redacted
    assert WORD not in world.insight(one).content
    assert WORD not in world.insight(one).tags[0]


def test_what_is_not_active_is_refused_with_what_became_of_it(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("tea at five")
    world.supersede(one, other)
    with pytest.raises(MnemonError, match="it is superseded") as caught:
        world.update(one, importance=5)
    assert caught.value.kind is NOT_FOUND
    with pytest.raises(MnemonError, match="no active memory") as caught:
        world.update("ffffffff", importance=5)
    mine = world.new("mine", scope=Scope(user_id="ana"))
    with pytest.raises(MnemonError, match="is meant for this user"):
        world.update(mine, importance=5, scope=Scope(user_id="bob"))


def test_a_repeat_is_answered_and_changes_nothing(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    first = world.update(one, content="tea at five", op="mine")
    world.drop(one)
    assert world.update(one, content="tea at five", op="mine") == msgspec.structs.replace(first, replayed=True)
    other = world.new("coffee")
    with pytest.raises(MnemonError) as caught:
        world.supersede(other, other, op="mine")
    assert caught.value.kind is OP_ID_REUSED


def test_everything_wrong_is_told_at_once() -> None:
    found = update.problems({"id": "aaaaaa", "content": "", "importance": 9, "category": "facts", "tags": UNSET})
    assert [problem.field for problem in found] == ["content", "category", "importance"]
    (nothing,) = update.problems({"id": "aaaaaa", "content": UNSET, "entity_mode": "auto"})
    assert nothing.message.startswith("nothing to update: give content, category,")


def test_the_questions_it_would_answer_follow_the_text(world: RevisionWorld) -> None:
    one = world.new("Bug: the import fails on empty lines. Fixed by skipping them.")
    asked = world.read(lambda it: it.rows("SELECT query FROM hypothetical_queries"))
    assert asked
    world.update(one, content="Lunch is at noon")
    assert world.read(lambda it: it.rows("SELECT query FROM hypothetical_queries")) == []
