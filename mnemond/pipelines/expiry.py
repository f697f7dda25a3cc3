"""Expiry: a memory whose time is over leaves the store as it left recall before, with a line in its history (spec 13).

No read shows it from the moment on that it names, so this may come late.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Change, PutInsight, RetireInsight
from mnemond.model.insight import Insight
from mnemond.model.timestamp import parse_rfc3339
from mnemond.pipelines.pairing import parted


def expired(snapshot: Snapshot, now_us: int) -> list[str]:
    """Ids of the live memories that expire at `now_us` or before, those first that expired first. Takes some tenths of
    a microsecond a row: not for the event loop."""
    found: list[tuple[int, str]] = []
    for row in np.flatnonzero(snapshot.alive()).tolist():
        it = snapshot.insight(row)
        if it.expires_at is not None and (at := parse_rfc3339(it.expires_at)) <= now_us:
            found.append((at, it.id))
    return [each for _, each in sorted(found)]


def retired(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[Change]:
    """The changes that let them go, of those that are live and still to expire."""
    leaving = [it for each in ids if (it := _due(snapshot, each, now_us)) is not None]
    going = {it.id for it in leaving}
    changes: list[Change] = []
    for it in leaving:
        freed = [each for each in parted(snapshot, it) if isinstance(each, PutInsight)]
        changes += [each for each in freed if each.insight.id not in going]
        changes.append(RetireInsight(it.id, "expired"))
    return changes


def _due(snapshot: Snapshot, insight_id: str, now_us: int) -> Insight | None:
    row = snapshot.row_of(insight_id)
    it = None if row is None else snapshot.insight(row)
    is_due = it is not None and it.expires_at is not None and parse_rfc3339(it.expires_at) <= now_us
    return it if is_due else None
