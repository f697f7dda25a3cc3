"""The `oplog` table: a ring of short lines, newest kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mnemond.store.connection import Connection
from mnemond.store.insertion import Insertion

MAX_LINES = 5000
"""Lines kept (spec 4)."""
MAX_DETAIL = 500
"""Characters of a line's detail (spec 19)."""
_LINE = Insertion(6, "oplog", ("operation", "insight_id", "detail", "created_at"))


def append(connection: Connection, operation: str, insight_id: str | None, detail: str, now: str) -> None:
    """Write one line. `detail` never holds memory text."""
    connection.add(_LINE, [(operation, insight_id, detail[:MAX_DETAIL], now)])


class Line(NamedTuple):
    """One line."""

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str


def newest(connection: Connection, limit: int) -> list[Line]:
    """The last `limit` lines, newest first."""
    rows = connection.rows(
        "SELECT id, operation, insight_id, detail, created_at FROM oplog ORDER BY id DESC LIMIT ?", (limit,)
    )
    return [Line(*row) for row in rows]


def at(connection: Connection, moment: str) -> list[Line]:
    """The lines of one moment (RFC 3339, as it was written), in order. Reads the whole ring."""
    rows = connection.rows(
        "SELECT id, operation, insight_id, detail, created_at FROM oplog WHERE created_at = ? ORDER BY id", (moment,)
    )
    return [Line(*row) for row in rows]


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Empty the details of the lines about memories, which name how they came in; the lines stay."""
    lines = connection.rows("SELECT id, insight_id FROM oplog WHERE insight_id IS NOT NULL AND detail <> ''")
    gone = frozenset(insight_ids)
    connection.run_many("UPDATE oplog SET detail = '' WHERE id = ?", [(line,) for line, name in lines if name in gone])


def trim(connection: Connection) -> None:
    """Keep the newest lines by id."""
    connection.run("DELETE FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ?", (MAX_LINES,))


def trim_some(connection: Connection, most: int, limit: int) -> int:
    """Remove the oldest lines, so that `most` are left, but no more than `limit` of them; how many."""
    return connection.run(
        "DELETE FROM oplog WHERE id IN"
        " (SELECT id FROM oplog WHERE id <= (SELECT max(id) FROM oplog) - ? ORDER BY id LIMIT ?)",
        (most, limit),
    )


def count(connection: Connection) -> int:
    """Lines now in the ring."""
    row = connection.row("SELECT count(*) FROM oplog")
    return 0 if row is None else int(row[0])
