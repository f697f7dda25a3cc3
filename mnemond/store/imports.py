"""The tables `imports` and `imported`: which memories an import brought, so that it can be repeated, continued,
accepted and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mnemond.model.memory import parse_rfc3339
from mnemond.store import history
from mnemond.store.connection import Connection
from mnemond.store.rows import Mapper

OWN: Final = "mnemond"
"""`kind` of an import of an export of mnemond's: its rows in the history are its own record."""

WAITS_US: Final = 86_400 * 1_000_000
"""Microseconds for which memories stay out of briefs after their import, unless it is accepted: a day."""

_NOTED: Final = (
    "INSERT INTO imported(source, op_id, memory_id) VALUES(?, ?, ?)"
    " ON CONFLICT(source) DO UPDATE SET op_id = excluded.op_id, memory_id = excluded.memory_id"
)


class Import(msgspec.Struct, frozen=True):
    """One import. `digest`: of its content, by which a repeat is recognised; `memories`: how many it brought."""

    op_id: str
    kind: str
    digest: str
    state: str
    created_at: str
    accepted_at: str | None
    memories: int = 0


_ROWS: Final = Mapper(
    Import,
    computed={
        "memories": "(SELECT count(*) FROM imported AS i WHERE i.op_id = imports.op_id AND memory_id IS NOT NULL)"
    },
)
_IMPORTS: Final = f"SELECT {_ROWS.select} FROM imports"  # noqa: S608 - names only


def begin(connection: Connection, op_id: str, kind: str, digest: str, now: str) -> None:
    connection.run(
        "INSERT INTO imports(op_id, kind, digest, created_at) VALUES(?, ?, ?, ?)", (op_id, kind, digest, now)
    )


def finish(connection: Connection, op_id: str) -> None:
    connection.run("UPDATE imports SET state = 'done' WHERE op_id = ?", (op_id,))


def drop(connection: Connection, op_id: str) -> None:
    """Delete the record of an import that brought nothing."""
    connection.run("DELETE FROM imported WHERE op_id = ?", (op_id,))
    connection.run("DELETE FROM imports WHERE op_id = ?", (op_id,))


def count_of(connection: Connection, kind: str) -> int:
    """Return how many memories there are of earlier imports of a kind."""
    sql = "SELECT count(*) FROM imported WHERE op_id IN (SELECT op_id FROM imports WHERE kind = ?)"
    return connection.count(sql, (kind,))


def interrupted(connection: Connection, kind: str, digest: str) -> Import | None:
    """Return the import of the same content that was begun and not finished, unless it was taken back."""
    sql = f"{_IMPORTS} WHERE kind = ? AND digest = ? AND state = 'open' ORDER BY created_at DESC LIMIT 1"
    row = connection.row(sql, (kind, digest))
    found = None if row is None else _ROWS.read(row)
    return None if found is None or history.undone_by(connection, found.op_id) is not None else found


def find(connection: Connection, op_id: str) -> list[Import]:
    """Return the imports whose op_id begins like this, the newest first."""
    sql = f"{_IMPORTS} WHERE op_id >= ? AND op_id < ? ORDER BY created_at DESC, op_id"
    return [_ROWS.read(row) for row in connection.rows(sql, (op_id, op_id + "\U0010ffff"))]


def note(connection: Connection, op_id: str, memories: Iterable[tuple[str, str | None]]) -> None:
    """Note where memories came from: (source, memory); one that was taken back is replaced."""
    connection.run_many(_NOTED, [(source, op_id, memory_id) for source, memory_id in memories])


def operation_of(connection: Connection, source: str) -> str | None:
    """Return the operation of the import that brought this source; None if none did."""
    found: str | None = connection.value("SELECT op_id FROM imported WHERE source = ?", (source,))
    return found


def known(connection: Connection, sources: Iterable[str]) -> dict[str, str | None]:
    """Return the memories of these sources, without those of imports that were taken back, which can be imported
    again."""
    found: dict[str, str | None] = {}
    undone: dict[str, bool] = {}
    for source in sources:
        row = connection.row("SELECT op_id, memory_id FROM imported WHERE source = ?", (source,))
        if row is None:
            continue
        op_id, memory_id = row
        if op_id not in undone:
            undone[op_id] = history.undone_by(connection, op_id) is not None
        if not undone[op_id]:
            found[source] = memory_id
    return found


def accept(connection: Connection, op_ids: Iterable[str], now: str) -> None:
    connection.run_many(
        "UPDATE imports SET accepted_at = ? WHERE op_id = ? AND accepted_at IS NULL", [(now, each) for each in op_ids]
    )


class Waiting:
    """Memories of imports that were not accepted, with the time of the import in microseconds. For the event loop's
    thread, while the writer's adds to it."""

    def __init__(self, since: Mapping[str, int] | None = None) -> None:
        self._since = dict(since or {})

    def add(self, memories: Iterable[str], at_us: int) -> None:
        """Note memories of an import of that time."""
        for each in memories:
            self._since[each] = at_us

    def at(self, now_us: int) -> frozenset[str]:
        """Return the memories that still wait then."""
        since = dict(self._since)  # atomic
        return frozenset(each for each, at_us in since.items() if at_us > now_us - WAITS_US)


def waiting(connection: Connection) -> Waiting:
    """Return the memories of all imports that were not accepted."""
    sql = (
        "SELECT memory_id, created_at FROM imports JOIN imported USING(op_id)"
        " WHERE accepted_at IS NULL AND memory_id IS NOT NULL"
    )
    return Waiting({memory: parse_rfc3339(at) for memory, at in connection.rows(sql)})
