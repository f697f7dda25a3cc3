"""restore: a retired memory is back, unless another stands in its place."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.errors import AMBIGUOUS, BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory import history
from mnemond.model.changes import AddEdge, RetireInsight
from mnemond.model.memory import Edge, Scope
from tests.memory.revision_world import RevisionWorld
from tests.store.factories import EMBEDDER


def refused(world: RevisionWorld, named: str) -> MnemonError:
    before = (world.rows(), world.edges())
    with pytest.raises(MnemonError) as caught:
        world.restore(named)
    assert (world.rows(), world.edges()) == before
    return caught.value


def test_a_forgotten_one_is_back_with_its_links(world: RevisionWorld) -> None:
    other, cause = world.new("The Redis cache holds sessions"), world.new("a power cut")
    one = world.new("The Redis queue holds orders")
    before, automatic = world.insight(one), {edge for edge in world.links(one) if edge.created_by == "auto"}
    world.change(AddEdge(Edge(cause, one, "causal", 0.5, '{"why":"x"}', "user"), audited=True))
    world.revise(one, paired_with=other)
    world.drop(one)
    assert world.links(one) == []
    done = world.restore(one[:8])
    after = world.insight(one)
    assert (done.id, done.superseded_by, done.embedded) == (one, None, True)
    assert (after.status, after.invalid_at, after.superseded_by, after.paired_with) == ("active", None, None, None)
    assert after.content == before.content
    assert world.ends(one, "entity") == {other}
    assert done.edges_created.entity == 1
    assert {edge for edge in world.links(one) if edge.created_by == "auto"} == automatic
    assert [(e.source_id, e.metadata) for e in world.links(one) if e.created_by == "user"] == [(cause, '{"why":"x"}')]
    assert world.read(lambda it: it.rows("SELECT deleted_at FROM insights WHERE id = ?", (one,))) == [(None,)]


def test_a_link_to_what_is_gone_does_not_come_back(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("a kettle")
    world.change(AddEdge(Edge(other, one, "causal", 0.5, "{}", "user"), audited=True))
    world.drop(one)
    world.drop(other)
    world.restore(one)
    assert world.links(one) == []


def test_while_another_stands_in_its_place_it_needs_force(world: RevisionWorld) -> None:
    first, second, third = world.new("tea at four"), world.new("tea at five"), world.new("tea at six")
    world.supersede(first, second)
    world.supersede(second, third)
    error = refused(world, first)
    assert error.kind is INVALID_PARAMS
    assert error.message.startswith(f"{third} stands in the place of {first} and is active")
    done = world.restore(first, force=True)
    assert done.superseded_by == third
    assert world.insight(first).superseded_by is None
    world.drop(third)
    assert world.restore(second).superseded_by is None


def test_a_merged_one_is_back(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")
    world.merge(one, other)
    assert world.restore(other, force=True).superseded_by == one
    assert world.insight(other).content == "coffee at noon"


def test_what_is_active_or_unknown_is_not_restored(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    error = refused(world, one)
    assert (error.kind, error.message) == (NOT_FOUND, f"no retired memory {one}: it is active")
    assert refused(world, "ffffff").kind is NOT_FOUND
    world.new("tea at five")
    assert refused(world, "000000").kind is AMBIGUOUS
    for number in range(6):
        world.new(f"tea number {number}")
    assert refused(world, "000000").message.endswith(" and more")


def test_one_that_is_for_somebody_else_is_hidden(world: RevisionWorld) -> None:
    one = world.new("mine", scope=Scope(user_id="ana"))
    world.drop(one)
    with pytest.raises(MnemonError, match="is meant for this user"):
        world.read(lambda it: history.kept(it, one, Scope(user_id="bob"), EMBEDDER))
    assert world.read(lambda it: history.kept(it, one, Scope(), None)).vector is None


def test_a_vector_of_another_embedder_is_made_again(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.drop(one)

    def other(connection: object) -> None:
        connection.run("UPDATE insights SET embedding_model = 'another' WHERE id = ?", (one,))  # type: ignore[attr-defined]

    world.read(other)
    assert world.read(lambda it: history.kept(it, one, Scope(), EMBEDDER)).vector is None
    assert world.restore(one).embedded is True


def test_one_that_changed_meanwhile_is_left_alone(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.drop(one)

    def meanwhile() -> None:
        world.restore(one)
        world.update(one, content="tea at five")
        world.drop(one)

    with pytest.raises(MnemonError, match="was changed while it was being restored") as caught:
        world.restore(one, meanwhile=meanwhile)
    assert caught.value.kind is BUSY


def test_without_a_history_there_is_nothing_made_by_hand(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("a kettle")
    world.change(AddEdge(Edge(one, other, "causal", 0.5, "{}", "user"), audited=True))
    world.drop(one)
    world.read(lambda it: it.run("DELETE FROM memory_operations"))
    world.restore(one)
    assert world.ends(one, "causal") == set()


def test_a_pruned_one_is_back_too(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.change(RetireInsight(one, "pruned"))
    assert world.restore(one).id == one


def test_a_repeat_is_answered(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.drop(one)
    first = world.restore(one, op="mine")
    assert world.restore(one, op="mine") == msgspec.structs.replace(first, replayed=True)
