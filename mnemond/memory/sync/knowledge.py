"""Statements about relations, and decisions about names, for other devices and from them (docs/sync.md).

A statement, and a decision about names, has a key that is a hash of what it is about, so that devices which note it
independently have one. Which records count in a store follows from those that are known, whatever their order: a
statement waits for its memory, and of decisions that contradict each other the later one counts (`counting`). So each
write compares all that is known with the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.memory.sync.records import name_key, relation_key
from mnemond.memory.sync.union import METHOD, Union, as_here, files_anew, is_purged
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Entity, parse_rfc3339
from mnemond.model.relations import (
    AddEntity,
    AddEvidence,
    AddLink,
    ExpireEvidence,
    ExpireLink,
    KnowledgeChange,
    Statement,
)
from mnemond.model.reviews import OpenReview
from mnemond.model.sync import Kind, Known, Name, NameValue, Record, RelationValue, SyncedRow
from mnemond.store import meta, relations, sync_state
from mnemond.store.connection import Connection
from mnemond.store.edges import entity_id
from mnemond.store.operations import View

FACTS_AT_ONCE: Final = 500
"""Records that are united in one operation, which compares all that is known as well."""

OVERRULED: Final = "joined on one device; another decision on another device contradicts that"
FOR_A_PERSON: Final = "joined on another device"
"""`reason` of reviews about two names."""


# What the store has.


class _Local(msgspec.Struct):
    """The rows of one statement or decision: those that count, each with its id, and when the last one was taken back
    and by the method of which operation."""

    live: list[tuple[int, Any]] = []
    ended: str = ""
    by: str = ""

    def add(self, number: int, value: RelationValue | NameValue, expired_at: str | None, by: str | None) -> None:
        if expired_at is None:
            self.live.append((number, value))
        elif expired_at >= self.ended:
            self.ended, self.by = expired_at, by or ""


def _statements(connection: Connection) -> dict[str, _Local]:
    """Return what is stated, or was and was taken back, by key."""
    rows = connection.rows(
        "SELECT e.id, e.expired_at, (SELECT operation_type FROM memory_operations WHERE op_id = e.expired_op"
        " AND +memory_id = ''), e.type, e.slot, e.value, e.kind, e.at, e.granularity, e.origin, e.strength, e.quote,"
        " e.created_at, e.memory_id, s.name, s.canonical_name, s.entity_type, s.sense,"
        " t.name, t.canonical_name, t.entity_type, t.sense"
        " FROM relationship_evidence AS e JOIN entities AS s ON s.id = e.source_id"
        " LEFT JOIN entities AS t ON t.id = e.target_id ORDER BY e.id"
    )
    found: dict[str, _Local] = {}
    for number, expired_at, by, kind, slot, *values in rows:
        source, target = Name(*values[9:13]), None if values[13] is None else Name(*values[13:])
        value = RelationValue(source, kind, slot, target, *values[:9])
        found.setdefault(relation_key(value), _Local()).add(number, value, expired_at, by)
    return found


def _decisions(connection: Connection) -> dict[str, _Local]:
    """Return what was decided about names, by key."""
    rows = connection.rows(
        "SELECT l.id, l.kind, l.other, l.name, l.created_at, l.expired_at, coalesce((SELECT triggered_by FROM"
        " memory_operations WHERE op_id = l.op_id AND +memory_id = ''), 'user'),"
        " e.name, e.canonical_name, e.entity_type, e.sense, o.name, o.canonical_name, o.entity_type, o.sense"
        " FROM entity_links AS l JOIN entities AS e ON e.id = l.entity_id"
        " LEFT JOIN entities AS o ON o.id = l.other AND l.kind <> 'alias' ORDER BY l.id"
    )
    found: dict[str, _Local] = {}
    for number, kind, other, name, created_at, expired_at, by, *names in rows:
        if kind == "alias":
            second = Name(name or other, other, "")
        elif names[4] is None:
            continue  # its row is gone
        else:
            second = Name(*names[4:])
        value = NameValue(kind, Name(*names[:4]), second, by, created_at)
        found.setdefault(name_key(value), _Local()).add(number, value, expired_at, None)
    return found


def _is_same(one: RelationValue | NameValue, other: RelationValue | NameValue) -> bool:
    """Return True for equal statements, or for equal decisions, of any author and time."""
    if isinstance(one, RelationValue) or isinstance(other, RelationValue):
        return one == other
    if one.decision == other.decision == "not_same":
        return {one.one.node, one.other.node} == {other.one.node, other.other.node}
    return (one.decision, one.one.node, one.other.node) == (other.decision, other.one.node, other.other.node)


_FACTS: Final[dict[Kind, Callable[[Connection], dict[str, _Local]]]] = {"relation": _statements, "name": _decisions}


# Changes of this device.


def scan(connection: Connection, now_us: int, device: str) -> None:
    """Note statements and decisions that were made or taken back since the last scan. For one transaction. Raises
    SqliteError."""
    mark = _mark(connection)
    if _noted(connection, SCANNED) == mark:
        return
    meta.note(connection, [(SCANNED, mark)])
    for kind, local in _FACTS.items():
        known = sync_state.all_of(connection, kind)
        sync_state.put(connection, _changed_here(kind, known, local(connection), now_us, device))


SCANNED, UNITED = "sync_scanned", "sync_united"
"""Keys in `meta` of the last operation on relations and names, and the number of purges, behind which nothing was to be
noted for others, and nothing to be changed here."""


def _mark(connection: Connection) -> str:
    device = sync_state.device(connection)
    last = connection.count("SELECT coalesce(max(id), 0) FROM memory_operations WHERE memory_id = ''")
    return f"{last}:{0 if device is None else device.purges}"


def _noted(connection: Connection, key: str) -> str:
    return str(connection.value("SELECT value FROM meta WHERE key = ?", (key,)) or "")


def _changed_here(
    kind: Kind, known: Mapping[str, Known[Any]], here: Mapping[str, _Local], now_us: int, device: str
) -> Iterator[SyncedRow]:
    """Yield what is known that is not what the store has, as the store has it. No change is later than now, though the
    clock was ahead when it was made."""

    def change(key: str, at: str, value: RelationValue | NameValue | None) -> SyncedRow:
        us = min(parse_rfc3339(at), now_us) if at else 0
        return SyncedRow(kind, key, as_here(known.get(key), kind, key, us, device, value), publish=True)

    def only_here(before: Known[Any], *, counts: bool) -> SyncedRow:
        return SyncedRow(kind, before.key, msgspec.structs.replace(before, here=counts), publish=False)

    for key, local in here.items():
        before, value = known.get(key), None if key not in known else known[key].value
        live = local.live if kind == "relation" else local.live[-1:]
        if live:
            same = value is not None and any(_is_same(value, each) for _, each in live)
            if before is None or not same or (kind == "name" and not before.here):
                yield change(key, live[0][1].created_at, live[0][1])
            elif not before.here:
                yield only_here(before, counts=True)
        elif before is not None and before.here and value is not None:
            # It counts here no longer. What this device did with a record of another one is no news.
            yield only_here(before, counts=False) if local.by == METHOD else change(key, local.ended, None)
    for key, before in known.items():
        if before.here and key not in here:  # its rows are gone
            yield change(key, "", None) if kind == "name" else only_here(before, counts=False)


# Records of other devices.


_WAITING: Final = "kind IN ('relation', 'name') AND NOT here AND value IS NOT NULL"


Node = tuple[str, str]
"""Canonical name and sense of a name."""


class Counting(NamedTuple):
    """Decisions that count, by key, and those that others contradict."""

    accepted: dict[str, NameValue]
    contradicted: dict[str, NameValue]


def counting(known: Iterable[Record[NameValue]]) -> Counting:
    """Return which of the known decisions count, the same for every order of them: all that two names are not the same;
    then of those that join names the later ones first, each unless it would join what is apart, or two users, or give a
    name to a second thing. One that others imply neither counts nor is contradicted."""
    accepted: dict[str, NameValue] = {}
    contradicted: dict[str, NameValue] = {}
    joining: list[tuple[str, str, NameValue]] = []
    things = _Things()
    for it in known:
        if it.value is None:
            continue
        if it.value.decision == "not_same":
            accepted[it.key] = it.value
            things.keep_apart(it.value.one.node, it.value.other.node)
        else:
            joining.append((it.stamp, it.key, it.value))
    below = set[Node]()
    for _, key, value in sorted(joining, key=lambda it: it[:2], reverse=True):
        one, other = value.one.node, value.other.node
        if things.of(one) == things.of(other):
            continue
        if other in below or not things.join(one, other):
            contradicted[key] = value
        else:
            below.add(other)
            accepted[key] = value
    return Counting(accepted, contradicted)


class _Things:
    """Names that are one thing, and things that are kept apart."""

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}
        self._apart: dict[Node, set[Node]] = {}
        self._users: set[Node] = set()
        """Things that are a user of the store."""

    def of(self, node: Node) -> Node:
        """Return the name that stands for a thing."""
        path = []
        while node in self._above:
            path.append(node)
            node = self._above[node]
        self._above |= dict.fromkeys(path, node)
        return node

    def keep_apart(self, one: Node, other: Node) -> None:
        """Note that two names are two things, before any are joined."""
        self._apart.setdefault(one, set()).add(other)
        self._apart.setdefault(other, set()).add(one)

    def join(self, one: Node, other: Node) -> bool:
        """Make one thing of two, unless they are apart, or two users; return False then."""
        left, right = self.of(one), self.of(other)
        users = [each for each in (left, right) if each in self._users or each[1] == relations.USER_SENSE]
        if right in self._apart.get(left, ()) or len(users) == 2:
            return False
        if len(self._apart.get(left, ())) < len(self._apart.get(right, ())):
            left, right = right, left
        self._above[right] = left
        for each in self._apart.pop(right, set()):
            self._apart[each].discard(right)
            self._apart[each].add(left)
            self._apart.setdefault(left, set()).add(each)
        self._users |= {left} if users else set()
        return True


class Knowledge(Union):
    """The union of some records with all that is known and with the store. Names that only a person may join wait, and
    a review asks."""

    def __init__(self, view: View, identity: WriteContext, device: str, since: str = "") -> None:
        super().__init__(view, identity, device, since)
        self._here: dict[Kind, dict[str, _Local]] = {"relation": {}, "name": {}}
        self._taken: set[str] = set()
        self._expired: list[KnowledgeChange] = []
        self._added: dict[str, AddEntity] = {}
        self._changes: list[KnowledgeChange] = []
        self._asked: list[OpenReview] = []
        self._forgets = False
        """A name, or what a purged memory stated, is gone, and may be in the files of this device."""
        self._is_compared = False

    def _compare(self) -> None:
        """Look at all that is known, and at what the store has."""
        self._is_compared = True
        for kind, local in _FACTS.items():
            known, here = sync_state.all_of(self.connection, kind), local(self.connection)
            self.load(known.values())
            self._here[kind] = here
            for row in _changed_here(kind, known, here, self.identity.now_us, self.device):
                if row.known is not None:
                    self.note(row.known, publish=row.publish)

    def record(self, record: Record[Any]) -> None:
        if not self._is_compared:
            self._compare()
        known, before = self.look(record.kind, record.key), self.before(record.kind, record.key)
        if not self.take(record):
            return
        self._taken.add(record.key)
        if record.kind == "name" and record.value is None:
            self._forgets |= before is not None and before.value is not None
            if record.state == "purged" and known is not None and self._has_names(known.value):
                again = as_here(self.look("name", record.key), "name", record.key, 0, self.device, known.value)
                self.note(msgspec.structs.replace(again, here=known.here), publish=True)

    def _has_names(self, value: NameValue | None) -> bool:
        """Return True if the store has both names of a decision, so that it stays (`relations.purge_names`)."""
        return value is not None and all(
            sync_state.has_name(self.connection, *each.node) for each in (value.one, value.other)
        )

    # ------------------------------------------------------------ relations

    def _apply_statements(self) -> None:
        """Let each statement count that is known, and no other one."""
        for known in self.all_of("relation"):
            self.note(self._statement(known))

    def _statement(self, known: Known[RelationValue]) -> Known[RelationValue]:
        """Return what is known of a statement once it counts, or not."""
        local = self._here["relation"].get(known.key)
        live = [] if local is None else local.live
        if (value := known.value) is None:
            self._expire(live)
            return msgspec.structs.replace(known, here=False)
        status = "active" if value.memory is None else self._status(value.memory)
        if status == "purged":
            self._forgets = True
            return msgspec.structs.replace(known, state="gone", value=None, here=False)
        if any(each == value for _, each in live):
            return msgspec.structs.replace(known, here=True)
        if status:
            self._expire(live)
            self._changes.append(AddEvidence(self._statement_of(value), value.created_at))
            self.report.relations += not live
        return msgspec.structs.replace(known, here=bool(status))

    def _status(self, memory: str) -> str:
        """Return the status of a memory: purged, "" if it is not there."""
        status = self.connection.value("SELECT status FROM insights WHERE id = ?", (memory,))
        if status is None:
            return "purged" if is_purged(self.connection, memory) else ""
        return str(status)

    def _expire(self, live: Sequence[tuple[int, Any]]) -> None:
        self._expired += [ExpireEvidence(number) for number, _ in live]
        self.report.relations += bool(live)

    def _statement_of(self, it: RelationValue) -> Statement:
        return Statement(
            source_id=self._row_of(it.source), type=it.type, kind=it.kind, at=it.at,
            target_id=None if it.target is None else self._row_of(it.target), value=it.value, slot=it.slot,
            granularity=it.granularity, strength=it.strength, memory_id=it.memory, quote=it.quote, origin=it.origin,
        )  # fmt: skip

    def _row_of(self, name: Name) -> str:
        """Return the row of exactly this name, which is added if there is none."""
        found = self._row(name)
        if found is not None:
            return found
        made = entity_id(Entity(name.name, name.canonical, "concept"))
        if name.sense == relations.USER_SENSE:
            made = relations.user_id(name.canonical)
        self._added.setdefault(made, AddEntity(made, name.name, name.canonical, name.kind, name.sense))
        return made

    def _row(self, name: Name) -> str | None:
        found = self.connection.value("SELECT id FROM entities WHERE canonical_name = ? AND sense = ?", name.node)
        return None if found is None else str(found)

    # ------------------------------------------------------------ names

    def _apply_decisions(self) -> None:
        """Let each decision count that is known and not contradicted, and no other one."""
        known = self.all_of("name")
        found = counting(known)
        added: list[tuple[str, AddLink]] = []
        for each in known:
            wanted = found.accepted.get(each.key)
            live = self._here["name"][each.key].live if each.key in self._here["name"] else []
            kept = [] if wanted is None else [it for it in live if _is_same(it[1], wanted)][:1]
            self._expired += [ExpireLink(it[0]) for it in live if it not in kept]
            here = bool(kept)
            if wanted is not None and not kept:
                here = self._may_join(wanted)
                if here:
                    added.append((each.stamp, self._link(wanted)))
                else:
                    self._ask(wanted, FOR_A_PERSON)
            elif each.key in found.contradicted and (live or each.key in self._taken):
                self._ask(found.contradicted[each.key], OVERRULED)
            self.report.names += here != bool(live) or (here and not kept)
            self.note(msgspec.structs.replace(each, here=here))
        self._changes += [link for _, link in sorted(added, key=lambda it: it[0])]

    def _may_join(self, it: NameValue) -> bool:
        """Return False for a decision that makes one thing of two, unless a person is here."""
        if self.identity.by_person or it.decision == "not_same":
            return True
        return it.decision == "alias" and self._row(it.other) is None

    def _link(self, it: NameValue) -> AddLink:
        other = it.other.canonical if it.decision == "alias" else self._row_of(it.other)
        name = it.other.name if it.decision == "alias" else ""
        return AddLink(it.decision, self._row_of(it.one), other, name, it.created_at)

    def _ask(self, it: NameValue, reason: str) -> None:
        """Ask a person whether two names are one, if the store has both."""
        rows = self._row(it.one), self._row(it.other)
        if rows[0] is not None and rows[1] is not None:
            self._asked.append(OpenReview("names", rows[0], rows[1], "MERGE", 1.0, reason))

    # ------------------------------------------------------------ the result

    def finish(self) -> ChangeSet:
        is_united = _noted(self.connection, UNITED) == _mark(self.connection)
        if not self._is_compared and (not is_united or sync_state.known(self.connection, f"{_WAITING} LIMIT 1")):
            self._compare()
        if self._is_compared:
            self._apply_statements()
            self._apply_decisions()
        knowledge = (*self._expired, *self._added.values(), *self._changes)
        facts: tuple[tuple[str, str], ...] = ()
        if self._forgets:
            facts = files_anew(self.connection)
        elif not knowledge:
            facts = ((UNITED, _mark(self.connection)),)
        return self.change_set(knowledge=knowledge, facts=facts, reviews=self._asked)
