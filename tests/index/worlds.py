"""A plain dictionary of memories and edges beside a MemoryIndex, and a comparison of the two."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest

from mnemond.index.arrays import Mask
from mnemond.index.bm25 import Bm25
from mnemond.index.filters import during
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import own_vector
from mnemond.index.writer import MemoryIndex
from mnemond.memory.edge_builders import edges_of
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
    Vector,
)
from mnemond.model.memory import Edge, Insight, Scope, format_us
from mnemond.model.query import Compare, Filter, Span
from mnemond.text.similarity import normalised

T = TypeVar("T")

DIMENSION = 4
BM25 = Bm25(k1=1.2, b=0.75)
WORDS = ("redis", "sqlite", "cache", "deploy", "friday", "库存", "数据库")
FILTERS = (
    Filter(),
    Filter(all_sessions=True),
    Filter(category="fact"),
    Filter(category="decision", source="alice"),
    Filter(source="nobody"),
    Filter(scope=Scope(user_id="u1")),
    Filter(scope=Scope(user_id="stranger", agent_id="a1")),
    Filter(scope=Scope(session_id="s1")),
    Filter(scope=Scope(session_id="s2", user_id="u1"), category="fact"),
    Filter(scope=Scope(user_id="u1"), strict_scope=True),
    Filter(channel="hook", min_importance=3),
    Filter(stated_intent="preference", all_sessions=True),
    Filter(tags_all=("Redis", "cache"), all_sessions=True),
    Filter(tags_any=("REDIS", "nowhere")),
    Filter(entity="REDIS"),
    Filter(created=Span(1_000_000, 2_500_000)),
    Filter(event=Span(1_000_000, 2_000_000), all_sessions=True),
    Filter(window=Span(until_us=1_000_000), all_sessions=True),
    Filter(now_us=1_500_000, clock_us=2_500_000, all_sessions=True),
    Filter(as_of_us=1_500_000, all_sessions=True),
    Filter(known_at_us=1_500_000, as_of_us=2_500_000, all_sessions=True),
    Filter(include_invalid=True, now_us=1_500_000, all_sessions=True),
    Filter(status="active", now_us=9_000_000),
    Filter(metadata=Compare("build", "gte", 2), all_sessions=True),
)
SCOPES = (Scope(), Scope("u1"), Scope("u1", "s1"), Scope(agent_id="a1"), Scope("stranger", "s2", "a1"))
LIKE = {"redi", "cach", "deploi"}


def insight(insight_id: str, content: str = "", *, at: int = 0, **fields: Any) -> Insight:
    """A memory made `at` microseconds after the epoch."""
    return Insight(id=insight_id, content=content, created_at=format_us(at), updated_at=format_us(at), **fields)


def built(*insights: Insight) -> MemoryIndex:
    """An index of memories that have neither vectors nor edges."""
    return MemoryIndex.build([(found, None) for found in insights], [], DIMENSION)


def finished(steps: Generator[None, None, T]) -> T:
    """The value of a computation in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as stopped:
            value: T = stopped.value
            return value


def unit(*numbers: float) -> Vector:
    """A vector of length 1 in the direction of `numbers`."""
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


PROBE = unit(1, 2, 3, 4)


def _searched(snapshot: Snapshot, row: int) -> Vector | None:
    vector = snapshot.stored_vector(row)
    return vector[1] if vector is not None and vector.ndim == 2 else vector


def _cosine(vector: Vector | None) -> float:
    return 0.0 if vector is None else float(vector @ PROBE)


class World:
    """What a store would hold: the truth an index is compared with."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Insight, Vector | None]] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}

    def carry_out(self, change: Change) -> None:
        match change:
            case AddInsight(found, vector) | RestoreInsight(found, vector):
                self.rows[found.id] = (found, vector)
            case PutInsight(found):
                old, vector = self.rows[found.id]
                if not change.embedded and vector is not None and found.cues != old.cues:
                    vector = own_vector(vector)
                self.rows[found.id] = (found, change.vector if change.embedded else vector)
            case RetireInsight(gone) | PurgeInsight(gone):
                self.rows.pop(gone, None)
                self.edges = {key: edge for key, edge in self.edges.items() if gone not in key[:2]}
            case AddEdge(edge):
                self.edges[edge.source_id, edge.target_id, edge.edge_type] = edge
            case AddRelations(found_id, relations):
                fitting = [each for each in relations if each.other in self.rows]
                for edge in (edge for each in fitting for edge in edges_of(found_id, each)):
                    self.edges[edge.source_id, edge.target_id, edge.edge_type] = edge
            case RemoveEdge(source, target, kind):
                self.edges.pop((source, target, kind), None)
            case SetVector(changed, vector):
                if changed in self.rows:
                    self.rows[changed] = (self.rows[changed][0], vector)
            case SetImportance(changed, value):
                old, vector = self.rows[changed]
                self.rows[changed] = (msgspec.structs.replace(old, effective_importance=value), vector)

    def rebuilt(self) -> Snapshot:
        rows, edges = self.rows.values(), self.edges.values()
        return MemoryIndex.build(rows, edges, DIMENSION).snapshot


def portrait(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a snapshot says, by id instead of by row."""
    every = [row for row in range(snapshot.rows) if snapshot.row_of(snapshot.insight(row).id) == row]
    live = sorted(every, key=lambda row: snapshot.insight(row).id)
    ids = [snapshot.insight(row).id for row in live]
    alive = np.flatnonzero(snapshot.alive()).tolist()
    assert sorted(live) == alive
    _assert_lists_say_the_same(snapshot)
    cosines = snapshot.dense.similarity(PROBE)[live]
    assert cosines == pytest.approx([_cosine(snapshot.vector(row)) for row in live], abs=1e-5)
    searched = snapshot.dense.searched(PROBE)
    assert searched[live] == pytest.approx([_cosine(_searched(snapshot, row)) for row in live], abs=1e-5)
    rows = np.array(live, dtype=np.int64)
    assert snapshot.dense.searched_of(PROBE, rows) == pytest.approx(searched[live], abs=1e-6)
    nearest, _ = snapshot.dense.searched_nearest(PROBE, 3, snapshot.alive())
    assert searched[nearest] == pytest.approx(sorted(searched[live][searched[live] > 0.0])[::-1][:3], abs=1e-6)
    return {
        "insights": [snapshot.insight(row) for row in live],
        "columns": [_columns(snapshot, row) for row in live],
        "figures": (snapshot.live, snapshot.embedded, snapshot.edge_counts(), snapshot.by_category()),
        "entities": {name.casefold(): count for name, count in snapshot.top_entities(50)},
        "keyword": [_keyword(snapshot, live, query) for query in (["redis"], ["cache", "deploy", "cache"], ["库存"])],
        "likeness": snapshot.likeness(LIKE)[live].tolist(),
        "lacking": sorted(snapshot.insight(row).id for row in snapshot.without_vector().tolist()),
        "masks": [_seen(snapshot, live, snapshot.visible(wanted)) for wanted in FILTERS],
        "during": [_seen(snapshot, live, during(snapshot.parts, Span(1_000_000, 2_500_000)) & snapshot.alive())],
        "comparable": [_seen(snapshot, live, snapshot.comparable(scope)) for scope in SCOPES],
        "twins": [[snapshot.insight(twin).id for twin in twins] for twins in _twins(snapshot, live)],
        "newest": [[found.id for found in snapshot.newest(wanted, 3)] for wanted in FILTERS],
        "links": [_links(snapshot, row) for row in live],
        "link_counts": [snapshot.link_count(row) for row in live],
        "prefixes": {found: snapshot.find(found[:6]) for found in ids},
    }


def _assert_lists_say_the_same(snapshot: Snapshot) -> None:
    """What is kept as a list for writers is what readers find in arrays."""
    for name in filter(None, snapshot.parts.table.names.entities.values()):
        assert snapshot.last_holders(name, snapshot.rows)[1].tolist() == snapshot.holders(name).tolist()
    for row in range(snapshot.rows):
        _, links = snapshot.fan([row])
        assert snapshot.links_listed(row) == [tuple(link)[:4] for link in links.tolist()]


def _columns(snapshot: Snapshot, row: int) -> tuple[int | tuple[float, ...] | None, ...]:
    vector = snapshot.stored_vector(row)
    assert (vector is not None) == snapshot.has_vector(row)
    assert (vector is not None and vector.ndim == 2) == snapshot.has_cued_vector(row)
    columns = snapshot.columns
    return (
        int(columns.importance[row]), int(columns.accesses[row]), int(columns.accessed_us[row]),
        int(columns.created_us[row]), int(columns.pinned[row]), int(columns.degree[row]),
        None if vector is None else tuple(vector.ravel().tolist()), int(columns.cues[row]),
    )  # fmt: skip


def _keyword(snapshot: Snapshot, live: list[int], terms: list[str]) -> tuple[list[float], float]:
    scores, bound = snapshot.keyword(terms, BM25)
    return scores[live].tolist(), bound


def _seen(snapshot: Snapshot, live: list[int], mask: Mask | None) -> list[bool]:
    if mask is None:
        assert snapshot.live == snapshot.rows
        return [True] * len(live)
    assert int(mask.sum()) == int(mask[live].sum()), "a dead row is visible"
    return [bool(seen) for seen in mask[live]]


def _twins(snapshot: Snapshot, live: list[int]) -> list[list[int]]:
    found = [snapshot.twins(normalised(snapshot.insight(row).content)) for row in live]
    return [sorted(twins, key=lambda row: snapshot.insight(row).id) for twins in found]


def _links(snapshot: Snapshot, row: int) -> list[tuple[str, int, int, float]]:
    return sorted(
        (snapshot.insight(int(link["row"])).id, int(link["type"]), int(link["outgoing"]), float(link["weight"]))
        for link in snapshot.neighbours(row)
    )
