"""Memories, and the links between them that were made by hand, as records for other devices, and their records as
changes of this store (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, cast

import msgspec

from mnemond.memory.compare import parted
from mnemond.memory.edge_builders import ALL
from mnemond.memory.sync.groups import (
    GROUPS,
    STATE,
    TEXT,
    KnownMemory,
    MemoryValue,
    changed,
    copy_key,
    memory_of,
    next_stamp,
    purged,
    united,
    unknown,
    values_of,
)
from mnemond.memory.sync.union import Union, as_here
from mnemond.memory.update import REBUILT
from mnemond.memory.write import WriteContext
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
)
from mnemond.model.memory import Edge, EdgeType, Entity, EntityType, Insight, parse_rfc3339
from mnemond.model.reviews import OpenReview
from mnemond.model.sync import EdgeValue, Known, Record, SyncedRow, later_stamp
from mnemond.store import edges, history, insights, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import View

ROWS_AT_ONCE: Final = 500
"""Memories that are compared in one transaction: some tens of milliseconds."""

REASON: Final = "changed on two devices before either knew of the other"
OVERRULED: Final = "superseded on one device, and changed later on another"

_BY_HAND: Final = ("user", "host", "import")
_ACTIVE: Final = "SELECT id FROM insights WHERE status = 'active'"


# Changes of this device.


def scan(connection: Connection, after: str, now_us: int, device: str) -> str | None:
    """Note what changed of the memories behind an id since they were compared last. Return the id behind which the next
    part begins, None if there is none left. For one transaction. Raises SqliteError, MnemonError(STORAGE)."""
    ids = connection.column("SELECT id FROM insights WHERE id > ? ORDER BY id LIMIT ?", (after, ROWS_AT_ONCE))
    rows = [row for each in ids if (row := compare(connection, each, now_us, device)) is not None]
    sync_state.put(connection, rows)
    return ids[-1] if ids else None


def compare(connection: Connection, key: str, now_us: int, device: str) -> SyncedRow | None:
    """Return what is known of a memory from now on if its row is another than was known. Raises SqliteError."""
    before = known_of(connection, key)
    now = _as_here(connection, key, before, now_us, device)
    return None if now == before else SyncedRow("memory", key, now, publish=True)


def scan_gone(connection: Connection, now_us: int, device: str) -> None:
    """Note purged memories, and links that were made or removed by hand. Raises SqliteError."""
    gone = sync_state.known(
        connection, "kind = 'memory' AND state <> 'purged' AND key NOT IN (SELECT id FROM insights)"
    )
    rows = [
        SyncedRow("memory", each.key, purged(each, later_stamp(each, now_us, device)), publish=True)
        for each in gone
        if history.is_purged(connection, each.key)
    ]
    known, here = sync_state.all_of(connection, "edge"), _edges_by_hand(connection)
    active = frozenset(connection.column(_ACTIVE))
    for key in here.keys() | known.keys():
        now = _edge_as_here(key, known.get(key), here.get(key), active, now_us, device)
        if now is not None:
            rows.append(SyncedRow("edge", key, now, publish=True))
    sync_state.put(connection, rows)


def known_of(connection: Connection, key: str) -> KnownMemory:
    return sync_state.known_of(connection, "memory", key) or unknown(key)


def _as_here(connection: Connection, key: str, known: KnownMemory, now_us: int, device: str) -> KnownMemory:
    """Return what is known of a memory once its row was compared. No change is later than now, though the clock was
    ahead when it was made."""
    it = insights.read(connection, key)
    if it is None:
        return known
    values = values_of(it)
    moment = connection.value("SELECT max(created_at) FROM memory_operations WHERE memory_id = ?", (key,))
    return changed(known, values, min(now_us, parse_rfc3339(moment or it.updated_at)), device)


def _edges_by_hand(connection: Connection) -> dict[str, EdgeValue]:
    rows = connection.rows(
        "SELECT source_id, target_id, edge_type, weight, metadata, created_by FROM edges"  # noqa: S608 - constants
        f" WHERE created_by IN ({', '.join('?' * len(_BY_HAND))})",
        _BY_HAND,
    )
    return {" ".join(row[:3]): EdgeValue(*row[3:]) for row in rows}


def _edge_as_here(
    key: str, known: Known[EdgeValue] | None, here: EdgeValue | None, active: Collection[str], now_us: int, device: str
) -> Known[EdgeValue] | None:
    """Return what is known of a link that is another here than was known; None if it is not. A link with an end out of
    recall is not there, and is not removed by that."""
    before = None if known is None else known.value
    if here == before or (here is None and not all(end in active for end in key.split(" ")[:2])):
        return None
    return as_here(known, "edge", key, now_us, device, here)


def value_of(connection: Connection, known: KnownMemory) -> MemoryValue | None:
    """Return a memory as a record has it; None if it is not there any more. Raises SqliteError."""
    it = insights.read(connection, known.key)
    if it is None or known.value is None:
        return None
    return _value_of(connection, known, it, op_id=history.newest_of(connection, known.key) or "")


def _value_of(connection: Connection, known: KnownMemory, it: Insight, op_id: str = "") -> MemoryValue:
    values, digest = values_of(it), known.value
    assert digest is not None, "it is not purged"  # noqa: S101
    key = known.key
    mentions = connection.rows(
        "SELECT coalesce(m.mention_text, e.name), e.canonical_name, e.entity_type FROM memory_entities AS m"
        " JOIN entities AS e ON e.id = m.entity_id WHERE m.memory_id = ? ORDER BY e.canonical_name",
        (key,),
    )
    queries = connection.column("SELECT query FROM hypothetical_queries WHERE insight_id = ? ORDER BY ord", (key,))
    groups = {group: (digest.groups[group][0], values[group]) for group in GROUPS}
    return MemoryValue(groups, digest.past, digest.of, op_id, it.updated_at, mentions, queries)


# Records of other devices.


_SUPERSEDED_BY_PURGED: Final = (
    "SELECT i.id FROM insights AS i JOIN sync_rows AS s ON s.kind = 'memory' AND s.key = i.superseded_by"
    " WHERE s.state = 'purged' AND i.superseded_by NOT IN (SELECT id FROM insights) ORDER BY i.id"
)


def _circles(connection: Connection) -> list[list[str]]:
    """Return the circles of memories out of recall, each of which was superseded by the next."""
    above = dict(
        connection.rows("SELECT id, superseded_by FROM insights WHERE status <> 'active' AND superseded_by IS NOT NULL")
    )
    found, seen = [], set[str]()
    for start in sorted(above):
        path: dict[str, None] = {}
        here = start
        while here in above and here not in seen and here not in path:
            path[here] = None
            here = above[here]
        if here in path:
            walked = list(path)
            found.append(walked[walked.index(here) :])
        seen |= path.keys()
    return found


class Memories(Union):
    """The union of some records of memories and links with what is here."""

    def __init__(self, view: View, identity: WriteContext, device: str, since: str = "") -> None:
        super().__init__(view, identity, device, since)
        self._rows: dict[str, Insight | None] = {}
        """Memories as they are in the store."""
        self._after: dict[str, Insight | None] = {}
        self._texts: dict[str, MemoryValue] = {}
        """Memories whose text is that of a record now."""
        self._unlinked: dict[str, frozenset[EdgeType]] = {}
        """Memories whose links have to be made, with the types of these."""
        self._asked: list[OpenReview] = []

    def record(self, record: Record[Any]) -> None:
        if record.kind == "edge":
            self._edge(record)
        else:
            self._memory(record)

    # ------------------------------------------------------------ memories

    def _memory(self, record: Record[MemoryValue]) -> None:
        key = record.key
        known, here = self._look(key)
        if self._is_held(here, record):
            self.report.held.append(key)
            return
        found = united(known, record)
        if known.value is not None and any(stamp in record.restamped for stamp, _ in known.value.groups.values()):
            self.publish("memory", key)
        if found.lost is not None:
            self._keep(record.value if found.lost else self._as_value(known), key)
            self.report.conflicts_found += 1
            self.report.conflicts.append(key)
        self._overruled(known, here, record, found.taken)
        if found.known == known:
            return
        self.note(found.known)
        if (value := record.value) is None:
            self._after[key] = None
            return
        values = {} if here is None else values_of(here)
        values |= {group: value.groups[group][1] for group in found.taken}
        it = memory_of(key, values, value.updated_at)
        if here is not None:
            shared = {name: getattr(it, name) for names in GROUPS.values() for name in names}
            it = msgspec.structs.replace(here, **shared, updated_at=max(here.updated_at, value.updated_at))
        self._after[key] = it
        if TEXT in found.taken:
            self._texts[key] = value

    def _stamp_of_state(self, key: str) -> str:
        value = self._look(key)[0].value
        assert value is not None, "it is there"  # noqa: S101
        return value.groups[STATE][0]

    def _put_state(self, key: str, after: str, status: str) -> None:
        """Give a memory a status without successor, with a stamp that follows from another one: the same on every
        device."""
        state = {"status": status, "superseded_by": None}
        value = self._as_value(self._look(key)[0])
        groups = value.groups | {STATE: (next_stamp(after, state), state)}
        self._memory(_record(key, msgspec.structs.replace(value, groups=groups)))
        self.publish("memory", key)

    def _look(self, key: str) -> tuple[KnownMemory, Insight | None]:
        """Return what is known of a memory, and its row, with what earlier records changed."""
        if key not in self._after:
            before = self.look("memory", key) or unknown(key)
            known = _as_here(self.connection, key, before, self.identity.now_us, self.device)
            here = insights.read(self.connection, key)
            if here is None and known.value is not None and history.is_purged(self.connection, key):
                known = purged(known, later_stamp(known if known.stamp else None, self.identity.now_us, self.device))
            if known != before:
                self.note(known, publish=True)
            self._rows[key] = self._after[key] = here
        return self.look("memory", key) or unknown(key), self._after[key]

    def _is_held(self, here: Insight | None, record: Record[MemoryValue]) -> bool:
        """Return True for a record that changes a rule which is enforced, unless a person asked for it."""
        if self.identity.by_person:
            return False
        rules = () if record.value is None else record.value.groups["when"][1]["when"]
        return (here is not None and here.is_enforced) or any(each.get("enforce", "tell") != "tell" for each in rules)

    def _as_value(self, known: KnownMemory) -> MemoryValue:
        here = self._after[known.key]
        assert here is not None, "it has a text"  # noqa: S101
        return msgspec.structs.replace(_value_of(self.connection, known, here), of=None)

    def _keep(self, value: MemoryValue | None, key: str) -> None:
        """Keep the text of a record that another one takes the place of, as a memory of its own."""
        assert value is not None, "it has a text"  # noqa: S101
        copy = copy_key(key, value.groups[TEXT][0])
        self._memory(_record(copy, msgspec.structs.replace(value, of=value.of or key, past=[], op_id="")))
        self.publish("memory", copy)

    def _overruled(
        self, known: KnownMemory, here: Insight | None, record: Record[MemoryValue], taken: Collection[str]
    ) -> None:
        """Ask about a memory that was superseded by another one, and whose text was changed later elsewhere."""
        if here is None or record.value is None or known.value is None:
            return
        groups, others = known.value.groups, record.value.groups
        if groups[TEXT][0] == others[TEXT][0]:
            return
        (ours, _), (theirs, value) = groups[STATE], others[STATE]
        if STATE in taken and theirs == others[TEXT][0] and here.status == "superseded":
            successor = here.superseded_by
        elif STATE not in taken and ours == groups[TEXT][0] and value["status"] == "superseded":
            successor = value["superseded_by"]
        else:
            return
        if successor is not None and successor != record.key:
            self._ask(str(successor), record.key, OVERRULED)

    def _ask(self, older: str, newer: str, reason: str) -> None:
        self._asked.append(
            OpenReview(kind="conflict", older=older, newer=newer, suggestion="COEXIST", similarity=0.0, reason=reason)
        )

    # ------------------------------------------------------------ links

    def _edge(self, record: Record[EdgeValue]) -> None:
        if self.is_new("edge", record.key):
            source, target, kind = record.key.split(" ")
            row = edges.read(self.connection, source, target, kind)
            here = None if row is None or row.created_by not in _BY_HAND else _value(row)
            active = [each for each in (source, target) if insights.is_active(self.connection, each)]
            known = self.look("edge", record.key)
            ours = _edge_as_here(record.key, known, here, active, self.identity.now_us, self.device)
            if ours is not None:
                self.note(ours, publish=True)
        self.take(record)

    # ------------------------------------------------------------ the result

    def finish(self) -> ChangeSet:
        changes: list[Change] = []
        for key, after in self._after.items():
            changes += self._changes(key, self._rows[key], after)
        for known in self.all_of("edge"):
            changes += self._edge_changes(known.key, known.value)
        self._asked += [
            OpenReview(
                kind="conflict", older=known.key, newer=known.value.of, suggestion="COEXIST", similarity=0.0,
                reason=REASON,
            )
            for known in self.all_of("memory")
            if known.value is not None and known.value.of is not None and self._after.get(known.key) is not None
        ]  # fmt: skip
        links = [sync_state.links_row(key, kinds) for key, kinds in sorted(self._unlinked.items())]
        return self.change_set(changes, operation=None, reviews=self._asked, links=links)

    def _changes(self, key: str, before: Insight | None, after: Insight | None) -> Iterator[Change]:
        """Yield the changes that make a memory what it is after the union."""
        if after is None:
            if before is not None:
                self.report.purged += 1
                yield PurgeInsight(key)
            return
        if before is not None and before == after:
            return
        active = msgspec.structs.replace(after, status="active", superseded_by=None)
        text = self._texts.get(key)
        if before is None:
            self.report.added += 1
            self._unlinked[after.id] = ALL
            mentions = () if text is None else _entities(text)
            yield AddInsight(active, None, mentions, () if text is None else tuple(text.queries))
        else:
            yield from self._put(before, active, text)
        if after.status != "active":
            self.report.retired += before is None or before.status == "active"
            yield RetireInsight(key, after.status, after.superseded_by, moves=False)

    def _put(self, before: Insight, active: Insight, text: MemoryValue | None) -> Iterator[Change]:
        self.report.changed += 1
        if before.status != "active":
            active = msgspec.structs.replace(active, paired_with=None)
            yield RestoreInsight(active, None)
            self._unlinked[active.id] = ALL
        elif self._after[before.id] is not None and self._after[before.id].status != "active":  # type: ignore[union-attr]
            yield from parted(self.view.snapshot, before)
            active = msgspec.structs.replace(active, paired_with=None)
        embedded = text is not None and (active.content, active.cues) != (before.content, before.cues)
        if embedded:
            self._unlinked.setdefault(active.id, REBUILT["content"])
        mentions = None if text is None else _entities(text)
        queries = None if text is None else tuple(text.queries)
        yield PutInsight(active, "UPDATE", embedded, None, mentions, queries)

    def _edge_changes(self, key: str, value: EdgeValue | None) -> list[Change]:
        source, target, kind = key.split(" ")
        if not all(self._is_active(each) for each in (source, target)):
            return []
        row = edges.read(self.connection, source, target, kind)
        if value == (None if row is None else _value(row)):
            return []
        if value is None and row is not None and row.created_by not in _BY_HAND:
            return []  # it is found here by a rule
        self.report.links += 1
        removed: Change = RemoveEdge(source, target, kind)
        if value is None:
            return [removed]
        edge = Edge(
            source, target, cast("EdgeType", kind), value.weight, value.metadata, created_by=value.created_by  # type: ignore[arg-type]
        )  # fmt: skip
        return [removed, AddEdge(edge)]

    def _is_active(self, key: str) -> bool:
        if key in self._after:
            it = self._after[key]
            return it is not None and it.status == "active"
        return insights.is_active(self.connection, key)


class Repairs(Memories):
    """Repair what the union of all memories and links leaves inconsistent. Of each circle of memories that superseded
    each other on different devices, bring back the one that was superseded first, so that the last decision holds.
    Remove successors that were purged elsewhere. Make known links whose two memories are in recall by now. New stamps
    are computed from those before, so that every device decides the same."""

    def finish(self) -> ChangeSet:
        for circle in _circles(self.connection):
            stamps = {key: self._stamp_of_state(key) for key in circle}
            first, last = min(circle, key=lambda key: stamps[key]), max(stamps.values())
            self._put_state(first, last, "active")
        for key in self.connection.column(_SUPERSEDED_BY_PURGED):
            if (here := self._look(key)[1]) is not None:
                self._put_state(key, self._stamp_of_state(key), here.status)
        here_by_hand = _edges_by_hand(self.connection)
        for known in sync_state.known(self.connection, "kind = 'edge' AND value IS NOT NULL ORDER BY key"):
            if known.key not in here_by_hand:
                self.note(known)
        return super().finish()


def _record(key: str, value: MemoryValue) -> Record[MemoryValue]:
    return Record(kind="memory", key=key, stamp=max(stamp for stamp, _ in value.groups.values()), value=value)


def _value(edge: Edge) -> EdgeValue:
    return EdgeValue(edge.weight, edge.metadata, edge.created_by)


def _entities(it: MemoryValue) -> tuple[Entity, ...]:
    return tuple(Entity(name, canonical, cast("EntityType", kind)) for name, canonical, kind in it.mentions)
