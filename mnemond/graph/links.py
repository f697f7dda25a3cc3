"""The rows a link is made of."""

from __future__ import annotations

from mnemond.model.changes import AddEdge
from mnemond.model.edge import Edge, EdgeType


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
