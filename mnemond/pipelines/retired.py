"""list, of what left recall: a page of it, the last to leave first."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.insight import Insight
from mnemond.model.recall import Filter
from mnemond.pipelines.admission import admits
from mnemond.pipelines.page_start import page_start
from mnemond.store import insights
from mnemond.store.connection import Connection


class Page(NamedTuple):
    """Memories with when each left recall (RFC 3339), and the id before which the next page begins, if there is one."""

    memories: list[tuple[Insight, str]]
    following: str | None


def retired(connection: Connection, wanted: Filter, limit: int, before: str | None) -> Page:
    """At most `limit` memories out of recall that a reader may see; with `wanted.status` those in that state.

    `before` is the id, or the beginning of it, of the last one of the page before. Raises MnemonError(NOT_FOUND) when
    that one is not out of recall, and what `page_start` raises.
    """
    start = None if before is None else _place(connection, before)
    found: list[tuple[Insight, str]] = []
    while len(found) <= limit:
        rows = insights.retired(connection, wanted, limit + 1, start)
        found += [row for row in rows if _admits(wanted, row[0])]
        if len(rows) <= limit:
            break
        start = rows[-1][1], rows[-1][0].id
    shown = found[:limit]
    return Page(shown, shown[-1][0].id if len(found) > limit else None)


def _admits(wanted: Filter, it: Insight) -> bool:
    """Out of recall for whatever reason, unless one is wanted."""
    return admits(msgspec.structs.replace(wanted, status=wanted.status or it.status), it)


def _place(connection: Connection, named: str) -> tuple[str, str]:
    start = page_start(connection, named).id
    moment = insights.retired_at(connection, start)
    if moment is None:
        raise MnemonError(
            NOT_FOUND,
            f"memory {start} is not out of recall, so no page of those that are goes on after it",
            hint="list again from the start",
            outcome="rejected",
        )
    return moment, start
