"""What was said in sessions, exchanged with other devices where `sync.passages` is on (docs/sync.md).

The key of an exchange is the hash of its turn, the same on every device. Of two records of a key the one with the later
state counts: a purge holds against everything, a cut against all but a purge, of the others the greater stamp. What
bounds of age and size delete on a device stays known there, so that it does not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from mnemond.memory.draft import WriteContext
from mnemond.memory.sync_records import AHEAD_US, KnownPassage, PassageRecord, passage_of, stamp_of, time_of
from mnemond.memory.syncing import METHOD, Report, passage_row
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import DropPassage, KeepPassage, Passage, PassageChange, RestorePassage
from mnemond.store import passages, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View

SCANNED_AT_ONCE: Final = 500
"""Exchanges that are noted in one transaction."""

_RANKS: Final = {"kept": 0, "gone": 0, "withheld": 1, "cut": 1, "purged": 2}

_CHANGED: Final = (
    "SELECT dedupe_key, conversation_id, gone_op IS NULL, state FROM passages"
    " LEFT JOIN sync_rows AS s ON s.kind = 'passage' AND s.key = dedupe_key"
    " WHERE state IS NULL OR json_extract(state, '$.state') = iif(gone_op IS NULL, 'gone', 'kept')"
    " ORDER BY dedupe_key LIMIT ?"
)
"""Exchanges that are not as they are known."""


def scan(connection: Connection, now_us: int, device: str, is_partial: Callable[[str], bool]) -> bool:
    """Note some of the exchanges that were kept, forgotten or brought back here; return True if there may be more.
    Those of a session of which some was not to be kept (`is_partial`, by its id) stay here. For one transaction. Raises
    SqliteError."""
    rows = connection.rows(_CHANGED, (SCANNED_AT_ONCE,))
    found = []
    for key, session, live, state in rows:
        now = KnownPassage(stamp_of(now_us, device), "kept" if live else "gone")
        if state is not None:
            before = passage_of(state)
            stamp = stamp_of(max(now_us, time_of(before.stamp) + 1), device)
            now = msgspec.structs.replace(before, stamp=stamp, state=now.state)
        elif is_partial(session):
            now = msgspec.structs.replace(now, state="withheld")
        found.append(passage_row(key, now, publish=now.state != "withheld"))
    sync_state.put(connection, found)
    return len(rows) == SCANNED_AT_ONCE


def count_ahead(connection: Connection, now_us: int) -> int:
    """Return how many exchanges have a stamp that is more than a day ahead of the clock. Raises SqliteError."""
    sql = "SELECT count(*) FROM sync_rows WHERE kind = 'passage' AND json_extract(state, '$.stamp') >= ?"
    return connection.count(sql, (stamp_of(now_us + AHEAD_US + 1, ""),))


def propose_unite(
    records: Sequence[PassageRecord], identity: WriteContext, _device: str, reports: list[Report], since: str
) -> Proposal:
    """Propose to take in what other devices kept, forgot and purged; nothing that was said before `since` (RFC 3339),
    which would be too old here."""

    def decide(view: View) -> ChangeSet:
        connection = view.connection
        before: dict[str, KnownPassage | None] = {}
        after: dict[str, KnownPassage] = {}
        texts: dict[str, Passage] = {}
        passed_on = set[str]()
        """Keys of records in the place of those of a clock that was ahead, which others may have from here."""
        for each in records:
            if each.key not in before:
                state = sync_state.state(connection, "passage", each.key)
                before[each.key] = None if state is None else passage_of(state)
            known = after.get(each.key) or before[each.key]
            if known is None or _is_later(each, known):
                former = [] if known is None else known.restamped
                after[each.key] = KnownPassage(each.stamp, each.state, former)
                if each.value is not None:
                    texts[each.key] = each.value
                if known is not None and known.stamp in each.restamped:
                    passed_on.add(each.key)
        found = [
            change
            for key, now in after.items()
            for change in _changes(connection, key, before[key], now, texts.get(key), since)
        ]
        reports.append(Report(passages=len(found), conflicts=[], held=[]))
        made = identity.change_set(METHOD, (), Maintained(changed=len(found), op_id=identity.op_id), operation="")
        rows = tuple(passage_row(key, now, publish=key in passed_on) for key, now in after.items())
        facts: tuple[tuple[str, str], ...] = ()
        gone = [key for key, now in after.items() if (it := before[key]) and _RANKS[now.state] > _RANKS[it.state]]
        if gone and (device := sync_state.device(connection)) is not None:
            # Files of this device may have the text, also where the row is gone already.
            anew = msgspec.structs.replace(device, purges=device.purges + 1)
            facts = ((sync_state.KEY, msgspec.json.encode(anew).decode()),)
        return msgspec.structs.replace(made, passages=tuple(found), synced=rows, facts=facts)

    return identity.proposal(METHOD, decide)


def _is_later(record: PassageRecord, known: KnownPassage) -> bool:
    if (rank := _RANKS[record.state]) != _RANKS[known.state]:
        return rank > _RANKS[known.state]
    if record.stamp in known.restamped:
        return False
    return record.stamp > known.stamp or known.stamp in record.restamped


def _changes(
    connection: Connection, key: str, before: KnownPassage | None, now: KnownPassage, text: Passage | None, since: str
) -> Iterator[PassageChange]:
    """Yield the change that makes an exchange here what it is after the union."""
    row = passages.of_turn(connection, key)
    if row is None:
        is_new = before is None or before.state == "gone"  # any other one was too old or too much here
        if now.state == "kept" and text is not None and is_new and text.said_at >= since:
            yield KeepPassage(text, key)
    elif now.state == "purged" or (now.state == "cut" and (before is None or before.state in ("kept", "gone"))):
        yield DropPassage(row.id, "purged")
    elif now.state == "gone" and row.live:
        yield DropPassage(row.id)
    elif now.state == "kept" and not row.live:
        yield RestorePassage(row.id)
