"""How often each device used a memory, and how it judged it, exchanged with the others (docs/sync.md).

Each device has a record of its own for a memory, which it alone changes; the counts of a memory are the sums. A record
is written when a memory was used often enough to be kept from pruning, then when the number of its uses has doubled or
a week has passed, so that a day of recalls does not write every memory anew. A judgement is written at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mnemond.memory.draft import WriteContext
from mnemond.memory.sync_records import (
    USE,
    KnownUse,
    UseRecord,
    UseValue,
    is_ahead,
    not_ahead,
    stamp_of,
    time_of,
    use_of,
)
from mnemond.memory.syncing import METHOD, Report, Scanned, known_of, use_row
from mnemond.model.changes import Change, ChangeSet, CountUse, PutInsight, SyncedRow
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Maintained
from mnemond.store import history, insights, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View

FIRST: Final = 3
"""Uses from which on a memory is not pruned (`lifecycle`), so that other devices have to know of them."""

TIMES_MORE: Final = 2
"""Uses, as a multiple of those that others know, after which they are published again: effective importance grows with
their logarithm."""

WEEK_US: Final = 7 * 86_400 * 1_000_000
"""Microseconds after which any new use is published: a last use that is a week late costs 15 % of the effective
importance, which halves in 30 days."""

USES_AT_ONCE: Final = 200
"""Records that are united in one operation."""

NONE: Final = UseValue(0, None, 0, 0)

_json = msgspec.json.Encoder()


def scan(connection: Connection, now_us: int, device: str) -> Scanned:
    """Note what other devices have to know of uses and judgements here. A use by a clock that was more than a day
    ahead counts as one of now. For one transaction. Raises SqliteError."""
    known: dict[str, dict[str, KnownUse]] = {}
    for key, state in sync_state.states(connection, USE).items():
        memory, _, of = key.partition(" ")
        known.setdefault(memory, {})[of] = use_of(state)
    rows = connection.rows(
        "SELECT id, access_count, last_accessed_at, useful, misled FROM insights"
        " WHERE access_count > 0 OR useful > 0 OR misled > 0 OR id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (_json.encode([memory for memory, of_all in known.items() if device in of_all]).decode(),),
    )
    changed, ahead = [], 0
    for memory, uses, last, useful, misled in rows:
        of_all = known.get(memory, {})
        before = of_all.get(device)
        others = [it.counted for of, it in of_all.items() if of != device]
        own = UseValue(
            max(0, uses - sum(it.uses for it in others)), not_ahead(last, now_us),
            max(0, useful - sum(it.useful for it in others)), max(0, misled - sum(it.misled for it in others)),
        )  # fmt: skip
        if _is_news(own, before, now_us):
            last_us = 0 if before is None else time_of(before.record.stamp) + 1
            record = UseRecord(
                key=f"{memory} {device}", stamp=stamp_of(max(now_us, last_us), device), value=own,
                restamped=[] if before is None else before.record.restamped,
            )  # fmt: skip
            before = KnownUse(record, own)
            changed.append(use_row(before, publish=True))
        ahead += before is not None and is_ahead(before.record.stamp, now_us)
    sync_state.put(connection, changed)
    return Scanned(None, ahead)


def _is_news(own: UseValue, before: KnownUse | None, now_us: int) -> bool:
    published = NONE if before is None else before.record.value
    if (own.useful, own.misled) != (published.useful, published.misled):
        return True
    if own.uses <= published.uses:
        return False
    if before is None or published.uses < FIRST:
        return own.uses >= FIRST
    return own.uses >= TIMES_MORE * published.uses or now_us - time_of(before.record.stamp) >= WEEK_US


def propose_unite(records: Sequence[UseRecord], identity: WriteContext, device: str, reports: list[Report]) -> Proposal:
    """Propose to count what other devices used and judged, and what waited for its memory, which may be there by now.
    What this device itself wrote is not counted again."""

    def decide(view: View) -> ChangeSet:
        connection = view.connection
        known = {key: use_of(state) for key, state in sync_state.waiting_uses(connection).items()}
        renewed = set[str]()
        """Keys of records that take the place of those of a clock that was ahead, which others may have from here."""
        for each in records:
            text = sync_state.state(connection, USE, each.key)
            before = known.get(each.key) or (None if text is None else use_of(text))
            if each.of != device and (before is None or each.is_later(before.record)):
                known[each.key] = KnownUse(each, NONE if before is None else before.counted, waits=True)
                if before is not None and before.record.stamp in each.restamped:
                    renewed.add(each.key)
        changes, rows = list[Change](), list[SyncedRow]()
        by_memory: dict[str, list[KnownUse]] = {}
        for it in known.values():
            by_memory.setdefault(it.record.memory, []).append(it)
        for memory, found in sorted(by_memory.items()):
            there = insights.read(connection, memory)
            if there is not None and there.status == "active":
                changes += _counted(there, found)
                found = [KnownUse(each.record, each.record.value) for each in found]
            elif there is None and _is_purged(connection, memory):
                rows += [SyncedRow("use", each.record.key, "", publish=False) for each in found]
                continue
            rows += [use_row(each, publish=each.record.key in renewed) for each in found]
        reports.append(Report(conflicts=[], held=[]))
        made = identity.change_set(
            METHOD, tuple(changes), Maintained(changed=len(changes), op_id=identity.op_id), operation=""
        )
        return msgspec.structs.replace(made, synced=tuple(rows))

    return identity.proposal(METHOD, decide)


def _is_purged(connection: Connection, memory: str) -> bool:
    return known_of(connection, memory).purged is not None or history.is_purged(connection, memory)


def _counted(it: Insight, found: Sequence[KnownUse]) -> list[Change]:
    """Return the changes that count what is new of some devices."""
    new = [(each.record.value, each.counted) for each in found]
    uses = sum(value.uses - counted.uses for value, counted in new)
    useful = max(0, it.useful + sum(value.useful - counted.useful for value, counted in new))
    misled = max(0, it.misled + sum(value.misled - counted.misled for value, counted in new))
    last = max([it.last_accessed_at or "", *(value.last or "" for value, _ in new)])
    changes: list[Change] = []
    if uses > 0:
        changes.append(CountUse(it.id, uses, last))
        it = msgspec.structs.replace(it, access_count=it.access_count + uses, last_accessed_at=last)
    if (useful, misled) != (it.useful, it.misled):
        changes.append(PutInsight(msgspec.structs.replace(it, useful=useful, misled=misled)))
    return changes
