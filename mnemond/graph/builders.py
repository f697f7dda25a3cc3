"""Every edge builder, in the order they run, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mnemond.graph import causal, entity, semantic, temporal
from mnemond.graph.surroundings import Around, Newcomer
from mnemond.model.changes import RemoveEdge
from mnemond.model.edge import EdgeType, Relation
from mnemond.model.outcomes import EdgesMade
from mnemond.model.policy import GraphPolicy

Build = Callable[[Newcomer, Around, GraphPolicy], Sequence[Relation | RemoveEdge]]


class Builder(NamedTuple):
    """One type of edge."""

    edge_type: EdgeType
    build: Build


BUILDERS = (
    Builder("temporal", temporal.build),
    Builder("entity", entity.build),
    Builder("causal", causal.build),
    Builder("semantic", semantic.build),
)


class Built(NamedTuple):
    """The edges to remove, what the newcomer is related to, each in order, and how many relations of each type."""

    removed: list[RemoveEdge]
    relations: list[Relation]
    links: EdgesMade


def build_all(new: Newcomer, around: Around, policy: GraphPolicy) -> Built:
    """What every builder says about `new`. The same surroundings give the same changes in the same order."""
    removed: list[RemoveEdge] = []
    relations: list[Relation] = []
    links: dict[str, int] = {}
    for edge_type, build in BUILDERS:
        before = len(relations)
        for change in build(new, around, policy):
            if type(change) is Relation:
                relations.append(change)
            elif isinstance(change, RemoveEdge):
                removed.append(change)
        links[edge_type] = len(relations) - before
    return Built(removed, relations, EdgesMade(**links))
