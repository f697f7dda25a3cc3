"""A plain dictionary of memories and edges beside a MemoryIndex, and a comparison of the two."""

from __future__ import annotations

from typing import Any

import numpy as np

from mnemond.index.memory_index import MemoryIndex
from mnemond.index.postings import Bm25
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, AddInsight, Change, RemoveEdge, RetireInsight, Vector
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight, Scope
from mnemond.model.recall import Filter
from mnemond.model.timestamp import format_us

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
)


def insight(insight_id: str, content: str = "", *, at: int = 0, **fields: Any) -> Insight:
    """A memory made `at` microseconds after the epoch."""
    return Insight(id=insight_id, content=content, created_at=format_us(at), updated_at=format_us(at), **fields)


def unit(*numbers: float) -> Vector:
    """A vector of length 1 in the direction of `numbers`."""
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


class World:
    """What a store would hold: the truth an index is compared with."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Insight, Vector | None]] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}

    def carry_out(self, change: Change) -> None:
        match change:
            case AddInsight(found, vector):
                self.rows[found.id] = (found, vector)
            case RetireInsight(retired):
                del self.rows[retired]
                self.edges = {key: edge for key, edge in self.edges.items() if retired not in key[:2]}
            case AddEdge(edge):
                key = (edge.source_id, edge.target_id, edge.edge_type)
                old = self.edges.get(key)
                if old is None or edge.weight > old.weight:
                    self.edges[key] = edge
            case RemoveEdge(source, target, kind):
                self.edges.pop((source, target, kind), None)

    def rebuilt(self) -> Snapshot:
        return MemoryIndex.build(self.rows.values(), self.edges.values(), DIMENSION).snapshot


def portrait(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a snapshot says, by id instead of by row."""
    live = [row for row in range(snapshot.rows) if snapshot.row_of(snapshot.insight(row).id) == row]
    ids = [snapshot.insight(row).id for row in live]
    return {
        "ids": ids,
        "figures": (snapshot.live, snapshot.embedded, snapshot.edge_counts(), snapshot.by_category()),
        "entities": {name.casefold(): count for name, count in snapshot.top_entities(50)},
        "keyword": [_keyword(snapshot, live, query) for query in (["redis"], ["cache", "deploy", "cache"], ["库存"])],
        "similarity": np.round(snapshot.similarity(unit(1, 2, 3, 4))[live], 5).tolist(),
        "masks": [_mask(snapshot, live, wanted) for wanted in FILTERS],
        "newest": [[found.id for found in snapshot.newest(wanted, 3)] for wanted in FILTERS],
        "links": [_links(snapshot, row) for row in live],
        "link_counts": [snapshot.link_count(row) for row in live],
        "prefixes": {found: snapshot.find(found[:6]) for found in ids},
    }


def _keyword(snapshot: Snapshot, live: list[int], terms: list[str]) -> tuple[list[float], float]:
    scores, bound = snapshot.keyword(terms, BM25)
    return scores[live].tolist(), bound


def _mask(snapshot: Snapshot, live: list[int], wanted: Filter) -> list[bool]:
    mask = snapshot.visible(wanted)
    if mask is None:
        assert snapshot.live == snapshot.rows
        return [True] * len(live)
    assert int(mask.sum()) == int(mask[live].sum()), "a dead row is visible"
    return [bool(seen) for seen in mask[live]]


def _links(snapshot: Snapshot, row: int) -> list[tuple[str, int, int, float]]:
    return [
        (snapshot.insight(int(link["row"])).id, int(link["type"]), int(link["outgoing"]), float(link["weight"]))
        for link in snapshot.neighbours(row)
    ]
