"""Limits of the purges that other devices carry out here without a person (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from mnemond.model.memory import format_us
from mnemond.model.sync import RANKS, Kind, State
from mnemond.store import meta, sync_state
from mnemond.store.connection import Connection

LEAST_PURGES: Final = 5
PURGED_SHARE: Final = 0.02
MOST_PURGES: Final = 20
"""Memories, and exchanges, that other devices may purge here within a day: a fiftieth of those of the store, at least
and at most so many. A person purges a few by hand; a cleaning, a damaged device or a hostile file purges many, and no
command restores one."""

DAY_US: Final = 86_400 * 1_000_000

GUARDED: Final[Mapping[Kind, tuple[str, str]]] = {"memory": ("insights", "id"), "passage": ("passages", "dedupe_key")}
"""Kinds of which the purges are counted, each with its table and the column of the key."""


def held_purges(connection: Connection, kind: Kind, keys: Mapping[State, Collection[str]], now_us: int) -> list[str]:
    """Return those of some things (by the state that a purge gives them) that are here, in recall or not, if they are
    too many to be purged without a person: together with those that other devices purged here within a day, since a
    person last allowed it. None if they are few. Raises SqliteError."""
    here = sorted({each for state, of_all in keys.items() for each in _among(connection, kind, state, of_all)})
    if not here:
        return []
    device = sync_state.device(connection)
    since = format_us(now_us - DAY_US)
    if device is not None and device.allowed_at <= format_us(now_us):
        since = max(since, device.allowed_at)
    before = sync_state.purged_since(connection, since)
    if kind == "passage":
        before = sum(each.count for each in _noted(connection) if each.at > since)
    size = connection.count(f"SELECT count(*) FROM {GUARDED[kind][0]}") + before  # noqa: S608 - constants
    limit = min(MOST_PURGES, max(LEAST_PURGES, int(size * PURGED_SHARE)))
    return here if len(here) + before > limit else []


def _among(connection: Connection, kind: Kind, state: State, keys: Collection[str]) -> list[str]:
    """Return those of some things that a purge would take away: an exchange that was cut here stays as it is where it
    was cut."""
    table, key = GUARDED[kind]
    done = [other for other, rank in RANKS[kind].items() if state == "cut" and rank >= RANKS[kind][state]]
    sql = (
        f"SELECT {key} FROM {table} WHERE {key} IN (SELECT value FROM json_each(?)) AND NOT EXISTS"  # noqa: S608
        f" (SELECT 1 FROM sync_rows WHERE kind = ? AND key = {key} AND state IN (SELECT value FROM json_each(?)))"
    )
    return connection.column(sql, (_json(sorted(keys)), kind, _json(done)))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def allow_purges(connection: Connection, now_us: int) -> None:
    """Note that a person lets other devices purge what they will by now. Raises SqliteError."""
    if (device := sync_state.device(connection)) is not None:
        sync_state.note_device(connection, msgspec.structs.replace(device, allowed_at=format_us(now_us)))


# Purges of exchanges, which no history has.


class PurgeCount(msgspec.Struct, frozen=True):
    """Exchanges that other devices purged here at a time (RFC 3339)."""

    at: str
    count: int


PURGES_KEY: Final = "sync_purged"
"""Key in `meta` of the purges of a day."""


def _noted(connection: Connection) -> list[PurgeCount]:
    return meta.read_record(connection, PURGES_KEY, list[PurgeCount]) or []


def note_purges(connection: Connection, count: int, now_us: int) -> tuple[tuple[str, str], ...]:
    """Return the facts of a change by which other devices purge so many exchanges."""
    if not count:
        return ()
    since = format_us(now_us - DAY_US)
    noted = [each for each in _noted(connection) if each.at > since]
    return ((PURGES_KEY, _json([*noted, PurgeCount(format_us(now_us), count)])),)
