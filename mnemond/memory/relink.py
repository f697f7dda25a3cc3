"""The automatic links of a memory that was rewritten or came back: what the edge builders make of it as it is now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, get_args

import msgspec

from mnemond.config.settings import Config, GraphSettings
from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import Reading, read
from mnemond.memory.edge_builders import BACKBONE_WEIGHT, BUILDERS, PRECEDES, SUCCEEDS, NewMemory, edges_of, two_way
from mnemond.model.changes import AddEdge, RemoveEdge
from mnemond.model.memory import EDGE_TYPES, Edge, EdgeType, Insight, Relation, parse_rfc3339
from mnemond.model.outcomes import EdgesCreated
from mnemond.store.operations import View

Key = tuple[str, str, str]

ALL: frozenset[EdgeType] = frozenset(get_args(EdgeType))


class Relinked(NamedTuple):
    """The changes to make, in order, and how many logical links of each type the memory did not have before."""

    changes: tuple[AddEdge | RemoveEdge, ...]
    links: EdgesCreated


class Relinking(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be linked anew.

    `had`: the edges it will have when the changes are carried out. `kinds`: types whose automatic edges are made anew;
    all others stay. `left`: memories, itself among them if its place changes, that leave their place in the chain.
    """

    insight: Insight
    newcomer: NewMemory
    had: Sequence[Edge] = ()
    kinds: Collection[EdgeType] = ALL
    left: Sequence[Insight] = ()


def relinked(view: View, what: Relinking, settings: GraphSettings) -> Relinked:
    """The edges of the wanted types as they would be, were the memory new. Edges that somebody made stay as they are.

    `view.similarity` must be the cosines with the memory's vector.
    """
    plan = _planned(view, what, settings)
    had = {_key(edge): edge for edge in what.had}
    stale = [
        RemoveEdge(*key)
        for key, edge in had.items()
        if edge.created_by == "auto" and edge.edge_type in what.kinds and not _alike(edge, plan.wanted.get(key))
    ]
    gone = {_key(removal) for removal in stale}
    added = [AddEdge(edge) for key, edge in plan.wanted.items() if key not in had or key in gone]
    new = [change.edge for change in added if _key(change.edge) not in had]
    changes: list[AddEdge | RemoveEdge] = [*stale, *plan.unwanted.values(), *added]
    return Relinked(tuple(changes), _counted([edge for edge in new if what.insight.id in _key(edge)]))


class _Plan:
    """Edges as the builders want them, whatever there is."""

    def __init__(self, insight_id: str) -> None:
        self._id = insight_id
        self.wanted: dict[Key, Edge] = {}
        self.unwanted: dict[Key, RemoveEdge] = {}

    def take(self, changes: Sequence[Relation | AddEdge | RemoveEdge]) -> None:
        for change in changes:
            if isinstance(change, AddEdge | Relation):
                for edge in edges_of(self._id, change) if isinstance(change, Relation) else [change.edge]:
                    self.wanted[_key(edge)] = edge
                    self.unwanted.pop(_key(edge), None)
            else:
                self.wanted.pop(_key(change), None)
                self.unwanted[_key(change)] = change


def _planned(view: View, what: Relinking, settings: GraphSettings) -> _Plan:
    ids = (what.insight.id, *(each.id for each in what.left))
    excluded = [row for each in dict.fromkeys(ids) if (row := view.snapshot.row_of(each)) is not None]
    plan = _Plan(what.insight.id)
    for each in what.left:
        before, after = Neighbourhood(view.snapshot, each, None, excluded).backbone()
        if before is not None and after is not None:
            plan.take(two_way(before, after, "temporal", BACKBONE_WEIGHT, PRECEDES, SUCCEEDS))
    around = Neighbourhood(view.snapshot, what.insight, view.similarity, excluded)
    for builder in BUILDERS:
        if builder.edge_type in what.kinds:
            plan.take(builder.build(what.newcomer, around, settings))
    return plan


def _key(edge: Edge | RemoveEdge) -> Key:
    return edge.source_id, edge.target_id, edge.edge_type


def _alike(edge: Edge, wanted: Edge | None) -> bool:
    return wanted is not None and (edge.weight, edge.metadata) == (wanted.weight, wanted.metadata)


def _counted(edges: Sequence[Edge]) -> EdgesCreated:
    pairs = {
        (edge.edge_type, edge.source_id, edge.target_id)
        if edge.edge_type == "causal"
        else (edge.edge_type, *sorted((edge.source_id, edge.target_id)))
        for edge in edges
    }
    return EdgesCreated(**{kind: sum(pair[0] == kind for pair in pairs) for kind in EDGE_TYPES})


# A stored memory, read again: for what follows from its text when it, or its place among the others, changed.


def reanalyse(
    it: Insight,
    snapshot: Snapshot,
    config: Config,
    names: Sequence[str] | None = None,
    entity_mode: str = "provided",
) -> Reading:
    """What the content of `it` says, told when `it` was created. `names`: entities somebody provided, by default those
    it has."""
    return read(
        it.content,
        it.category,
        entities=it.entities if names is None else names,
        entity_mode=entity_mode,
        known=snapshot.entity_spelling,
        said_us=parse_rfc3339(it.created_at),
        source=it.source,
        min_confidence=config.commitment.substance_filter.min_confidence,
        max_queries=config.commitment.hypothetical_queries.count,
        compared=False,
    )
