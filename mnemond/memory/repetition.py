"""A repetition: its tags, importance and entities are added to the memory that says the same already.

Nothing is added to a memory for other readers, who would see what is not meant for them, nor to one that may say
something else: the published tables of some profiles drop a text that only shares its words with a memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mnemond.config.writing import GraphSettings
from mnemond.index.edges import EDGE_CODES
from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.snapshot import Snapshot
from mnemond.memory.cues import joined_cues
from mnemond.memory.diff_rules import is_part, plain_words
from mnemond.memory.draft import keywords_of
from mnemond.memory.edge_builders import NewMemory, build_entity, edges_of
from mnemond.memory.rules import joined_triggers
from mnemond.model.changes import AddEdge
from mnemond.model.memory import MAX_ENTITIES, MAX_TAGS, Entity, Insight, parse_rfc3339
from mnemond.model.outcomes import EdgesCreated, United
from mnemond.text.entities import canonical_name, extract

FOR_OTHERS = "the memory is for others as well"
IN_OTHER_WORDS = "the memory does not say it word for word"
ENTITY = EDGE_CODES["entity"]


class Union(msgspec.Struct, frozen=True):
    """The memory with what its repetition adds. `mentions`: its entities, None if they stay; `edges`: links by the
    added ones; `report`: None if the repetition has nothing to add."""

    insight: Insight
    mentions: tuple[Entity, ...] | None = None
    edges: tuple[AddEdge, ...] = ()
    links: EdgesCreated = EdgesCreated()
    report: United | None = None


def united(
    old: Insight, again: Insight, mentioned: Sequence[Entity], snapshot: Snapshot, settings: GraphSettings
) -> Union:
    """Add what a repetition, `again`, and the entities that it mentions say: the tags, entities and cues that `old`
    lacks, up to the limits of a memory, and the importance if it is higher."""
    had = {canonical_name(name) for name in old.entities}
    tags = [tag for tag in dict.fromkeys(again.tags) if tag not in old.tags]
    entities = [each for each in mentioned if each.canonical not in had]
    cues = joined_cues(old.cues, again.cues)
    added_cues = [cue.text for cue in cues if cue not in old.cues]
    when = joined_triggers(old.when, again.when)
    if not tags and not entities and not added_cues and when == old.when and again.importance <= old.importance:
        return Union(old)
    if old.scope != again.scope:
        return Union(old, report=United(omitted=FOR_OTHERS))
    if not is_part(plain_words(again.content), plain_words(old.content)):
        return Union(old, report=United(omitted=IN_OTHER_WORDS))
    room_for_tags, room = max(0, MAX_TAGS - len(old.tags)), max(0, MAX_ENTITIES - len(old.entities))
    added_tags, added = tags[:room_for_tags], entities[:room]
    joined = msgspec.structs.replace(
        old,
        tags=(*old.tags, *added_tags),
        entities=(*old.entities, *(each.name for each in added)),
        importance=max(old.importance, again.importance),
        cues=cues,
        when=when,
    )
    if added_tags or added:
        joined = msgspec.structs.replace(joined, keywords=keywords_of(joined, joined.entities, snapshot))
    mentions = (*extract("", old.entities, mode="provided"), *added)
    edges, links = _linked(joined, mentions, added, snapshot, settings) if added else ((), EdgesCreated())
    raised = joined.importance > old.importance
    report = United(
        tags=added_tags,
        entities=[each.name for each in added],
        cues=added_cues,
        when=[each.pattern for each in when if each not in old.when],
        importance_before=old.importance if raised else None,
        importance=joined.importance if raised else None,
        omitted=_beyond(tags[room_for_tags:], entities[room:]),
    )
    return Union(joined, mentions if added else None, edges, links, report)


def _beyond(tags: Sequence[str], entities: Sequence[Entity]) -> str | None:
    """Name what a memory has no room for; None if there is room for all."""
    parts = [f"{', '.join(tags)}: a memory has at most {MAX_TAGS} tags"] if tags else []
    if entities:
        names = ", ".join(each.name for each in entities)
        parts.append(f"{names}: a memory has at most {MAX_ENTITIES} entities")
    return "; ".join(parts) or None


def _linked(
    it: Insight,
    mentions: tuple[Entity, ...],
    added: Sequence[Entity],
    snapshot: Snapshot,
    settings: GraphSettings,
) -> tuple[tuple[AddEdge, ...], EdgesCreated]:
    """Return the edges to memories that share an added entity, named with all they share, and the number of new links.

    Other edges stay as they are.
    """
    row = snapshot.row_of(it.id)
    around = Neighbourhood(snapshot, it, None, () if row is None else (row,))
    newcomer = NewMemory(it.id, it.content, parse_rfc3339(it.created_at), frozenset(), tuple(added))
    sharing = {relation.other for relation in build_entity(newcomer, around, settings)}
    whole = msgspec.structs.replace(newcomer, entities=mentions)
    relations = [each for each in build_entity(whole, around, settings) if each.other in sharing]
    known = set() if row is None else {other for other, _, kind, _ in snapshot.links_listed(row) if kind == ENTITY}
    new = sum(snapshot.row_of(each.other) not in known for each in relations)
    edges = tuple(AddEdge(edge) for each in relations for edge in edges_of(it.id, each))
    return edges, EdgesCreated(entity=new)
