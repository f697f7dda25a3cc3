"""The tables `relationship_evidence`, `relationships` and `entity_links`.

Evidence and links are only ever added and expired, each with the operation that did it, so they are their own audit:
what an operation did can be read, undone and replayed from them. Relationships are derived from both in the same
transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from mnemond.model.answers import NamingMemory
from mnemond.model.changes import ChangeSet
from mnemond.model.core import ExpireCore, PutCore
from mnemond.model.memory import Scope
from mnemond.model.relations import (
    AddEntity,
    AddEvidence,
    AddLink,
    Evidence,
    EvidenceView,
    ExpireEvidence,
    ExpireLink,
    Interval,
    KnowledgeChange,
    Link,
    LinkKind,
    Relationship,
    RelationshipView,
    Roots,
    TogetherView,
    When,
    grouped,
    intervals,
    shown_type,
    status_of,
    together_strength,
)
from mnemond.store import core_summaries
from mnemond.store.connection import Connection, Value
from mnemond.store.rows import Mapper
from mnemond.text.tokens import fold

_EVIDENCE: Final = Mapper(Evidence)
_RELATIONSHIPS: Final = Mapper(Relationship)
_LINKS: Final = Mapper(Link)

NO_SCOPE: Final = Scope()

MAX_VARIABLES: Final = 500
"""Ids in one statement."""


# Reading.


def evidence(connection: Connection, ids: Collection[str], *, expired: bool = False) -> list[Evidence]:
    """Return the statements about sources, or targets, with these ids of entities, in the order of their arrival."""
    rest = "" if expired else " AND expired_at IS NULL"
    found: dict[int, Evidence] = {}
    for part, places in _parts(ids):
        for column in ("source_id", "target_id"):
            found |= {it.id: it for it in _evidence(connection, f"{column} IN ({places}){rest}", part)}
    return [found[each] for each in sorted(found)]


def _evidence(connection: Connection, which: str, values: Sequence[Value] = ()) -> list[Evidence]:
    sql = f"SELECT {_EVIDENCE.select} FROM relationship_evidence WHERE {which}"  # noqa: S608 - constants
    return [_EVIDENCE.read(row) for row in connection.rows(sql, values)]


def evidence_of_memory(connection: Connection, insight_id: str) -> list[Evidence]:
    """Return the statements that a memory is the evidence of, and that count."""
    return _evidence(connection, "memory_id = ? AND expired_at IS NULL ORDER BY id", (insight_id,))


def all_evidence(connection: Connection, *, expired: bool = False) -> list[Evidence]:
    """Return every statement in the order of arrival, with `expired` those that were taken back as well."""
    return _evidence(connection, f"{'true' if expired else 'expired_at IS NULL'} ORDER BY id")


def relationships(
    connection: Connection, ids: Collection[str] | None = None, *, kind: str | None = None
) -> list[Relationship]:
    """Return every row about entities with these ids, as source or target, or about all; also those that are no longer
    believed."""
    rest = "" if kind is None else " AND type = ?"
    more: tuple[Value, ...] = () if kind is None else (kind,)
    if ids is None:
        return in_order(_relationships(connection, f"true{rest}", more))
    found: dict[str, Relationship] = {}
    for part, places in _parts(ids):
        for column in ("source_id", "target_id"):
            which = f"{column} IN ({places}){rest}"
            found |= {it.id: it for it in _relationships(connection, which, (*part, *more))}
    return in_order(found.values())


def _relationships(connection: Connection, which: str, values: Sequence[Value]) -> list[Relationship]:
    sql = f"SELECT {_RELATIONSHIPS.select} FROM relationships WHERE {which}"  # noqa: S608 - constants
    return [_RELATIONSHIPS.read(row) for row in connection.rows(sql, values)]


def in_order(found: Iterable[Relationship]) -> list[Relationship]:
    """Return rows in the order of their beginnings."""
    return sorted(found, key=lambda it: (it.valid_from or "", it.created_at, it.id))


def relationship_beginning(connection: Connection, prefix: str, limit: int) -> list[Relationship]:
    """Return rows that are believed and whose id, or first id, begins with `prefix`."""
    end = prefix + "\U0010ffff"
    begins = "((id >= ?1 AND id < ?2) OR (first_id >= ?1 AND first_id < ?2))"
    return _relationships(connection, f"expired_at IS NULL AND {begins} ORDER BY id LIMIT ?3", (prefix, end, limit))


def links(connection: Connection, kind: LinkKind | None = None, *, expired: bool = False) -> list[Link]:
    """Return the decisions about names that count, of one kind or all; with `expired` also those that were taken
    back."""
    rest = "" if expired else " AND expired_at IS NULL"
    rest, values = (rest, ()) if kind is None else (f"{rest} AND kind = ?", (kind,))
    rows = connection.rows(f"SELECT {_LINKS.select} FROM entity_links WHERE true{rest} ORDER BY id", values)  # noqa: S608
    return [_LINKS.read(row) for row in rows]


def alias_link(connection: Connection, row: str, canonical: str) -> int | None:
    """Return the decision that a canonical name is an alias of a row, None if there is none."""
    sql = "SELECT id FROM entity_links WHERE kind = 'alias' AND entity_id = ? AND other = ? AND expired_at IS NULL"
    found: int | None = connection.value(sql, (row, canonical))
    return found


class Join(NamedTuple):
    """A row of entities that leads to another one, and the decision that joined them."""

    row: str
    above: str
    link: int


def joins(connection: Connection) -> list[Join]:
    """Return the rows that lead to another, by merges and by aliases that have a row of their own; of several decisions
    about a row the last counts, and a merge before an alias."""
    rows = connection.rows(
        "SELECT e.id, l.entity_id, l.id, l.kind FROM entity_links AS l JOIN entities AS e ON e.canonical_name = l.other"
        " WHERE l.kind = 'alias' AND l.expired_at IS NULL AND e.sense = '' AND e.id <> l.entity_id"
        " UNION ALL SELECT other, entity_id, id, kind FROM entity_links WHERE kind = 'same' AND expired_at IS NULL"
        " ORDER BY 4, 3"
    )
    return [Join(str(row), str(above), link) for row, above, link, _ in rows]


def roots(connection: Connection) -> Roots:
    """Return which rows of entities are one thing."""
    return Roots((it.row, it.above) for it in joins(connection))


def root_of(connection: Connection, row: str) -> str:
    """Return the row that a thing goes by, as `roots` does, reading only what leads from one row to it."""
    seen = {row}
    while True:
        above = connection.value(
            "SELECT entity_id FROM entity_links WHERE kind = 'same' AND other = ? AND expired_at IS NULL"
            " ORDER BY id DESC LIMIT 1",
            (row,),
        ) or connection.value(
            "SELECT a.entity_id FROM entities AS e JOIN entity_aliases AS a ON a.alias = e.canonical_name"
            " WHERE e.id = ?1 AND e.sense = '' AND a.entity_id <> ?1",
            (row,),
        )
        if above is None or above in seen:
            return row
        row = str(above)
        seen.add(row)


def operation_of_link(connection: Connection, link: int) -> str:
    """Return the op_id of a decision."""
    return str(connection.value("SELECT op_id FROM entity_links WHERE id = ?", (link,)))


def _parts(ids: Collection[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    wanted = sorted(ids)
    for start in range(0, len(wanted), MAX_VARIABLES):
        part = tuple(wanted[start : start + MAX_VARIABLES])
        yield part, ", ".join("?" * len(part))


# Names, and relations as they are shown.


class StoredEntity(NamedTuple):
    """A row of `entities`."""

    id: str
    name: str
    canonical: str
    kind: str


USER_SENSE: Final = "user"
"""`sense` of the rows of users, which nothing that a text names can be."""


DEFAULT_USER: Final = "default"


def user_id(name: str) -> str:
    """Return the id of the row of a user."""
    return hashlib.blake2b(f"user\0{name}".encode(), digest_size=16).hexdigest()


def entity(connection: Connection, entity_id: str) -> StoredEntity | None:
    """Return a row of entities, whatever it was merged into."""
    row = connection.row("SELECT id, name, canonical_name, entity_type FROM entities WHERE id = ?", (entity_id,))
    return None if row is None else StoredEntity(*row)


def entity_named(connection: Connection, canonical: str) -> StoredEntity | None:
    """Return the row of a canonical name, or that which has it as an alias."""
    row = connection.row(
        "SELECT id, name, canonical_name, entity_type FROM entities WHERE canonical_name = ? AND sense = ''",
        (canonical,),
    ) or connection.row(
        "SELECT e.id, e.name, e.canonical_name, e.entity_type FROM entity_aliases AS a"
        " JOIN entities AS e ON e.id = a.entity_id WHERE a.alias = ?",
        (canonical,),
    )
    return None if row is None else StoredEntity(*row)


def row_named(connection: Connection, canonical: str) -> str | None:
    """Return the id of the row that has a canonical name itself, and not as an alias."""
    found = connection.value("SELECT id FROM entities WHERE canonical_name = ? AND sense = ''", (canonical,))
    return None if found is None else str(found)


def entities_with_words(connection: Connection, canonical: str) -> list[StoredEntity]:
    """Return rows whose canonical name, or an alias of them, has these words one after the other, shortest name first.
    Reads all names."""
    rows = connection.rows(
        "SELECT id, name, canonical_name, entity_type FROM entities WHERE"
        " (sense = '' AND instr(' ' || canonical_name || ' ', ' ' || ?1 || ' ')) OR id IN"
        " (SELECT entity_id FROM entity_aliases WHERE instr(' ' || alias || ' ', ' ' || ?1 || ' '))"
        " ORDER BY length(canonical_name), canonical_name",
        (canonical,),
    )
    return [StoredEntity(*row) for row in rows]


def entities(connection: Connection) -> list[StoredEntity]:
    """Return every row of entities."""
    return [StoredEntity(*row) for row in connection.rows("SELECT id, name, canonical_name, entity_type FROM entities")]


def aliases(connection: Connection, ids: Collection[str] | None = None) -> list[tuple[str, str]]:
    """Return every alias as it was written, with the row that it is a name of; those of some rows, or all."""
    sql = (
        "SELECT coalesce((SELECT l.name FROM entity_links AS l WHERE l.kind = 'alias' AND l.expired_at IS NULL"
        " AND l.other = a.alias AND l.entity_id = a.entity_id), a.alias), a.entity_id FROM entity_aliases AS a"
    )
    if ids is None:
        return connection.rows(sql)
    found: list[tuple[str, str]] = []
    for part, places in _parts(ids):
        found += connection.rows(f"{sql} WHERE a.entity_id IN ({places})", part)
    return found


def count_memories(connection: Connection, scope: Scope) -> dict[str, int]:
    """Return how many active memories in a scope name each row, by its id."""
    return dict(
        connection.rows(
            "SELECT m.entity_id, count(*) FROM memory_entities AS m JOIN insights AS i ON i.id = m.memory_id"  # noqa: S608 - constants
            f" WHERE i.status = 'active' AND {_IN_SCOPE.format(1, 2, 3)} GROUP BY m.entity_id",
            (scope.user_id, scope.session_id, scope.agent_id),
        )
    )


def hidden(connection: Connection, ids: Collection[str], scope: Scope) -> frozenset[str]:
    """Return those of these rows that a reader with a scope does not see: which memories, in any state, and statements
    name, but none of them in the scope; and other users of the store."""
    if scope == NO_SCOPE:
        return frozenset()
    gone: set[str] = set()
    for part, _ in _parts(ids):
        places = ", ".join(f"?{number + 4}" for number in range(len(part)))
        rows = connection.rows(
            f"SELECT m.entity_id, max({_IN_SCOPE.format(1, 2, 3)}) FROM memory_entities AS m"  # noqa: S608 - places
            f" JOIN insights AS i ON i.id = m.memory_id WHERE m.entity_id IN ({places}) GROUP BY m.entity_id",
            (scope.user_id, scope.session_id, scope.agent_id, *part),
        )
        seen: set[str] = {each for each, is_seen in rows if is_seen}
        stated = evidence(connection, part, expired=True)
        within = visible(connection, stated, scope, of_any_state=True)
        about = {each for each, _ in rows} | {each for it in stated for each in (it.source_id, it.target_id) if each}
        seen |= {each for it in stated if it.id in within for each in (it.source_id, it.target_id) if each}
        gone |= about.intersection(part) - seen
        if scope.user_id is not None:
            own = {user_id(scope.user_id), user_id(DEFAULT_USER)}
            gone |= {each for each in part if each not in own and is_user(connection, each)}
    return frozenset(gone)


def is_user(connection: Connection, entity_id: str) -> bool:
    """Return True for the row of a user of the store."""
    return connection.row("SELECT 1 FROM entities WHERE id = ? AND sense = ?", (entity_id, USER_SENSE)) is not None


def names(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Return the names of entities, by id."""
    found: dict[str, str] = {}
    for part, places in _parts(ids):
        found |= dict(connection.rows(f"SELECT id, name FROM entities WHERE id IN ({places})", part))  # noqa: S608
    return found


def shown_names(connection: Connection, ids: Collection[str], scope: Scope, found: Roots) -> dict[str, str]:
    """Return the names that things go by, by the rows that they go by: for a reader with a scope the first one that
    this reader sees."""
    of = {each: found.members(each) for each in map(found.of, ids)}
    if scope == NO_SCOPE:
        return names(connection, of)
    gone = hidden(connection, {row for rows in of.values() for row in rows}, scope)
    first = {root: next((row for row in rows if row not in gone), root) for root, rows in of.items()}
    called = names(connection, set(first.values()))
    return {root: called.get(row, "") for root, row in first.items()}


def views(
    connection: Connection, rows: Sequence[Relationship], now: str | None = None, scope: Scope = NO_SCOPE
) -> list[RelationshipView]:
    """Return relations as they are shown: those of `now` as current, without it as they are written; names as a reader
    with this scope sees them."""
    found = roots(connection)
    ids = {each for it in rows for each in (it.source_id, it.target_id) if each is not None}
    called = shown_names(connection, ids, scope, found)
    return [
        RelationshipView(
            id=it.id, first_id=it.first_id, source=called.get(found.of(it.source_id), ""), type=shown_type(it),
            target=it.value or "" if it.target_id is None else called.get(found.of(it.target_id), ""),
            literal=it.target_id is None, strength=it.strength, valid_from=it.valid_from, granularity=it.granularity,
            invalid_at=it.invalid_at, end_granularity=it.end_granularity, invalidated_by=it.invalidated_by,
            created_at=it.created_at, expired_at=it.expired_at, status=status_of(it, now or it.created_at),
        )
        for it in rows
    ]  # fmt: skip


def evidence_for(
    connection: Connection, rows: Sequence[Relationship], scope: Scope = NO_SCOPE, known_at: str | None = None
) -> dict[str, list[EvidenceView]]:
    """Return the statements that each interval rests on, by the id of its row: those about it within it, what ended it,
    and what began the interval that took its place. Only those that are `visible`."""
    found = roots(connection)
    stated: dict[str, list[Evidence]] = {}
    result: dict[str, list[EvidenceView]] = {}
    for row in rows:
        source = found.of(row.source_id)
        if source not in stated:
            which, values = _of_source(found.members(source))
            every = _evidence(connection, f"{which} ORDER BY at, id", values)
            within = visible(connection, every, scope, known_at)
            stated[source] = [it for it in every if it.id in within]
        result[row.id] = [
            EvidenceView(**{name: getattr(it, name) for name in EvidenceView.__struct_fields__})
            for it in stated[source]
            if _supports(it, row, found)
        ]
    return result


def visible(
    connection: Connection,
    stated: Collection[Evidence],
    scope: Scope,
    known_at: str | None = None,
    *,
    of_any_state: bool = False,
) -> frozenset[int]:
    """Return the ids of the statements that count for a reader with a scope: those of memories in it that are in recall
    now, or were at `known_at`, and still have the quoted sentence; and those that were given directly, unless they are
    about another user of the store. `of_any_state`: also those of memories that left recall."""
    texts: dict[str, tuple[str, str]] = {}
    for part, _ in _parts({it.memory_id for it in stated if it.memory_id is not None}):
        places = ", ".join(f"?{number + 6}" for number in range(len(part)))
        rows = connection.rows(
            f"SELECT i.id, i.content, i.updated_at FROM insights AS i WHERE {_IN_SCOPE.format(1, 2, 3)}"  # noqa: S608 - places
            f" AND (?4 OR {_STANDS.format(5)}) AND i.id IN ({places})",
            (scope.user_id, scope.session_id, scope.agent_id, of_any_state, known_at, *part),
        )
        texts |= {each: (" ".join(content.split()), updated_at) for each, content, updated_at in rows}
    others: set[str] = set()
    if scope.user_id is not None:
        own = (USER_SENSE, user_id(scope.user_id), user_id(DEFAULT_USER))
        others = set(connection.column("SELECT id FROM entities WHERE sense = ? AND id NOT IN (?, ?)", own))

    def counts(it: Evidence) -> bool:
        if it.memory_id is None:
            return others.isdisjoint((it.source_id, it.target_id))
        if it.memory_id not in texts:
            return False
        content, updated_at = texts[it.memory_id]
        is_of_then = known_at is not None and known_at < updated_at  # it may have had another text
        return of_any_state or is_of_then or it.quote in content

    return frozenset(it.id for it in stated if counts(it))


def _supports(it: Evidence, row: Relationship, found: Roots) -> bool:
    if (it.type, it.slot) != (row.type, row.slot) or (it.expired_at is not None and row.expired_at is None):
        return False
    if it.created_at > (row.expired_at or it.created_at):
        return False
    same = _about(it, found) == _about(row, found)
    if row.invalid_at is not None and it.at >= row.invalid_at:
        return it.at == row.invalid_at and (same if it.kind in ("end", "until") else row.invalidated_by is not None)
    return same and (row.valid_from is None or it.at >= row.valid_from)


def memories_naming(
    connection: Connection, ids: Collection[str], known_at: str | None = None, scope: Scope = NO_SCOPE
) -> list[NamingMemory]:
    """Return the active memories in a scope that name one of these entities, or those that were active at `known_at`,
    oldest first."""
    found: dict[str, NamingMemory] = {}
    active = "i.status = 'active'" if known_at is None else "i.created_at <= ?1 AND coalesce(i.deleted_at > ?1, TRUE)"
    for part, _ in _parts(ids):
        places = ", ".join(f"?{number + 5}" for number in range(len(part)))
        rows = connection.rows(
            "SELECT i.id, i.content, i.category, i.created_at, i.channel"  # noqa: S608 - places and constants
            " FROM memory_entities AS m JOIN insights AS i ON i.id = m.memory_id"
            f" WHERE {active} AND ?1 IS ?1 AND {_IN_SCOPE.format(2, 3, 4)} AND m.entity_id IN ({places})",
            (known_at, scope.user_id, scope.session_id, scope.agent_id, *part),
        )
        found |= {row[0]: NamingMemory(*row) for row in rows}
    return sorted(found.values(), key=lambda it: (it.created_at, it.id))


def count_naming(
    connection: Connection, ids: Collection[str], known_at: str | None = None, scope: Scope = NO_SCOPE
) -> int:
    """Count the same memories without reading them, of at most MAX_VARIABLES rows."""
    active = "i.status = 'active'" if known_at is None else "i.created_at <= ?1 AND coalesce(i.deleted_at > ?1, TRUE)"
    part, _ = next(_parts(ids), ((), ""))
    places = ", ".join(f"?{number + 5}" for number in range(len(part)))
    return connection.count(
        "SELECT count(DISTINCT i.id) FROM memory_entities AS m JOIN insights AS i ON i.id = m.memory_id"  # noqa: S608
        f" WHERE {active} AND ?1 IS ?1 AND {_IN_SCOPE.format(2, 3, 4)} AND m.entity_id IN ({places})",
        (known_at, scope.user_id, scope.session_id, scope.agent_id, *part),
    )


_IN_SCOPE: Final = (
    "coalesce(i.user_id = ?{}, TRUE) AND coalesce(i.session_id = ?{}, TRUE) AND coalesce(i.agent_id = ?{}, TRUE)"
)
"""As `memory.history.admits`: what is null, in the memory or in the question, fits all."""

_STANDS: Final = (
    "(NOT i.quarantined AND CASE WHEN ?{0} IS NULL THEN i.status = 'active' ELSE coalesce(i.deleted_at > ?{0}, TRUE)"
    " END)"
)
"""A memory is in recall, or was at a time."""


NOW: Final = When()

_AT: Final = (
    "CASE WHEN ?{1} IS NOT NULL THEN i.created_at <= ?{1} AND coalesce(i.deleted_at > ?{1}, TRUE)"
    " WHEN ?{0} IS NOT NULL THEN i.status IN ('active', 'superseded') ELSE i.status = 'active' END"
    " AND (?{0} IS NULL OR (coalesce(i.valid_from, i.created_at) <= ?{0} AND coalesce(i.expires_at > ?{0}, TRUE)"
    " AND (coalesce(coalesce(i.invalid_at, i.deleted_at) > ?{0}, TRUE)"
    " OR (?{1} IS NOT NULL AND i.status <> 'active'))))"
)
"""Of a time at which it held and one at which it was known. What was learned since of its end does not count then."""

MAX_NEWEST: Final = 3
"""Memories named of two names that stand together."""


def together(
    connection: Connection,
    ids: Collection[str],
    related: Iterable[Relationship],
    limit: int,
    scope: Scope = NO_SCOPE,
    when: When = NOW,
) -> list[TogetherView]:
    """Return the names that stand in memories in a scope with one of these entities, which are one thing, and are not
    in a relation of `related`: the strongest first, then by name. Memories are those that are active; of a time
    `when.as_of` those that held then, also in the place of which another is now; of a time `when.known_at` those that
    were active then."""
    found = roots(connection)
    places = ", ".join(f"?{number + 6}" for number in range(len(ids)))
    rows = connection.rows(
        "SELECT DISTINCT other.entity_id, i.id FROM memory_entities AS own"  # noqa: S608 - placeholders
        " JOIN memory_entities AS other ON other.memory_id = own.memory_id JOIN insights AS i ON i.id = own.memory_id"
        f" WHERE own.entity_id IN ({places}) AND {_AT.format(4, 5)} AND NOT i.quarantined"
        f" AND {_IN_SCOPE.format(1, 2, 3)} ORDER BY i.created_at DESC, i.id",
        (scope.user_id, scope.session_id, scope.agent_id, when.as_of, when.known_at, *ids),
    )
    apart = set(map(found.of, ids))
    for it in related:
        apart |= {found.of(it.source_id), found.of(it.target_id or it.source_id)}
    memories: dict[str, dict[str, None]] = {}
    for other, insight_id in rows:
        if (root := found.of(other)) not in apart:
            memories.setdefault(root, {})[insight_id] = None
    called = shown_names(connection, memories, scope, found)
    views = [
        TogetherView(called.get(each, ""), round(together_strength(len(of)), 6), len(of), list(of)[:MAX_NEWEST])
        for each, of in memories.items()
    ]
    views.sort(key=lambda it: (-it.memories, it.name.casefold(), it.name))
    return views[:limit]


# Undo.


_AUDITED: Final[tuple[tuple[str, str, Callable[..., Any], Callable[..., Any], Callable[..., Any]], ...]] = (
    ("relationship_evidence", _EVIDENCE.select, _EVIDENCE.read, lambda it: ExpireEvidence(it.id), AddEvidence),
    (
        "entity_links", _LINKS.select, _LINKS.read, lambda it: ExpireLink(it.id),
        lambda it: AddLink(it.kind, it.entity_id, it.other, it.name),
    ),
    (
        "core_summaries", core_summaries.ROWS.select, core_summaries.readable,
        lambda it: ExpireCore(it.id, it.entity_id),
        lambda it: PutCore(**{name: getattr(it, name) for name in PutCore.__struct_fields__}),
    ),
)  # fmt: skip
"""Tables whose rows are only added (`op_id`) and expired (`expired_op`), with the reader of a row, and the changes that
expire one and add it again."""


def undoing(connection: Connection, op_id: str) -> tuple[list[KnowledgeChange], int]:
    """Return the changes that take an operation back: what it added expires, what it expired is added again; and how
    much of it another one has expired since."""
    changes: list[KnowledgeChange] = []
    since = 0
    for table, columns, read, expire, add in _AUDITED:
        for which, change in (
            ("op_id = ?1 AND expired_at IS NULL ORDER BY id DESC", expire),
            ("expired_op = ?1 AND op_id <> ?1 ORDER BY id", add),
        ):
            rows = map(read, connection.rows(f"SELECT {columns} FROM {table} WHERE {which}", (op_id,)))  # noqa: S608
            changes += [change(it) for it in rows if it is not None]
        ended = "op_id = ?1 AND expired_op IS NOT NULL AND expired_op <> ?1"
        since += connection.count(f"SELECT count(*) FROM {table} WHERE {ended}", (op_id,))  # noqa: S608 - constants
    return changes, since


# Writing.


def apply(connection: Connection, change_set: ChangeSet) -> list[Relationship]:
    """Apply the changes of a write to relations and names, in its transaction, and derive the intervals anew; return
    the rows that are new."""
    knowledge = _Knowledge(connection, change_set.op_id, change_set.now)
    knowledge.apply(change_set.knowledge)
    return knowledge.new


class _Group(NamedTuple):
    """A source and, unless all are meant, a type and a slot."""

    source_id: str
    type: str | None = None
    slot: str | None = None


class _Knowledge:
    def __init__(self, connection: Connection, op_id: str, now: str) -> None:
        self._connection = connection
        self._op_id = op_id
        self._now = now
        self._touched: set[_Group] = set()
        self.new: list[Relationship] = []

    def apply(self, changes: Iterable[KnowledgeChange]) -> None:
        for change in changes:
            match change:
                case AddEvidence():
                    self._add(change)
                case ExpireEvidence():
                    self._expire(change)
                case AddEntity():
                    self._connection.run(
                        "INSERT INTO entities(id, name, canonical_name, entity_type, created_at, sense)"
                        " VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (change.id, change.name, change.canonical, change.kind, self._now, change.sense),
                    )
                case AddLink():
                    self._link(change)
                case ExpireLink():
                    self._unlink(change)
                case PutCore() | ExpireCore():
                    core_summaries.apply(self._connection, change, self._op_id, self._now)
                case _:
                    assert_never(change)
        self._refresh()

    def derive_all(self) -> None:
        rows = self._connection.column(
            "SELECT source_id FROM relationship_evidence UNION SELECT source_id FROM relationships"
        )
        self._touched |= {_Group(each) for each in rows}
        self._refresh()

    def _add(self, change: AddEvidence) -> None:
        it = change.statement
        self._connection.run(
            "INSERT INTO relationship_evidence(source_id, type, slot, target_id, value, kind, at, granularity,"
            " strength, memory_id, quote, origin, op_id, created_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (it.source_id, it.type, it.slot, it.target_id, it.value, it.kind, it.at, it.granularity, it.strength,
             it.memory_id, it.quote, it.origin, self._op_id, change.created_at or self._now),
        )  # fmt: skip
        self._touched.add(_Group(it.source_id, it.type, it.slot))

    def _expire(self, change: ExpireEvidence) -> None:
        rows = self._connection.rows(
            "UPDATE relationship_evidence SET expired_op = ?, expired_at = ? WHERE id = ? AND expired_at IS NULL"
            " RETURNING source_id, type, slot",
            (self._op_id, self._now, change.id),
        )
        self._touched |= {_Group(*row) for row in rows}

    def _link(self, change: AddLink) -> None:
        if change.kind == "alias":
            earlier = self._connection.column(
                "SELECT l.id FROM entity_aliases AS a JOIN entity_links AS l ON l.entity_id = a.entity_id"
                " AND l.other = a.alias WHERE l.kind = 'alias' AND a.alias = ? AND a.entity_id <> ?"
                " AND l.expired_at IS NULL",
                (change.other, change.entity_id),
            )
            for each in earlier:  # a name is an alias of one thing
                self._unlink(ExpireLink(each))
        self._connection.run(
            "INSERT INTO entity_links(kind, entity_id, other, name, op_id, created_at) VALUES(?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (change.kind, change.entity_id, change.other, change.name, self._op_id, change.created_at or self._now),
        )
        if change.kind == "alias":
            self._connection.run(
                "INSERT INTO entity_aliases(alias, entity_id) VALUES(?, ?)"
                " ON CONFLICT DO UPDATE SET entity_id = excluded.entity_id",
                (change.other, change.entity_id),
            )
        self._renamed(change.kind, change.entity_id, change.other)

    def _unlink(self, change: ExpireLink) -> None:
        rows = self._connection.rows(
            "UPDATE entity_links SET expired_op = ?, expired_at = ? WHERE id = ? AND expired_at IS NULL"
            " RETURNING kind, entity_id, other",
            (self._op_id, self._now, change.id),
        )
        for kind, entity_id, other in rows:
            if kind == "alias":
                self._connection.run("DELETE FROM entity_aliases WHERE alias = ? AND entity_id = ?", (other, entity_id))
            self._renamed(kind, entity_id, other)

    def _renamed(self, kind: str, entity_id: str, other: str) -> None:
        """Note the groups of everything that two names stand in: their sources and targets may be other rows now."""
        if kind == "not_same":
            return
        if kind == "alias":
            sql = "SELECT id FROM entities WHERE canonical_name = ? AND sense = ''"
            others = self._connection.column(sql, (other,))
            if not others:
                return  # nothing stands under that name
        else:
            others = [other]
        found = roots(self._connection)
        ids = {each for one in (entity_id, *others) for each in (one, *found.members(one))}
        self._touched |= {_Group(each) for each in ids}
        self._touched |= {_Group(it.source_id, it.type, it.slot) for it in evidence(self._connection, ids)}

    # Intervals.

    def _refresh(self) -> None:
        if not self._touched:
            return
        found = roots(self._connection)
        for each in sorted({_Group(found.of(it.source_id), *it[1:]) for it in self._touched}, key=str):
            self._derive(each, found)
        self._touched.clear()

    def _derive(self, group: _Group, found: Roots) -> None:
        """Derive the intervals of a source, and replace the rows that are no longer believed."""
        members = found.members(group.source_id)
        stated = stated_of(self._connection, group.source_id, found, group.type, group.slot)
        believed = [
            it for it in relationships_from(self._connection, members, group.type, group.slot) if it.expired_at is None
        ]
        wanted = [each for rows in grouped(stated) for each in self._rows(rows, believed)]
        kept = {it.id for it in wanted}
        gone = [it for it in believed if it.id not in kept]
        self._connection.run_many(
            "UPDATE relationships SET expired_at = ? WHERE id = ?", [(self._now, it.id) for it in gone]
        )
        known = {it.id: it for it in believed}
        for it in wanted:
            before = known.get(it.id)
            if before is None:
                self._insert(it)
            elif before.strength != it.strength:
                self._connection.run("UPDATE relationships SET strength = ? WHERE id = ?", (it.strength, it.id))

    def _rows(self, stated: list[Evidence], believed: list[Relationship]) -> list[Relationship]:
        """Return the intervals of one group as rows: those that are believed already, and new ones."""
        first = stated[0]
        derived = intervals(stated)
        names = self._first_ids(first, derived, believed)
        return [
            self._row(first, each, name, None if each.successor is None else names[each.successor], believed)
            for each, name in zip(derived, names, strict=True)
        ]

    def _first_ids(self, first: Evidence, derived: Sequence[Interval], believed: list[Relationship]) -> list[str]:
        """Return the names of intervals: each that of the row that it goes on from, or a new one. Where one became
        several, that with its begin has its name, else that with its end, else the first with a moment in common."""
        names: dict[int, str] = {}
        taken: set[str] = set()
        for goes_on in (_begins_alike, _ends_alike, cross):
            for place, it in enumerate(derived):
                if place in names:
                    continue
                about = (first.source_id, first.type, first.slot, it.thing)
                for row in believed:
                    same = (row.source_id, row.type, row.slot, row.thing) == about
                    if same and row.first_id not in taken and goes_on(row, it):
                        names[place] = row.first_id
                        taken.add(row.first_id)
                        break
        return [names.get(place) or self._new_id(first, it, "") for place, it in enumerate(derived)]

    def _row(
        self, first: Evidence, it: Interval, first_id: str, successor: str | None, believed: list[Relationship]
    ) -> Relationship:
        row = msgspec.structs.replace(interval_row(first, it), first_id=first_id, invalidated_by=successor)
        for each in believed:
            same = msgspec.structs.replace(each, id="", created_at="", strength=row.strength)
            if same == row:
                return msgspec.structs.replace(row, id=each.id, created_at=each.created_at)
        return msgspec.structs.replace(row, id=self._new_id(first, it, first_id), created_at=self._now)

    def _new_id(self, first: Evidence, it: Interval, first_id: str) -> str:
        """Return an id that follows from the operation and the place of the row in the table."""
        place = self._connection.count("SELECT coalesce(max(rowid), 0) FROM relationships")
        about = (first.source_id, first.type, first.slot, *it.thing, it.valid_from or "")
        parts = (self._op_id, str(place), *about, first_id)
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()

    def _insert(self, it: Relationship) -> None:
        self.new.append(it)
        self._connection.run(
            f"INSERT INTO relationships({_RELATIONSHIPS.select}) VALUES({_RELATIONSHIPS.places()})",
            _RELATIONSHIPS.values(it),
        )


def _begins_alike(row: Relationship, it: Interval) -> bool:
    return row.valid_from == it.valid_from


def _ends_alike(row: Relationship, it: Interval) -> bool:
    return row.invalid_at == it.invalid_at and cross(row, it)


def stated_of(
    connection: Connection, source: str, found: Roots, kind: str | None = None, slot: str | None = None
) -> list[Evidence]:
    """Return the statements of a thing that count, with the rows that the things in them go by."""
    return [
        msgspec.structs.replace(it, source_id=source, target_id=it.target_id and found.of(it.target_id))
        for it in evidence_from(connection, found.members(source), kind, slot)
    ]


def changed_by_merge(connection: Connection, one: str, other: str) -> list[Relationship]:
    """Return the intervals that would be other than now if `other` were a name of `one`. Their ids are empty."""
    found = Roots([*((it.row, it.above) for it in joins(connection)), (other, one)])
    about = evidence(connection, found.members(one))
    new: list[Relationship] = []
    for source in sorted({one, *(found.of(it.source_id) for it in about)}):
        members = found.members(source)
        known = {_place(it, found) for it in relationships_from(connection, members) if it.expired_at is None}
        for rows in grouped(stated_of(connection, source, found)):
            made = [interval_row(rows[0], each) for each in intervals(rows)]
            new += [it for it in made if _place(it, found) not in known]
    return new


def _place(it: Relationship, found: Roots) -> tuple[object, ...]:
    return (found.of(it.source_id), *_about(it, found), it.valid_from, it.invalid_at)


def interval_row(first: Evidence, it: Interval) -> Relationship:
    """Return an interval as a row without its ids, of the source, type and slot of one of its statements."""
    return Relationship(
        id="", first_id="", source_id=first.source_id, type=first.type, slot=first.slot, target_id=it.target_id,
        value=it.value, strength=round(it.strength, 6), valid_from=it.valid_from, granularity=it.granularity,
        invalid_at=it.invalid_at, end_granularity=it.end_granularity, created_at="",
    )  # fmt: skip


def cross(row: Relationship, it: Interval) -> bool:
    """Return True if a row and an interval have a moment in common."""
    begins_before_end = it.invalid_at is None or (row.valid_from or "") < it.invalid_at
    ends_after_begin = row.invalid_at is None or (it.valid_from or "") < row.invalid_at
    return begins_before_end and ends_after_begin


def evidence_from(
    connection: Connection, ids: Sequence[str], kind: str | None = None, slot: str | None = None
) -> list[Evidence]:
    """Return the statements whose source is one of these entities, and that count."""
    which, values = _of_source(ids, kind, slot)
    return _evidence(connection, f"{which} AND expired_at IS NULL ORDER BY id", values)


def relationships_from(
    connection: Connection, ids: Sequence[str], kind: str | None = None, slot: str | None = None
) -> list[Relationship]:
    """Return the rows whose source is one of these entities, believed or not."""
    which, values = _of_source(ids, kind, slot)
    return _relationships(connection, f"{which} ORDER BY rowid", values)


def _of_source(ids: Sequence[str], kind: str | None = None, slot: str | None = None) -> tuple[str, tuple[Value, ...]]:
    """Return the condition of rows whose source is one of these entities, and its values."""
    where = f"source_id IN ({', '.join('?' * len(ids))})"
    return (where, tuple(ids)) if kind is None else (f"{where} AND type = ? AND slot = ?", (*ids, kind, slot))


# Purging.


def purge(connection: Connection, insight_id: str) -> bool:
    """Delete the statements of a memory, and the rows that no other statement is about; return False if it has none.
    `derive_again` must follow."""
    gone = _evidence(connection, "memory_id = ?", (insight_id,))
    if not gone:
        return False
    connection.run("DELETE FROM relationship_evidence WHERE memory_id = ?", (insight_id,))
    found = roots(connection)
    for source in sorted({found.of(it.source_id) for it in gone}):
        members = found.members(source)
        stated = {_about(it, found) for it in _evidence(connection, *_of_source(members))}
        connection.run_many(
            "DELETE FROM relationships WHERE id = ?",
            [(it.id,) for it in relationships_from(connection, members) if _about(it, found) not in stated],
        )
    return True


def derive_again(connection: Connection, op_id: str, now: str) -> None:
    """Derive every interval again, after statements or decisions about names were deleted or restored."""
    _Knowledge(connection, op_id, now).derive_all()


def rows_of_memory(connection: Connection, insight_id: str) -> set[str]:
    """Return the rows of entities that a memory names, or that its statements are about."""
    rows = connection.column("SELECT entity_id FROM memory_entities WHERE memory_id = ?", (insight_id,))
    of = connection.rows("SELECT source_id, target_id FROM relationship_evidence WHERE memory_id = ?", (insight_id,))
    return {*rows, *(each for pair in of for each in pair if each is not None)}


def purge_names(connection: Connection, named: Collection[str], contents: Sequence[str]) -> int:
    """Delete what was decided about names that a purged memory had, and no other memory and no statement has; return
    how many decisions that count went. What was joined by way of such a name stays joined. `named`: the rows that the
    memory named; `contents`: its texts, whose other names are found by their words."""
    said = " ".join(map(fold, contents))
    decided = connection.rows(
        "SELECT id, canonical_name FROM entities WHERE sense = '' AND id IN"
        " (SELECT entity_id FROM entity_links UNION SELECT other FROM entity_links"
        "  UNION SELECT entity_id FROM entity_aliases)"
    )
    wanted = {row for row, canonical in decided if row in named or canonical in said}
    before = _counting_links(connection)
    for row in sorted({*wanted, *named}):
        if not _has_support(connection, row):
            if row in wanted:
                _purge_name(connection, row)
            connection.run("DELETE FROM pending_reviews WHERE kind = 'names' AND instr(payload, ?)", (row,))
    _purge_aliases(connection, said)
    return before - _counting_links(connection)


def _counting_links(connection: Connection) -> int:
    return connection.count("SELECT count(*) FROM entity_links WHERE expired_at IS NULL")


def _has_support(connection: Connection, row: str) -> bool:
    sql = (
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM memory_entities WHERE entity_id = ?1)"
        " OR EXISTS (SELECT 1 FROM relationship_evidence WHERE source_id = ?1 OR target_id = ?1)"
    )
    return connection.row(sql, (row,)) is not None


def _purge_name(connection: Connection, row: str) -> None:
    """Delete the decisions about a row, or let the row next to it in its thing have them."""
    canonical = connection.value("SELECT canonical_name FROM entities WHERE id = ?", (row,))
    found = joins(connection)
    above = next((it.above for it in found if it.row == row), None)
    heir = above or next((it.row for it in found if it.above == row), None)
    own = {it.link for it in found if it.row == row or (above is None and (it.row, it.above) == (heir, row))}
    connection.run_many("DELETE FROM entity_links WHERE id = ?", [(each,) for each in own])
    connection.run("DELETE FROM entity_links WHERE kind = 'alias' AND other = ?", (canonical,))
    connection.run("DELETE FROM entity_aliases WHERE alias = ?", (canonical,))
    if heir is not None:
        connection.run(
            "DELETE FROM entity_aliases WHERE entity_id = ?"
            " AND alias = (SELECT canonical_name FROM entities WHERE id = ?)",
            (row, heir),
        )
        for table, column, which in _NAMED_IN:
            connection.run(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {column} = ?{which}", (heir, row))  # noqa: S608
    for table, column, _ in _NAMED_IN:
        connection.run(f"DELETE FROM {table} WHERE {column} = ?", (row,))  # noqa: S608 - constants


_NAMED_IN: Final = (
    ("entity_links", "entity_id", " AND expired_at IS NULL"),
    ("entity_links", "other", " AND expired_at IS NULL"),
    ("entity_aliases", "entity_id", ""),
    ("relationships", "source_id", ""),
    ("relationships", "target_id", ""),
)
"""Columns that have rows of entities, and which of their rows may have another one in its place."""


def _purge_aliases(connection: Connection, said: str) -> None:
    """Delete the aliases without a row of their own that are among the words of a purged memory, unless another memory
    has them as well."""
    rows = connection.rows("SELECT DISTINCT other FROM entity_links WHERE kind = 'alias'")
    lost = {other for (other,) in rows if other in said and row_named(connection, other) is None}
    if lost:
        for content in connection.column("SELECT content FROM insights"):
            folded = fold(content)
            lost = {each for each in lost if each not in folded}
    for each in sorted(lost):
        connection.run("DELETE FROM entity_links WHERE kind = 'alias' AND other = ?", (each,))
        connection.run("DELETE FROM entity_aliases WHERE alias = ?", (each,))


def _about(it: Evidence | Relationship, found: Roots) -> tuple[str, ...]:
    target, value = it.thing
    return (it.type, it.slot, found.of(target), value)
