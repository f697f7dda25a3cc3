"""supersede: who may take whose place, and what becomes of the links, the pair and the one that left."""

from __future__ import annotations

import msgspec
import pytest

from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory.revise import readers_lost
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge, Scope
from tests.memory.revision_world import RevisionWorld
from tests.tables import each_row


def refused(world: RevisionWorld, old: str, new: str) -> MnemonError:
    before = (world.rows(), world.edges())
    with pytest.raises(MnemonError) as caught:
        world.supersede(old, new)
    assert (world.rows(), world.edges()) == before
    assert caught.value.outcome == "rejected"
    return caught.value


def test_the_old_leaves_and_its_links_move(world: RevisionWorld) -> None:
    old, new, other = world.new("tea at four"), world.new("tea at five"), world.new("a kettle")
    world.change(AddEdge(Edge(old, other, "causal", 0.7, '{"why":"hot"}', "user"), audited=True))
    done = world.supersede(old[:8], new)
    assert (done.superseded_by, done.id, done.instead_of) == (new, old, None)
    gone = world.row(old)
    assert (gone.status, gone.superseded_by, gone.invalid_at) == ("superseded", new, world.row(new).valid_from)
    assert [(e.target_id, e.metadata) for e in world.links(new) if e.edge_type == "causal"] == [
        (other, '{"why":"hot"}')
    ]
    assert done.edges_moved >= 1
    (record,) = [each for each in world.records() if each.operation_type == "SUPERSEDE"]
    assert record.before is not None
    assert record.before.edges


def test_of_a_replaced_one_the_end_of_the_chain_is_meant(world: RevisionWorld) -> None:
    first, second, third = world.new("tea at four"), world.new("tea at five"), world.new("tea at six")
    world.supersede(first, second)
    done = world.supersede(first, third)
    assert (done.id, done.instead_of, done.superseded_by) == (second, first, third)
    assert (world.row(first).superseded_by, world.row(second).superseded_by) == (second, third)
    error = refused(world, first, third)
    assert error.message == f"{third} stands in the place of {first} already"


def test_itself_and_what_is_gone_are_refused(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("tea at five")
    assert refused(world, one, one).kind is INVALID_PARAMS
    world.drop(one)
    error = refused(world, one, other)
    assert (error.kind, error.message) == (NOT_FOUND, f"memory {one} is not active: it is forgotten")
    assert refused(world, other, one).kind is NOT_FOUND
    assert refused(world, "ffffff", other).kind is NOT_FOUND
    assert refused(world, "000000", other).kind is AMBIGUOUS


def test_the_hint_names_what_is_active_now(world: RevisionWorld) -> None:
    first, second, third, other = (world.new(f"tea at {hour}") for hour in ("four", "five", "six", "seven"))
    world.supersede(first, second)
    world.supersede(second, third)
    hint = str(refused(world, other, first).hint)
    assert hint.startswith(f"{third} stands in its place now: name that one;")
    world.drop(third)
    hint = f"what took its place is out of recall as well; `mnemonctl restore {first}` brings this one back"
    assert refused(world, other, first).hint == hint


def test_nobody_loses_a_memory_to_one_that_is_not_for_them(world: RevisionWorld) -> None:
    common, mine = world.new("tea at four"), world.new("tea at five", scope=Scope(user_id="ana"))
    error = refused(world, common, mine)
    assert "is for user 'ana' alone; others who see" in error.message
    assert world.supersede(mine, common).id == mine


@each_row(
    ("old", "new", "lost"),
    [
        (Scope(), Scope(), ""),
        (Scope("ana"), Scope(), ""),
        (Scope("ana"), Scope("ana"), ""),
        (Scope("ana"), Scope("bob"), "user 'bob'"),
        (Scope(), Scope("ana", "s1", "x"), "user 'ana', session 's1', agent 'x'"),
        (Scope("ana", "s1"), Scope("ana", "s2"), "session 's2'"),
    ],
)
def test_whom_a_memory_is_for(old: Scope, new: Scope, lost: str) -> None:
    assert readers_lost(old, new) == lost


def test_a_pair_is_let_go(world: RevisionWorld) -> None:
    one, two, new = world.new("tea at four"), world.new("tea at four, again"), world.new("no more tea")
    world.revise(one, paired_with=two)
    world.revise(two, paired_with=one)
    world.supersede(one, new)
    assert world.insight(two).paired_with is None


def test_a_repeat_is_answered(world: RevisionWorld) -> None:
    old, new = world.new("tea at four"), world.new("tea at five")
    first = world.supersede(old, new, op="mine")
    assert world.supersede(old, new, op="mine") == msgspec.structs.replace(first, replayed=True)
