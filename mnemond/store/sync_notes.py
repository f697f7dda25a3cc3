"""Notes of a target of sync beside its row: for whom this store's files there are encrypted, and which devices
write there (docs/sync.md)."""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.model.memory import format_us
from mnemond.model.sync import Failure
from mnemond.store import meta
from mnemond.store.connection import Connection

PREFIX: Final = "sync:"
"""Begin of a key in `meta`; the target follows."""


class DeviceNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device as it was at the last sync. `name` and `wrote_at` (RFC 3339) are what it says of itself, "" if unknown;
    `unread`: files of it that were not read; `encrypted`: its files are."""

    name: str = ""
    wrote_at: str = ""
    unread: int = 0
    encrypted: bool = False


class TargetNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """`recipients`: the public keys for which the files of this store are encrypted, none if they are not. `plain`: a
    person said that they are not to be. `devices`: by id, this one too. `failure`: None once a sync succeeded."""

    recipients: tuple[str, ...] = ()
    plain: bool = False
    devices: dict[str, DeviceNote] = {}
    failure: Failure | None = None


def read(connection: Connection, target: str) -> TargetNote:
    return meta.read_record(connection, PREFIX + target, TargetNote) or TargetNote()


def put(connection: Connection, target: str, it: TargetNote) -> None:
    meta.note(connection, [(PREFIX + target, msgspec.json.encode(it).decode())])


GIVEN_UP_US: Final = 7 * 86_400 * 1_000_000
"""Microseconds after its last failure from which a target counts as given up: what syncs in the background tries again
at least once a day."""


def failing(connection: Connection, now_us: int) -> dict[str, Failure]:
    """Return the targets whose last sync failed, without those that were given up."""
    since = format_us(max(now_us - GIVEN_UP_US, 0))
    rows = connection.column("SELECT key FROM meta WHERE key >= ? AND key < ? ORDER BY key", (PREFIX, _AFTER))
    notes = {key.removeprefix(PREFIX): read(connection, key.removeprefix(PREFIX)) for key in rows}
    return {target: it for target, note in notes.items() if (it := note.failure) is not None and it.at >= since}


_AFTER: Final = "sync;"
"""Greater than every key that begins with PREFIX."""
