"""undo of what another memory left its place to since: refused, for without it neither would be in recall."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.model.outcomes import RememberResult
from tests.memory.audit_world import assert_sound
from tests.memory.revision_world import RevisionWorld, revision_world
from tests.memory.test_undo import refusal, undone


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    with revision_world(tmp_path / "mnemon.db") as made:
        yield made
    assert_sound(made.path, made.clock_us)


def test_two_that_took_turns_are_no_circle(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")
    world.supersede(one, other)
    world.restore(one, force=True)
    restored = world.done[-1]
    world.supersede(other, one)
    later = world.done[-1]
    error = refusal(world.undo(restored))
    assert error.message.endswith(f"memory {other} left its place to {one} since, by {later}")
    assert error.hint == "undo that one first"
    undone(world.undo(later))
    undone(world.undo(restored))
    assert world.row(one).superseded_by == other
    assert world.active() == [other]


def test_the_first_of_a_chain_stays_while_it_stands_for_another(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    made = world.done[-1]
    other = world.new("coffee at noon")
    world.supersede(other, one)
    refusal(world.undo(made))
    assert world.active() == [one]
    world.drop(other, purge=True)
    undone(world.undo(made))
    assert world.active() == []


def test_what_it_replaced_itself_comes_back_also_when_that_was_done_again(world: RevisionWorld) -> None:
    one = world.new("The build of the gateway takes 5 minutes on the runner")
    replaced = world.remember("The build of the gateway takes 9 minutes on the runner")
    assert isinstance(replaced, RememberResult)
    assert replaced.replaced_id == one
    first = world.done[-1]
    undone(world.undo(undone(world.undo(first)).op_id))
    undone(world.undo(first))
    assert world.active() == [one]


def test_what_stood_for_another_before_leaves_as_before(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")
    world.supersede(one, other)
    world.drop(other)
    world.restore(other)
    undone(world.undo(world.done[-1]))
    assert world.active() == []
