"""Many memories purged at once: an index made for it finds their edges, and is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.changes import ChangeSet, PurgeInsight
from mnemond.model.memory import format_us
from mnemond.store import purge
from mnemond.store.connection import Connection
from tests.memory.revision_world import RevisionWorld
from tests.outcomes import collected
from tests.store.factories import START_US


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    made = RevisionWorld(tmp_path / "mnemon.db")
    yield made
    made.engine.close()


def removal(ids: list[str]) -> ChangeSet:
    changes = tuple(PurgeInsight(each) for each in ids)
    return ChangeSet("gc", False, "gc", format_us(START_US), changes, collected("gc", *ids))


def indexes(world: RevisionWorld) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = world.read(
        lambda it: it.rows("SELECT name FROM sqlite_master WHERE tbl_name = 'edge_rows' AND type = 'index'")
    )
    return found


@pytest.mark.parametrize("count", [purge.MIN_INDEXED - 1, purge.MIN_INDEXED, purge.MIN_INDEXED + 1])
def test_edges_of_many_go_from_wherever_they_come(world: RevisionWorld, count: int) -> None:
    kept = world.new("Redis holds sessions")
    gone = [world.new(f"Kafka carries the events of queue q{number}") for number in range(count)]
    for each in gone:
        world.read(lambda it, each=each: it.run(
            "INSERT INTO edge_rows(source, target, kind, weight, created_at)"
            " SELECT s.number, t.number, 1, 1, 'x' FROM insights AS s, insights AS t WHERE s.id = ? AND t.id = ?"
            " ON CONFLICT DO NOTHING", (kept, each)))  # fmt: skip
    before = indexes(world)
    (result,) = world.engine.commit([removal(gone)])
    assert result == collected("gc", *gone)
    assert world.active() == [kept]
    assert world.read(lambda it: it.row("SELECT count(*) FROM edges")) == (0,)
    assert world.read(lambda it: it.rows("PRAGMA foreign_key_check")) == []
    assert indexes(world) == before


def test_many_that_are_refused_leave_nothing_behind(world: RevisionWorld) -> None:
    ids = [world.new(f"Kafka carries the events of queue q{number}") for number in range(purge.MIN_INDEXED)]
    before = indexes(world)
    refused, gone = world.engine.commit([removal([*ids, "nobody"]), removal(ids)])
    assert isinstance(refused, MnemonError)
    assert refused.kind is NOT_FOUND
    assert gone == collected("gc", *ids)
    assert (indexes(world), world.active()) == (before, [])


@pytest.mark.parametrize("count", [purge.MIN_INDEXED - 1, purge.MIN_INDEXED])
def test_an_index_is_made_where_it_pays(world: RevisionWorld, count: int) -> None:
    def during(it: Connection) -> bool:
        with purge.edges_indexed_by_target(it, count):
            return it.row("SELECT 1 FROM sqlite_master WHERE name = 'edges_of_purged'") is not None

    assert world.read(during) == (count == purge.MIN_INDEXED)
    assert "edges_of_purged" not in {name for (name,) in indexes(world)}
