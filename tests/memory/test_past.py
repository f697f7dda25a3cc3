"""history: every memory that ever was is found, and what led to it and from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.memory.history import past
from mnemond.model.answers import HistoryResult
from mnemond.model.changes import AddEdge, AddInsight, PurgeInsight
from mnemond.model.memory import Edge, Insight, Scope
from tests.memory.audit_world import UNBOUNDED, AuditWorld, at

NAMES = ("aaaaaa-1", "aaaaaa-2", "bbbbbb-3", "cccccc-4")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    made = AuditWorld(tmp_path / "a.db", UNBOUNDED)
    for hours, name in enumerate(NAMES):
        it = Insight(name, at(9 - hours), at(9 - hours), content=f"{name} says", scope=Scope(user_id="ana"))
        made.change(AddInsight(it))
    yield made
    made.engine.close()


def of(world: AuditWorld, name: str, limit: int = 100, scope: Scope | None = None) -> HistoryResult:
    found: HistoryResult = world.read(lambda connection: past(connection, name, scope or Scope(), limit))
    return found


def chain_of(world: AuditWorld, name: str) -> list[tuple[str, str]]:
    return [(each.id, each.status) for each in of(world, name).chain]


def test_the_chain_leads_from_the_first_to_the_last(world: AuditWorld) -> None:
    world.supersede("aaaaaa-2", "bbbbbb-3")
    world.supersede("aaaaaa-1", "bbbbbb-3")
    world.supersede("bbbbbb-3", "cccccc-4")
    chain = [
        ("aaaaaa-1", "superseded"), ("aaaaaa-2", "superseded"), ("bbbbbb-3", "superseded"), ("cccccc-4", "active"),
    ]  # fmt: skip
    assert chain_of(world, "bbbbbb") == chain
    assert chain_of(world, "cccccc") == chain
    assert chain_of(world, "aaaaaa-1") == [chain[0], *chain[2:]]


def test_a_memory_on_its_own_is_its_own_chain(world: AuditWorld) -> None:
    assert chain_of(world, "BBBBBB") == [("bbbbbb-3", "active")]


def test_a_circle_ends(world: AuditWorld) -> None:
    world.supersede("aaaaaa-1", "aaaaaa-2")
    world.read(
        lambda connection: connection.run("UPDATE insights SET superseded_by = 'aaaaaa-1' WHERE id = 'aaaaaa-2'")
    )
    assert [name for name, _ in chain_of(world, "aaaaaa-1")] == ["aaaaaa-2", "aaaaaa-1"]


def test_operations_are_told_in_order_and_the_newest_of_many(world: AuditWorld) -> None:
    for importance in (1, 2, 4):
        world.revise("bbbbbb-3", importance=importance)
    found = of(world, "bbbbbb-3", 2)
    assert found.total_operations == 4
    assert [each.after_state.importance for each in found.operations if each.after_state] == [2, 4]


@pytest.mark.parametrize("written", ["sub_type", "kind"])
def test_a_temporal_link_says_its_sub_type_however_it_was_written(world: AuditWorld, written: str) -> None:
    ends = (("aaaaaa-1", "bbbbbb-3"), ("bbbbbb-3", "aaaaaa-1"))
    noted = f'{{"{written}":"proximity","hours":1.0}}'
    for source, target in ends:
        world.change(AddEdge(Edge(source, target, "temporal", 0.5, noted), audited=True))
    (link,) = {str(each.metadata) for done in of(world, "aaaaaa-1").operations if done.after_state
               for each in done.after_state.edges}  # fmt: skip
    assert link == str({"sub_type": "proximity", "hours": 1.0})


def test_the_retired_and_the_purged_are_found(world: AuditWorld) -> None:
    world.forget("bbbbbb-3")
    assert chain_of(world, "bbbbbb") == [("bbbbbb-3", "forgotten")]
    world.change(PurgeInsight("bbbbbb-3"))
    found = of(world, "bbbbbb", scope=Scope(user_id="bob"))
    assert (found.id, found.chain, found.total_operations) == ("bbbbbb-3", [], 3)
    assert all(each.before_state is None and each.after_state is None for each in found.operations)


@pytest.mark.parametrize(
    ("name", "scope", "kind"),
    [("aaaaaa", Scope(), AMBIGUOUS), ("ffffff", Scope(), NOT_FOUND), ("cccccc", Scope(user_id="bob"), NOT_FOUND)],
)
def test_what_is_refused(world: AuditWorld, name: str, scope: Scope, kind: object) -> None:
    with pytest.raises(MnemonError) as caught:
        of(world, name, scope=scope)
    assert caught.value.kind is kind


def test_an_ambiguous_beginning_names_a_few(world: AuditWorld) -> None:
    world.change(*(AddInsight(Insight(f"dddddd-{number}", at(1), at(1), content="x")) for number in range(7)))
    with pytest.raises(MnemonError, match=r"dddddd-4 and more$"):
        of(world, "dddddd")
