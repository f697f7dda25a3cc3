"""Whether a link from cause to effect would close a circle: a way back along the causal links there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, Protocol

import msgspec

from mnemond.config.settings import EntitySettings, GraphSettings, TemporalSettings
from mnemond.index.edges import CAUSAL, IN, OUT
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, RemoveEdge
from mnemond.model.memory import MAX_METADATA, Edge, EdgeType, Entity, Insight, Relation
from mnemond.model.outcomes import EdgesCreated
from mnemond.text.caches import register, text_cache
from mnemond.text.cues import CausalCue, causal_cue, deciding, direction
from mnemond.text.similarity import share_of_larger, token_set


class WayBack(NamedTuple):
    """`rows`: those of a shortest causal chain, both ends included, None when none was found.

    `complete` is false when the search ended before everything was looked at.
    """

    rows: tuple[int, ...] | None
    complete: bool = True


def causal_chain(snapshot: Snapshot, cause: int, effect: int, most: int) -> WayBack:
    """A chain of causal links that leads from one row to another, looking at about `most` rows at most.

    Searched from both ends, the smaller side first: where one of them has few relatives, little is looked at.
    """
    ahead: dict[int, int | None] = {cause: None}
    behind: dict[int, int | None] = {effect: None}
    front, rear = [cause], [effect]
    while front and rear:
        if len(ahead) + len(behind) > most:
            return WayBack(None, complete=False)
        if len(front) <= len(rear):
            front, met = _step(snapshot, front, OUT, ahead, behind)
        else:
            rear, met = _step(snapshot, rear, IN, behind, ahead)
        if met is not None:
            return WayBack((*reversed(_trail(met, ahead)), *_trail(met, behind)[1:]))
    return WayBack(None)


def is_cause(snapshot: Snapshot, cause: int, effect: int) -> bool:
    """Whether there is a causal link from one row to another already."""
    return effect in _relatives(snapshot, cause, OUT)


def _relatives(snapshot: Snapshot, row: int, way: int) -> list[int]:
    """The rows one causal link away, in this direction."""
    links = snapshot.neighbours(row)
    found: list[int] = links["row"][(links["type"] == CAUSAL) & (links["outgoing"] == way)].tolist()
    return found


def _step(
    snapshot: Snapshot, ring: list[int], way: int, seen: dict[int, int | None], other: dict[int, int | None]
) -> tuple[list[int], int | None]:
    """The rows one link further, each noted in `seen` with where it came from; and one that `other` has, if any."""
    following: list[int] = []
    for row in ring:
        for found in _relatives(snapshot, row, way):
            if found in seen:
                continue
            seen[found] = row
            following.append(found)
            if found in other:
                return following, found
    return following, None


def _trail(row: int, came_from: dict[int, int | None]) -> list[int]:
    """From a row back to where the search began."""
    trail = [row]
    while (row_before := came_from[trail[-1]]) is not None:
        trail.append(row_before)
    return trail


# What a shared entity says: the fewer memories name it, the more (spec 7.12).


def idf_weight(documents: int, holders: int, settings: EntitySettings) -> float | None:
    """max(floor, ln(N/df) / ln N) in [0, 1]; None when every row names the entity, which then links nothing.

    `documents` N and `holders` df both count the new row. Stores smaller than `idf_min_docs` have no rare words yet:
    everything shared weighs 1.
    """
    if documents < settings.idf_min_docs:
        return 1.0
    if holders >= documents:
        return None
    rarity = math.log(documents / max(1, holders)) / math.log(documents) if documents > 1 else 1.0
    return min(1.0, max(settings.idf_floor, rarity))


# The edges a link is made of.


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


# What an edge builder is told: the new memory, and questions about the rows it may be linked to.


HOUR_US = 3_600_000_000
"""Microseconds of an hour."""


class NewMemory(msgspec.Struct, frozen=True):
    """The memory that is being linked. `created_us` is its own time, whenever it is written; `event_us` when what it
    tells of happened, if that is known. Both in microseconds since the epoch."""

    id: str
    content: str
    created_us: int
    tokens: frozenset[str]
    entities: tuple[Entity, ...]
    cue: CausalCue | None
    event_us: int | None = None


class StoreView(Protocol):
    """What builders may ask about a store. Only rows the newcomer may be linked to are spoken of."""

    @property
    def documents(self) -> int:
        """Active rows in scope, the newcomer included."""
        ...

    def backbone(self) -> tuple[str | None, str | None]:
        """Ids of the rows right before and right after the newcomer in its chain."""
        ...

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """At most `k` other rows not further than `within_us` from the newcomer's time: (id, distance in
        microseconds), nearest first."""
        ...

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """Rows that name an entity: how many, the newcomer included, and the `k` newest others."""
        ...

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """The `k` newest rows that are not newer than the newcomer, newest first, each with the time of what it tells
        of, in microseconds since the epoch, if that is known."""
        ...

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """The `k` best of the rows whose cosine with the newcomer is not below `at_least`: (id, cosine), best first."""
        ...


# Links from cause to effect: to recent rows that share words with a memory, where one of the two gives a reason.


CONFLICTING_SHARE = 0.5
"""What is left of the weight when the cause is later than its effect (spec 6.4)."""

OVERLAP_DIGITS = 6
"""Decimals of the overlap that is written down."""

REMEMBERED_CUES = 1024
"""Rows whose cue is known without reading them again; the same few stand behind write after write."""

_cues: dict[tuple[str, int], CausalCue | None] = {}
register(_cues.clear)
"""By id and hash of the content, so that no text is kept."""


def build_causal(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """One row from cause to effect for each of the newest rows that shares enough words with `new`.

    The newcomer's own reason decides which of the two is the cause, else that of the other row; without any, no edge.
    """
    _remember(new.id, new.content, new.cue)
    found: list[Relation] = []
    for insight, event_us in around.recent(settings.causal.lookback):
        if new.cue is None and cue_of(insight) is None:
            continue  # as most: told by one look-up, where what they share is counted word by word
        shared = share_of_larger(token_set(insight.content), new.tokens)
        if shared >= settings.causal.min_overlap and insight.id != new.id:
            relation = _relation(new, insight, event_us, shared)
            if relation is not None:
                found.append(relation)
    return found


def _relation(new: NewMemory, insight: Insight, event_us: int | None, shared: float) -> Relation | None:
    previous = cue_of(insight) if new.cue is None else None
    cue = deciding(new.cue, previous)
    if cue is None:
        return None
    is_cause = direction(new.cue, previous) == "new_to_previous"
    conflict = _later(new.event_us, event_us) if is_cause else _later(event_us, new.event_us)
    weight = shared * CONFLICTING_SHARE if conflict else shared
    metadata = _metadata_causal(shared, cue, conflict)
    return Relation(
        insight.id, "causal", weight, there=metadata if is_cause else None, back=None if is_cause else metadata
    )


def _later(cause_us: int | None, effect_us: int | None) -> bool:
    return cause_us is not None and effect_us is not None and cause_us > effect_us


def cue_of(insight: Insight) -> CausalCue | None:
    """The causal cue of a stored memory, from what is remembered of the rows that were asked for lately."""
    try:
        return _cues[insight.id, hash(insight.content)]
    except KeyError:
        return _remember(insight.id, insight.content, causal_cue(insight.content))


def _remember(row: str, content: str, cue: CausalCue | None) -> CausalCue | None:
    if len(_cues) >= REMEMBERED_CUES:
        _cues.clear()
    _cues[row, hash(content)] = cue
    return cue


def _metadata_causal(shared: float, cue: CausalCue, conflict: bool) -> str:
    """The fields of spec 8; `time_conflict` is there only when there is one."""
    flag = ',"time_conflict":true' if conflict else ""
    return f'{{"overlap":{round(shared, OVERLAP_DIGITS)},{_reason(cue)},"created_by":"auto"{flag}}}'


@text_cache(maxsize=REMEMBERED_CUES)
def _reason(cue: CausalCue) -> str:
    return f'"sub_type":"{cue.sub_type}","signal":{msgspec.json.encode(cue.signal).decode()}'


# Links over shared entities: to the newest other rows that name them, the rarer the entity the heavier.


_ENCODER = msgspec.json.Encoder()


class _Names(msgspec.Struct, frozen=True, omit_defaults=True):
    """`omitted`: how many more entities two rows share than there was room for."""

    entities: list[str]
    omitted: int = 0


def build_entity(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """One link for each row that shares an entity with `new`, with the weight of the rarest they share.

    Where there are more than `max_total`, those of the rarest entities are made; equal ones in the order of the
    newcomer's entities, then newest first.
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
    told: dict[tuple[str, ...], str] = {}
    for row, names in shared.items():
        key = tuple(names)
        metadata = told.get(key)
        if metadata is None:
            metadata = told[key] = names_metadata(names)
        if row != new.id:
            found.append(Relation(row, "entity", weights[row], metadata, metadata))
    return found


def _by_rarity(new: NewMemory, around: StoreView, settings: EntitySettings) -> list[tuple[float, str, list[str]]]:
    """(weight, name, newest holders) of each entity of `new`, heaviest first."""
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
    """`names` in alphabetical order; where they exceed `MAX_METADATA`, those that fit, the first ones first."""
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


# Links by meaning: to the rows whose embedding is as near as that of a paraphrase. None without embeddings.


METADATA = '{"sub_type":"auto"}'


def build_semantic(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation]:
    """The best `max_auto` rows from `settings.semantic.auto` on, which is a cosine of the store's own embedder.

    The weight is the cosine, in [0, 1].
    """
    limits = settings.semantic
    return [
        Relation(row, "semantic", min(1.0, max(0.0, cosine)), METADATA, METADATA)
        for row, cosine in around.similar(limits.auto, limits.max_auto)
        if row != new.id
    ]


# Links in time: a backbone of a conversation's rows in their order, and proximity whatever the conversation.


PRECEDES = '{"kind":"backbone","direction":"precedes"}'
SUCCEEDS = '{"kind":"backbone","direction":"succeeds"}'

BACKBONE_WEIGHT = 1.0
"""Spec 7.13."""

REMEMBERED_DISTANCES = 256
"""Rounded distances whose metadata are remembered: what comes at once has few."""

HOUR_PARTS = 10_000
"""Of an hour, to which the distance that is written down is rounded: a third of a second."""

_PART_US = HOUR_US // HOUR_PARTS


@lru_cache(maxsize=REMEMBERED_DISTANCES)
def _metadata_temporal(parts: int) -> str:
    return f'{{"kind":"proximity","hours":{parts / HOUR_PARTS}}}'


def proximity(hours: float) -> float:
    """1 / (1 + h) in [0, 1]; a negative distance counts as none (spec 7.13)."""
    return 1.0 / (1.0 + hours) if hours > 0.0 else 1.0


def build_temporal(new: NewMemory, around: StoreView, settings: GraphSettings) -> list[Relation | RemoveEdge]:
    """The links of `new` with its neighbours in its chain, then with the rows nearest to its own time.

    A row with a neighbour on either side is spliced in: the link between those two goes.
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
            metadata = _metadata_temporal((distance_us + _PART_US // 2) // _PART_US)
            found.append(Relation(row, "temporal", proximity(distance_us / HOUR_US), metadata, metadata))
    return found


# Every edge builder, in the order they run, and all of them at once.


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
    """The edges to remove, what the newcomer is related to, each in order, and how many relations of each type."""

    removed: list[RemoveEdge]
    relations: list[Relation]
    links: EdgesCreated


def build_all(new: NewMemory, around: StoreView, settings: GraphSettings) -> Built:
    """What every builder says about `new`. The same surroundings give the same changes in the same order."""
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
