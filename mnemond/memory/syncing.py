"""Changes of this store as records for other devices, and records of theirs as changes of this store (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, cast

import msgspec

from mnemond.memory.compare import parted
from mnemond.memory.draft import WriteContext
from mnemond.memory.edge_builders import ALL
from mnemond.memory.sync_records import (
    FACTS,
    GROUPS,
    MAX_RESTAMPED,
    PASSAGE,
    STATE,
    TEXT,
    USE,
    AnyRecord,
    EdgeRecord,
    EdgeValue,
    Fact,
    Known,
    KnownPassage,
    KnownUse,
    NameRecord,
    PassageRecord,
    Record,
    UseRecord,
    changed,
    copy_key,
    fact_of,
    is_ahead,
    memory_of,
    next_stamp,
    not_ahead,
    passage_of,
    renewed,
    stamp_of,
    time_of,
    united,
    use_of,
    values_of,
    without_ahead,
)
from mnemond.memory.update import REBUILT
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
    SyncedRow,
)
from mnemond.model.memory import Edge, EdgeType, Entity, EntityType, Insight, parse_rfc3339
from mnemond.model.outcomes import Maintained
from mnemond.model.reviews import OpenReview
from mnemond.store import edges, history, insights, passages, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View
from mnemond.text.secrets import find_secrets

METHOD: Final = "sync"
MEMORY: Final = "memory"
EDGE: Final = "edge"

ROWS_AT_ONCE: Final = 500
"""Memories that are compared in one transaction: some tens of milliseconds."""

RECORDS_AT_ONCE: Final = 50
"""Records that are united in one operation."""

MAX_NAMED: Final = 20
"""Memories that a report names; the others are counted."""

REASON: Final = "changed on two devices before either knew of the other"
OVERRULED: Final = "superseded on one device, and changed later on another"

_BY_HAND: Final = ("user", "host", "import")
_known = msgspec.json.Decoder(Known)
_json = msgspec.json.Encoder()


class EdgeKnown(msgspec.Struct, frozen=True):
    """What is known of a link; `value` None: it was removed."""

    stamp: str
    value: EdgeValue | None = None
    restamped: list[str] = []


_edge = msgspec.json.Decoder(EdgeKnown)


class Report(msgspec.Struct):
    """Changes by records here. `added`, `changed`, `retired` and `purged`: memories; `links`: links added or removed;
    `relations` and `names`: statements about relations, and decisions about names, added or taken back.
    `passages`: exchanges of sessions that came, went or came back.
    `conflicts`: ids of memories whose other text was kept as a memory of its own, `conflicts_found` their number.
    `held`: ids of memories with rules that only a person at a terminal may take in."""

    added: int = 0
    changed: int = 0
    retired: int = 0
    purged: int = 0
    links: int = 0
    relations: int = 0
    names: int = 0
    passages: int = 0
    conflicts: list[str] = []
    conflicts_found: int = 0
    held: list[str] = []

    @property
    def undoable(self) -> bool:
        """Return True if it changed what an undo can bring back."""
        return bool(self.added or self.changed or self.retired or self.links)

    def add(self, other: Report) -> None:
        counts = ("added", "changed", "retired", "purged", "links", "relations", "names", "passages", "conflicts_found")
        for name in counts:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.conflicts = [*self.conflicts, *other.conflicts][:MAX_NAMED]
        self.held = [*self.held, *other.held][:MAX_NAMED]


# Changes of this device.


class Scanned(NamedTuple):
    """One part of a scan. `last`: the key behind which the next begins, None if there is none left. `ahead`: records
    with stamps that are more than a day ahead of the clock."""

    last: str | None
    ahead: int


def scan_memories(connection: Connection, after: str, now_us: int, device: str) -> Scanned:
    """Note what changed of the memories behind an id since they were compared last. For one transaction. Raises
    SqliteError, MnemonError(STORAGE)."""
    ids = connection.column("SELECT id FROM insights WHERE id > ? ORDER BY id LIMIT ?", (after, ROWS_AT_ONCE))
    rows, ahead = [], 0
    for each in ids:
        before = known_of(connection, each)
        now = _as_here(connection, each, before, now_us, device)
        ahead += without_ahead(now, now_us, device) is not now
        if now != before:
            rows.append(_row(each, now, publish=True))
    sync_state.put(connection, rows)
    return Scanned(ids[-1] if ids else None, ahead)


def scan_gone(connection: Connection, now_us: int, device: str) -> Scanned:
    """Note purged memories, and links that were made or removed by hand. Raises SqliteError."""
    rows = []
    gone = connection.column("SELECT key FROM sync_rows WHERE kind = 'memory' AND key NOT IN (SELECT id FROM insights)")
    for each in gone:
        before = known_of(connection, each)
        if before.purged is None and history.is_purged(connection, each):
            rows.append(_row(each, Known(purged=stamp_of(_later(before, now_us), device)), publish=True))
    known = {key: _edge.decode(text) for key, text in sync_state.states(connection, EDGE).items()}
    here = _edges_by_hand(connection)
    active = frozenset(connection.column("SELECT id FROM insights WHERE status = 'active'"))
    for key in here.keys() | known.keys():
        now = _edge_as_here(key, known.get(key), here.get(key), active, stamp_of(now_us, device))
        if now is not None:
            rows.append(_edge_row(key, now, publish=True))
            known[key] = now
    sync_state.put(connection, rows)
    return Scanned(None, sum(is_ahead(each.stamp, now_us) for each in known.values()))


def restamp(
    connection: Connection, after: tuple[str, str], now_us: int, device: str
) -> tuple[tuple[str, str] | None, int]:
    """Give what is known behind one (kind, key) stamps of now in the place of those that are more than a day ahead of
    the clock. Return the last (kind, key), None if there is none left, and how many changed.
    For one transaction. Raises SqliteError."""
    rows = list(sync_state.states_after(connection, after, ROWS_AT_ONCE))
    changed_rows = [row for each in rows if (row := _restamped(*each, now_us, device)) is not None]
    sync_state.put(connection, changed_rows)
    if changed_rows:
        sync_state.write_files_anew(connection)
    return rows[-1][:2] if rows else None, len(changed_rows)


def _restamped(kind: str, key: str, text: str, now_us: int, device: str) -> SyncedRow | None:
    """Return a row with stamps of now; None if none of its stamps is ahead, or only its device can give it another."""
    if kind == MEMORY:
        known = _known.decode(text)
        now = without_ahead(known, now_us, device)
        return None if now is known else _row(key, now, publish=True)
    if kind == EDGE:
        edge = _edge.decode(text)
        if not is_ahead(edge.stamp, now_us):
            return None
        former = [*edge.restamped, edge.stamp][-MAX_RESTAMPED:]
        return _edge_row(key, EdgeKnown(stamp_of(now_us, device), edge.value, former), publish=True)
    if kind in FACTS:
        fact = fact_of(text)
        if not is_ahead(fact.record.stamp, now_us):
            return None
        return fact_row(Fact(renewed(fact.record, now_us, device), here=fact.here), publish=True)
    if kind == USE:
        use = use_of(text)
        if use.record.of != device or not is_ahead(use.record.stamp, now_us):
            return None
        value = use.record.value
        value = msgspec.structs.replace(value, last=not_ahead(value.last, now_us))
        record = renewed(msgspec.structs.replace(use.record, value=value), now_us, device)
        return use_row(msgspec.structs.replace(use, record=record), publish=True)
    if kind == PASSAGE:
        passage = passage_of(text)
        return (
            passage_row(key, renewed(passage, now_us, device), publish=True)
            if is_ahead(passage.stamp, now_us)
            else None
        )
    return None


def known_of(connection: Connection, key: str) -> Known:
    text = sync_state.state(connection, MEMORY, key)
    return Known() if text is None else _known.decode(text)


def _row(key: str, known: Known, *, publish: bool) -> SyncedRow:
    return SyncedRow(MEMORY, key, _json.encode(known).decode(), publish)


def fact_row(it: Fact, *, publish: bool) -> SyncedRow:
    kind: Literal["name", "relation"] = "name" if isinstance(it.record, NameRecord) else "relation"
    return SyncedRow(kind, it.record.key, _json.encode(it).decode(), publish)


def use_row(it: KnownUse, *, publish: bool) -> SyncedRow:
    return SyncedRow("use", it.record.key, _json.encode(it).decode(), publish)


def passage_row(key: str, it: KnownPassage, *, publish: bool) -> SyncedRow:
    return SyncedRow("passage", key, _json.encode(it).decode(), publish)


def _edge_row(key: str, known: EdgeKnown, *, publish: bool) -> SyncedRow:
    return SyncedRow(EDGE, key, _json.encode(known).decode(), publish)


def _later(known: Known, us: int) -> int:
    return max([us, *(time_of(stamp) + 1 for stamp, _ in known.groups.values())])


def _as_here(connection: Connection, key: str, known: Known, now_us: int, device: str) -> Known:
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
    key: str, known: EdgeKnown | None, here: EdgeValue | None, active: frozenset[str], stamp: str
) -> EdgeKnown | None:
    """Return what is known of a link that is another here than was known; None if it is not. A link with an end out of
    recall is not there, and is not removed by that."""
    before = None if known is None else known.value
    ends = key.split(" ")[:2]
    if here == before or (here is None and not active.issuperset(ends)):
        return None
    last = 0 if known is None else time_of(known.stamp) + 1
    former = [] if known is None else known.restamped
    return EdgeKnown(stamp_of(max(time_of(stamp), last), stamp[17:]), here, former)


# Records of this device.


def records_of(connection: Connection, rows: Iterable[tuple[str, str]], now_us: int, device: str) -> list[AnyRecord]:
    """Return the records (kind, key) that are there, each memory once it was compared again; without uses of another
    device whose clock was ahead, which writes them anew itself. For one transaction. Raises SqliteError."""
    wanted = list(rows)
    found = []
    for kind, key in wanted:
        if kind == MEMORY:
            before = known_of(connection, key)
            now = _as_here(connection, key, before, now_us, device)
            if now != before:
                sync_state.put(connection, [_row(key, now, publish=True)])
        record = record_of(connection, kind, key)
        if isinstance(record, UseRecord) and record.of != device and is_ahead(record.stamp, now_us):
            continue
        if record is not None:
            found.append(record)
    return found


def record_of(connection: Connection, kind: str, key: str) -> AnyRecord | None:
    """Return what is known of a memory, a link or another thing as a record; None if it is not there any more. Raises
    SqliteError."""
    if kind in FACTS:
        text = sync_state.state(connection, kind, key)
        return None if text is None else fact_of(text).record
    if kind == USE:
        text = sync_state.state(connection, USE, key)
        return None if text is None else use_of(text).record
    if kind == PASSAGE:
        text = sync_state.state(connection, PASSAGE, key)
        return None if text is None else _passage_record(connection, key, passage_of(text))
    if kind == EDGE:
        text = sync_state.state(connection, EDGE, key)
        if text is None:
            return None
        known_edge = _edge.decode(text)
        return EdgeRecord(key=key, stamp=known_edge.stamp, value=known_edge.value, restamped=known_edge.restamped)
    known = known_of(connection, key)
    if known.purged is not None:
        return Record(key=key, purged=known.purged)
    it = insights.read(connection, key)
    if it is None or not known.groups:
        return None
    values = values_of(it)
    return Record(
        key=key, groups={group: (known.groups[group][0], values[group]) for group in GROUPS}, past=known.past,
        of=known.of, restamped=known.restamped, op_id=history.newest_of(connection, key) or "",
        updated_at=it.updated_at, mentions=_mentions(connection, key), queries=_queries(connection, key),
    )  # fmt: skip


def _passage_record(connection: Connection, key: str, known: KnownPassage) -> PassageRecord | None:
    """Return an exchange as a record; None for one that is to stay here, or is too old by now."""
    if known.state == "withheld":
        return None
    row = passages.of_turn(connection, key) if known.state == "kept" else None
    value = None if row is None else passages.read(connection, row.id)
    if known.state == "kept" and (value is None or find_secrets(value.text)):
        return None
    return PassageRecord(key=key, stamp=known.stamp, state=known.state, value=value, restamped=known.restamped)


def _mentions(connection: Connection, key: str) -> list[tuple[str, str, str]]:
    return connection.rows(
        "SELECT coalesce(m.mention_text, e.name), e.canonical_name, e.entity_type FROM memory_entities AS m"
        " JOIN entities AS e ON e.id = m.entity_id WHERE m.memory_id = ? ORDER BY e.canonical_name",
        (key,),
    )


def _queries(connection: Connection, key: str) -> list[str]:
    return connection.column("SELECT query FROM hypothetical_queries WHERE insight_id = ? ORDER BY ord", (key,))


# Records of other devices.


PURGES, MEMORIES, LINKS, KNOWLEDGE, USES, PASSAGES = 0, 1, 2, 3, 4, 5
"""Kinds of records, in the order in which they are united, each kind in operations of its own: what is purged is not
written before, and an operation with a purge cannot be undone. What relations and names (KNOWLEDGE) and uses are about
is there then."""


def kind_of(record: AnyRecord) -> int:
    match record:
        case Record():
            return MEMORIES if record.purged is None else PURGES
        case EdgeRecord():
            return LINKS
        case UseRecord():
            return USES
        case PassageRecord():
            return PASSAGES
        case _:
            return KNOWLEDGE


def propose_unite(
    records: Sequence[Record | EdgeRecord], identity: WriteContext, device: str, reports: list[Report]
) -> Proposal:
    """Propose what records change here. The last of `reports` says what it was."""
    return identity.proposal(METHOD, partial(_decide, records, identity, device, reports))


def _decide(
    records: Sequence[Record | EdgeRecord], identity: WriteContext, device: str, reports: list[Report], view: View
) -> ChangeSet:
    uniting = _Uniting(view, identity, device)
    for each in records:
        if isinstance(each, EdgeRecord):
            uniting.edge(each)
        else:
            uniting.memory(each)
    reports.append(uniting.report)
    return uniting.change_set()


def propose_open_circles(identity: WriteContext, device: str, reports: list[Report]) -> Proposal:
    """Propose that one memory returns of each circle of memories that superseded each other, on devices that did not
    know: the one that was superseded first, so that what was decided last holds. And that no successor is named that
    was purged elsewhere. The stamps follow from those before, so that every device decides the same."""

    def decide(view: View) -> ChangeSet:
        uniting = _Uniting(view, identity, device)
        for circle in _circles(view.connection):
            uniting.open_circle(circle)
        for key in _superseded_by_purged(view.connection):
            uniting.forget_successor(key)
        reports.append(uniting.report)
        return uniting.change_set()

    return identity.proposal(METHOD, decide)


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


def _superseded_by_purged(connection: Connection) -> list[str]:
    sql = (
        "SELECT id, superseded_by FROM insights WHERE superseded_by IS NOT NULL"
        " AND superseded_by NOT IN (SELECT id FROM insights) ORDER BY id"
    )
    rows = connection.rows(sql)
    return [key for key, successor in rows if known_of(connection, successor).purged is not None]


def propose_missing_links(identity: WriteContext, _device: str, reports: list[Report]) -> Proposal:
    """Propose the known links that are not there, though both memories are in recall by now."""

    def decide(view: View) -> ChangeSet:
        active = frozenset(view.connection.column("SELECT id FROM insights WHERE status = 'active'"))
        here, changes = _edges_by_hand(view.connection), list[Change]()
        for key, text in sorted(sync_state.states(view.connection, EDGE).items()):
            known = _edge.decode(text)
            if known.value is not None and key not in here and active.issuperset(key.split(" ")[:2]):
                changes += _edge_changes(key, known.value)
        reports.append(Report(links=len(changes) // 2))
        return _change_set(identity, changes, (), ())

    return identity.proposal(METHOD, decide)


def _edge_changes(key: str, value: EdgeValue | None) -> list[Change]:
    source, target, kind = key.split(" ")
    removed: Change = RemoveEdge(source, target, kind)
    if value is None:
        return [removed]
    edge = Edge(
        source, target, cast("EdgeType", kind), value.weight, value.metadata, created_by=value.created_by  # type: ignore[arg-type]
    )  # fmt: skip
    return [removed, AddEdge(edge)]


def _change_set(
    identity: WriteContext, changes: Sequence[Change], reviews: Sequence[OpenReview], rows: Sequence[SyncedRow]
) -> ChangeSet:
    made = identity.change_set(
        METHOD, tuple(changes), Maintained(changed=len(changes), op_id=identity.op_id), reviews=tuple(reviews)
    )
    return msgspec.structs.replace(made, synced=tuple(rows))


class _Uniting:
    """The union of some records with what is here. For one use."""

    def __init__(self, view: View, identity: WriteContext, device: str) -> None:
        self._view = view
        self._identity = identity
        self._device = device
        self.report = Report(conflicts=[], held=[])
        self._before: dict[str, Insight | None] = {}
        self._after: dict[str, Insight | None] = {}
        self._known: dict[str, Known] = {}
        self._publish: set[str] = set()
        self._texts: dict[str, Record] = {}
        """Memories whose text is that of a record now."""
        self._unlinked: dict[str, frozenset[EdgeType]] = {}
        """Memories whose links have to be made, with the types of these."""
        self._links: dict[str, tuple[EdgeKnown, bool]] = {}
        self._asked: list[OpenReview] = []

    # ------------------------------------------------------------ memories

    def memory(self, record: Record) -> None:
        key = record.key
        known, here = self._look(key)
        if self._is_held(here, record):
            self.report.held.append(key)
            return
        found = united(known, record)
        if any(stamp in record.restamped for stamp, _ in known.groups.values()):
            self._publish.add(key)
        if found.lost is not None:
            self._keep(record if found.lost else self._as_record(key, known), key)
            self.report.conflicts_found += 1
            self.report.conflicts.append(key)
        self._overruled(known, here, record, found.taken)
        if found.known == known:
            return
        self._known[key] = found.known
        if found.known.purged is not None:
            self._after[key] = None
            return
        values = {} if here is None else values_of(here)
        values |= {group: record.groups[group][1] for group in found.taken}
        it = memory_of(key, values, record.updated_at)
        if here is not None:
            shared = {name: getattr(it, name) for names in GROUPS.values() for name in names}
            it = msgspec.structs.replace(here, **shared, updated_at=max(here.updated_at, record.updated_at))
        self._after[key] = it
        if TEXT in found.taken:
            self._texts[key] = record

    def open_circle(self, circle: Sequence[str]) -> None:
        """Return the memory of a circle that was superseded first."""
        stamps = {key: self._look(key)[0].groups[STATE][0] for key in circle}
        first, last = min(circle, key=lambda key: stamps[key]), max(stamps.values())
        self._put_state(first, last, {"status": "active", "superseded_by": None})

    def forget_successor(self, key: str) -> None:
        """Take the successor of a memory away, which was purged."""
        known, here = self._look(key)
        if here is not None:
            self._put_state(key, known.groups[STATE][0], {"status": here.status, "superseded_by": None})

    def _put_state(self, key: str, after: str, value: dict[str, str | None]) -> None:
        """Give a memory a state with a stamp that follows from another one: the same on every device."""
        record = self._as_record(key, self._known[key])
        state = {STATE: (next_stamp(after, value), value)}
        self.memory(msgspec.structs.replace(record, groups=record.groups | state))
        self._publish.add(key)

    def _look(self, key: str) -> tuple[Known, Insight | None]:
        """Return what is known of a memory, and its row, with what earlier records changed."""
        if key not in self._known:
            connection = self._view.connection
            before = known_of(connection, key)
            known = _as_here(connection, key, before, self._identity.now_us, self._device)
            here = insights.read(connection, key)
            if here is None and known.purged is None and history.is_purged(connection, key):
                known = Known(purged=stamp_of(_later(known, self._identity.now_us), self._device))
            if known != before:
                self._publish.add(key)
            self._known[key], self._before[key], self._after[key] = known, here, here
        return self._known[key], self._after[key]

    def _is_held(self, here: Insight | None, record: Record) -> bool:
        """Return True for a record that changes a rule which is enforced, unless a person asked for it."""
        if self._identity.by_person or record.purged is not None:
            return here is not None and here.is_enforced and not self._identity.by_person
        enforced = any(each.get("enforce", "tell") != "tell" for each in record.groups["when"][1]["when"])
        return enforced or (here is not None and here.is_enforced)

    def _as_record(self, key: str, known: Known) -> Record:
        here = self._after[key]
        assert here is not None, "it has a text"  # noqa: S101
        values = values_of(here)
        return Record(
            key=key, groups={group: (known.groups[group][0], values[group]) for group in GROUPS}, past=known.past,
            updated_at=here.updated_at, mentions=_mentions(self._view.connection, key),
            queries=_queries(self._view.connection, key),
        )  # fmt: skip

    def _keep(self, record: Record, key: str) -> None:
        """Keep the text of a record that another one takes the place of, as a memory of its own."""
        copy = msgspec.structs.replace(
            record, key=copy_key(key, record.groups[TEXT][0]), of=record.of or key, past=[], restamped=[], op_id=""
        )
        self.memory(copy)
        self._publish.add(copy.key)

    def _overruled(self, known: Known, here: Insight | None, record: Record, taken: frozenset[str]) -> None:
        """Ask about a memory that was superseded by another one, and whose text was changed later elsewhere."""
        if (
            here is None
            or record.purged is not None
            or known.purged is not None
            or known.groups[TEXT][0] == record.groups[TEXT][0]
        ):
            return
        (ours, _), (theirs, value) = known.groups[STATE], record.groups[STATE]
        if STATE in taken and theirs == record.groups[TEXT][0] and here.status == "superseded":
            successor = here.superseded_by
        elif STATE not in taken and ours == known.groups[TEXT][0] and value["status"] == "superseded":
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

    def edge(self, record: EdgeRecord) -> None:
        connection = self._view.connection
        text = sync_state.state(connection, EDGE, record.key)
        known = None if text is None else _edge.decode(text)
        if record.key in self._links:
            known = self._links[record.key][0]
        else:
            source, target, kind = record.key.split(" ")
            row = edges.read(connection, source, target, kind)
            here = None if row is None or row.created_by not in _BY_HAND else _value(row)
            active = frozenset(each for each in (source, target) if insights.is_active(connection, each))
            ours = _edge_as_here(record.key, known, here, active, stamp_of(self._identity.now_us, self._device))
            if ours is not None:
                known = ours
                self._links[record.key] = (ours, True)
        if known is None or record.stamp > known.stamp:
            former = [] if known is None else known.restamped
            self._links[record.key] = (EdgeKnown(record.stamp, record.value, former), False)
        elif known.stamp in record.restamped:
            self._links[record.key] = (known, True)

    # ------------------------------------------------------------ the result

    def change_set(self) -> ChangeSet:
        changes: list[Change] = []
        for key, after in self._after.items():
            changes += self._changes(key, self._before[key], after)
        for key, (known, _) in sorted(self._links.items()):
            changes += self._edge_changes(key, known)
        rows = [_row(key, known, publish=key in self._publish) for key, known in self._known.items()]
        rows += [_edge_row(key, known, publish=publish) for key, (known, publish) in self._links.items()]
        rows += [sync_state.links_row(key, kinds) for key, kinds in sorted(self._unlinked.items())]
        self._asked += [
            OpenReview(
                kind="conflict", older=key, newer=known.of, suggestion="COEXIST", similarity=0.0, reason=REASON
            )
            for key, known in self._known.items()
            if known.of is not None and self._after[key] is not None
        ]  # fmt: skip
        return _change_set(self._identity, changes, self._asked, rows)

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

    def _put(self, before: Insight, active: Insight, text: Record | None) -> Iterator[Change]:
        self.report.changed += 1
        if before.status != "active":
            active = msgspec.structs.replace(active, paired_with=None)
            yield RestoreInsight(active, None)
            self._unlinked[active.id] = ALL
        elif self._after[before.id] is not None and self._after[before.id].status != "active":  # type: ignore[union-attr]
            yield from parted(self._view.snapshot, before)
            active = msgspec.structs.replace(active, paired_with=None)
        embedded = text is not None and (active.content, active.cues) != (before.content, before.cues)
        if embedded:
            self._unlinked.setdefault(active.id, REBUILT["content"])
        mentions = None if text is None else _entities(text)
        queries = None if text is None else tuple(text.queries)
        yield PutInsight(active, "UPDATE", embedded, None, mentions, queries)

    def _edge_changes(self, key: str, known: EdgeKnown) -> list[Change]:
        source, target, kind = key.split(" ")
        if not all(self._is_active(each) for each in (source, target)):
            return []
        row = edges.read(self._view.connection, source, target, kind)
        if known.value == (None if row is None else _value(row)):
            return []
        if known.value is None and row is not None and row.created_by not in _BY_HAND:
            return []  # it is found here by a rule
        self.report.links += 1
        return _edge_changes(key, known.value)

    def _is_active(self, key: str) -> bool:
        if key in self._after:
            it = self._after[key]
            return it is not None and it.status == "active"
        return insights.is_active(self._view.connection, key)


def _value(edge: Edge) -> EdgeValue:
    return EdgeValue(edge.weight, edge.metadata, edge.created_by)


def _entities(record: Record) -> tuple[Entity, ...]:
    return tuple(Entity(name, canonical, cast("EntityType", kind)) for name, canonical, kind in record.mentions)
