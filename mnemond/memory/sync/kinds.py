"""The kinds of records in the order in which they are noted, written and united (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.memory.sync import knowledge, memories, passages, uses
from mnemond.memory.sync.groups import without_ahead
from mnemond.memory.sync.union import METHOD, Report, Union
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.sync import (
    AHEAD_US,
    FOR_GOOD,
    MAX_RESTAMPED,
    OWNED,
    Kind,
    Known,
    Record,
    SyncedRow,
    UseValue,
    is_ahead,
    not_ahead,
    stamp_of,
)
from mnemond.store import sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View

PURGES, MEMORIES, LINKS, REPAIRS, KNOWLEDGE, USES, PASSAGES = range(7)
"""Steps in which records are united, each in operations of its own: what is purged is not written before, and an
operation with a purge cannot be undone. What relations and names (KNOWLEDGE) and uses are about is there then."""

RECORDS_AT_ONCE: Final = 50
"""Records that are united in one operation."""

RESTAMPED_AT_ONCE: Final = 500


class Step(NamedTuple):
    """A step of a union: what does it, and how many records one operation has. `is_due`: also without a record, as what
    waited for a memory, or for a person, may count by now."""

    union: type[Union]
    at_once: int = RECORDS_AT_ONCE
    is_due: bool = False


STEPS: Final[Mapping[int, Step]] = {
    PURGES: Step(memories.Memories),
    MEMORIES: Step(memories.Memories),
    LINKS: Step(memories.Memories),
    REPAIRS: Step(memories.Repairs, is_due=True),
    KNOWLEDGE: Step(knowledge.Knowledge, knowledge.FACTS_AT_ONCE, is_due=True),
    USES: Step(uses.Uses, uses.USES_AT_ONCE, is_due=True),
    PASSAGES: Step(passages.Passages),
}

_STEP_OF: Final[Mapping[Kind, int]] = {
    "memory": MEMORIES, "edge": LINKS, "relation": KNOWLEDGE, "name": KNOWLEDGE, "use": USES, "passage": PASSAGES,
}  # fmt: skip


def propose(
    step: int, records: Sequence[Record[Any]], identity: WriteContext, device: str, reports: list[Report],
    since: str = "",
) -> Proposal:  # fmt: skip
    """Propose what records change here. The last of `reports` says what it was. `since`: as of `Union`."""

    def decide(view: View) -> ChangeSet:
        union = STEPS[step].union(view, identity, device, since)
        for each in records:
            union.record(each)
        reports.append(union.report)
        return union.finish()

    return identity.proposal(METHOD, decide)


def step_of(record: Record[Any]) -> int:
    return PURGES if record.kind == "memory" and record.state == "purged" else _STEP_OF[record.kind]


def is_purge(record: Record[Any]) -> bool:
    """Return True for a record that removes a memory or an exchange for good."""
    return record.kind in ("memory", "passage") and record.state in FOR_GOOD


# Records of this device.


def records_of(
    connection: Connection, things: Iterable[tuple[Kind, str]], now_us: int, device: str
) -> list[Record[Any]]:
    """Return the records of things that are there, each memory once it was compared again; without those that another
    device owns, whose clock was ahead, and which writes them anew itself. For one transaction. Raises SqliteError."""
    found = []
    for kind, key in things:
        if kind == "memory" and (row := memories.compare(connection, key, now_us, device)) is not None:
            sync_state.put(connection, [row])
        record = record_of(connection, kind, key)
        if record is not None and not (kind == OWNED and record.owner != device and is_ahead(record.stamp, now_us)):
            found.append(record)
    return found


_VALUES: Final[Mapping[Kind, Callable[[Connection, Known[Any]], Any]]] = {
    "memory": memories.value_of, "passage": passages.value_of
}  # fmt: skip
"""Kinds of which the store has the value, not what is known of a thing."""


def record_of(connection: Connection, kind: Kind, key: str) -> Record[Any] | None:
    """Return what is known of a thing as a record; None if it is not there any more. Raises SqliteError."""
    known = sync_state.known_of(connection, kind, key)
    if known is None:
        return None
    value = known.value
    if known.state == "kept":
        value = _VALUES[kind](connection, known) if kind in _VALUES else value
        if value is None:
            return None
    return Record(
        kind=kind, key=key, stamp=known.stamp, state=known.state, value=value, restamped=known.restamped
    )  # fmt: skip


# Clocks.


def count_ahead(connection: Connection, now_us: int, device: str) -> int:
    """Return how many records have a stamp that is more than a day ahead of the clock. Raises SqliteError."""
    return sync_state.count_ahead(connection, stamp_of(now_us + AHEAD_US + 1, ""), device)


def restamp(connection: Connection, now_us: int, device: str) -> int:
    """Give some of what is known stamps of now in the place of those that are more than a day ahead of the clock.
    Return of how many things, 0 if there is none left. For one transaction. Raises SqliteError."""
    found = sync_state.ahead(connection, stamp_of(now_us + AHEAD_US + 1, ""), device, RESTAMPED_AT_ONCE)
    rows = [SyncedRow(each.kind, each.key, _restamped(each, now_us, device), publish=True) for each in found]
    sync_state.put(connection, rows)
    if rows:
        sync_state.write_files_anew(connection)
    return len(rows)


def _restamped(known: Known[Any], now_us: int, device: str) -> Known[Any]:
    if known.kind == "memory":
        return without_ahead(known, now_us, device)
    former = [*known.restamped, known.stamp][-MAX_RESTAMPED:]
    value = known.value
    if isinstance(value, UseValue):
        value = msgspec.structs.replace(value, last=not_ahead(value.last, now_us))
    return msgspec.structs.replace(known, stamp=stamp_of(now_us, device), restamped=former, value=value)
