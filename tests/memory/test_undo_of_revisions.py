"""Every operation on memories that stands in the history can be taken back: all is as it was before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge
from tests.memory.audit_world import replayed
from tests.memory.revision_world import RevisionWorld

OPERATIONS: dict[str, Callable[[RevisionWorld, str, str], object]] = {
    "update of the text": lambda world, one, other: world.update(one, content="Kafka carries the queue of 2026"),
    "update of the rest": lambda world, one, other: world.update(
        one, category="decision", importance=5, tags=("x",), source="bob", created_at="2026-01-01T00:00:00Z"
    ),
    "supersede": lambda world, one, other: world.supersede(one, other),
    "merge": lambda world, one, other: world.merge(one, other),
    "merge into the newer": lambda world, one, other: world.merge(one, other, into=other),
    "forget": lambda world, one, other: world.drop(one),
}


def state(world: RevisionWorld) -> tuple[dict[str, Any], dict[tuple[str, str, str], Edge], dict[str, Any]]:
    """Everything but what an undo may touch: when a row was last written, and the importance that follows from it."""
    rows = {
        key: msgspec.structs.replace(it, updated_at="", effective_importance=0.0) for key, it in world.rows().items()
    }
    return rows, world.edges(), world.vectors()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_taken_back(world: RevisionWorld, operation: str) -> None:
    cache = world.new("The Redis cache holds sessions")
    one = world.new("Redis keeps the queue because orders grew", tags=("infra",), entities=("Foxglove",))
    world.new("The Kafka topic holds events")
    other = world.new("Redis is on the third server")
    world.change(AddEdge(Edge(one, cache, "causal", 0.5, '{"why":"x"}', "user"), audited=True))
    before = state(world)
    OPERATIONS[operation](world, one, other)
    assert state(world) != before
    world.mirrored()
    result = world.undo()
    assert not isinstance(result, MnemonError), result
    assert state(world) == before
    assert set(replayed(world)) == set(world.rows())
