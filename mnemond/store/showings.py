"""The `showings` table: which memories the sessions of agents were shown, when and why, in a ring."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from mnemond.model.changes import LONGEST_NAME, Showing
from mnemond.store.connection import Connection

MAX_SHOWINGS: Final = 2_000
"""Rows that are kept: a session of `hooks.session_tokens` has some twenty, so these are the last hundred sessions."""

MAX_REASON: Final = 200
"""Characters of a reason."""

_COLUMNS: Final = "created_at, session, host, agent, moment, tokens, insight_id, reason"


def add(connection: Connection, showings: Collection[Showing]) -> None:
    """Write rows, and drop the oldest beyond MAX_SHOWINGS."""
    connection.run_many(
        f"INSERT INTO showings({_COLUMNS}) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (it.at, it.session[:LONGEST_NAME], it.host, it.agent[:LONGEST_NAME], it.moment, it.tokens, it.insight_id,
             it.reason[:MAX_REASON])
            for it in showings
        ],
    )  # fmt: skip
    connection.run("DELETE FROM showings WHERE id <= (SELECT max(id) FROM showings) - ?", (MAX_SHOWINGS,))


def newest(connection: Connection, session: str = "") -> list[Showing]:
    """Return the rows of the sessions whose id begins with `session`, newest first."""
    sql = f"SELECT {_COLUMNS} FROM showings WHERE substr(session, 1, ?) = ? ORDER BY id DESC"  # noqa: S608 - names only
    return [Showing(*row) for row in connection.rows(sql, (len(session), session))]


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Empty the reasons of memories, which derive from their texts; that they were shown stays."""
    connection.run_many("UPDATE showings SET reason = '' WHERE insight_id = ?", [(each,) for each in insight_ids])
