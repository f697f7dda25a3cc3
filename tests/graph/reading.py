"""Edges in a form that reads well in a comparison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from mnemond.model.changes import AddEdge, RemoveEdge


def added(changes: Sequence[AddEdge | RemoveEdge]) -> list[tuple[str, str, float]]:
    """(source, target, weight to six places) of each edge that is added, in order."""
    return [
        (change.edge.source_id, change.edge.target_id, round(change.edge.weight, 6))
        for change in changes
        if isinstance(change, AddEdge)
    ]


def metadata(changes: Sequence[AddEdge | RemoveEdge]) -> list[dict[str, Any]]:
    """Metadata of each edge that is added, in order."""
    return [json.loads(change.edge.metadata) for change in changes if isinstance(change, AddEdge)]


def removed(changes: Sequence[AddEdge | RemoveEdge]) -> list[tuple[str, str, str]]:
    """(source, target, type) of each edge that is removed, in order."""
    return [
        (change.source_id, change.target_id, change.edge_type) for change in changes if isinstance(change, RemoveEdge)
    ]
