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


def test_rows_stand_in_the_order_of_what_happened() -> None:
    trail = Trail()
    trail.memory("CREATE", "c", None, C)
    trail.memory("DELETE", "a", A, GONE)
    assert trail.entries(look) == [Entry("CREATE", "c", None, State(C)), Entry("DELETE", "a", State(A), State(GONE))]


def test_an_edge_of_a_memory_that_was_made_needs_no_note() -> None:
    trail = Trail()
    trail.memory("CREATE", "c", None, C)
    trail.edge(None, edge("c", "a"))
    assert trail.entries(look) == [Entry("CREATE", "c", None, State(C))]


def test_an_edge_stands_beside_its_owner() -> None:
    trail = Trail()
    trail.memory("DELETE", "a", A, GONE)
    trail.memory("PAIR", "b", B, B)
    trail.edge(edge("a", "b"), None, "a")
    trail.edge(None, edge("c", "b"), "a")  # moved to c
    entries = trail.entries(look)
    assert entries[0] == Entry("DELETE", "a", State(A, [edge("a", "b")]), State(GONE, [edge("c", "b")]))
    assert entries[1] == Entry("PAIR", "b", State(B), State(B))


def test_without_an_owner_beside_either_end_that_changed_else_in_a_row_of_its_own() -> None:
    trail = Trail()
    trail.memory("UPDATE", "b", B, B)
    trail.edge(edge("a", "b"), None)
    trail.edge(edge("a", "c", 0.1), edge("a", "c", 0.9))
    trail.edge(None, edge("c", "a"))
    assert trail.entries(look) == [
        Entry("UPDATE", "b", State(B, [edge("a", "b")]), State(B)),
        Entry("UPDATE", "a", State(A, [edge("a", "c", 0.1)]), State(A, [edge("a", "c", 0.9), edge("c", "a")])),
    ]


def test_an_edge_is_noted_once_from_its_first_state_to_its_last() -> None:
    trail = Trail()
    trail.edge(edge("a", "b", 0.1), None)
    trail.edge(None, edge("a", "b", 0.9), "b")
    trail.edge(edge("a", "b", 0.9), edge("a", "b", 0.7))
    assert trail.entries(look) == [
        Entry("UPDATE", "b", State(B, [edge("a", "b", 0.1)]), State(B, [edge("a", "b", 0.7)]))
    ]


def test_what_came_back_to_itself_is_not_noted() -> None:
    trail = Trail()
    trail.edge(edge("a", "b"), None)
    trail.edge(None, edge("a", "b"))
    trail.edge(edge("b", "c"), edge("b", "c"))
    assert trail.entries(look) == []


def test_an_owner_that_was_made_notes_the_edge_as_it_is() -> None:
    trail = Trail()
    trail.memory("CREATE", "c", None, C)
    trail.edge(None, edge("c", "a"), "c")
    assert trail.entries(look) == [Entry("CREATE", "c", None, State(C, [edge("c", "a")]))]


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
