"""A store that the last version without relations wrote: it opens, migrates, states its relations, and each of its
operations can still be undone."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.errors import MnemonError
from mnemond.store import relations
from mnemond.store import schema as migrating
from tests.memory.audit_world import assert_sound
from tests.memory.knowledge_world import KnowledgeWorld
from tests.memory.test_audit_replay import check
from tests.memory.test_knowledge_replay import check_knowledge
from tests.store.factories import insight_id

WRITTEN = Path(__file__).parent.parent / "data" / "store_of_version_12.sql"
"""Five memories, a link, a revision, a forgotten memory, and one that was replaced, restored by an undo and replaced
again: operations 1 to 12 of tests/memory/audit_world.py at that version."""

ANA, ACME = "a07ce676b7999dee5c556523af5f9dca", "bded55e7ce1c08f27738f8c77ec971e3"
MEMORIES = (
    "Ana works at Acme", "The cache of Redis expires after 20 minutes", "The office of Acme is in Oslo",
    "Bob lives in Munich",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file, with a relation that another program wrote."""
    path = tmp_path / "old.db"
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "WAL")
    db.execute(WRITTEN.read_text("utf-8"))
    db.execute(
        "INSERT INTO relationships VALUES('r', ?, ?, 'knows', .5, NULL, '2026-01-01T00:00:00.000000Z',"
        " '2025-01-01T00:00:00.000000Z', '2025-06-01T00:00:00.000000Z')",
        (ANA, ACME),
    )
    db.close()
    return path


def opened(path: Path) -> KnowledgeWorld:
    world = KnowledgeWorld(path)
    world.made, world.clock_us = 100, world.clock_us + 100 * 3_600_000_000
    return world


def texts(world: KnowledgeWorld) -> set[str]:
    return {world.insight(each).content for each in world.active()}


def known(world: KnowledgeWorld) -> list[tuple[str, str, str, str | None, str | None]]:
    world.read_memories()
    rows = [it for it in world.relationships() if it.expired_at is None]
    views = world.read(lambda it: relations.views(it, rows))
    return sorted((it.source, it.type, it.target, it.valid_from, it.invalid_at) for it in views)


def test_it_opens_migrates_and_states_its_relations(path: Path) -> None:
    world = opened(path)
    assert world.read(lambda it: it.pragma("user_version")) == migrating.current_version()
    assert texts(world) == set(MEMORIES)
    check(world)
    assert [row[:3] for row in known(world)] == [
        ("Ana", "knows", "Acme"), ("Ana", "works_at", "Acme"), ("Bob", "lives_in", "Berlin"),
        ("Bob", "lives_in", "Munich"),
    ]  # fmt: skip
    [knows] = [row for row in known(world) if row[1] == "knows"]
    assert knows[3:] == ("2025-01-01T00:00:00.000000Z", "2025-06-01T00:00:00.000000Z")
    check_knowledge(world)
    world.engine.close()
    assert_sound(path, world.clock_us)


def test_each_operation_of_before_can_be_undone(path: Path) -> None:
    """The newest first; those that were undone before stay so."""
    world = opened(path)
    for number in (12, 9, 8, 7, 6, 5, 4, 3, 2, 1):
        outcome = world.undo(f"operation-{number:04}")
        assert not isinstance(outcome, MnemonError), (number, outcome)
        check(world)
        if number == 12:
            assert texts(world) == {*MEMORIES, "Bob lives in Berlin"}
        if number == 8:
            assert "Bob uses Vim" in texts(world)
            assert ("Bob", "uses", "Vim") in [row[:3] for row in known(world)]
        if number == 7:
            assert "The cache of Redis expires after 10 minutes" in texts(world)
    assert texts(world) == set()
    assert [row[:3] for row in known(world)] == [("Ana", "knows", "Acme")]
    check_knowledge(world)
    world.engine.close()
    assert_sound(path, world.clock_us)


def test_what_is_written_now_joins_what_was_there(path: Path) -> None:
    world = opened(path)
    assert not isinstance(world.remember("Ana left Acme", no_diff=True), MnemonError)
    [works] = [row for row in known(world) if row[1] == "works_at"]
    assert works[4] is not None
    assert not isinstance(world.undo(), MnemonError)
    [works] = [row for row in known(world) if row[1] == "works_at"]
    assert works[4] is None
    assert world.insight(insight_id(1)).content == "Ana works at Acme"
    world.engine.close()
