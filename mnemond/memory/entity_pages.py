"""What is known of a person or a thing: the list of all, and what belongs on the page of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from mnemond.memory.relations_seen import seen
from mnemond.model.answers import NamingMemory
from mnemond.model.memory import SUMMARIZED, Scope
from mnemond.model.relations import Relationship, Roots, When, holds
from mnemond.store import relations, reviews
from mnemond.store.connection import Connection
from mnemond.store.relations import StoredEntity
from mnemond.text.entities import canonical_name

UNSPECIFIC: Final = ("concept", "other")
"""Types that yield to that of another name of the same thing."""


class Known(NamedTuple):
    """One thing. `aliases`: its other names, sorted."""

    name: str
    kind: str
    aliases: list[str]
    memories: int
    relations: int


class Listed(NamedTuple):
    """Things that were asked for, `total` of them, and how many of each type."""

    shown: list[Known]
    total: int
    kinds: dict[str, int]


def listed(connection: Connection, scope: Scope, kind: str | None, query: str | None, limit: int) -> Listed:
    """Return the things that most active memories in `scope` name. Reads every name of the store."""
    found = relations.roots(connection)
    grouped: dict[str, list[StoredEntity]] = {}
    for each in relations.entities(connection):
        grouped.setdefault(found.of(each.id), []).append(each)
    aliases: dict[str, list[str]] = {}
    for name, row in relations.aliases(connection):
        aliases.setdefault(row, []).append(name)
    memories = relations.count_memories(connection, scope)
    about: dict[str, int] = {}
    for stated in seen(connection, None, None, scope):
        for row in {stated.source_id, stated.target_id or stated.source_id}:
            about[row] = about.get(row, 0) + 1
    every = {each.id for rows in grouped.values() for each in rows}
    hidden = relations.hidden(connection, every, scope)
    words = None if query is None else canonical_name(query)
    kinds: dict[str, int] = {}
    chosen: list[Known] = []
    for root, rows in grouped.items():
        many = sum(memories.get(each.id, 0) for each in rows)
        related = sum(about.get(each.id, 0) for each in rows)
        if hidden and all(each.id in hidden for each in rows):
            continue  # only memories of others name it
        it = _known(root, rows, aliases, hidden, many, related)
        if words is not None and not any(words in canonical_name(each) for each in (it.name, *it.aliases)):
            continue
        kinds[it.kind] = kinds.get(it.kind, 0) + 1
        if kind is None or it.kind == kind:
            chosen.append(it)
    chosen.sort(key=lambda it: (-it.memories, -it.relations, it.name))
    return Listed(chosen[:limit], len(chosen), dict(sorted(kinds.items(), key=lambda it: (-it[1], it[0]))))


def _known(
    root: str,
    rows: Sequence[StoredEntity],
    aliases: Mapping[str, list[str]],
    hidden: Collection[str],
    memories: int,
    about: int,
) -> Known:
    """`aliases`: the aliases of each row. What only memories of others name, `hidden`, is left out."""
    shown = [each for each in rows if each.id not in hidden] or rows
    first = next((each for each in shown if each.id == root), shown[0])
    kind = next((each.kind for each in (first, *shown) if each.kind not in UNSPECIFIC), first.kind)
    others = {each.name for each in shown} | {name for each in rows for name in aliases.get(each.id, ())}
    gone = {each.canonical for each in rows if each.id in hidden}
    if gone:
        others = {name for name in others if canonical_name(name) not in gone}
    return Known(first.name, kind, sorted(others - {first.name}), memories, about)


def known(connection: Connection, members: Sequence[str], scope: Scope) -> Known:
    """Return one thing by its rows, that which it goes by first, without counts; names as a reader with this scope sees
    them."""
    rows = [it for each in members if (it := relations.entity(connection, each)) is not None]
    aliases: dict[str, list[str]] = {}
    for name, row in relations.aliases(connection, members):
        aliases.setdefault(row, []).append(name)
    return _known(members[0], rows, aliases, relations.hidden(connection, members, scope), 0, 0)


# One page.


class Rows(NamedTuple):
    """The relations of a thing at a time: those that hold, that are over, the last one first, and that begin later."""

    now: list[Relationship]
    before: list[Relationship]
    later: list[Relationship]


def rows_at(connection: Connection, members: Collection[str], when: When, at: str, scope: Scope) -> Rows:
    """Return the relations with one of these rows that are believed at `when.known_at`, by how they are at the time
    `at`; of those that memories state, only what memories in `scope` do."""
    believed = seen(connection, members, when.known_at, scope)
    now = [it for it in believed if holds(it, When(at, when.known_at))]
    before = [it for it in believed if it.invalid_at is not None and it.invalid_at <= at]
    later = [it for it in believed if it.valid_from is not None and it.valid_from > at]
    return Rows(now, sorted(before, key=lambda it: it.invalid_at or "", reverse=True), later)


def summary_of(memories: Sequence[NamingMemory]) -> NamingMemory | None:
    """Return the newest summary among memories, which are in the order of their age."""
    return next((it for it in reversed(memories) if it.channel == SUMMARIZED), None)


def apart_from(connection: Connection, root: str, found: Roots, scope: Scope) -> list[str]:
    """Return the names of things that were decided not to be this one, of those that a reader with a scope sees."""
    others: set[str] = set()
    for it in relations.links(connection, "not_same"):
        pair = {found.of(it.entity_id), found.of(it.other)}
        others |= pair - {root} if root in pair else set()
    return sorted(_seen_names(connection, others, found, scope).values())


def proposed_for(connection: Connection, root: str, found: Roots, scope: Scope) -> dict[str, str]:
    """Return the names that wait for a decision whether they are of this thing, by the numbers of the reviews, of those
    that a reader with a scope sees."""
    waiting: dict[str, str] = {}
    for it in reviews.pending_names(connection):
        pair = {found.of(it.asked.older), found.of(it.asked.newer)}
        if root in pair and len(pair) == 2:
            (other,) = pair - {root}
            waiting |= {str(it.id): name for name in _seen_names(connection, [other], found, scope).values()}
    return waiting


def _seen_names(connection: Connection, ids: Collection[str], found: Roots, scope: Scope) -> dict[str, str]:
    """Return the names of the things among these that a reader with a scope sees, by their rows."""
    called = relations.shown_names(connection, ids, scope, found)
    every = {each: found.members(each) for each in ids}
    hidden = relations.hidden(connection, {row for rows in every.values() for row in rows}, scope)
    return {each: called[each] for each, rows in every.items() if each in called and not hidden.issuperset(rows)}
