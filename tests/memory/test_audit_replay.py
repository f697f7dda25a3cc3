"""Whatever is done to a store, its history alone gives back what it holds, and the index is what a rebuild gives."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory.summaries import summary_text
from mnemond.model.memory import EDGE_TYPES, derived_from
from tests.examples import examples
from tests.memory.audit_world import AuditWorld, at, essence, replayed

TEXTS = (
    "We chose SQLite for the billing service",
    "We chose SQLite for the billing service because Redis lost data",
    "We did not choose SQLite for the billing service",
    "Ana deploys the gateway on Friday",
    "Ana deploys the gateway on Monday",
    "The cache of Redis expires after 10 minutes",
    "The cache of Redis expires after 20 minutes, therefore the billing service is slow",
    "Bob prefers tabs",
)

CHOICE = st.integers(0, 839)
ONE = st.tuples(
    st.sampled_from(
        [
            "remember",
            "supersede",
            "undo",
            "forget",
            "revise",
            "link",
            "unlink",
            "keep",
            "collect",
            "remember",
            "undo",
            "summarize",
        ]
    ),
    CHOICE,
    CHOICE,
)
FIRST = st.lists(st.tuples(st.just("remember"), CHOICE, CHOICE), min_size=3, max_size=6)
STEPS = st.builds(lambda first, then: [*first, *then], FIRST, st.lists(ONE, max_size=12))


def step(world: AuditWorld, kind: str, one: int, two: int) -> Any:
    active = world.active()
    if kind == "remember" or not active:
        backdated = {"created_at": at(two % 50)} if two % 3 == 0 else {}
        return world.remember(
            TEXTS[one % len(TEXTS)], importance=1 + one % 5, tags=(f"t{two % 3}",), no_diff=two % 5 == 0, **backdated
        )
    here, there = active[one % len(active)], active[(one + 1 + two) % len(active)]
    match kind:
        case "forget":
            return world.forget(here)
        case "revise":
            fields: dict[str, Any] = {"importance": 1 + two % 5, "tags": ("revised",)}
            rewritten = two % 2 and not derived_from(world.insight(here))  # else it would say what its sources do not
            return world.revise(here, **fields, **({"content": TEXTS[two % len(TEXTS)]} if rewritten else {}))
        case "supersede":
            return world.supersede(here, there) if here != there else None
        case "link":
            return world.link(here, there, 0.5 + (one % 5) / 10) if here != there else None
        case "unlink":
            return world.unlink(here, there) if here != there else None
        case "summarize":
            return world.summarize(here, there) if here != there else None
        case "keep":
            return world.keep(here)
        case "collect":
            return world.collect(0.3, 2)
        case _:
            return world.undo(None if one % 3 else world.done[two % len(world.done)] if world.done else None)


def links(snapshot: Snapshot) -> dict[str, Any]:
    """Edges and degrees of every live memory, by id."""
    rows = np.flatnonzero(snapshot.alive()).tolist()
    return {
        snapshot.insight(row).id: (
            int(snapshot.columns.degree[row]),
            sorted(
                (
                    snapshot.insight(int(end["row"])).id,
                    EDGE_TYPES[end["type"]],
                    int(end["outgoing"]),
                    float(end["weight"]),
                )
                for end in snapshot.neighbours(row)
            ),
        )
        for row in rows
    }


def check(world: AuditWorld) -> None:
    assert not world.defects
    rows = world.rows()
    told = {insight_id: essence(it) for insight_id, it in replayed(world).items()}
    assert told == {insight_id: essence(it) for insight_id, it in rows.items()}
    snapshot, rebuilt = world.snapshot, world.rebuilt()
    assert links(snapshot) == links(rebuilt)
    seen = [snapshot.insight(row) for row in np.flatnonzero(snapshot.alive()).tolist()]
    live = {it.id: it for it in seen}
    assert live == {insight_id: it for insight_id, it in rows.items() if it.status == "active"}
    assert all(one == other for one, other in world.vectors().values())
    for it in seen:
        if sources := derived_from(it):
            assert it.content == summary_text([live[each] for each in sources])
    assert all(it.paired_with is None or live[it.paired_with].paired_with == it.id for it in seen)


@settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_the_history_replayed_from_nothing_is_the_store(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = AuditWorld(Path(directory) / "a.db")
        for kind, one, two in steps:
            step(world, kind, one, two)
            check(world)
        world.engine.close()


def portrait(world: AuditWorld) -> Any:
    """What an undo must bring back: memories but for when and how they were used, and edges."""
    rows = {
        insight_id: {
            name: getattr(it, name)
            for name in it.__struct_fields__
            if name not in {"updated_at", "effective_importance"}
        }
        for insight_id, it in world.rows().items()
        if it.status == "active"
    }
    return rows, world.edges(), world.vectors()


@settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, ONE)
def test_whatever_was_done_last_can_be_taken_back_and_done_again(
    steps: list[tuple[str, int, int]], last: tuple[str, int, int]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = AuditWorld(Path(directory) / "a.db")
        for kind, one, two in steps:
            step(world, kind, one, two)
        before = portrait(world)
        done = len(world.done)
        step(world, *last)
        after = portrait(world)
        if len(world.done) > done and after != before:
            first = world.undo(world.done[-1])
            assert not isinstance(first, MnemonError), first
            assert portrait(world) == before
            second = world.undo(world.done[-1])
            assert not isinstance(second, MnemonError), second
            assert portrait(world) == after
            check(world)
        world.engine.close()
