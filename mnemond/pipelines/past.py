"""history: what became of one memory, from its first day to its last, and of those whose place it took."""

from __future__ import annotations

import msgspec

from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.model.insight import Scope
from mnemond.pipelines.active_row import admits, hidden
from mnemond.store import history, insights
from mnemond.store.connection import Connection
from mnemond.store.history import Record

SHOWN = 5
"""Matches an ambiguous prefix lists."""

LONGEST_CHAIN = 500
"""Memories of a chain that are named in each direction."""


class Past(msgspec.Struct, frozen=True):
    """A memory's past: its chain of (id, status), and what was done to it, `total` times in all."""

    id: str
    chain: list[tuple[str, str]]
    records: list[Record]
    total: int


def past(connection: Connection, id_or_prefix: str, scope: Scope, limit: int) -> Past:
    """The past of the one memory, in whatever state or purged, that an id or its beginning names.

    Raises MnemonError(NOT_FOUND), also for one that is not meant for this scope, and MnemonError(AMBIGUOUS).
    """
    insight_id = _one_ever(connection, id_or_prefix.casefold())
    it = insights.read(connection, insight_id)
    if it is not None and not admits(scope, it):
        raise hidden(id_or_prefix)
    return Past(
        insight_id,
        insights.chain(connection, insight_id, LONGEST_CHAIN),
        history.of_memory(connection, insight_id, limit),
        history.count_of(connection, insight_id),
    )


def _one_ever(connection: Connection, prefix: str) -> str:
    stored = insights.ids_beginning(connection, prefix, SHOWN + 1)
    found = sorted({*stored, *history.memories_beginning(connection, prefix, SHOWN + 1)})
    if len(found) == 1:
        return found[0]
    if not found:
        raise MnemonError(
            NOT_FOUND,
            f"no memory with id {prefix[:64]!a} was ever in this store",
            hint="`mnemonctl list` shows the active ones, `mnemonctl log` what was done lately",
        )
    more = " and more" if len(found) > SHOWN else ""
    raise MnemonError(
        AMBIGUOUS,
        f"{prefix[:64]} is the beginning of several ids: {', '.join(found[:SHOWN])}{more}",
        hint="write more of the id",
    )
