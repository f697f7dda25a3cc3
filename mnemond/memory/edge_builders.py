"""Automatic edges of a new, rewritten or restored memory: temporal, entity, causal and semantic."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, Protocol, get_args

import msgspec

from mnemond.config.writing import EntitySettings, GraphSettings, TemporalSettings
from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines
from mnemond.model.changes import AddEdge, RemoveEdge
from mnemond.model.memory import EDGE_TYPES, MAX_METADATA, CreatedBy, Edge, EdgeType, Entity, Insight, Relation
from mnemond.model.outcomes import EdgesCreated
from mnemond.text.caches import register, text_cache
from mnemond.text.causes import Claim, claims, claims_between, share_of_forms
from mnemond.text.similarity import share_of_larger, token_set


def idf_weight(documents: int, holders: int, settings: EntitySettings) -> float | None:
    """Compute max(floor, ln(N/df) / ln N) in [0, 1]; None when every row names the entity, which then links nothing.

    `documents` N and `holders` df both count the new row. Stores smaller than `idf_min_docs` have no rare entities
    yet: every shared entity weighs 1.
    """
    if documents < settings.idf_min_docs:
        return 1.0
    if holders >= documents:
        return None
    rarity = math.log(documents / max(1, holders)) / math.log(documents) if documents > 1 else 1.0
    return min(1.0, max(settings.idf_floor, rarity))


def two_way(
    one: str, other: str, edge_type: EdgeType, weight: float, metadata: str, back: str | None = None
) -> tuple[AddEdge, ...]:
    """Return both edges of an undirected link: `one` to `other` with `metadata`, and back with `back` or the same.

    Empty for a row and itself.
    """
    if one == other:
        return ()
    return (
        AddEdge(Edge(one, other, edge_type, weight, metadata)),
        AddEdge(Edge(other, one, edge_type, weight, metadata if back is None else back)),
    )


def edges_of(one: str, relation: Relation) -> list[Edge]:
    """Return the edges of a relation: there, back or both."""
    other, kind, weight, there, back = relation
    there_edge = [] if there is None else [Edge(one, other, kind, weight, there)]
    return there_edge if back is None else [*there_edge, Edge(other, one, kind, weight, back)]


HOUR_US = 3_600_000_000


class NewMemory(msgspec.Struct, frozen=True):
    """The memory to link. `created_us` is its own time, whenever it is written; `event_us` the time of the event it
    describes, if known. Both in microseconds since the epoch."""

    id: str
    content: str
    created_us: int
    tokens: frozenset[str]
    entities: tuple[Entity, ...]
    event_us: int | None = None


class StoreView(Protocol):
    """The queries of edge builders to a store, limited to rows that the new memory may be linked to."""

    @property
    def documents(self) -> int:
        """Count the active rows in scope, the new memory included."""
        ...

    def backbone(self) -> tuple[str | None, str | None]:
        """Return the ids of the rows right before and after the new memory in its conversation."""
        ...

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """Return at most `k` other rows within `within_us` of the new memory's time: (id, distance in microseconds),
        nearest first."""
        ...

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """Count the rows that name an entity, the new memory included, and return the `k` newest others."""
        ...

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """Return the `k` newest rows that are not newer than the new memory, newest first, each with its event time in
        microseconds since the epoch, if known."""
        ...

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """Return the `k` best rows with a cosine of at least `at_least`: (id, cosine), best first."""
        ...


# Causal edges: to recent rows that share words with the new memory, where one of the two repeats a clause of the
# other's that names a cause or an effect.


CONFLICTING_SHARE = 0.5
"""Factor of the weight when the cause is later than its effect."""

OVERLAP_DIGITS = 6
"""Decimals of the stored overlap."""

MAX_CACHED_CLAIMS = 1024
"""Memories whose claims are cached; consecutive writes look at the same few recent rows."""

_claims: dict[tuple[str, int], tuple[Claim, ...]] = {}
register(_claims.clear)
"""By id and hash of the content, so that no whole text is kept."""


def build_causal(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """Return a relation from cause to effect for each of the newest rows that shares enough words with `new` and
    repeats a clause of it, or the other way round."""
    own = _remember(new.id, new.content)
    found: list[Relation] = []
    for insight, event_us in around.recent(settings.causal.lookback):
        others = claims_of(insight)
        if not own and not others:
            continue  # true of most, and one look-up, while the overlap is counted word by word
        shared = share_of_larger(token_set(insight.content), new.tokens)
        if shared < settings.causal.min_overlap:  # "update" and "updates": inflected languages have few equal words
            shared = share_of_forms(new.content, insight.content)
        if shared >= settings.causal.min_overlap and insight.id != new.id:
            decided = claims_between(own, new.content, others, insight.content)
            if decided is not None:
                conflict = _in_conflict(new.event_us, event_us, is_cause=decided.new_is_cause)
                found.append(_relation(insight.id, decided.claim, shared, conflict, is_cause=decided.new_is_cause))
    return found


def _relation(other: str, claim: Claim, shared: float, conflict: bool, *, is_cause: bool) -> Relation:
    weight = shared * CONFLICTING_SHARE if conflict else shared
    # `time_conflict` is present only if there is one.
    flag = ',"time_conflict":true' if conflict else ""
    reason = _reason(claim.sub_type, claim.signal)
    metadata = f'{{"overlap":{round(shared, OVERLAP_DIGITS)},{reason},"created_by":"auto"{flag}}}'
    return Relation(other, "causal", weight, there=metadata if is_cause else None, back=None if is_cause else metadata)


def _in_conflict(new_us: int | None, other_us: int | None, *, is_cause: bool) -> bool:
    """Return True if the cause is later than its effect."""
    cause_us, effect_us = (new_us, other_us) if is_cause else (other_us, new_us)
    return cause_us is not None and effect_us is not None and cause_us > effect_us


def claims_of(insight: Insight) -> tuple[Claim, ...]:
    """Return the claims of a stored memory, cached."""
    found = _claims.get((insight.id, hash(insight.content)))
    return _remember(insight.id, insight.content) if found is None else found


def _remember(row: str, content: str) -> tuple[Claim, ...]:
    if len(_claims) >= MAX_CACHED_CLAIMS:
        _claims.clear()
    found = _claims[row, hash(content)] = claims(content)
    return found


@text_cache(maxsize=MAX_CACHED_CLAIMS)
def _reason(sub_type: str, signal: str) -> str:
    return f'"sub_type":"{sub_type}","signal":{msgspec.json.encode(signal).decode()}'


# Entity edges: to the newest other rows that share an entity, weighted by its rarity.


_ENCODER = msgspec.json.Encoder()


class _Names(msgspec.Struct, frozen=True, omit_defaults=True):
    """`omitted`: number of shared entities that did not fit."""

    entities: list[str]
    omitted: int = 0


def build_entity(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """Return a relation to each row that shares an entity with `new`, with the weight of the rarest shared one.

    At most `max_total`: those of the rarest entities first; ties in the order of the new memory's entities, then
    newest first.
    """
    shared: dict[str, list[str]] = {}
    weights: dict[str, float] = {}
    for weight, name, holders in _by_rarity(new, around, settings.entity):
        for row in holders:
            names = shared.get(row)
            if names is not None:
                names.append(name)
            elif len(shared) < settings.entity.max_total:
                shared[row], weights[row] = [name], weight
    found: list[Relation] = []
    texts: dict[tuple[str, ...], str] = {}
    for row, names in shared.items():
        metadata = texts.get(key := tuple(names))
        if metadata is None:
            metadata = texts[key] = names_metadata(names)
        if row != new.id:
            found.append(Relation(row, "entity", weights[row], metadata, metadata))
    return found


def _by_rarity(new: NewMemory, around: StoreView, settings: EntitySettings) -> list[tuple[float, str, list[str]]]:
    """Return (weight, name, newest holders) of each entity of `new`, heaviest first."""
    spelling: dict[str, str] = {}
    for entity in new.entities:
        spelling.setdefault(entity.canonical, entity.name)
    documents = around.documents
    found: list[tuple[float, str, list[str]]] = []
    for canonical, name in spelling.items():
        count, rows = around.holders(canonical, settings.max_links)
        weight = idf_weight(documents, count, settings) if rows else None
        if weight is not None:
            found.append((weight, name, rows))
    found.sort(key=itemgetter(0), reverse=True)
    return found


def names_metadata(names: list[str]) -> str:
    """Encode `names` in alphabetical order; where they exceed `MAX_METADATA`, the first ones that fit."""
    text = _ENCODER.encode(_Names(sorted(names)))
    if len(text) > MAX_METADATA:
        kept = _that_fit(names)
        text = _ENCODER.encode(_Names(sorted(kept), len(names) - len(kept)))
    return text.decode()


def _that_fit(names: list[str]) -> list[str]:
    room = MAX_METADATA - len(_ENCODER.encode(_Names([], len(names))))
    kept: list[str] = []
    for name in names:
        size = len(_ENCODER.encode(name)) + len(",")
        if size <= room:
            kept.append(name)
            room -= size
    return kept


_AUTO = '{"sub_type":"auto"}'


def build_semantic(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """Return relations to the best `max_auto` rows with a cosine of at least `settings.semantic.auto`, which is on the
    scale of the store's own embedder.

    The weight is the cosine, in [0, 1]. Empty without embeddings.
    """
    limits = settings.semantic
    return [
        Relation(row, "semantic", min(1.0, max(0.0, cosine)), _AUTO, _AUTO)
        for row, cosine in around.similar(limits.auto, limits.max_auto)
        if row != new.id
    ]


# Temporal edges: a backbone of each conversation's rows in order, and proximity across conversations.


PRECEDES = '{"sub_type":"backbone","direction":"precedes"}'
SUCCEEDS = '{"sub_type":"backbone","direction":"succeeds"}'

BACKBONE_WEIGHT = 1.0

HOUR_PARTS = 10_000
"""Parts of an hour to which a stored distance is rounded: a third of a second."""

_PART_US = HOUR_US // HOUR_PARTS


@lru_cache(maxsize=256)  # memories written together have few distinct distances
def _proximity_metadata(parts: int) -> str:
    return f'{{"sub_type":"proximity","hours":{parts / HOUR_PARTS}}}'


def proximity(hours: float) -> float:
    """Compute 1 / (1 + h) in [0, 1]; a negative distance counts as 0."""
    return 1.0 / (1.0 + hours) if hours > 0.0 else 1.0


def build_temporal(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation | RemoveEdge]:
    """Link `new` with its neighbours in its conversation, then with the rows nearest to its own time.

    A row with a neighbour on either side is spliced in: the link between those two is removed.
    """
    before, after = around.backbone()
    changes: list[Relation | RemoveEdge] = []
    if before is not None and after is not None:
        changes += (RemoveEdge(before, after, "temporal"), RemoveEdge(after, before, "temporal"))
    if before is not None and before != new.id:
        changes.append(Relation(before, "temporal", BACKBONE_WEIGHT, there=SUCCEEDS, back=PRECEDES))
    if after is not None and after != new.id:
        changes.append(Relation(after, "temporal", BACKBONE_WEIGHT, there=PRECEDES, back=SUCCEEDS))
    changes += _near(new, around, settings.temporal, [row for row in (before, after) if row is not None])
    return changes


def _near(new: NewMemory, around: StoreView, settings: TemporalSettings, excluding: list[str]) -> list[Relation]:
    within_us = int(settings.window_hours * HOUR_US)
    found: list[Relation] = []
    for row, distance_us in around.nearest_in_time(settings.max_proximity, within_us, excluding):
        if row != new.id:
            metadata = _proximity_metadata((distance_us + _PART_US // 2) // _PART_US)
            found.append(Relation(row, "temporal", proximity(distance_us / HOUR_US), metadata, metadata))
    return found


Build = Callable[[NewMemory, StoreView, GraphSettings], Sequence[Relation | RemoveEdge]]


class Builder(NamedTuple):
    """One type of edge."""

    edge_type: EdgeType
    build: Build


BUILDERS = (
    Builder("temporal", build_temporal),
    Builder("entity", build_entity),
    Builder("causal", build_causal),
    Builder("semantic", build_semantic),
)


class Built(NamedTuple):
    """The edges to remove, the relations to add, both in order, and the number of relations of each type."""

    removed: list[RemoveEdge]
    relations: list[Relation]
    links: EdgesCreated


def build_all(new: NewMemory, around: StoreView, settings: GraphSettings) -> Built:
    """Run every edge builder. The same surroundings give the same changes in the same order."""
    removed: list[RemoveEdge] = []
    relations: list[Relation] = []
    links: dict[str, int] = {}
    for edge_type, build in BUILDERS:
        before = len(relations)
        for change in build(new, around, settings):
            if type(change) is Relation:
                relations.append(change)
            elif isinstance(change, RemoveEdge):
                removed.append(change)
        links[edge_type] = len(relations) - before
    return Built(removed, relations, EdgesCreated(**links))


# Relinking: the automatic edges of a memory that was rewritten or restored.

Key = tuple[str, str, str]

DERIVED: tuple[CreatedBy, ...] = ("auto", "worker")
"""Makers of links that follow from the texts, and go with them."""

ALL: frozenset[EdgeType] = frozenset(get_args(EdgeType))


class Relinked(NamedTuple):
    """The changes to make, in order, and the number of new logical links of each type."""

    changes: tuple[AddEdge | RemoveEdge, ...]
    links: EdgesCreated


class Relinking(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to relink.

    `had`: the edges it will have when the changes are applied. `kinds`: types whose automatic edges are rebuilt; all
    others stay. `left`: memories, itself among them if its position changes, that leave their position in the backbone.
    `absent`: memories that are linked after it, as if they were written after it.
    """

    insight: Insight
    newcomer: NewMemory
    had: Sequence[Edge] = ()
    kinds: Collection[EdgeType] = ALL
    left: Sequence[Insight] = ()
    absent: Sequence[str] = ()


def relinked(snapshot: Snapshot, similarity: Cosines | None, what: Relinking, settings: GraphSettings) -> Relinked:
    """Rebuild the automatic edges of the given types as if the memory were new. Edges made by hand stay.

    `similarity` must be the cosines with the memory's vector.
    """
    plan = _planned(snapshot, similarity, what, settings)
    had = {_key(edge): edge for edge in what.had}
    stale = [
        RemoveEdge(*key)
        for key, edge in had.items()
        if edge.created_by in DERIVED and edge.edge_type in what.kinds and not _alike(edge, plan.wanted.get(key))
    ]
    gone = {_key(removal) for removal in stale}
    added = [AddEdge(edge) for key, edge in plan.wanted.items() if key not in had or key in gone]
    new = [change.edge for change in added if _key(change.edge) not in had]
    changes: list[AddEdge | RemoveEdge] = [*stale, *plan.unwanted.values(), *added]
    return Relinked(tuple(changes), _counted([edge for edge in new if what.insight.id in _key(edge)]))


class _Plan:
    """The result of the builders, independent of the existing edges."""

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


def _planned(snapshot: Snapshot, similarity: Cosines | None, what: Relinking, settings: GraphSettings) -> _Plan:
    ids = (what.insight.id, *(each.id for each in what.left), *what.absent)
    excluded = [row for each in dict.fromkeys(ids) if (row := snapshot.row_of(each)) is not None]
    plan = _Plan(what.insight.id)
    for each in what.left:
        before, after = Neighbourhood(snapshot, each, None, excluded).backbone()
        if before is not None and after is not None:
            plan.take(two_way(before, after, "temporal", BACKBONE_WEIGHT, PRECEDES, SUCCEEDS))
    around = Neighbourhood(snapshot, what.insight, similarity, excluded)
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
