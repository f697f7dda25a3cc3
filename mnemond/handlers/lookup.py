"""Finding the one memory that an id, or the beginning of one, names."""

from __future__ import annotations

from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight

SHOWN = 5
"""Matches an ambiguous prefix lists."""


def one_active(snapshot: Snapshot, id_or_prefix: str) -> Insight:
    """The active insight that `id_or_prefix` names.

    Raises MnemonError(NOT_FOUND), or MnemonError(AMBIGUOUS) with the matches.
    """
    found = snapshot.find(id_or_prefix.casefold())
    row = snapshot.row_of(found[0]) if len(found) == 1 else None
    if row is not None:
        return snapshot.insight(row)
    if not found:
        raise MnemonError(
            NOT_FOUND,
            f"no active memory with id {id_or_prefix[:64]!a}",
            hint="see `mnemonctl list`; `mnemonctl list --retired` shows those out of recall,"
            " `mnemonctl restore ID` brings one back",
            outcome="rejected",
        )
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise MnemonError(
        AMBIGUOUS,
        f"{id_or_prefix} is the beginning of {len(found)} ids: {', '.join(found[:SHOWN])}{more}",
        hint="write more of the id",
        outcome="rejected",
    )
