"""Links over shared entities: to the newest other rows that name them, the rarer the entity the heavier."""

from __future__ import annotations

from operator import itemgetter

import msgspec

from mnemond.graph.idf import idf_weight
from mnemond.graph.surroundings import Around, Newcomer
from mnemond.model.edge import MAX_METADATA, Relation
from mnemond.model.policy import EntityPolicy, GraphPolicy

_ENCODER = msgspec.json.Encoder()


class _Names(msgspec.Struct, frozen=True, omit_defaults=True):
    """`omitted`: how many more entities two rows share than there was room for."""

    entities: list[str]
    omitted: int = 0


def build(new: Newcomer, around: Around, policy: GraphPolicy) -> list[Relation]:
    """One link for each row that shares an entity with `new`, with the weight of the rarest they share.

    Where there are more than `max_total`, those of the rarest entities are made; equal ones in the order of the
    newcomer's entities, then newest first.
    """
    shared: dict[str, list[str]] = {}
    weights: dict[str, float] = {}
    for weight, name, holders in _by_rarity(new, around, policy.entity):
        for row in holders:
            names = shared.get(row)
            if names is not None:
                names.append(name)
            elif len(shared) < policy.entity.max_total:
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


def _by_rarity(new: Newcomer, around: Around, policy: EntityPolicy) -> list[tuple[float, str, list[str]]]:
    """(weight, name, newest holders) of each entity of `new`, heaviest first."""
    spelling: dict[str, str] = {}
    for entity in new.entities:
        spelling.setdefault(entity.canonical, entity.name)
    documents = around.documents
    found: list[tuple[float, str, list[str]]] = []
    for canonical, name in spelling.items():
        count, rows = around.holders(canonical, policy.max_links)
        weight = idf_weight(documents, count, policy) if rows else None
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
