"""Summaries follow their sources, in the transaction that changes these: a summary must not say for a moment what is
not so any more, nor keep a word of what was purged."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    ChangeSet,
    PurgeInsight,
    PutInsight,
    RestoreInsight,
    RetireInsight,
)
from mnemond.model.memory import SUMMARIZED, Insight, derived_from
from mnemond.store import insights
from mnemond.store.connection import Connection

_MARK: Final = "UPDATE insights SET memory_type = 'summary' WHERE id = ?"
_OF: Final = "SELECT id FROM insights WHERE channel = 'summary' AND instr(metadata, ?)"
_LAPSED: Final = (
    "SELECT id FROM insights WHERE channel = 'summary' AND status = 'superseded' AND superseded_by IS NULL"
    " ORDER BY deleted_at DESC LIMIT ?"
)
_UNWANTED: Final = (
    "SELECT metadata FROM insights WHERE channel = 'summary' AND status IN ('active', 'forgotten')"
    " AND json_valid(metadata)"
)


def mark(connection: Connection, insight_id: str) -> None:
    """Note in the row that a memory is a summary."""
    connection.run(_MARK, (insight_id,))


def with_summaries(change_set: ChangeSet, snapshot: Snapshot, connection: Connection) -> ChangeSet:
    """Add to a write that its summaries follow: those of memories that leave recall or get another text are retired,
    those of purged ones are purged, also the retired ones; one that comes back although its sources are others by now
    is retired again. Costs a look at each change, of which most add links."""
    gone, purged = _sources(change_set, snapshot)
    late = _outdated(change_set, snapshot, connection)
    if not purged and not late and (not gone or not snapshot.has_channel(SUMMARIZED)):
        return change_set
    known = {_subject(change) for change in change_set.changes}
    more: list[Change] = [RetireInsight(each, "superseded", moves=False) for each in late]
    more += [
        PurgeInsight(each)
        for source in sorted(purged)
        for each in connection.column(_OF, (source,))
        if each not in known and not known.add(each)  # type: ignore[func-returns-value]
    ]
    for row in np.flatnonzero(snapshot.of_channel(SUMMARIZED) & snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if it.id not in known and not gone.isdisjoint(derived_from(it)):
            more.append(RetireInsight(it.id, "superseded", moves=False))
    return msgspec.structs.replace(change_set, changes=(*change_set.changes, *more)) if more else change_set


def _sources(change_set: ChangeSet, snapshot: Snapshot) -> tuple[set[str], set[str]]:
    """Return the memories that leave recall or get another text, and those that are purged."""
    gone, purged = set[str](), set[str]()
    for change in change_set.changes:
        if isinstance(change, AddEdge | AddInsight | AddRelations):
            continue  # most are, and matching costs ten times as much
        match change:
            case RetireInsight(id=insight_id):
                gone.add(insight_id)
            case PurgeInsight(id=insight_id):
                purged.add(insight_id)
            case PutInsight(insight=it):
                row = snapshot.row_of(it.id)
                if row is not None and snapshot.insight(row).content != it.content:
                    gone.add(it.id)
            case _:
                pass
    return gone, purged


def _outdated(change_set: ChangeSet, snapshot: Snapshot, connection: Connection) -> list[str]:
    """Return the summaries that a write restores, as an undo does, of which a source is not active or was changed by
    another write since they were retired."""
    coming = [it.insight for it in change_set.changes if isinstance(it, RestoreInsight) and derived_from(it.insight)]
    if not coming:
        return []
    own = {_subject(change) for change in change_set.changes if not isinstance(change, RetireInsight | PurgeInsight)}
    return [
        it.id for it in coming if not all(_is_as_then(each, it, own, snapshot, connection) for each in derived_from(it))
    ]


def _is_as_then(
    source: str, summary: Insight, own: AbstractSet[str], snapshot: Snapshot, connection: Connection
) -> bool:
    """Return True if a source is as it was when its summary was retired, or this write makes it so."""
    if source in own:
        return True
    row, retired = snapshot.row_of(source), insights.read(connection, summary.id)
    return row is not None and retired is not None and snapshot.insight(row).updated_at <= retired.updated_at


def _subject(change: Change) -> str:
    """Return the memory that a change retires, purges, rewrites or restores; "" for any other change."""
    match change:
        case RetireInsight(id=insight_id) | PurgeInsight(id=insight_id):
            return insight_id
        case PutInsight(insight=it) | RestoreInsight(insight=it):
            return it.id
        case _:
            return ""


def lapsed(connection: Connection, limit: int) -> list[str]:
    """Return summaries that were retired with a source, the last ones first."""
    return connection.column(_LAPSED, (limit,))


def kept_or_refused(connection: Connection) -> set[frozenset[str]]:
    """Return the sources of every summary that is active, or that someone forgot: those are not summed up again."""
    found = (msgspec.json.decode(text, type=dict[str, object]) for text in connection.column(_UNWANTED))
    return {frozenset(map(str, each)) for it in found if isinstance(each := it.get("derived_from"), list)}
