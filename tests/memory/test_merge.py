"""merge: one memory says what two said, under one of the two ids."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge, Scope
from tests.memory.audit_world import vector_for
from tests.memory.revision_world import RevisionWorld


def refused(world: RevisionWorld, one: str, other: str, **fields: Any) -> MnemonError:
    before = (world.rows(), world.edges())
    with pytest.raises(MnemonError) as caught:
        world.merge(one, other, **fields)
    assert (world.rows(), world.edges()) == before
    return caught.value


def test_the_older_keeps_its_id_and_says_both(world: RevisionWorld) -> None:
    old = world.new("Redis holds sessions; Backups run at night", importance=2, tags=("a", "b"), entities=("Foxglove",))
    new = world.new("Redis holds sessions for a day", importance=4, tags=("b", "c"), entities=("Larkspur",))
    before = world.insight(old)
    done = world.merge(new, old)
    kept, gone = world.insight(old), world.row(new)
    assert (done.id, done.merged_id, done.embedded) == (old, new, True)
    assert kept.content == done.content == "Redis holds sessions for a day; Backups run at night"
    assert (kept.importance, kept.tags, kept.created_at) == (4, ("a", "b", "c"), before.created_at)
    assert {"Foxglove", "Larkspur", "Redis"} <= set(kept.entities)
    assert (kept.corroboration_count, kept.last_corroborated_at) == (1, kept.updated_at)
    assert (gone.status, gone.superseded_by) == ("merged", old)
    row = world.snapshot.row_of(old)
    assert row is not None
    vector = world.snapshot.vector(row)
    assert vector is not None
    assert vector.tolist() == pytest.approx(vector_for(kept.content).tolist(), abs=1e-6)
    records = [each for each in world.records() if each.op_id == done.op_id]
    texts = {each.memory_id: None if each.before is None else each.before.insight.content for each in records}
    assert {each.operation_type for each in records} >= {"MERGE"}
    assert texts[old] == before.content
    assert texts[new] == "Redis holds sessions for a day"


def test_into_and_a_text_of_ones_own(world: RevisionWorld) -> None:
    old, new = world.new("tea at four", created_at="2026-01-01T00:00:00Z"), world.new("tea at five")
    world.revise(old, pinned=True)
    done = world.merge(old, new, into=new, content="tea at four or five")
    assert (done.id, done.merged_id) == (new, old)
    kept = world.insight(new)
    assert (kept.content, kept.created_at, kept.pinned) == ("tea at four or five", "2026-01-01T00:00:00.000000Z", True)


def test_links_are_moved_and_automatic_ones_made_anew(world: RevisionWorld) -> None:
    redis, kafka = world.new("The Redis cache"), world.new("The Kafka topic")
    one, two = world.new("Redis keeps the queue"), world.new("Kafka carries events; Redis too")
    world.change(AddEdge(Edge(two, kafka, "causal", 0.9, '{"why":"x"}', "user"), audited=True))
    world.change(AddEdge(Edge(one, two, "causal", 0.9, "{}", "user"), audited=True))
    world.change(AddEdge(Edge(one, redis, "semantic", 0.9, "{}", "host"), audited=True))
    world.change(AddEdge(Edge(redis, one, "semantic", 0.9, "{}", "host"), audited=True))
    world.change(AddEdge(Edge(two, redis, "semantic", 0.4, "{}")))
    world.change(AddEdge(Edge(redis, two, "semantic", 0.4, "{}")))
    done = world.merge(one, two)
    assert world.ends(one, "entity") == {redis, kafka}
    made = {(e.source_id, e.target_id, e.edge_type) for e in world.links(one) if e.created_by in ("user", "host")}
    assert made == {(one, kafka, "causal"), (one, redis, "semantic"), (redis, one, "semantic")}
    assert all(two not in (edge.source_id, edge.target_id) for edge in world.links(one))
    assert done.edges_created.entity == 0  # both were there before, one of them at the other memory
    assert done.edges_moved >= 1


def test_the_chain_closes_behind_the_one_that_left(world: RevisionWorld) -> None:
    first, second, third, last = [
        world.new(f"standup number {n}", created_at=f"2026-0{n}-01T00:00:00Z", conversation_id="c")
        for n in (1, 3, 5, 7)
    ]
    world.merge(first, third)
    assert world.ends(first, "temporal") == {second}
    assert world.ends(second, "temporal") == {first, last}


def test_what_cannot_be_merged_is_refused(world: RevisionWorld) -> None:
    one, other, third = world.new("tea at four"), world.new("tea at five"), world.new("tea at six")
    assert "is the same memory" in refused(world, one, one).message
    assert refused(world, one, other, into=third).message.startswith(f"into is {third}; it must be one of the two")
    mine = world.new("mine", scope=Scope(user_id="ana"))
    assert "are not for the same user" in refused(world, one, mine).message
    long, longer = world.new("a" * 4100), world.new("b" * 4100)
    error = refused(world, long, longer)
    assert error.message == "content would be 8,202 characters; the limit is 8,000"
    assert error.hint is not None
    assert "supersede" in error.hint
    many = world.new("many", tags=tuple(str(n) for n in range(20)))
    more = world.new("more", tags=("20", "1"))
    error = refused(world, many, more)
    assert (error.kind, error.message) == (INVALID_PARAMS, "together they have 21 different tags; the limit is 20")
    world.drop(other)
    assert refused(world, one, other).kind is NOT_FOUND


def test_contradicting_texts_are_refused_with_both_clauses(world: RevisionWorld) -> None:
    old = world.new("Uploads are virus-scanned. Uploads are limited to 20 MB")
    new = world.new("Uploads are limited to 50 MB.")
    error = refused(world, new, old)
    assert error.kind is INVALID_PARAMS
    assert '"Uploads are limited to 20 MB"' in error.message
    assert '"Uploads are limited to 50 MB" ' in error.message
    assert error.hint is not None
    assert "--content" in error.hint
    given = world.merge(new, old, content="Uploads are virus-scanned and limited to 50 MB")
    assert given.dropped == ["Uploads are limited to 20 MB"]
    assert '"Uploads are limited to 20 MB"' in given.message


def test_long_clauses_are_cut_in_the_message(world: RevisionWorld) -> None:
    tail = " and " + "x" * 220
    one, two = world.new(f"The port is 80{tail}"), world.new(f"The port is 81{tail}")
    assert "…" in refused(world, one, two).message
    many, none = world.new("; ".join(f"thing{n}" for n in range(7))), world.new("tea")
    assert world.merge(many, none, content="tea").message.endswith('"thing4" and 2 more')


def test_the_message_says_how_the_text_relates_to_both(world: RevisionWorld) -> None:
    old, new = world.new("Service A runs on port 80"), world.new("Service A runs in Frankfurt")
    done = world.merge(old, new)
    assert done.content == "Service A runs in Frankfurt; Service A runs on port 80"
    assert (done.dropped, done.message) == ([], f"{new} is out of recall; the text holds every word of both")
    more = world.new("Service A runs in Frankfurt and has two replicas")
    again = world.merge(old, more)
    assert again.message.endswith('the text holds both, and once what both say: "Service A runs in Frankfurt"')


def test_a_text_that_changed_meanwhile_is_not_overwritten(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")

    def meanwhile() -> None:
        world.update(other, content="coffee at one")

    with pytest.raises(MnemonError, match="was changed while they were being merged") as caught:
        world.merge(one, other, meanwhile=meanwhile)
    assert caught.value.kind is BUSY
    assert world.insight(other).content == "coffee at one"
    gone = world.new("milk")
    with pytest.raises(MnemonError, match="is not active"):
        world.merge(one, gone, meanwhile=lambda: world.drop(gone))


def test_pairs_are_let_go(world: RevisionWorld) -> None:
    one, two, three = world.new("tea"), world.new("coffee"), world.new("milk")
    world.revise(one, paired_with=two)
    world.revise(two, paired_with=one)
    world.merge(one, three)
    assert world.insight(two).paired_with is None
    assert world.insight(one).paired_with is None
    world.revise(one, paired_with=two)
    world.revise(two, paired_with=one)
    world.merge(one, two)
    assert world.insight(one).paired_with is None


def test_a_repeat_is_answered(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")
    first = world.merge(one, other, op="mine")
    assert world.merge(one, other, op="mine") == msgspec.structs.replace(first, replayed=True)
