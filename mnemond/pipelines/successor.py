"""What stands in the place of a memory."""

from __future__ import annotations

from mnemond.model.insight import Insight
from mnemond.store import insights
from mnemond.store.connection import Connection

MOST_SUCCESSORS = 10_000
"""Links of a chain of successors that are followed; more of them can only be a damaged store."""


def last_successor(connection: Connection, it: Insight) -> Insight:
    """What stands in the place of a memory now: the end of its chain of successors, itself when it has none."""
    for _ in range(MOST_SUCCESSORS):
        following = None if it.superseded_by is None else insights.read(connection, it.superseded_by)
        if following is None or it.status == "active":
            return it
        it = following
    return it
