"""Edges in a form that reads well in a comparison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemond.memory.edge_builders import edges_of
from mnemond.model.changes import RemoveEdge
from mnemond.model.memory import Edge, Relation


def edges(changes: Sequence[Relation | RemoveEdge]) -> list[Edge]:
    """Each edge that is added, in order; the memory that is linked is "new"."""
    return [edge for change in changes if isinstance(change, Relation) for edge in edges_of("new", change)]


def added(changes: Sequence[Relation | RemoveEdge]) -> list[tuple[str, str, float]]:
    """(source, target, weight to six places) of each edge that is added, in order."""
    return [(edge.source_id, edge.target_id, round(edge.weight, 6)) for edge in edges(changes)]


def metadata(changes: Sequence[Relation | RemoveEdge]) -> list[dict[str, Any]]:
    """Metadata of each edge that is added, in order."""
    return [json.loads(edge.metadata) for edge in edges(changes)]


def removed(changes: Sequence[Relation | RemoveEdge]) -> list[tuple[str, str, str]]:
    """(source, target, type) of each edge that is removed, in order."""
    return [
        (change.source_id, change.target_id, change.edge_type) for change in changes if isinstance(change, RemoveEdge)
    ]
