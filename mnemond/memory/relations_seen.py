"""Relations as a reader sees them: those of memories in recall, and in the reader's scope.

The table has the intervals that follow from the statements of all memories, in any state. A group with statements of
memories that left recall, or of other users, sessions or agents, is derived anew from the others: otherwise what is
outdated, or what another user said, would begin, end or prove a relation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

import msgspec

from mnemond.model.memory import Scope
from mnemond.model.relations import (
    Evidence,
    Interval,
    Relationship,
    Roots,
    When,
    group_key,
    grouped,
    holds,
    intervals,
)
from mnemond.store import relations
from mnemond.store.connection import Connection


def seen(connection: Connection, ids: Collection[str] | None, known_at: str | None, scope: Scope) -> list[Relationship]:
    """Return the relations with one of these rows of entities, or all, that are believed at `known_at` (RFC 3339; None:
    now) by what memories in `scope` that were in recall then, and direct statements, say."""
    believed = [it for it in relations.relationships(connection, ids) if holds(it, When(None, known_at))]
    found = relations.roots(connection)
    wanted = None if ids is None else set(map(found.of, ids))
    shown: list[Relationship] = []
    about = (
        relations.all_evidence(connection, expired=known_at is not None)
        if ids is None
        else relations.evidence(connection, ids, expired=known_at is not None)
    )
    for source in sorted({found.of(it.source_id) for it in about}):
        stated = [_rooted(it, source, found) for it in _counted(connection, found.members(source), known_at)]
        visible = relations.visible(connection, stated, scope, known_at)
        rows = [it for it in believed if found.of(it.source_id) == source]
        groups = {group_key(of[0]): of for of in grouped(stated)}
        for of in grouped([it for it in stated if it.id in visible]):
            key = group_key(of[0])
            known = [it for it in rows if group_key(_rooted_row(it, source, found)) == key]
            shown += known if len(of) == len(groups[key]) else _derived(of, known, source, found, wanted)
    return relations.in_order(shown)


def _counted(connection: Connection, members: Collection[str], known_at: str | None) -> list[Evidence]:
    """Return the statements about a source that counted at a time."""
    own = set(members)
    stated = [it for it in relations.evidence(connection, members, expired=known_at is not None) if it.source_id in own]
    if known_at is None:
        return stated
    return [it for it in stated if it.created_at <= known_at and not (it.expired_at and it.expired_at <= known_at)]


def _rooted(it: Evidence, source: str, found: Roots) -> Evidence:
    return msgspec.structs.replace(it, source_id=source, target_id=it.target_id and found.of(it.target_id))


def _rooted_row(it: Relationship, source: str, found: Roots) -> Relationship:
    return msgspec.structs.replace(it, source_id=source, target_id=it.target_id and found.of(it.target_id))


def _derived(
    stated: list[Evidence], known: Sequence[Relationship], source: str, found: Roots, wanted: Collection[str] | None
) -> list[Relationship]:
    """Return the intervals of a group, each by the id of the row that it shares a moment with, where there is one."""
    made = intervals(stated)
    rows: list[Relationship] = []
    taken: set[str] = set()
    for it in made:
        row = relations.interval_row(stated[0], it)
        alike = next(
            (
                each
                for each in known
                if each.id not in taken
                and _rooted_row(each, source, found).thing == row.thing
                and relations.cross(each, it)
            ),
            None,
        )
        created = max(each.created_at for each in stated if each.id in it.evidence)
        name = _name(row) if alike is None else alike.id
        taken.add(name)
        rows.append(
            msgspec.structs.replace(
                row, id=name, first_id=name if alike is None else alike.first_id, created_at=created
            )
        )
    rows = [_succeeded(row, it, rows) for row, it in zip(rows, made, strict=True)]
    return [it for it in rows if wanted is None or it.source_id in wanted or it.target_id in wanted]


def _succeeded(row: Relationship, it: Interval, rows: Sequence[Relationship]) -> Relationship:
    if it.successor is None:
        return row
    return msgspec.structs.replace(row, invalidated_by=rows[it.successor].first_id)


def _name(row: Relationship) -> str:
    """Return an id for an interval that the table does not have."""
    parts = ("seen", row.source_id, row.type, row.slot, *row.thing, row.valid_from or "")
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
