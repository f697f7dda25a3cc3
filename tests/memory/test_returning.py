"""What comes back is compared with what is active by then, and both stay."""

from __future__ import annotations

import pytest

from mnemond.memory import undo
from mnemond.model.outcomes import Conflict, RememberResult
from tests.memory.revision_world import RevisionWorld
from tests.memory.test_undo import undone

OLD = "The gateway of the billing service allows 100 requests per second"
NEW = "The gateway of the billing service allows 150 requests per second"


def named(conflicts: list[Conflict]) -> list[tuple[str, str]]:
    return [(each.id, each.suggestion) for each in conflicts]


def test_a_restored_one_that_says_something_else(world: RevisionWorld) -> None:
    one = world.new(OLD)
    world.drop(one)
    other = world.new(NEW)
    world.new("Ana prefers tea")
    done = world.restore(one)
    assert named(done.conflicts) == [(other, "CONFLICT")]
    assert done.conflicts[0].reason.endswith("but it was said later, so both stay")
    assert set(world.active()) >= {one, other}


def test_a_restored_one_that_says_the_same(world: RevisionWorld) -> None:
    one = world.new(OLD)
    world.drop(one)
    other = world.new(OLD)
    assert named(world.restore(one).conflicts) == [(other, "DUPLICATE")]


def test_what_stands_in_its_place_is_told_once(world: RevisionWorld) -> None:
    one, other = world.new(OLD), world.new(NEW)
    world.supersede(one, other)
    done = world.restore(one, force=True)
    assert (done.superseded_by, done.conflicts) == (other, [])


def test_an_undo_beside_what_was_said_since(world: RevisionWorld) -> None:
    one = world.new(OLD)
    world.drop(one)
    dropped = world.done[-1]
    other = world.new(NEW)
    [told] = undone(world.undo(dropped)).memories
    assert (told.id, told.became, named(told.conflicts)) == (one, "restored", [(other, "CONFLICT")])


def test_a_former_text_beside_one_that_says_it(world: RevisionWorld) -> None:
    one = world.new(OLD)
    world.update(one, content="Nobody knows how much the gateway allows")
    updated = world.done[-1]
    other = world.new(OLD)
    [told] = undone(world.undo(updated)).memories
    assert (told.became, named(told.conflicts)) == ("revised", [(other, "DUPLICATE")])


def test_a_replacement_that_is_taken_back_is_at_odds_with_nobody(world: RevisionWorld) -> None:
    one = world.new(OLD)
    replaced = world.remember(NEW)
    assert isinstance(replaced, RememberResult)
    assert replaced.replaced_id == one
    assert [each.conflicts for each in undone(world.undo()).memories] == [[], []]


def test_one_without_words_or_vector_is_like_nothing(world: RevisionWorld) -> None:
    one = world.new("…")
    world.read(lambda it: it.run("UPDATE insights SET embedding = NULL, embedding_model = NULL, embedding_dim = NULL"))
    world.drop(one)
    assert [each.conflicts for each in undone(world.undo()).memories] == [[]]


def test_of_very_many_the_first_are_compared(world: RevisionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "MAX_COMPARED", 1)
    first, second = world.new(OLD, importance=1), world.new("Ana prefers tea in the office", importance=1)
    world.clock_us += 400 * 86_400_000_000
    world.collect(99.0, 2)
    collected = world.done[-1]
    world.new(OLD)
    world.new("Ana prefers tea in the office")
    told = undone(world.undo(collected)).memories
    assert {each.id for each in told} == {first, second}
    assert sorted(len(each.conflicts) for each in told) == [0, 1]


def test_what_one_undo_brings_back_stood_side_by_side(world: RevisionWorld) -> None:
    """The memory that others were merged into says no more what it says now."""
    one, other = world.new("The gateway of Apollo listens on port 8080"), world.new("Hermes runs every night at three")
    world.merge(one, other)
    done = undone(world.undo())
    assert {each.id: (each.became, each.conflicts) for each in done.memories} == {
        one: ("revised", []), other: ("restored", [])
    }  # fmt: skip
