"""What a purge says and does where what it removes was merged with another memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.store import history
from mnemond.store.connection import Connection
from tests.memory.revision_world import RevisionWorld, revision_world
from tests.memory.test_undo import undone
from tests.store.test_purge import traces

PLANTED = "Xyzzyplugh was seen at the lighthouse in May"


_TOGGLED = """
    INSERT INTO memory_operations(operation_type, op_id, undoes, memory_id, created_at, triggered_by)
    SELECT operation_type, ?1, ?2, memory_id, created_at, triggered_by FROM memory_operations
     WHERE memory_id = ?3 ORDER BY id DESC LIMIT 1
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    with revision_world(tmp_path / "mnemon.db") as made:
        yield made


def taken_back(world: RevisionWorld, operation: str | None = None) -> str:
    return undone(world.undo(operation)).op_id


def test_restored_beside_what_it_was_merged_into_it_is_said_there_still(world: RevisionWorld) -> None:
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.merge(kept, other)
    world.restore(other, force=True)
    assert world.drop(other, purge=True).merged_into == kept
    assert b"Xyzzyplugh" in traces(world.path.parent)


def test_what_kept_its_words_keeps_its_own_alone(world: RevisionWorld) -> None:
    """The memory that the other was merged into gave that one nothing."""
    kept, other = world.new(PLANTED), world.new("The team ships on Friday")
    world.merge(kept, other)
    world.restore(other, force=True)
    assert world.drop(kept, purge=True).merged_into is None
    assert traces(world.path.parent) == []


def test_one_that_is_gone_keeps_nothing(world: RevisionWorld) -> None:
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.merge(kept, other)
    world.drop(kept, purge=True)
    assert world.drop(other, purge=True).merged_into is None
    assert traces(world.path.parent) == []


def test_a_merge_that_was_taken_back_leaves_nothing_in_the_history_of_the_other(world: RevisionWorld) -> None:
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.update(kept, importance=5)
    world.merge(kept, other)
    merged = world.done[-1]
    back = taken_back(world)
    world.update(kept, importance=4)
    assert world.drop(other, purge=True).merged_into is None
    assert traces(world.path.parent) == []
    told = [(each.operation_type, each.after is None) for each in world.records() if each.memory_id == kept]
    assert told == [("CREATE", False), ("UPDATE", False), ("MERGE", True), ("UPDATE", True), ("UPDATE", False)]
    for operation in (merged, back):
        refused = world.undo(operation)
        assert isinstance(refused, MnemonError)
        assert refused.kind is INVALID_PARAMS
        assert "was purged, with the one it was merged with" in refused.message  # and not: take back the other one
    assert world.insight(kept).content == "The team ships on Friday"


def test_nor_one_that_was_taken_back_done_again_and_taken_back(world: RevisionWorld) -> None:
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.merge(kept, other)
    again = taken_back(world, taken_back(world))
    taken_back(world, again)
    assert world.drop(other, purge=True).merged_into is None
    assert traces(world.path.parent) == []


def test_one_that_was_done_again_is_in_effect(world: RevisionWorld) -> None:
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.merge(kept, other)
    taken_back(world, taken_back(world))
    assert world.drop(other, purge=True).merged_into == kept


def test_who_took_it_over_from_one_that_is_gone_keeps_it(world: RevisionWorld) -> None:
    first, second, third = (world.new(text) for text in ("The team ships on Friday", "Ana prefers tea", PLANTED))
    world.merge(second, third, into=second)
    world.merge(first, second, into=first)
    assert world.drop(second, purge=True).merged_into == first
    assert world.drop(third, purge=True).merged_into == first
    world.drop(first, purge=True)
    assert traces(world.path.parent) == []


def test_who_took_it_over_from_one_that_gave_it_back_keeps_it(world: RevisionWorld) -> None:
    first, second, third = (world.new(text) for text in ("The team ships on Friday", "Ana prefers tea", PLANTED))
    world.merge(second, third, into=second)
    merged = world.done[-1]
    world.merge(first, second, into=first)
    world.restore(second, force=True)
    taken_back(world, merged)
    assert world.drop(third, purge=True).merged_into == first
    assert "Xyzzyplugh" in world.insight(first).content


def test_what_passed_through_two_merges_that_were_taken_back_is_left_in_neither(world: RevisionWorld) -> None:
    first, second, third = (world.new(text) for text in ("The team ships on Friday", "Ana prefers tea", PLANTED))
    world.merge(second, third, into=second)
    merged = world.done[-1]
    world.merge(first, second, into=first)
    taken_back(world)
    taken_back(world, merged)
    assert world.drop(third, purge=True).merged_into is None
    assert traces(world.path.parent) == []


def test_who_took_it_over_twice_is_one_holder(world: RevisionWorld) -> None:
    first, second, third = (world.new(text) for text in ("The team ships on Friday", "Ana prefers tea", PLANTED))
    world.merge(second, third, into=second)
    world.restore(third, force=True)
    world.merge(second, third, into=second)
    world.merge(first, second, into=first)
    named = world.read(lambda connection: [each.id for each in history.holders(connection, third)])
    assert named == [second, second, first]
    assert world.drop(third, purge=True).merged_into == first


def test_what_was_taken_back_and_forth_a_thousand_times_can_be_purged(world: RevisionWorld) -> None:
    """Each undo of an undo is one step more to what became of the merge."""
    kept, other = world.new("The team ships on Friday"), world.new(PLANTED)
    world.merge(kept, other)
    operation = taken_back(world)
    rows = [("0" * 24 + f"{number:08x}") for number in range(1_500)]

    def toggle(connection: Connection) -> None:
        before = operation
        for op_id in rows:
            connection.run(_TOGGLED, (op_id, before, kept))
            before = op_id

    world.engine.rewrite(toggle)
    first = history.undone_by
    assert world.read(lambda connection: first(connection, operation)) is None
    assert world.read(lambda connection: first(connection, rows[0])) == rows[1]
    world.engine.rewrite(
        lambda connection: connection.run("DELETE FROM memory_operations WHERE op_id LIKE '00000000%'")
    )
    world.drop(other, purge=True)
    assert traces(world.path.parent) == []
