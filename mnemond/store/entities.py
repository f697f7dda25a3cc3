"""The tables `entities` and `memory_entities`: which names there are, and which memories speak of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from mnemond.model.entity import Entity
from mnemond.store.connection import Connection
from mnemond.store.insertion import Insertion

MOST_KNOWN = 65_536
"""Entities that a connection remembers to be there."""

_UNLESS_THERE = " ON CONFLICT DO NOTHING"
_NAMED = Insertion(1, "entities", ("id", "name", "canonical_name", "entity_type", "created_at"), _UNLESS_THERE)
_MENTIONED = Insertion(2, "memory_entities", ("memory_id", "entity_id", "mention_text"), _UNLESS_THERE)


def entity_id(entity: Entity) -> str:
    """The id of an entity, which follows from its canonical name and type: no look-up is needed to mention it."""
    return hashlib.blake2b(f"{entity.kind}\0{entity.canonical}".encode(), digest_size=16).hexdigest()


def mention(connection: Connection, insight_id: str, mentions: Sequence[Entity], now: str) -> None:
    """Note which entities a memory names; ones that are new to the store are added."""
    if not mentions:
        return
    named = [(entity_id(entity), entity) for entity in mentions]
    known = connection.entities
    new = [(key, it.name, it.canonical, it.kind, now) for key, it in named if key not in known]
    if new:
        connection.add(_NAMED, new)
        if len(known) > MOST_KNOWN:
            known.clear()
        known.update(row[0] for row in new)
    connection.add(_MENTIONED, [(insight_id, key, entity.name) for key, entity in named])


def replace(connection: Connection, insight_id: str, mentions: Sequence[Entity], now: str) -> None:
    """Note which entities a memory names now, instead of those it named before."""
    connection.run("DELETE FROM memory_entities WHERE memory_id = ?", (insight_id,))
    mention(connection, insight_id, mentions, now)


def purge(connection: Connection) -> None:
    """Forget every name that no memory speaks of any more and nobody said anything else about, the ones left behind by
    earlier texts of a memory among them."""
    connection.entities.clear()
    connection.run(
        "DELETE FROM entities AS e WHERE entity_type <> 'user' AND attributes IS NULL AND core_summary IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM memory_entities WHERE entity_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM entity_aliases WHERE entity_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM relationships WHERE source_id = e.id OR target_id = e.id)"
        " AND NOT EXISTS (SELECT 1 FROM core_summaries WHERE entity_id = e.id)"
    )
