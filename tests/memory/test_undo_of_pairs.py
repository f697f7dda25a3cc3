"""undo beside pairs: what was paired since does not hold it up, and nobody is left with a partner of its own alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.config.settings import config_from
from mnemond.model.changes import PurgeInsight
from mnemond.model.outcomes import RememberResult, UndoneMemory
from tests.memory.audit_world import UNBOUNDED, AuditWorld, assert_sound
from tests.memory.test_audit_replay import check, portrait
from tests.memory.test_undo import refusal, stored, undone

FIRST = "The staging gateway of the billing service restarts every night at three"
AGAIN = "Every night at three the staging gateway of the billing service restarts"
THIRD = "At three every night the billing service restarts the staging gateway"
EVICTING = config_from({"lifecycle.max_insights": 0, "commitment.redundancy.evict": "supersede"})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    path = tmp_path / "a.db"
    made = AuditWorld(path, UNBOUNDED)
    yield made
    made.engine.close()
    assert_sound(path, made.clock_us)


def paired(world: AuditWorld, content: str, other: str) -> str:
    outcome = world.remember(content)
    assert isinstance(outcome, RememberResult)
    assert outcome.redundancy is not None
    assert outcome.redundancy.paired_with == other
    return stored(outcome)


def partners(world: AuditWorld) -> dict[str, str | None]:
    return {each: world.insight(each).paired_with for each in world.active()}


def test_a_memory_that_was_paired_since_can_be_taken_back(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    world.revise(one, importance=5)
    revised = world.done[-1]
    two = paired(world, AGAIN, one)
    gained = world.insight(one).boost_days
    assert gained > 0
    undone(world.undo(revised))
    it = world.insight(one)
    assert (it.importance, it.paired_with, it.boost_days) == (3, two, gained)
    check(world)


def test_a_first_one_leaves_its_partner_alone(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    before = portrait(world)
    result = undone(world.undo(world.done[0]))
    assert result.memories == [UndoneMemory(one, "retired", [])]
    assert partners(world) == {two: None}
    undone(world.undo(result.op_id))
    assert portrait(world) == before
    check(world)


def test_a_second_one_leaves_the_pair_that_came_after_it(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    third = paired(world, THIRD, one)
    assert partners(world) == {one: third, two: None, third: one}
    undone(world.undo(world.done[1]))
    assert partners(world) == {one: third, third: one}
    check(world)


def test_a_partner_that_was_purged_does_not_come_back(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    world.revise(two, importance=5)
    revised = world.done[-1]
    world.forget(one)
    world.change(PurgeInsight(one))
    undone(world.undo(revised))
    assert partners(world) == {two: None}


def test_a_partner_that_is_somebody_elses_by_now_stays_so(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    world.forget(two)
    forgotten = world.done[-1]
    third = paired(world, THIRD, one)
    undone(world.undo(forgotten))
    assert partners(world) == {one: third, two: None, third: one}
    check(world)


def test_what_was_said_again_since_is_left_alone(world: AuditWorld) -> None:
    one = stored(world.remember(FIRST))
    world.remember(FIRST)
    assert world.insight(one).corroboration_count == 1
    assert refusal(world.undo(world.done[0])).hint == "undo that one first"
    check(world)


@pytest.fixture
def evicting(tmp_path: Path) -> Iterator[AuditWorld]:
    path = tmp_path / "b.db"
    made = AuditWorld(path, EVICTING)
    yield made
    made.engine.close()
    assert_sound(path, made.clock_us)


def test_of_three_wordings_the_first_and_the_last_remain(evicting: AuditWorld) -> None:
    world = evicting
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    before = portrait(world)
    gained = world.insight(one).boost_days
    outcome = world.remember(THIRD)
    third = stored(outcome)
    assert isinstance(outcome, RememberResult)
    assert outcome.redundancy is not None
    assert (outcome.redundancy.paired_with, outcome.redundancy.retired) == (one, two)
    assert outcome.auto_pruned == 0
    assert partners(world) == {one: third, third: one}
    assert min(world.insight(one).boost_days, world.insight(third).boost_days) >= gained
    gone = world.rows()[two]
    assert (gone.status, gone.superseded_by) == ("superseded", third)
    undone(world.undo(world.done[-1]))
    assert portrait(world) == before
    check(world)


def test_a_pinned_wording_stays(evicting: AuditWorld) -> None:
    world = evicting
    one = stored(world.remember(FIRST))
    two = paired(world, AGAIN, one)
    world.revise(two, pinned=True)
    third = paired(world, THIRD, one)
    assert partners(world) == {one: third, two: None, third: one}
    check(world)
