"""A picture of a store, and what people read of it."""

from __future__ import annotations

from mnemond.model.graph import Graph, GraphCommunity, GraphEdge, GraphNode
from mnemond.model.relations import StatedRelation

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"
AT = "2026-02-01T10:00:00.000000Z"

DRAWN_GRAPH = Graph(
    store="default", generated_at=AT, redacted=False, total=3, limit=2, total_edges=1, cut_at=None,
    nodes=[
        GraphNode(
            ID, "Ana moved the sessions to Redis", "decision", 4, community=1,
            tags=("shop",), entities=("Ana", "Redis"), project="shop",
            created_at=AT, event_start=None,
            event_end=None, pinned=True, degree=1,
        ),
        GraphNode(
            OTHER, "Redis forgot all sessions", "fact", 3, community=None, tags=(), entities=("Redis",), project=None,
            created_at=AT, event_start=AT, event_end=AT, pinned=False,
            degree=1,
        ),
    ],
    edges=[GraphEdge(ID, OTHER, ["causal", "entity"], 0.8)],
    communities=[GraphCommunity(1, 1)],
    relations=[StatedRelation("Ana", "owns", "Redis", ID)],
)  # fmt: skip

VIZ_TRANSCRIPT = """\
Store "default"
  2 of 3 memories, 1 link, 1 community, 2 names
to look at it: mnemonctl viz -o graph.html
"""
