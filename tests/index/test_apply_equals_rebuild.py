"""The index is derived: whatever was applied, in whatever batches, it equals the index of the rows that are left."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.edges import NEW
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
    SetVector,
)
from mnemond.model.memory import EDGE_TYPES, Cue, Edge, Insight, Relation, Scope, format_us
from tests.examples import examples
from tests.index.worlds import DIMENSION, WORDS, World, insight, portrait, unit

OFTEN = Compaction(dead_rows=2, dead_share=0.2)
NEVER = Compaction(dead_rows=10**9, dead_share=1.0)
NAMES = tuple(f"{number:06d}-memory" for number in range(8))

SCOPES = st.builds(
    Scope,
    user_id=st.sampled_from([None, "u1", "u2"]),
    session_id=st.sampled_from([None, None, "s1", "s2"]),
    agent_id=st.sampled_from([None, "a1"]),
)
UNITS = st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any).map(lambda n: unit(*n))
VECTORS = st.one_of(
    st.none(),
    st.just(np.ones(DIMENSION + 1, dtype=np.float32)),
    st.just(np.zeros(DIMENSION, dtype=np.float32)),
    st.just(np.full(DIMENSION, np.nan, dtype=np.float32)),
    UNITS,
    st.tuples(UNITS, UNITS).map(np.stack),
    UNITS.map(lambda own: np.stack((own, np.zeros(DIMENSION, dtype=np.float32)))),
)
CONTENTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ENTITIES = st.lists(st.sampled_from(["Redis", "redis", "Bob"]), max_size=3).map(tuple)

TIMES = st.one_of(st.none(), st.none(), st.integers(0, 3).map(lambda second: format_us(second * 1_000_000)))

FOUND_BY: dict[str, st.SearchStrategy[Any]] = {
    "content": CONTENTS,
    "category": st.sampled_from(["fact", "decision", "general"]),
    "importance": st.integers(1, 5),
    "tags": st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple),
    "entities": ENTITIES,
    "source": st.sampled_from(["user", "alice"]),
    "conversation_id": st.sampled_from([None, "c1"]),
    "scope": SCOPES,
    "channel": st.sampled_from(["manual", "hook"]),
    "intent": st.sampled_from([None, "preference"]),
    "valid_from": TIMES,
    "invalid_at": TIMES,
    "expires_at": TIMES,
    "event_start": TIMES,
    "event_end": TIMES,
    "quarantined": st.sampled_from([False, False, False, True]),
    "cues": st.lists(st.sampled_from(WORDS).map(Cue), max_size=2, unique=True).map(tuple),
}
"""Fields a row is found by: changing one gives the memory a new row."""

OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "access_count": st.integers(0, 5),
    "last_accessed_at": st.one_of(st.none(), st.integers(0, 9).map(lambda second: format_us(second * 1_000_000))),
    "pinned": st.booleans(),
    "paired_with": st.sampled_from([None, *NAMES]),
    "boost_days": st.sampled_from([0.0, 1.5]),
    "keywords": st.sampled_from(["", "redis cache"]),
    "metadata": st.sampled_from(["{}", '{"build":1}', '{"build":2}']),
}
"""Fields a row keeps its place with."""


def _time(name: str, second: int) -> int:
    """Microseconds; no two memories are made at the same time."""
    return second * 1_000_000 + NAMES.index(name)


@st.composite
def insights(draw: st.DrawFn, name: str) -> Insight:
    fields = {field: draw(values) for field, values in FOUND_BY.items()}
    return insight(name, at=_time(name, draw(st.integers(0, 3))), **fields)


@st.composite
def revised(draw: st.DrawFn, old: Insight) -> Insight:
    """The same memory with one or two fields changed; sometimes its time."""
    kinds = draw(st.sampled_from([FOUND_BY, OTHERS, FOUND_BY | OTHERS]))
    fields = {field: draw(kinds[field]) for field in draw(st.lists(st.sampled_from(sorted(kinds)), max_size=2))}
    if draw(st.integers(0, 4)) == 0:
        fields["created_at"] = format_us(_time(old.id, draw(st.integers(0, 3))))
    return msgspec.structs.replace(old, **fields)


@st.composite
def operations(draw: st.DrawFn) -> list[list[Change]]:
    """Operations that fit: only free ids are added, only live ones changed. Edges and purges may aim anywhere."""
    live: dict[str, Insight] = {}
    return [draw(operation(live)) for _ in range(draw(st.integers(1, 7)))]


KINDS = ("add", "add", "add", "restore", "put", "put", "retire", "purge", "vector", "value", "edge", "edge", "unedge")


@st.composite
def operation(draw: st.DrawFn, live: dict[str, Insight]) -> list[Change]:
    changes: list[Change] = []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(KINDS))
        name = draw(st.sampled_from(NAMES))
        change = draw(adding(kind, name, live) if name not in live else changing(kind, name, live))
        if change is not None:
            changes.append(change)
        if isinstance(change, AddInsight) and (relations := draw(related(sorted({*live, "gone"} - {name})))):
            changes.append(AddRelations(name, relations))
    return changes


@st.composite
def related(draw: st.DrawFn, others: list[str]) -> tuple[Relation, ...]:
    """What a memory is related to when it comes: each other memory once a type."""
    kinds: Any = st.sampled_from(EDGE_TYPES)
    pairs = draw(st.lists(st.tuples(st.sampled_from(others), kinds), max_size=3, unique=True))
    ways = {"both": ("{}", "{}"), "there": ("{}", None), "back": (None, "{}")}
    return tuple(
        Relation(
            other,
            kind,
            draw(st.sampled_from([0.25, 0.5])),
            *ways[draw(st.sampled_from(list(ways)[kind == "causal" :]))],
        )
        for other, kind in pairs
    )


@st.composite
def adding(draw: st.DrawFn, kind: str, name: str, live: dict[str, Insight]) -> Change | None:
    if kind in ("add", "restore"):
        live[name] = draw(insights(name))
        return (AddInsight if kind == "add" else RestoreInsight)(live[name], draw(VECTORS))
    if kind == "purge":
        return PurgeInsight(name)
    return SetVector(name, draw(VECTORS)) if kind == "vector" else None


@st.composite
def changing(draw: st.DrawFn, kind: str, name: str, live: dict[str, Insight]) -> Change | None:
    match kind:
        case "put":
            live[name] = draw(revised(live[name]))
            return PutInsight(live[name], embedded=draw(st.booleans()), vector=draw(VECTORS))
        case "retire" | "purge":
            del live[name]
            return RetireInsight(name, "forgotten") if kind == "retire" else PurgeInsight(name)
        case "vector":
            return SetVector(name, draw(VECTORS))
        case "value":
            value = draw(st.sampled_from([0.25, 1.5]))
            live[name] = msgspec.structs.replace(live[name], effective_importance=value)
            return SetImportance(name, value)
        case "edge" | "unedge":
            other = draw(st.sampled_from(sorted(live)))
            edge_type: Any = draw(st.sampled_from(EDGE_TYPES))
            if kind == "unedge":
                return RemoveEdge(name, other, edge_type)
            return AddEdge(Edge(name, other, edge_type, draw(st.sampled_from([0.25, 0.5, 1.0]))))
    return None


@examples(200)
@given(operations(), st.sampled_from([OFTEN, NEVER]))
def test_applying_equals_rebuilding_and_old_snapshots_stay_as_they_were(
    work: list[list[Change]], compaction: Compaction
) -> None:
    world, index = World(), MemoryIndex(DIMENSION, compaction)
    expected = [portrait(world.rebuilt())]
    snapshots = [index.snapshot]
    for changes in work:
        snapshots.append(index.apply(changes))
        for change in changes:
            world.carry_out(change)
        expected.append(portrait(world.rebuilt()))
    assert [snapshot.generation for snapshot in snapshots] == list(range(len(work) + 1))
    for snapshot, truth in zip(snapshots, expected, strict=True):
        assert portrait(snapshot) == truth


@examples(100)
@given(operations(), st.integers(1, 3))
def test_staging_shows_the_writer_everything_and_readers_nothing(work: list[list[Change]], at_once: int) -> None:
    world, index = World(), MemoryIndex(DIMENSION, OFTEN)
    published = portrait(index.snapshot)
    for number, changes in enumerate(work, 1):
        before = index.working
        counted = before.columns.degree.tolist()
        degrees = index.stage(changes)
        for change in changes:
            world.carry_out(change)
        working = index.working
        assert portrait(working) == portrait(world.rebuilt())
        assert portrait(index.snapshot) == published
        had = dict(enumerate(counted))
        assert {row: (had.get(row, NEW), int(working.columns.degree[row])) for row in degrees} == degrees
        if number % at_once == 0:
            assert index.publish() is index.snapshot is index.working
            assert index.begun == 0
            published = portrait(index.snapshot)
    assert published == portrait(index.snapshot)


@examples(50)
@given(operations(), operations())
def test_a_loaded_index_goes_on_like_one_that_never_stopped(
    before: list[list[Change]], after: list[list[Change]]
) -> None:
    world, steady = World(), MemoryIndex(DIMENSION, OFTEN)
    for changes in before:
        steady.apply(changes)
        for change in changes:
            world.carry_out(change)
    loaded = MemoryIndex.build(world.rows.values(), world.edges.values(), DIMENSION, OFTEN)
    first = loaded.snapshot
    truth = portrait(first)
    for changes in after:
        renamed = [_elsewhere(change) for change in changes]
        steady.apply(renamed)
        loaded.apply(renamed)
    assert portrait(loaded.snapshot) == portrait(steady.snapshot)
    assert portrait(first) == truth


def _elsewhere(change: Change) -> Change:
    """The same change to memories that the first half did not touch."""
    if isinstance(change, AddEdge):
        edge = change.edge
        return AddEdge(Edge("x" + edge.source_id, "x" + edge.target_id, edge.edge_type, edge.weight))
    if isinstance(change, AddRelations):
        return AddRelations("x" + change.id, tuple(one._replace(other="x" + one.other) for one in change.relations))
    if isinstance(change, RemoveEdge):
        return RemoveEdge("x" + change.source_id, "x" + change.target_id, change.edge_type)
    if isinstance(change, AddInsight | PutInsight | RestoreInsight):
        later = format_us(10**9 + NAMES.index(change.insight.id))
        moved = msgspec.structs.replace(change.insight, id="x" + change.insight.id, created_at=later)
        return msgspec.structs.replace(change, insight=moved)
    return msgspec.structs.replace(change, id="x" + change.id)
