"""The decay refresh: stored effective importance follows the time that passes (spec 7.14, 13).

What ranks or prunes works the importance out for itself (docs/decisions/0008); the stored one is for whoever looks at a
row. So a row is written anew only where it would read otherwise: a memory of importance .5 twice a day, one that has
faded hardly ever, and each no more than a hundred times until it is nearly gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import SetImportance
from mnemond.pipelines.capacity import importances

TOLERANCE: Final = 0.005
"""How far a stored value may be from the true one: half of the last digit people are shown."""

DIGITS: Final = 6
"""Decimals that are stored, as by every other write."""


def stale(snapshot: Snapshot, now_us: int, tolerance: float = TOLERANCE) -> list[str]:
    """Ids of the live memories whose stored importance is further than `tolerance` from that at `now_us`, in the order
    of their rows. Takes a microsecond a row: not for the event loop."""
    rows = np.flatnonzero(snapshot.alive())
    stored = np.array([snapshot.insight(row).effective_importance for row in rows.tolist()], dtype=np.float64)
    true = np.round(importances(snapshot, now_us)[rows], DIGITS)
    return [snapshot.insight(row).id for row in rows[np.abs(true - stored) > tolerance].tolist()]


def refreshed(snapshot: Snapshot, ids: Sequence[str], now_us: int) -> list[SetImportance]:
    """What these memories' importance is at `now_us`, of those that are live and say otherwise."""
    rows = [row for each in ids if (row := snapshot.row_of(each)) is not None]
    if not rows:
        return []
    values = np.round(importances(snapshot, now_us)[rows], DIGITS).tolist()
    found = [(snapshot.insight(row), value) for row, value in zip(rows, values, strict=True)]
    return [SetImportance(it.id, value) for it, value in found if it.effective_importance != value]
