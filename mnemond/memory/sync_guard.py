"""Limits of the purges that other devices carry out here without a person (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from mnemond.model.memory import format_us
from mnemond.store import sync_state
from mnemond.store.connection import Connection

LEAST_PURGES: Final = 5
PURGED_SHARE: Final = 0.02
MOST_PURGES: Final = 20
"""Memories that other devices may purge here within a day: a fiftieth of the store, at least and at most so many. A
person purges a few by hand; a cleaning, a damaged device or a hostile file purges many, and no command restores one."""

DAY_US: Final = 86_400 * 1_000_000

_KEYS_AT_ONCE: Final = 500


def held_purges(connection: Connection, keys: Collection[str], now_us: int) -> list[str]:
    """Return those of some memories that are here, in recall or not, if they are too many to be purged without a
    person: together with those that other devices purged here within a day, since a person last allowed it. None if
    they are few. Raises SqliteError."""
    here = _among(connection, keys)
    if not here:
        return []
    device = sync_state.device(connection)
    since = format_us(now_us - DAY_US)
    if device is not None and device.allowed_at <= format_us(now_us):
        since = max(since, device.allowed_at)
    before = sync_state.purged_since(connection, since)
    size = connection.count("SELECT count(*) FROM insights") + before
    limit = min(MOST_PURGES, max(LEAST_PURGES, int(size * PURGED_SHARE)))
    return here if len(here) + before > limit else []


def allow_purges(connection: Connection, now_us: int) -> None:
    """Note that a person lets other devices purge what they will by now. Raises SqliteError."""
    if (device := sync_state.device(connection)) is not None:
        sync_state.note_device(connection, msgspec.structs.replace(device, allowed_at=format_us(now_us)))


def _among(connection: Connection, keys: Collection[str]) -> list[str]:
    ordered, found = sorted(keys), list[str]()
    for start in range(0, len(ordered), _KEYS_AT_ONCE):
        part = ordered[start : start + _KEYS_AT_ONCE]
        places = ", ".join("?" * len(part))
        found += connection.column(f"SELECT id FROM insights WHERE id IN ({places}) ORDER BY id", part)  # noqa: S608
    return found
