"""The index is derived: whatever was applied, in whatever batches, it equals the index of the rows that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemond.index.memory_index import Compaction, MemoryIndex
from mnemond.model.changes import AddEdge, AddInsight, Change, RemoveEdge, RetireInsight
from mnemond.model.edge import EDGE_TYPES, Edge
from mnemond.model.insight import Scope
from tests.index.worlds import DIMENSION, WORDS, World, insight, portrait, unit

OFTEN = Compaction(dead_rows=2, dead_share=0.2)
NEVER = Compaction(dead_rows=10**9, dead_share=1.0)

SCOPES = st.builds(
    Scope,
    user_id=st.sampled_from([None, "u1", "u2"]),
    session_id=st.sampled_from([None, None, "s1", "s2"]),
    agent_id=st.sampled_from([None, "a1"]),
)
VECTORS = st.one_of(
    st.none(),
    st.just(np.ones(DIMENSION + 1, dtype=np.float32)),
    st.just(np.zeros(DIMENSION, dtype=np.float32)),
    st.just(np.full(DIMENSION, np.nan, dtype=np.float32)),
    st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any).map(lambda n: unit(*n)),
)


@st.composite
def insights(draw: st.DrawFn, insight_id: str) -> AddInsight:
    found = insight(
        insight_id,
        " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=8))),
        at=draw(st.integers(0, 3)) * 1_000_000,
        category=draw(st.sampled_from(["fact", "decision", "general"])),
        importance=draw(st.integers(1, 5)),
        tags=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=2, unique=True))),
        entities=tuple(draw(st.lists(st.sampled_from(["Redis", "redis", "Bob"]), max_size=3))),
        source=draw(st.sampled_from(["user", "alice"])),
        scope=draw(SCOPES),
    )
    return AddInsight(found, draw(VECTORS))


@st.composite
def batches(draw: st.DrawFn) -> list[list[Change]]:
    """Batches that fit: only new or retired ids are added, only live ones retired. Edges may point anywhere."""
    live: list[str] = []
    result: list[list[Change]] = []
    names = [f"{number:06d}-memory" for number in range(8)]
    for _ in range(draw(st.integers(1, 7))):
        batch: list[Change] = []
        for _ in range(draw(st.integers(0, 5))):
            kind = draw(st.sampled_from(["add", "add", "add", "retire", "edge", "edge", "unedge"]))
            if kind == "add" and (free := [name for name in names if name not in live]):
                name = draw(st.sampled_from(free))
                live.append(name)
                batch.append(draw(insights(name)))
            elif kind == "retire" and live:
                name = draw(st.sampled_from(live))
                live.remove(name)
                batch.append(RetireInsight(name, "forgotten"))
            elif kind in ("edge", "unedge") and live:
                ends = [draw(st.sampled_from(live)) for _ in range(2)]
                edge_type: Any = draw(st.sampled_from(EDGE_TYPES))
                weight = draw(st.sampled_from([0.25, 0.5, 1.0]))
                add = AddEdge(Edge(ends[0], ends[1], edge_type, weight))
                batch.append(add if kind == "edge" else RemoveEdge(ends[0], ends[1], edge_type))
        result.append(batch)
    return result


@settings(max_examples=150, deadline=None)
@given(batches(), st.sampled_from([OFTEN, NEVER]))
def test_applying_equals_rebuilding_and_old_snapshots_stay_as_they_were(
    work: list[list[Change]], compaction: Compaction
) -> None:
    world, index = World(), MemoryIndex(DIMENSION, compaction)
    expected = [portrait(world.rebuilt())]
    snapshots = [index.snapshot]
    for batch in work:
        snapshots.append(index.apply(batch))
        for change in batch:
            world.carry_out(change)
        expected.append(portrait(world.rebuilt()))
    assert [snapshot.generation for snapshot in snapshots] == list(range(len(work) + 1))
    for snapshot, truth in zip(snapshots, expected, strict=True):
        assert portrait(snapshot) == truth


@settings(max_examples=50, deadline=None)
@given(batches(), batches())
def test_a_loaded_index_goes_on_like_one_that_never_stopped(
    before: list[list[Change]], after: list[list[Change]]
) -> None:
    world, steady = World(), MemoryIndex(DIMENSION, OFTEN)
    for batch in before:
        steady.apply(batch)
        for change in batch:
            world.carry_out(change)
    loaded = MemoryIndex.build(world.rows.values(), world.edges.values(), DIMENSION, OFTEN)
    first = loaded.snapshot
    truth = portrait(first)
    renamed = [[_elsewhere(change) for change in batch] for batch in after]
    for batch in renamed:
        steady.apply(batch)
        loaded.apply(batch)
    assert portrait(loaded.snapshot) == portrait(steady.snapshot)
    assert portrait(first) == truth


def _elsewhere(change: Change) -> Change:
    """The same change to memories that the first half did not touch."""
    match change:
        case AddInsight(found, vector):
            moved = insight("x" + found.id, found.content, category=found.category, entities=found.entities)
            return AddInsight(moved, vector)
        case RetireInsight(retired, status):
            return RetireInsight("x" + retired, status)
        case AddEdge(edge):
            return AddEdge(Edge("x" + edge.source_id, "x" + edge.target_id, edge.edge_type, edge.weight))
        case RemoveEdge(source, target, kind):
            return RemoveEdge("x" + source, "x" + target, kind)
