"""The edges a link is made of."""

from __future__ import annotations

from mnemond.model.changes import AddEdge
from mnemond.model.edge import Edge, EdgeType, Relation


def two_way(
    one: str, other: str, edge_type: EdgeType, weight: float, metadata: str, back: str | None = None
) -> tuple[AddEdge, ...]:
    """Two rows: `one` to `other` with `metadata`, and the way back with `back` or the same (spec 4, rules).

    Nothing for a row and itself.
    """
    if one == other:
        return ()
    return (
        AddEdge(Edge(one, other, edge_type, weight, metadata)),
        AddEdge(Edge(other, one, edge_type, weight, metadata if back is None else back)),
    )


def edges_of(one: str, relation: Relation) -> list[Edge]:
    """The edges between a memory and the one it is related to."""
    other, kind, weight, there, back = relation
    there_edge = [] if there is None else [Edge(one, other, kind, weight, there)]
    return there_edge if back is None else [*there_edge, Edge(other, one, kind, weight, back)]
