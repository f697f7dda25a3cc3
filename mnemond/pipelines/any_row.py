"""The memory an operation is about, in whatever state it is."""

from __future__ import annotations

from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.model.insight import Insight, Scope
from mnemond.pipelines.active_row import admits, hidden
from mnemond.store import insights
from mnemond.store.connection import Connection

SHOWN = 5
"""Matches an ambiguous prefix lists."""


def any_row(connection: Connection, id_or_prefix: str, scope: Scope) -> Insight:
    """The memory, active or retired, that `id_or_prefix` names and a reader of this scope may see.

    Raises MnemonError(NOT_FOUND), or MnemonError(AMBIGUOUS) with the first matches.
    """
    found = insights.ids_beginning(connection, id_or_prefix.casefold(), SHOWN + 1)
    if len(found) > 1:
        more = " and more" if len(found) > SHOWN else ""
        raise MnemonError(
            AMBIGUOUS,
            f"{id_or_prefix[:64]} is the beginning of several ids: {', '.join(found[:SHOWN])}{more}",
            hint="write more of the id",
            outcome="rejected",
        )
    it = insights.read(connection, found[0]) if found else None
    if it is None:
        raise MnemonError(
            NOT_FOUND,
            f"no memory with id {id_or_prefix[:64]!a}, not even among what was forgotten",
            hint="`mnemonctl list` shows the active ones, `mnemonctl log` what was done lately",
            outcome="rejected",
        )
    if not admits(scope, it):
        raise hidden(id_or_prefix)
    return it
