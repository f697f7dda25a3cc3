"""Statements about relations, and decisions about names, for other devices and from them (docs/sync.md).

A statement, and a decision about names, has a key that is a hash of what it is about, so that devices which note it
independently have one. Of two records of a key the one with the greater stamp counts. Which records count in a store
follows from those that are known, whatever their order: a statement waits for its memory, and of decisions that
contradict each other the later one counts (`counting`). So each write compares all that is known with the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypedDict

import msgspec

from mnemond.memory.draft import WriteContext
from mnemond.memory.sync_records import (
    AHEAD_US,
    FACTS,
    Fact,
    FactRecord,
    Name,
    NameRecord,
    NameValue,
    RelationRecord,
    RelationValue,
    fact_of,
    name_key,
    relation_key,
    stamp_of,
    time_of,
)
from mnemond.memory.syncing import METHOD, Report, Scanned, fact_row, known_of
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Entity, parse_rfc3339
from mnemond.model.outcomes import Maintained
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
from mnemond.store import history, meta, relations, sync_state
from mnemond.store.connection import Connection
from mnemond.store.edges import entity_id
from mnemond.store.operations import Proposal, View

FACTS_AT_ONCE: Final = 500
"""Records that are united in one operation, which compares all that is known as well."""

OVERRULED: Final = "joined on one device; another decision on another device contradicts that"
FOR_A_PERSON: Final = "joined on another device"
"""`reason` of reviews about two names."""

_json = msgspec.json.Encoder()


# What the store has.


class _Statement(NamedTuple):
    """A statement of the store."""

    id: int
    value: RelationValue


class _Local(msgspec.Struct):
    """The rows of one statement. `ended`: when the last one was taken back, and the method of the operation."""

    memory: str | None
    live: list[_Statement] = []
    ended: tuple[str, str] | None = None


def _statements(connection: Connection) -> dict[str, _Local]:
    """Return what is stated, or was and was taken back, by key."""
    rows = connection.rows(
        "SELECT e.id, e.type, e.slot, e.value, e.kind, e.at, e.granularity, e.origin, e.strength, e.quote,"
        " e.created_at, e.memory_id, e.expired_at, x.method, s.name, s.canonical_name, s.entity_type,"
        " s.sense, t.name, t.canonical_name, t.entity_type, t.sense"
        " FROM relationship_evidence AS e JOIN entities AS s ON s.id = e.source_id"
        " LEFT JOIN entities AS t ON t.id = e.target_id"
        " LEFT JOIN knowledge_operations AS x ON x.op_id = e.expired_op ORDER BY e.id"
    )
    found: dict[str, _Local] = {}
    for (number, kind, slot, text, point, at, granularity, origin, strength, quote, created_at, memory, expired_at,
         ended_by, *names) in rows:  # fmt: skip
        target = None if names[4] is None else Name(*names[4:])
        value = RelationValue(
            Name(*names[:4]), kind, slot, target, text, point, at, granularity, origin, strength, quote, created_at
        )
        local = found.setdefault(relation_key(value, memory), _Local(memory, live=[]))
        if expired_at is None:
            local.live.append(_Statement(number, value))
        elif local.ended is None or expired_at >= local.ended[0]:
            local.ended = (expired_at, ended_by or "")
    return found


class _Decision(NamedTuple):
    id: int
    value: NameValue


class _LocalName(msgspec.Struct):
    """The rows of one decision. `ended`: when the last one was taken back."""

    live: list[_Decision] = []
    ended: str | None = None


def _decisions(connection: Connection) -> dict[str, _LocalName]:
    """Return what was decided about names, by key."""
    rows = connection.rows(
        "SELECT l.id, l.kind, l.other, l.name, l.created_at, l.expired_at, coalesce(k.triggered_by, 'user'),"
        " e.name, e.canonical_name, e.entity_type, e.sense, o.name, o.canonical_name, o.entity_type, o.sense"
        " FROM entity_links AS l JOIN entities AS e ON e.id = l.entity_id"
        " LEFT JOIN entities AS o ON o.id = l.other AND l.kind <> 'alias'"
        " LEFT JOIN knowledge_operations AS k ON k.op_id = l.op_id ORDER BY l.id"
    )
    found: dict[str, _LocalName] = {}
    for number, kind, other, name, created_at, expired_at, by, *names in rows:
        if kind == "alias":
            second = Name(name or other, other, "")
        elif names[4] is None:
            continue  # its row is gone
        else:
            second = Name(*names[4:])
        value = NameValue(kind, Name(*names[:4]), second, by, created_at)
        local = found.setdefault(name_key(value), _LocalName(live=[]))
        if expired_at is None:
            local.live.append(_Decision(number, value))
        else:
            local.ended = max(expired_at, local.ended or "")
    return found


Node = tuple[str, str]
"""Canonical name and sense of a name."""


def _node(name: Name) -> Node:
    return name.canonical, name.sense


def _is_same(one: NameValue, other: NameValue) -> bool:
    """Return True for equal decisions, of any author and time."""
    about = [(it.decision, _node(it.one), _node(it.other)) for it in (one, other)]
    if one.decision == other.decision == "not_same":
        return {_node(one.one), _node(one.other)} == {_node(other.one), _node(other.other)}
    return about[0] == about[1]


# Changes of this device.


def scan(connection: Connection, now_us: int, device: str) -> Scanned:
    """Note statements and decisions that were made or taken back since the last scan. For one transaction. Raises
    SqliteError."""
    mark = _mark(connection)
    if _noted(connection, SCANNED) != mark:
        meta.note(connection, [(SCANNED, mark)])
        known = _known(connection)
        local = _statements(connection)
        changed = _changed_here(known, local, _decisions(connection), stamp_of(now_us, device))
        sync_state.put(connection, [fact_row(fact, publish=publish) for fact, publish in changed])
    return Scanned(None, sync_state.count_facts_from(connection, stamp_of(now_us + AHEAD_US + 1, "")))


SCANNED, UNITED = "sync_scanned", "sync_united"
"""Keys in `meta` of the last operation on relations and names, and the number of purges, behind which nothing was to be
noted for others, and nothing to be changed here."""


def _mark(connection: Connection) -> str:
    device = sync_state.device(connection)
    last = connection.count("SELECT coalesce(max(id), 0) FROM knowledge_operations")
    return f"{last}:{0 if device is None else device.purges}"


def _noted(connection: Connection, key: str) -> str:
    return str(connection.value("SELECT value FROM meta WHERE key = ?", (key,)) or "")


def _known(connection: Connection) -> dict[str, Fact]:
    return {key: fact_of(text) for kind in FACTS for key, text in sync_state.states(connection, kind).items()}


def _changed_here(
    known: dict[str, Fact], statements: dict[str, _Local], decisions: dict[str, _LocalName], now: str
) -> list[tuple[Fact, bool]]:
    """Return what is known that is not what the store has, as the store has it, and whether others have to know. `now`:
    a stamp of this device, which that of no change is later than, though the clock was ahead when it was made."""
    found = []
    for key, local in statements.items():
        if (stated := _statement_as_here(key, known.get(key), local, now)) is not None:
            found.append(stated)
    for key, named in decisions.items():
        if (decided := _decision_as_here(key, known.get(key), named, now)) is not None:
            found.append(decided)
    lost = known.keys() - statements.keys() - decisions.keys()
    for key in sorted(each for each in lost if known[each].here):
        fact = known[key]
        if isinstance(fact.record, NameRecord):
            found.append((Fact(NameRecord(key=key, **_next("", fact.record, now))), True))
        else:
            found.append((Fact(fact.record), False))
    return found


def _statement_as_here(key: str, fact: Fact | None, local: _Local, now: str) -> tuple[Fact, bool] | None:
    before = None if fact is None else fact.record
    value = before.value if isinstance(before, RelationRecord) else None
    if local.live:
        if value is not None and any(it.value == value for it in local.live):
            return None if fact is not None and fact.here else (Fact(before, here=True), False)  # type: ignore[arg-type]
        one = local.live[0]
        stamps = _next(one.value.created_at, before, now)
        return Fact(RelationRecord(key=key, memory=local.memory, value=one.value, **stamps), here=True), True
    ended, by = local.ended or ("", "")
    if fact is None or not fact.here or value is None:
        return None  # no other device knows of it, or it counts here no longer
    if by == METHOD:
        return Fact(fact.record), False
    return Fact(RelationRecord(key=key, memory=local.memory, **_next(ended, before, now))), True


def _decision_as_here(key: str, fact: Fact | None, local: _LocalName, now: str) -> tuple[Fact, bool] | None:
    before = None if fact is None else fact.record
    value = before.value if isinstance(before, NameRecord) else None
    here = fact is not None and fact.here
    if local.live:
        last = local.live[-1].value
        if here and value is not None and _is_same(value, last):
            return None
        return Fact(NameRecord(key=key, value=last, **_next(last.created_at, before, now)), here=True), True
    if not here:
        return None
    return Fact(NameRecord(key=key, **_next(local.ended or "", before, now))), True


class _Stamps(TypedDict):
    stamp: str
    restamped: list[str]


def _next(at: str, before: FactRecord | None, now: str) -> _Stamps:
    """Return the stamp of a change at a time, later than all that was known, and those that were ahead of the clock."""
    last = 0 if before is None else time_of(before.stamp) + 1
    moment = min(parse_rfc3339(at), time_of(now)) if at else 0
    former = [] if before is None else before.restamped
    return _Stamps(stamp=stamp_of(max(moment, last), now[17:]), restamped=former)


# Records of other devices.


def propose_unite(
    records: Sequence[FactRecord], identity: WriteContext, device: str, reports: list[Report]
) -> Proposal:
    """Propose what records change here, and what follows from all that is known. The last of `reports` says what it
    was. Names that only a person may join wait, and a review asks."""

    def decide(view: View) -> ChangeSet:
        connection = view.connection
        is_united = _noted(connection, UNITED) == _mark(connection)
        if not records and is_united and not sync_state.has_waiting_facts(connection):
            reports.append(Report(conflicts=[], held=[]))
            nothing = Maintained(changed=0, op_id=identity.op_id)
            return identity.change_set(METHOD, (), nothing, operation="")
        uniting = _Uniting(connection, identity, device)
        for each in records:
            uniting.take(each)
        uniting.statements()
        uniting.decisions()
        reports.append(uniting.report)
        return uniting.change_set()

    return identity.proposal(METHOD, decide)


class Counting(NamedTuple):
    """Decisions that count, by key, and those that others contradict."""

    accepted: dict[str, NameValue]
    contradicted: dict[str, NameValue]


def counting(known: Iterable[NameRecord]) -> Counting:
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
            things.keep_apart(_node(it.value.one), _node(it.value.other))
        else:
            joining.append((it.stamp, it.key, it.value))
    below = set[Node]()
    for _, key, value in sorted(joining, key=lambda it: it[:2], reverse=True):
        one, other = _node(value.one), _node(value.other)
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


class _Uniting:
    """The union of some records with what is known and with the store. For one use."""

    def __init__(self, connection: Connection, identity: WriteContext, device: str) -> None:
        self._connection = connection
        self._identity = identity
        self._device = device
        self.report = Report(conflicts=[], held=[])
        self._known = _known(connection)
        self._before = dict(self._known)
        self._local = _statements(connection)
        self._names = _decisions(connection)
        self._publish: set[str] = set()
        for fact, publish in _changed_here(self._known, self._local, self._names, stamp_of(identity.now_us, device)):
            self._known[fact.record.key] = fact
            if publish:
                self._publish.add(fact.record.key)
        self._taken: set[str] = set()
        self._expired: list[KnowledgeChange] = []
        self._added: dict[str, AddEntity] = {}
        self._changes: list[KnowledgeChange] = []
        self._asked: list[OpenReview] = []
        self._forgets = False
        """A name, or what a purged memory stated, is gone, and may be in the files of this device."""

    def take(self, record: FactRecord) -> None:
        """Take a record in if it is later than what is known."""
        before = self._known.get(record.key)
        if before is not None and (before.record.stamp >= record.stamp or type(before.record) is not type(record)):
            if before.record.stamp in record.restamped:
                self._publish.add(record.key)
            return
        if isinstance(record, NameRecord) and record.value is None and record.key in self._before:
            self._forgets = self._forgets or self._before[record.key].record.value is not None
        self._publish.discard(record.key)
        if isinstance(record, NameRecord) and record.purged and before is not None and self._has_names(before):
            stamp = stamp_of(time_of(record.stamp) + 1, self._device)
            record = msgspec.structs.replace(record, stamp=stamp, value=before.record.value, purged=False)
            self._publish.add(record.key)
        record = msgspec.structs.replace(record, restamped=[] if before is None else before.record.restamped)
        self._known[record.key] = Fact(record, here=before is not None and before.here)
        self._taken.add(record.key)

    def _has_names(self, it: Fact) -> bool:
        """Return True if the store has both names of a decision, so that it stays (`relations.purge_names`)."""
        value = it.record.value
        return isinstance(value, NameValue) and all(
            sync_state.has_name(self._connection, *_node(each)) for each in (value.one, value.other)
        )

    # ------------------------------------------------------------ relations

    def statements(self) -> None:
        """Let each statement count that is known, and no other one."""
        for key, fact in sorted(self._known.items()):
            if isinstance(fact.record, RelationRecord):
                self._statement(key, fact.record)

    def _state(self, memory: str) -> str:
        """Return the state of a memory: purged, "" if it is not there."""
        status = self._connection.value("SELECT status FROM insights WHERE id = ?", (memory,))
        if status is None:
            gone = known_of(self._connection, memory).purged is not None or history.is_purged(self._connection, memory)
            return "purged" if gone else ""
        return str(status)

    def _statement(self, key: str, record: RelationRecord) -> None:
        local = self._local.get(key)
        live = [] if local is None else local.live
        memory = record.memory
        state = "active" if memory is None else self._state(memory)
        if state == "purged":
            if record.value is not None:
                self._forgets = True
                self._known[key] = Fact(msgspec.structs.replace(record, value=None))
        elif record.value is None:
            self._expire(live)
            self._known[key] = Fact(record)
        elif any(it.value == record.value for it in live):
            self._known[key] = Fact(record, here=True)
        elif state:
            self._expire(live)
            self._changes.append(AddEvidence(self._statement_of(record, record.value), record.value.created_at))
            self._known[key] = Fact(record, here=True)
            self.report.relations += not live
        else:
            self._known[key] = Fact(record)

    def _expire(self, live: Sequence[_Statement]) -> None:
        self._expired += [ExpireEvidence(it.id) for it in live]
        self.report.relations += bool(live)

    def _statement_of(self, record: RelationRecord, it: RelationValue) -> Statement:
        return Statement(
            source_id=self._row_of(it.source), type=it.type, kind=it.kind, at=it.at,
            target_id=None if it.target is None else self._row_of(it.target), value=it.value, slot=it.slot,
            granularity=it.granularity, strength=it.strength, memory_id=record.memory, quote=it.quote,
            origin=it.origin,
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
        found = self._connection.value("SELECT id FROM entities WHERE canonical_name = ? AND sense = ?", _node(name))
        return None if found is None else str(found)

    # ------------------------------------------------------------ names

    def decisions(self) -> None:
        """Let each decision count that is known and not contradicted, and no other one."""
        records = {key: it.record for key, it in self._known.items() if isinstance(it.record, NameRecord)}
        found = counting(records.values())
        added: list[tuple[str, AddLink]] = []
        for key, record in sorted(records.items()):
            wanted = found.accepted.get(key)
            live = self._names[key].live if key in self._names else []
            kept = [] if wanted is None else [it for it in live if _is_same(it.value, wanted)][:1]
            self._expired += [ExpireLink(it.id) for it in live if it not in kept]
            here = bool(kept)
            if wanted is not None and not kept:
                here = self._may_join(wanted)
                if here:
                    added.append((record.stamp, self._link(wanted)))
                else:
                    self._ask(wanted, FOR_A_PERSON)
            elif key in found.contradicted and (live or key in self._taken):
                self._ask(found.contradicted[key], OVERRULED)
            self.report.names += here != bool(live) or (here and not kept)
            self._known[key] = Fact(record, here=here)
        self._changes += [link for _, link in sorted(added, key=lambda it: it[0])]

    def _may_join(self, it: NameValue) -> bool:
        """Return False for a decision that makes one thing of two, unless a person is here."""
        if self._identity.by_person or it.decision == "not_same":
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

    def change_set(self) -> ChangeSet:
        knowledge = (*self._expired, *self._added.values(), *self._changes)
        rows = tuple(
            fact_row(fact, publish=key in self._publish)
            for key, fact in sorted(self._known.items())
            if key in self._publish or fact != self._before.get(key)
        )
        facts: tuple[tuple[str, str], ...] = ()
        if self._forgets and (it := sync_state.device(self._connection)) is not None:
            anew = msgspec.structs.replace(it, purges=it.purges + 1)
            facts = ((sync_state.KEY, _json.encode(anew).decode()),)
        elif not knowledge:
            facts = ((UNITED, _mark(self._connection)),)
        made = self._identity.change_set(
            METHOD, (), Maintained(changed=len(knowledge), op_id=self._identity.op_id), operation="",
            reviews=tuple(self._asked),
        )  # fmt: skip
        return msgspec.structs.replace(made, knowledge=knowledge, synced=rows, facts=facts)
