"""Sync exchanges of sessions with other devices, where `sync.passages` is on (docs/sync.md).

The key of an exchange is the hash of its turn, the same on every device. A purge holds against everything, a cut
against all but a purge, of other states the greater stamp. What bounds of age and size delete on a device stays known
there, so that it does not come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mnemond.memory.sync import guard
from mnemond.memory.sync.union import Union, files_anew
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.passages import DropPassage, KeepPassage, Passage, PassageChange, RestorePassage
from mnemond.model.sync import RANKS, Known, Record, SyncedRow, later_stamp
from mnemond.store import passages, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import View
from mnemond.text.secrets import find_secrets

SCANNED_AT_ONCE: Final = 500
"""Exchanges that are noted in one transaction."""

_CHANGED: Final = (
    "SELECT dedupe_key, conversation_id, gone_op IS NULL FROM passages"
    " LEFT JOIN sync_rows AS s ON s.kind = 'passage' AND s.key = dedupe_key"
    " WHERE state IS NULL OR state = iif(gone_op IS NULL, 'gone', 'kept') ORDER BY dedupe_key LIMIT ?"
)
"""Exchanges that are not as they are known."""


def scan(connection: Connection, now_us: int, device: str, is_partial: Callable[[str], bool]) -> bool:
    """Note some of the exchanges that were kept, forgotten or brought back here; return True if there may be more.
    Those of a session of which some was not to be kept (`is_partial`, by its id) stay here. For one transaction. Raises
    SqliteError."""
    rows = connection.rows(_CHANGED, (SCANNED_AT_ONCE,))
    found = []
    for key, session, live in rows:
        before = sync_state.known_of(connection, "passage", key)
        is_withheld = before is None and is_partial(session)
        now: Known[None] = Known(
            kind="passage", key=key, stamp=later_stamp(before, now_us, device),
            state="withheld" if is_withheld else "kept" if live else "gone",
            restamped=[] if before is None else before.restamped,
        )  # fmt: skip
        found.append(SyncedRow("passage", key, now, publish=not is_withheld))
    sync_state.put(connection, found)
    return len(rows) == SCANNED_AT_ONCE


def value_of(connection: Connection, known: Known[None]) -> Passage | None:
    """Return an exchange as it was said; None if it has a secret, or is too old here by now."""
    row = passages.of_turn(connection, known.key)
    value = None if row is None else passages.read(connection, row.id)
    return None if value is None or find_secrets(value.text) else value


class Passages(Union):
    """The union of what other devices kept, forgot and purged with what is here."""

    def __init__(self, view: View, identity: WriteContext, device: str, since: str = "") -> None:
        super().__init__(view, identity, device, since)
        self._texts: dict[str, Passage] = {}

    def record(self, record: Record[Any]) -> None:
        if self.take(record, is_kept=False) and record.value is not None:
            self._texts[record.key] = record.value

    def finish(self) -> ChangeSet:
        found: list[PassageChange] = []
        facts: tuple[tuple[str, str], ...] = ()
        for now in self.all_of("passage"):
            before = self.before("passage", now.key)
            if now == before:
                continue
            text = self._texts.get(now.key) if now.state == "kept" else None
            if text is not None and text.said_at < self.since:
                self.report.too_old += before is None
                text = None
            found += _changes(self.connection, before, now, text)
            if before is not None and _rank(now) > _rank(before):
                # Files of this device may have the text, also where the row is gone already.
                facts = files_anew(self.connection)
        self.report.passages = len(found)
        purges = sum(isinstance(each, DropPassage) and each.how == "purged" for each in found)
        facts += guard.note_purges(self.connection, purges, self.identity.now_us)
        return self.change_set(passages=found, facts=facts)


def _rank(it: Known[None]) -> int:
    return RANKS["passage"].get(it.state, 0)


def _changes(
    connection: Connection, before: Known[None] | None, now: Known[None], text: Passage | None
) -> Iterator[PassageChange]:
    """Yield the change that makes an exchange here what it is after the union."""
    row = passages.of_turn(connection, now.key)
    if row is None:
        is_new = before is None or before.state == "gone"  # any other one was too old or too much here
        if text is not None and is_new:
            yield KeepPassage(text, now.key)
    elif now.state == "purged" or (now.state == "cut" and (before is None or _rank(now) > _rank(before))):
        yield DropPassage(row.id, "purged")
    elif now.state == "gone" and row.live:
        yield DropPassage(row.id)
    elif now.state == "kept" and not row.live:
        yield RestorePassage(row.id)
