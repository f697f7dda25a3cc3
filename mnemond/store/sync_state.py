"""The tables of sync: `sync_rows`, `sync_files` and `sync_targets` (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.model.changes import SyncedRow
from mnemond.model.memory import EdgeType
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.rows import Mapper
from mnemond.text.tokens import fold

BY: Final = "system:sync"
"""`triggered_by` of what other devices did."""

KEY: Final = "sync"
"""Key in `meta` of what this store is to others."""


class Device(msgspec.Struct, frozen=True):
    """This store among the devices that it is synced with. `id`: sixteen hexadecimal digits. `purges`: purges so far,
    and whatever else the files of this device have to be written anew after. `allowed_at`: when a person last let other
    devices purge as many as they did (RFC 3339). `secret`: what lines are signed with (hexadecimal). `passages`: it
    exchanges what was said in sessions."""

    id: str
    name: str = ""
    purges: int = 0
    allowed_at: str = ""
    secret: str = ""
    passages: bool = False


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


_TARGETS: Final = Mapper(Target)


def device(connection: Connection) -> Device | None:
    """Return what this store is to others, None if it was never synced."""
    return meta.read_record(connection, KEY, Device)


def note_device(connection: Connection, it: Device) -> None:
    meta.note(connection, [(KEY, msgspec.json.encode(it).decode())])


def put(connection: Connection, rows: Iterable[SyncedRow]) -> None:
    """Write what is known."""
    last = last_seq(connection)
    for each in rows:
        if not each.state:
            connection.run("DELETE FROM sync_rows WHERE kind = ? AND key = ?", (each.kind, each.key))
            continue
        last += each.publish
        connection.run(
            "INSERT INTO sync_rows(kind, key, state, seq) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(kind, key) DO UPDATE SET"
            " state = excluded.state, seq = CASE WHEN ?4 THEN ?4 ELSE seq END",
            (each.kind, each.key, each.state, last if each.publish else 0),
        )


def waiting_uses(connection: Connection) -> dict[str, str]:
    """Return what is known of uses that the counts of their memory do not have yet, by key."""
    sql = "SELECT key, state FROM sync_rows WHERE kind = 'use' AND json_extract(state, '$.waits')"
    return dict(connection.rows(sql))


def links_row(insight_id: str, kinds: Collection[EdgeType]) -> SyncedRow:
    """Return the row that says which types of links a received memory is still to get; none: it has all."""
    return SyncedRow("links", insight_id, msgspec.json.encode(sorted(kinds)).decode() if kinds else "", publish=False)


def last_seq(connection: Connection) -> int:
    return connection.count("SELECT max(seq) FROM sync_rows")


def states(connection: Connection, kind: str) -> dict[str, str]:
    """Return what is known of all of a kind, by key."""
    return dict(connection.rows("SELECT key, state FROM sync_rows WHERE kind = ?", (kind,)))


def states_after(connection: Connection, after: tuple[str, str], limit: int) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, key, state) behind one (kind, key), in order."""
    sql = "SELECT kind, key, state FROM sync_rows WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?"
    yield from connection.rows(sql, (*after, limit))


def state(connection: Connection, kind: str, key: str) -> str | None:
    found: str | None = connection.value("SELECT state FROM sync_rows WHERE kind = ? AND key = ?", (kind, key))
    return found


def has_waiting_facts(connection: Connection) -> bool:
    """Return True if a statement or a decision about names is known that does not count in the store yet."""
    sql = (
        "SELECT 1 FROM sync_rows WHERE kind IN ('relation', 'name') AND NOT json_extract(state, '$.here')"
        " AND json_extract(state, '$.record.value') IS NOT NULL LIMIT 1"
    )
    return connection.row(sql) is not None


def count_facts_from(connection: Connection, stamp: str) -> int:
    """Return how many statements and decisions about names have a stamp that is not before another one."""
    sql = (
        "SELECT count(*) FROM sync_rows WHERE kind IN ('relation', 'name')"
        " AND json_extract(state, '$.record.stamp') >= ?"
    )
    return connection.count(sql, (stamp,))


def count_after(connection: Connection, seq: int) -> int:
    return connection.count(f"SELECT count(*) FROM sync_rows WHERE seq > ? AND {_published(connection)}", (seq,))  # noqa: S608


def _published(connection: Connection) -> str:
    """Return the condition of what is written for others: of exchanges that are not exchanged only that they went for
    good."""
    it = device(connection)
    if it is not None and it.passages:
        return "kind <> 'links'"
    return "kind <> 'links' AND (kind <> 'passage' OR json_extract(state, '$.state') IN ('cut', 'purged'))"


def after(connection: Connection, seq: int) -> list[tuple[str, str]]:
    """Return (kind, key) of what is to be published behind a `seq`, in order; -1: of everything."""
    # Kinds of later versions last: an earlier one does not read a file behind many lines that it cannot use.
    sql = (
        f"SELECT kind, key FROM sync_rows WHERE seq > ? AND {_published(connection)}"  # noqa: S608 - constants
        " ORDER BY kind NOT IN ('memory', 'edge'), seq, kind DESC, key"
    )
    return [(row[0], row[1]) for row in connection.rows(sql, (seq,))]


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Delete the links of purged memories, and what they stated; what is known of these themselves holds no text."""
    if device(connection) is None:
        return
    for each in insight_ids:
        connection.run("DELETE FROM sync_rows WHERE kind IN ('edge', 'use') AND instr(key, ?)", (each,))
        connection.run("DELETE FROM sync_rows WHERE kind = 'relation' AND instr(state, ?)", (each,))
    write_files_anew(connection)


def purge_passage(connection: Connection, key: str | None, *, cut: bool = False) -> None:
    """Let other devices purge the exchange of a turn that was purged here; `cut`: a purge took a part of it."""
    it = device(connection)
    if it is None or key is None:
        return
    before = state(connection, "passage", key)
    last = 0 if before is None else int(msgspec.json.decode(before)["stamp"][:16], 16)
    known = {"stamp": f"{last + 1:016x}-{it.id}", "state": "cut" if cut else "purged"}
    put(connection, [SyncedRow("passage", key, msgspec.json.encode(known).decode(), publish=True)])
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


def purge_names(connection: Connection, named: Collection[str], contents: Sequence[str]) -> None:
    """Take back what was decided about names that only a purged memory had, and let the other devices know: of such a
    decision only a hash of its names is left. `named`: the rows of entities that it named; `contents`: its texts. For
    use after `relations.purge_names`."""
    it = device(connection)
    if it is None:
        return
    rows = connection.rows("SELECT key, state FROM sync_rows WHERE kind = 'name'")
    said = " ".join(map(fold, contents)) if rows else ""
    canonicals = [connection.value("SELECT canonical_name FROM entities WHERE id = ?", (each,)) for each in named]
    gone = []
    for key, state in rows:
        stamp, restamped, names = _names.decode(state).about()
        lost = [each for each in names if each[0] in said or each[0] in canonicals]
        if not all(has_name(connection, *each) for each in lost):
            later = f"{int(stamp[:16], 16) + 1:016x}-{it.id}"
            record = {"kind": "name", "key": key, "stamp": later, "purged": True, "restamped": restamped}
            gone.append(SyncedRow("name", key, msgspec.json.encode({"record": record}).decode(), publish=True))
    put(connection, gone)


def has_name(connection: Connection, canonical: str, sense: str) -> bool:
    """Return True if a memory or a statement names this, or it is an alias."""
    return connection.row(_SUPPORTED, (canonical, sense)) is not None


class _Named(msgspec.Struct):
    """The part of what is known of a decision that its names are in: each is name, canonical name, kind and sense."""

    record: _NamedRecord

    def about(self) -> tuple[str, list[str], list[tuple[str, str]]]:
        """Return the stamp, those in the place of which it came, and canonical name and sense of each name; none once
        it was taken back."""
        value = self.record.value
        names = () if value is None else (value.one, value.other)
        return self.record.stamp, self.record.restamped, [(canonical, sense) for _, canonical, _, sense in names]


class _NamedRecord(msgspec.Struct):
    stamp: str
    value: _NamedValue | None = None
    restamped: list[str] = []


class _NamedValue(msgspec.Struct):
    one: tuple[str, str, str, str]
    other: tuple[str, str, str, str]


_names = msgspec.json.Decoder(_Named)

_SUPPORTED: Final = (
    "SELECT 1 FROM entities AS e WHERE canonical_name = ?1 AND sense = ?2"
    " AND (EXISTS (SELECT 1 FROM memory_entities WHERE entity_id = e.id)"
    "  OR EXISTS (SELECT 1 FROM relationship_evidence WHERE source_id = e.id OR target_id = e.id))"
    " UNION ALL SELECT 1 FROM entity_aliases WHERE alias = ?1 AND ?2 = ''"
)


# Files and targets.


def target(connection: Connection, name: str) -> Target | None:
    row = connection.row(f"SELECT {_TARGETS.select} FROM sync_targets WHERE target = ?", (name,))  # noqa: S608 - names
    return None if row is None else _TARGETS.read(row)


def targets(connection: Connection) -> Iterator[Target]:
    """Yield every target, that of the last sync first."""
    sql = f"SELECT {_TARGETS.select} FROM sync_targets ORDER BY synced_at DESC, target"  # noqa: S608 - names only
    yield from map(_TARGETS.read, connection.rows(sql))


def put_target(connection: Connection, it: Target) -> None:
    connection.run(f"INSERT OR REPLACE INTO sync_targets({_TARGETS.select}) VALUES({_TARGETS.places()})", it)


def files(connection: Connection, name: str) -> dict[tuple[str, str], str]:
    """Return the hashes of the files of a target that were read or written, by device and name."""
    sql = "SELECT device, name, digest FROM sync_files WHERE target = ?"
    return {(row[0], row[1]): row[2] for row in connection.rows(sql, (name,))}


def exchange_passages(connection: Connection, it: Device, *, wanted: bool) -> Device:
    """Let a device exchange passages from now on, or no longer: its files are written anew, and those of others are
    read again."""
    if it.passages == wanted:
        return it
    connection.run("DELETE FROM sync_files WHERE device <> ?", (it.id,))
    return msgspec.structs.replace(it, passages=wanted, purges=it.purges + 1)


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
