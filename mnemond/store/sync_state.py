"""The tables of sync: `sync_rows`, `sync_files` and `sync_targets` (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, get_args

import msgspec

from mnemond.model.memory import EdgeType
from mnemond.model.sync import FOR_GOOD, KNOWN, OWNED, Kind, Known, NameValue, State, SyncedRow, later_stamp
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


# What is known of things (`model.sync`).

_COLUMNS: Final = "kind, key, stamp, state, value, restamped, here, counted"
_restamped: Final = msgspec.json.Decoder(list[str])
_STATES: Final[dict[str, State]] = {each: each for each in get_args(State)}
"""States as one object each: msgspec leaves out a field that is its default, not one that is equal to it."""


def put(connection: Connection, rows: Iterable[SyncedRow]) -> None:
    """Write what is known."""
    last = last_seq(connection)
    for kind, key, known, publish in rows:
        if known is None:
            connection.run("DELETE FROM sync_rows WHERE kind = ? AND key = ?", (kind, key))
            continue
        last += publish
        connection.run(
            f"INSERT INTO sync_rows({_COLUMNS}, seq) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            " ON CONFLICT(kind, key) DO UPDATE SET stamp = ?3, state = ?4, value = ?5, restamped = ?6, here = ?7,"
            " counted = ?8, seq = iif(?10, ?9, seq)",
            (
                kind, key, known.stamp, known.state, _text(known.value), _text(known.restamped), int(known.here),
                _text(known.counted), last if publish else 0, int(publish),
            ),
        )  # fmt: skip


def _text(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def known(connection: Connection, where: str, parameters: Sequence[str | int] = ()) -> list[Known[Any]]:
    """Return what is known of the things of `sync_rows` for which a condition holds, in the order of their keys."""
    sql = f"SELECT {_COLUMNS} FROM sync_rows WHERE {where}"  # noqa: S608 - conditions are constants
    return [
        Known(
            kind=kind, key=key, stamp=stamp, state=_STATES[state],
            value=None if value is None else KNOWN[kind].decode(value), restamped=_restamped.decode(restamped),
            here=bool(here), counted=None if counted is None else KNOWN["use"].decode(counted),
        )
        for kind, key, stamp, state, value, restamped, here, counted in connection.rows(sql, parameters)
    ]  # fmt: skip


def known_of(connection: Connection, kind: Kind, key: str) -> Known[Any] | None:
    found = known(connection, "kind = ? AND key = ?", (kind, key))
    return found[0] if found else None


def all_of(connection: Connection, *kinds: Kind) -> dict[str, Known[Any]]:
    """Return all that is known of things of some kinds, by key."""
    places = ", ".join("?" * len(kinds))
    return {each.key: each for each in known(connection, f"kind IN ({places}) ORDER BY kind, key", kinds)}


def last_seq(connection: Connection) -> int:
    return connection.count("SELECT max(seq) FROM sync_rows")


_AHEAD: Final = f"stamp >= ? AND (kind <> '{OWNED}' OR substr(key, -16) = ?)"


def count_ahead(connection: Connection, stamp: str, device: str) -> int:
    """Return of how many things a stamp that is not before another one can be renewed by this device."""
    return connection.count(f"SELECT count(*) FROM sync_rows WHERE {_AHEAD}", (stamp, device))  # noqa: S608


def ahead(connection: Connection, stamp: str, device: str, limit: int) -> list[Known[Any]]:
    """Return some of these things."""
    return known(connection, f"{_AHEAD} LIMIT ?", (stamp, device, limit))


_PUBLISHED: Final = "state <> 'withheld' AND (kind <> 'passage' OR ?2 OR state IN ({}))".format(
    ", ".join(f"'{each}'" for each in FOR_GOOD)
)
"""What is written for others behind a `seq`: of exchanges that are not exchanged (?2) only that they went for good."""


def count_withheld(connection: Connection) -> int:
    """Return how many exchanges stay here, as some of their session was not to be kept."""
    return connection.count("SELECT count(*) FROM sync_rows WHERE kind = 'passage' AND state = 'withheld'")


def count_after(connection: Connection, seq: int) -> int:
    return connection.count(f"SELECT count(*) FROM sync_rows WHERE seq > ?1 AND {_PUBLISHED}", _which(connection, seq))  # noqa: S608


def _which(connection: Connection, seq: int) -> tuple[int, int]:
    it = device(connection)
    return seq, int(it is not None and it.passages)


def keys_after(connection: Connection, seq: int) -> list[tuple[Kind, str]]:
    """Return (kind, key) of what is to be published behind a `seq`, in order; -1: of everything."""
    # Kinds of later versions last: an earlier one does not read a file behind many lines that it cannot use.
    sql = (
        f"SELECT kind, key FROM sync_rows WHERE seq > ?1 AND {_PUBLISHED}"  # noqa: S608 - constants
        " ORDER BY kind NOT IN ('memory', 'edge'), seq, kind DESC, key"
    )
    return [(row[0], row[1]) for row in connection.rows(sql, _which(connection, seq))]


def links_row(insight_id: str, kinds: frozenset[EdgeType]) -> SyncedRow:
    """Return the row that says which types of links a received memory is still to get; none: it has all."""
    it: Known[Any] = Known(kind="links", key=insight_id, stamp="", state="withheld", value=sorted(kinds))
    return SyncedRow("links", insight_id, it if kinds else None, publish=False)


# Purges.


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Delete the links of purged memories, and what they stated; what is known of these themselves holds no text."""
    if device(connection) is None:
        return
    for each in insight_ids:
        connection.run("DELETE FROM sync_rows WHERE kind IN ('edge', 'use') AND instr(key, ?)", (each,))
        connection.run("DELETE FROM sync_rows WHERE kind = 'relation' AND instr(value, ?)", (each,))
    write_files_anew(connection)


def purge_passage(connection: Connection, key: str | None, *, cut: bool = False) -> None:
    """Let other devices purge the exchange of a turn that was purged here; `cut`: a purge took a part of it."""
    it = device(connection)
    if it is None or key is None:
        return
    stamp = later_stamp(known_of(connection, "passage", key), 0, it.id)
    now: Known[Any] = Known(kind="passage", key=key, stamp=stamp, state="cut" if cut else "purged")
    put(connection, [SyncedRow("passage", key, now, publish=True)])
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
    decisions = known(connection, "kind = 'name' AND value IS NOT NULL")
    said = " ".join(map(fold, contents)) if decisions else ""
    canonicals = [connection.value("SELECT canonical_name FROM entities WHERE id = ?", (each,)) for each in named]
    gone = []
    for each in decisions:
        value: NameValue = each.value  # type: ignore[assignment]
        nodes = (value.one.node, value.other.node)
        lost = [node for node in nodes if node[0] in said or node[0] in canonicals]
        if not all(has_name(connection, *node) for node in lost):
            now = msgspec.structs.replace(
                each, stamp=later_stamp(each, 0, it.id), state="purged", value=None, here=False
            )
            gone.append(SyncedRow("name", each.key, now, publish=True))
    put(connection, gone)


def has_name(connection: Connection, canonical: str, sense: str) -> bool:
    """Return True if a memory or a statement names this, or it is an alias."""
    return connection.row(_SUPPORTED, (canonical, sense)) is not None


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
