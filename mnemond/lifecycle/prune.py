"""prune: what is beyond a store's capacity, or has faded away, leaves recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemond.lifecycle.job import Done, Work
from mnemond.lifecycle.slices import Line, in_slices
from mnemond.model.policy import LifecyclePolicy
from mnemond.pipelines.pruning import candidates, most_at_once, retired

SLICE: Final = 5
"""Memories a write: about 20 ms of the writer's time in a store of 10,000 with 26 links a memory, nearly all of it for
the links. A write that prunes for itself takes up to twice as many."""

SHOWN: Final = Line("auto-prune")


class Prune:
    """Every `lifecycle.prune_interval`."""

    name = "prune"
    summary = "what is beyond the capacity, or has faded away, leaves recall"
    first_s = 0.0

    def __init__(self, interval_s: float, policy: Callable[[str], LifecyclePolicy]) -> None:
        """`policy`: what a store, by its name, goes by now."""
        self.interval_s = interval_s
        self._policy = policy

    async def run(self, work: Work) -> Done:
        """Prune, unless that is more of the store than a run takes without being told to."""
        snapshot, policy = work.store.snapshot, self._policy(work.store.name)
        planned = await work.think(candidates, snapshot, policy, work.now_us)
        wanted, most = len(planned.ids), most_at_once(snapshot.live)
        if wanted > most and not work.sure:
            return await work.note(Done("stopped", wanted, _question(wanted, snapshot.live, most)))
        if work.dry_run:
            return work.done(wanted)
        return await in_slices(work, planned.ids, SLICE, lambda now, some: retired(now, some, planned, policy), SHOWN)


def _question(wanted: int, live: int, most: int) -> str:
    return (
        f"it would prune {wanted:,} of {live:,} memories, and does no more than {most:,} at once unasked; "
        "if that is right: mnemonctl jobs run prune --yes"
    )
