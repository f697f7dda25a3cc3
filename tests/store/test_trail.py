"""What one operation did, as its history rows: every edge once, beside a memory it belongs to."""

from __future__ import annotations

import msgspec

from mnemond.model.memory import Edge, Insight
from mnemond.store.history import Entry, State, Trail

A, B, C = (Insight(name, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", content=name) for name in "abc")
GONE = msgspec.structs.replace(A, status="forgotten")


def look(insight_id: str) -> Insight | None:
    return {"a": A, "b": B, "c": C}[insight_id]


def edge(source: str, target: str, weight: float = 0.5) -> Edge:
    return Edge(source, target, "causal", weight)


def test_an_edge_is_noted_once_from_its_first_state_to_its_last() -> None:
    trail = Trail()
    trail.edge(edge("a", "b", 0.1), None)
    trail.edge(None, edge("a", "b", 0.9), "b")
    trail.edge(edge("a", "b", 0.9), edge("a", "b", 0.7))
    assert trail.entries(look) == [
        Entry("UPDATE", "b", State(B, [edge("a", "b", 0.1)]), State(B, [edge("a", "b", 0.7)]))
    ]


def test_nothing_of_a_purged_memory_is_kept() -> None:
    trail = Trail()
    trail.memory("PAIR", "b", B, B)
    trail.memory("DELETE", "a", A, GONE)
    trail.edge(edge("a", "b"), None, "a")
    trail.purge("a")
    trail.memory("DELETE", "a", None, None)
    assert trail.entries(look) == [
        Entry("PAIR", "b", State(B), State(B)),
        Entry("DELETE", "a", None, None),
        Entry("DELETE", "a", None, None),
    ]
