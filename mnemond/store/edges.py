"""The `edges` table."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.model.changes import AddEdge, RemoveEdge
from mnemond.model.edge import Edge
from mnemond.store.connection import Connection


def upsert(connection: Connection, change: AddEdge, now: str) -> None:
    """Insert an edge; an existing one keeps the higher weight and its creation time (spec 4, rules)."""
    edge = change.edge
    connection.run(
        "INSERT INTO edges(source_id, target_id, edge_type, weight, created_at) VALUES(?, ?, ?, ?, ?)"
        " ON CONFLICT(source_id, target_id, edge_type) DO UPDATE SET weight = max(weight, excluded.weight)",
        (edge.source_id, edge.target_id, edge.edge_type, edge.weight, now),
    )


def remove(connection: Connection, change: RemoveEdge) -> None:
    """Delete one edge, if it is there."""
    connection.run(
        "DELETE FROM edges WHERE source_id = ? AND target_id = ? AND edge_type = ?",
        (change.source_id, change.target_id, change.edge_type),
    )


def touching(connection: Connection, insight_id: str) -> list[Edge]:
    """Every edge that starts or ends at an insight."""
    rows = connection.rows(
        "SELECT source_id, target_id, edge_type, weight FROM edges WHERE source_id = ?1"
        " UNION SELECT source_id, target_id, edge_type, weight FROM edges WHERE target_id = ?1",
        (insight_id,),
    )
    return [Edge(*row) for row in rows]


def remove_touching(connection: Connection, insight_id: str) -> None:
    """Delete every edge that starts or ends at an insight."""
    connection.run("DELETE FROM edges WHERE source_id = ?1 OR target_id = ?1", (insight_id,))


def logical_links(edges: list[Edge]) -> int:
    """How many relations these edges are: unordered pair and type, but causal links keep their direction."""
    return len(
        {
            (e.edge_type, e.source_id, e.target_id)
            if e.edge_type == "causal"
            else (e.edge_type, *sorted((e.source_id, e.target_id)))
            for e in edges
        }
    )


def load(connection: Connection) -> Iterator[Edge]:
    """Every edge."""
    for row in connection.rows("SELECT source_id, target_id, edge_type, weight FROM edges"):
        yield Edge(*row)
