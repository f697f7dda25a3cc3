"""expire: memories whose time is over leave the store."""

from __future__ import annotations

from typing import Final

from mnemond.lifecycle.job import HOUR_S, Done, Work
from mnemond.lifecycle.slices import Line, in_slices
from mnemond.pipelines.expiry import expired, retired

SLICE: Final = 5
"""Memories a write, as of a prune."""

SHOWN: Final = Line("expire")


class Expire:
    """Every hour: recall leaves them out at the moment they name."""

    name = "expire"
    summary = "memories whose time is over leave the store"
    first_s = 0.0
    interval_s = HOUR_S

    async def run(self, work: Work) -> Done:
        """Let go of what expired. A clock that runs ahead lets go of two days' worth a run."""
        ids = await work.think(expired, work.store.snapshot, work.now_us)
        if work.dry_run:
            return work.done(len(ids))
        return await in_slices(work, ids, SLICE, lambda now, some: retired(now, some, work.now_us), SHOWN)
