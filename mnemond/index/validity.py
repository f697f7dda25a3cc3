"""Since when and until when rows are valid, and when what they speak of happened, in microseconds since the epoch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from mnemond.model.insight import Insight
from mnemond.model.timestamp import parse_rfc3339

LONG_AGO_US = -(2**63)
"""Before any time there is."""

FOREVER_US = 2**63 - 1
"""After any time there is."""

NO_EVENT = (FOREVER_US, LONG_AGO_US)
"""Of a row that speaks of no time: overlaps nothing."""

I64 = npt.NDArray[Any]


def valid_us(insight: Insight, created_us: int) -> int:
    """When a memory begins to be valid: as it says, else when it was made."""
    start = insight.valid_from
    return created_us if start is None or start == insight.created_at else parse_rfc3339(start)


def ends_us(insight: Insight) -> int:
    """When it is not valid any more: as it says, else, if it was retired, since then (its last change)."""
    if insight.invalid_at is None and insight.expires_at is None and insight.status == "active":
        return FOREVER_US
    times = [insight.invalid_at, insight.expires_at]
    if insight.status != "active" and insight.invalid_at is None:
        times.append(insight.updated_at)
    return min(parse_rfc3339(time) for time in times if time is not None)


def event_us(insight: Insight) -> tuple[int, int]:
    """First and last microsecond of what it speaks of, `NO_EVENT` when that has no time. Where only one is told, or the
    last lies before the first, both are the first that is."""
    start, end = insight.event_start or insight.event_end, insight.event_end or insight.event_start
    if start is None or end is None:
        return NO_EVENT
    first = parse_rfc3339(start)
    return first, max(first, parse_rfc3339(end))


def time_us(insight: Insight) -> int:
    """When what a memory speaks of began, else when it was made, in microseconds."""
    event = event_us(insight)
    return parse_rfc3339(insight.created_at) if event == NO_EVENT else event[0]


class Extent(NamedTuple):
    """What no row of a table goes beyond, so that a rule that concerns no row costs nothing.

    `latest_us`: no row begins to be valid later; `latest_stated_us`: nor does any of those later that begin after they
    were made. `earliest_end_us`: all are valid until then. `quarantined`, `retired`: whether any row is.
    """

    latest_us: int = LONG_AGO_US
    latest_stated_us: int = LONG_AGO_US
    earliest_end_us: int = FOREVER_US
    quarantined: bool = False
    retired: bool = False

    def with_row(self, insight: Insight, created: int, valid: int, ends: int) -> Extent:
        """The same with one row more, whose times are given in microseconds."""
        return Extent(
            max(self.latest_us, valid),
            max(self.latest_stated_us, valid) if valid > created else self.latest_stated_us,
            min(self.earliest_end_us, ends),
            self.quarantined or insight.quarantined,
            self.retired or insight.status != "active",
        )

    def with_rows(self, created: I64, valid: I64, ends: I64, quarantined: I64, status: I64) -> Extent:
        """The same with many rows more, each argument a column of shape (rows,); status 0 is active."""
        if not len(created):
            return self
        stated = valid[valid > created]
        return Extent(
            max(self.latest_us, int(valid.max())),
            max(self.latest_stated_us, int(stated.max()) if len(stated) else LONG_AGO_US),
            min(self.earliest_end_us, int(ends.min())),
            self.quarantined or bool(quarantined.any()),
            self.retired or bool(status.any()),
        )
