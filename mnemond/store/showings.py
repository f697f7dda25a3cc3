"""The `showings` table: which memories the sessions of agents were shown, when and why, in a ring."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mnemond.model.changes import LONGEST_NAME, Showing
from mnemond.store.connection import Connection
from mnemond.store.rows import Codec, Mapper

MAX_SHOWINGS: Final = 2_000
"""Rows that are kept: a session of `hooks.session_tokens` has some twenty, so these are the last hundred sessions."""

MAX_REASON: Final = 200
"""Characters of a reason."""


def _cut(length: int) -> Codec:
    return Codec(lambda text: text[:length], str)


_ROWS: Final = Mapper(
    Showing,
    names={"at": "created_at"},
    codecs={"session": _cut(LONGEST_NAME), "agent": _cut(LONGEST_NAME), "reason": _cut(MAX_REASON)},
)


def add(connection: Connection, showings: Collection[Showing]) -> None:
    """Write rows, and drop the oldest beyond MAX_SHOWINGS."""
    connection.run_many(
        f"INSERT INTO showings({_ROWS.select}) VALUES({_ROWS.places()})", list(map(_ROWS.values, showings))
    )
    connection.run("DELETE FROM showings WHERE id <= (SELECT max(id) FROM showings) - ?", (MAX_SHOWINGS,))


def newest(connection: Connection, session: str = "") -> list[Showing]:
    """Return the rows of the sessions whose id begins with `session`, newest first."""
    sql = f"SELECT {_ROWS.select} FROM showings WHERE substr(session, 1, ?) = ? ORDER BY id DESC"  # noqa: S608 - names only
    return [_ROWS.read(row) for row in connection.rows(sql, (len(session), session))]


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Empty the reasons of memories, which derive from their texts; that they were shown stays."""
    connection.run_many("UPDATE showings SET reason = '' WHERE insight_id = ?", [(each,) for each in insight_ids])
