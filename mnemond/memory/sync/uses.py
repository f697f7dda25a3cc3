"""How often each device used a memory, and how it judged it, exchanged with the others (docs/sync.md).

Each device has a record of its own for a memory, which it alone changes; the counts of a memory are the sums. A record
is written when a memory was used often enough to be kept from pruning, then when the number of its uses has doubled or
a week has passed, so that a day of recalls does not write every memory anew. A judgement is written at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mnemond.memory.sync.union import Union, is_purged
from mnemond.model.changes import Change, ChangeSet, CountUse, PutInsight
from mnemond.model.memory import Insight
from mnemond.model.sync import Known, Record, SyncedRow, UseValue, later_stamp, not_ahead, time_of
from mnemond.store import insights, sync_state
from mnemond.store.connection import Connection

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


def scan(connection: Connection, now_us: int, device: str) -> None:
    """Note what other devices have to know of uses and judgements here. A use by a clock that was more than a day
    ahead counts as one of now. For one transaction. Raises SqliteError."""
    known: dict[str, dict[str, Known[UseValue]]] = {}
    for each in sync_state.all_of(connection, "use").values():
        known.setdefault(_memory(each), {})[each.owner] = each
    rows = connection.rows(
        "SELECT id, access_count, last_accessed_at, useful, misled FROM insights"
        " WHERE access_count > 0 OR useful > 0 OR misled > 0 OR id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (_json.encode([memory for memory, of_all in known.items() if device in of_all]).decode(),),
    )
    changed = []
    for memory, uses, last, useful, misled in rows:
        of_all = known.get(memory, {})
        before = of_all.get(device)
        others = [each.counted or NONE for of, each in of_all.items() if of != device]
        own = UseValue(
            max(0, uses - sum(it.uses for it in others)), not_ahead(last, now_us),
            max(0, useful - sum(it.useful for it in others)), max(0, misled - sum(it.misled for it in others)),
        )  # fmt: skip
        if _is_news(own, before, now_us):
            now: Known[UseValue] = Known(
                kind="use", key=f"{memory} {device}", stamp=later_stamp(before, now_us, device), value=own,
                restamped=[] if before is None else before.restamped, here=True, counted=own,
            )  # fmt: skip
            changed.append(SyncedRow("use", now.key, now, publish=True))
    sync_state.put(connection, changed)


def _memory(it: Record[UseValue]) -> str:
    return it.key.partition(" ")[0]


def _is_news(own: UseValue, before: Known[UseValue] | None, now_us: int) -> bool:
    published = NONE if before is None or before.value is None else before.value
    if (own.useful, own.misled) != (published.useful, published.misled):
        return True
    if own.uses <= published.uses:
        return False
    if before is None or published.uses < FIRST:
        return own.uses >= FIRST
    return own.uses >= TIMES_MORE * published.uses or now_us - time_of(before.stamp) >= WEEK_US


class Uses(Union):
    """The union of what other devices used and judged, and of what waited for its memory, which may be there by now.
    What this device itself wrote is not counted again."""

    def record(self, record: Record[Any]) -> None:
        if record.owner != self.device:
            self.take(record)

    def finish(self) -> ChangeSet:
        waiting = sync_state.known(self.connection, "kind = 'use' AND NOT here")
        self.load(each for each in waiting if self.is_new("use", each.key))
        changes = list[Change]()
        by_memory: dict[str, list[Known[UseValue]]] = {}
        for known in self.all_of("use"):
            if not known.here:
                by_memory.setdefault(_memory(known), []).append(known)
        for memory, found in sorted(by_memory.items()):
            there = insights.read(self.connection, memory)
            if there is not None and there.status == "active":
                changes += _counted(there, found)
                for known in found:
                    self.note(msgspec.structs.replace(known, here=True, counted=known.value))
            elif there is None and is_purged(self.connection, memory):
                for known in found:
                    self.forget("use", known.key)
        return self.change_set(changes)


def _counted(it: Insight, found: Sequence[Known[UseValue]]) -> list[Change]:
    """Return the changes that count what is new of some devices."""
    new = [(each.value or NONE, each.counted or NONE) for each in found]
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
