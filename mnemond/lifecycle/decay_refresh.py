"""decay_refresh: the stored effective importance of every memory follows the time that passed."""

from __future__ import annotations

from typing import Final

from mnemond.lifecycle.job import Done, Work
from mnemond.lifecycle.slices import Line, in_slices
from mnemond.pipelines.decay_refresh import TOLERANCE, refreshed, stale

SLICE: Final = 100
"""Memories a write: 3 to 5 ms of the writer's time in a store of 10,000 (10 to 17 ms with the flush, on two busy
cores)."""

SHOWN: Final = Line("decay", once=True)


class DecayRefresh:
    """Every `lifecycle.decay_interval`."""

    name = "decay_refresh"
    summary = "stored effective importance follows the time that passed"
    first_s = 0.0

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s

    async def run(self, work: Work) -> Done:
        """Write what reads otherwise by now; asked for by somebody, whatever differs at all."""
        tolerance = 0.0 if work.asked else TOLERANCE
        ids = await work.think(stale, work.store.snapshot, work.now_us, tolerance)
        if work.dry_run:
            return work.done(len(ids))
        return await in_slices(work, ids, SLICE, lambda now, some: refreshed(now, some, work.now_us), SHOWN)
