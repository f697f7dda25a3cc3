"""Every edge builder, in the order they run, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mnemond.graph import causal, entity, semantic, temporal
from mnemond.graph.surroundings import Around, Newcomer
from mnemond.model.changes import AddEdge, RemoveEdge
from mnemond.model.edge import EdgeType
from mnemond.model.outcomes import EdgesMade
from mnemond.model.policy import GraphPolicy

Build = Callable[[Newcomer, Around, GraphPolicy], list[AddEdge | RemoveEdge]]


class Builder(NamedTuple):
    """One type of edge. `rows_per_link`: 1 where the direction says something, else 2."""

    edge_type: EdgeType
    build: Build
    rows_per_link: int


BUILDERS = (
    Builder("temporal", temporal.build, 2),
    Builder("entity", entity.build, 2),
    Builder("causal", causal.build, 1),
    Builder("semantic", semantic.build, 2),
)


class Built(NamedTuple):
    """The changes to make, in order, and how many logical links of each type they add."""

    changes: list[AddEdge | RemoveEdge]
    links: EdgesMade


def build_all(new: Newcomer, around: Around, policy: GraphPolicy) -> Built:
    """What every builder says about `new`. The same surroundings give the same changes in the same order."""
    changes: list[AddEdge | RemoveEdge] = []
    links: dict[str, int] = {}
    for edge_type, build, rows_per_link in BUILDERS:
        made = build(new, around, policy)
        links[edge_type] = sum(type(change) is AddEdge for change in made) // rows_per_link
        changes += made
    return Built(changes, EdgesMade(**links))
