"""The tables of sync: `sync_rows`, `sync_files` and `sync_targets` (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.model.changes import SyncedRow
from mnemond.store import meta
from mnemond.store.connection import Connection

BY: Final = "system:sync"
"""`triggered_by` of what other devices did."""

KEY: Final = "sync"
"""Key in `meta` of what this store is to others."""


class Device(msgspec.Struct, frozen=True):
    """This store among the devices that it is synced with. `id`: sixteen hexadecimal digits. `purges`: purges so far,
    and whatever else the files of this device have to be written anew after. `allowed_at`: when a person last let other
    devices purge as many as they did (RFC 3339). `secret`: what lines are signed with (hexadecimal)."""

    id: str
    name: str = ""
    purges: int = 0
    allowed_at: str = ""
    secret: str = ""


class Target(NamedTuple):
    """A directory or remote. `published` is the greatest `seq` that is in its files, `files` how many were begun.
    `whole`: this store writes what it has from other devices as well, as it had it before it knew this target."""

    target: str
    label: str
    published: int = 0
    purges: int = 0
    files: int = 0
    whole: int = 0
    synced_at: str | None = None

    @property
    def nothing_published(self) -> int:
        """The `seq` behind which everything is that belongs into its files."""
        return -1 if self.whole else 0


def device(connection: Connection) -> Device | None:
    """Return what this store is to others, None if it was never synced."""
    return meta.read_record(connection, KEY, Device)


def note_device(connection: Connection, it: Device) -> None:
    meta.note(connection, [(KEY, msgspec.json.encode(it).decode())])


def put(connection: Connection, rows: Iterable[SyncedRow]) -> None:
    """Write what is known."""
    last = last_seq(connection)
    for each in rows:
        last += each.publish
        connection.run(
            "INSERT INTO sync_rows(kind, key, state, seq) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(kind, key) DO UPDATE SET"
            " state = excluded.state, seq = CASE WHEN ?4 THEN ?4 ELSE seq END",
            (each.kind, each.key, each.state, last if each.publish else 0),
        )


def last_seq(connection: Connection) -> int:
    return connection.count("SELECT max(seq) FROM sync_rows")


def states(connection: Connection, kind: str) -> dict[str, str]:
    """Return what is known of all memories, or links, by key."""
    return dict(connection.rows("SELECT key, state FROM sync_rows WHERE kind = ?", (kind,)))


def states_after(connection: Connection, after: tuple[str, str], limit: int) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, key, state) behind one (kind, key), in order."""
    sql = "SELECT kind, key, state FROM sync_rows WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?"
    yield from connection.rows(sql, (*after, limit))


def state(connection: Connection, kind: str, key: str) -> str | None:
    found: str | None = connection.value("SELECT state FROM sync_rows WHERE kind = ? AND key = ?", (kind, key))
    return found


def count_after(connection: Connection, seq: int) -> int:
    return connection.count("SELECT count(*) FROM sync_rows WHERE seq > ?", (seq,))


def after(connection: Connection, seq: int) -> list[tuple[str, str]]:
    """Return (kind, key) of what is to be published behind a `seq`, in order; -1: of everything."""
    sql = "SELECT kind, key FROM sync_rows WHERE seq > ? ORDER BY seq, kind DESC, key"
    return [(row[0], row[1]) for row in connection.rows(sql, (seq,))]


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Delete the links of purged memories; what is known of these themselves holds no text."""
    if device(connection) is None:
        return
    for each in insight_ids:
        connection.run("DELETE FROM sync_rows WHERE kind = 'edge' AND instr(key, ?)", (each,))
    write_files_anew(connection)


def write_files_anew(connection: Connection) -> None:
    """Let the files of this device be written anew at the next sync with each target."""
    if (it := device(connection)) is not None:
        note_device(connection, msgspec.structs.replace(it, purges=it.purges + 1))


def purged_since(connection: Connection, moment: str) -> int:
    """Return how many memories other devices purged here after a time (RFC 3339)."""
    sql = (
        "SELECT count(DISTINCT memory_id) FROM memory_operations WHERE operation_type = 'DELETE'"
        " AND after_state IS NULL AND triggered_by = ? AND created_at > ?"
    )
    return connection.count(sql, (BY, moment))


# Files and targets.


def target(connection: Connection, name: str) -> Target | None:
    row = connection.row(
        "SELECT target, label, published, purges, files, whole, synced_at FROM sync_targets WHERE target = ?", (name,)
    )
    return None if row is None else Target(*row)


def targets(connection: Connection) -> Iterator[Target]:
    """Yield every target, that of the last sync first."""
    columns = "target, label, published, purges, files, whole, synced_at"
    for row in connection.rows(f"SELECT {columns} FROM sync_targets ORDER BY synced_at DESC, target"):  # noqa: S608
        yield Target(*row)


def put_target(connection: Connection, it: Target) -> None:
    connection.run("INSERT OR REPLACE INTO sync_targets VALUES(?, ?, ?, ?, ?, ?, ?)", it)


def files(connection: Connection, name: str) -> dict[tuple[str, str], str]:
    """Return the hashes of the files of a target that were read or written, by device and name."""
    sql = "SELECT device, name, digest FROM sync_files WHERE target = ?"
    return {(row[0], row[1]): row[2] for row in connection.rows(sql, (name,))}


def put_files(
    connection: Connection, name: str, found: Sequence[tuple[str, str, str]], *, of: str | None = None
) -> None:
    """Note files (device, name, digest); with `of` they are all that a device has."""
    if of is not None:
        connection.run("DELETE FROM sync_files WHERE target = ? AND device = ?", (name, of))
    connection.run_many(
        "INSERT OR REPLACE INTO sync_files(target, device, name, digest) VALUES(?, ?, ?, ?)",
        [(name, *each) for each in found],
    )


def drop_files(connection: Connection, name: str, gone: Iterable[tuple[str, str]]) -> None:
    """Forget files (device, name) that are not there any more."""
    connection.run_many(
        "DELETE FROM sync_files WHERE target = ? AND device = ? AND name = ?", [(name, *each) for each in gone]
    )
