"""Jobs that decide which memories stay: decay refresh, expiry and pruning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import trio

from mnemond.config.settings import Config
from mnemond.jobs.job import HOUR_S, METHOD, Done, Job, Line, Work, in_slices
from mnemond.memory.retention import (
    IMPORTANCE_TOLERANCE,
    candidates,
    expired,
    most_at_once,
    refreshed,
    retire_expired,
    retire_pruned,
    stale,
)
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import DropPassage
from mnemond.store import passages
from mnemond.store.connection import Connection

REFRESH_SLICE: Final = 100
"""Memories per write: 3 to 5 ms of the writer's time in a store of 10,000 (10 to 17 ms with the flush, on two busy
cores)."""


class DecayRefresh(Job):
    """Update stored effective importances, every `lifecycle.decay_interval`."""

    name = "decay_refresh"
    summary = "stored effective importance follows the time that passed"
    of_each_daemon = True

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s

    async def run(self, work: Work) -> Done:
        """Write the importances that are off by more than the tolerance; on request, all that differ."""
        tolerance = 0.0 if work.asked else IMPORTANCE_TOLERANCE
        ids = await work.think(stale, work.store.snapshot, work.now_us, tolerance)
        if work.dry_run:
            return work.done(len(ids))
        line = Line("decay", once=True)
        return await in_slices(work, ids, REFRESH_SLICE, lambda now, some: refreshed(now, some, work.now_us), line)


RETIRED_SLICE: Final = 5
"""Memories retired per write: about 20 ms of the writer's time in a store of 10,000 with 26 links a memory, nearly all
of it for the links. A write that prunes for itself takes up to twice as many."""


PASSAGES: Final = 100
"""Passages that are deleted in one write."""


class Expire(Job):
    """Retire expired memories, hourly; recall leaves them out from the moment of expiry. Delete what is too old or too
    much of the record of sessions."""

    name = "expire"
    summary = "memories whose time is over leave the store, and the oldest of the record of sessions"
    interval_s = HOUR_S

    def __init__(self, config_of: Callable[[str], Config] = lambda _: Config()) -> None:
        """`config_of` returns the settings of a store, by its name."""
        self._config_of = config_of

    async def run(self, work: Work) -> Done:
        """Retire expired memories. A clock that runs ahead retires two days' worth a run."""
        ids = await work.think(expired, work.store.snapshot, work.now_us)
        kept = self._config_of(work.store.name).sessions

        def too_old(connection: Connection) -> list[str]:
            return passages.too_old(connection, work.now_us, kept.keep_days, kept.keep_mb * MEGABYTE, PASSAGES)

        if work.dry_run:
            return work.done(len(ids) + len(await work.store.read(too_old)))
        while gone := await work.store.read(too_old):
            since, outcome = trio.current_time(), Maintained(changed=len(gone), op_id=work.identity.op_id)
            write = work.identity.change_set(METHOD, (), outcome, operation="")
            await work.store.write(
                msgspec.structs.replace(write, passages=tuple(DropPassage(each, "expired") for each in gone))
            )
            await work.make_room(since)
        line = Line("expire")
        return await in_slices(work, ids, RETIRED_SLICE, lambda now, some: retire_expired(now, some, work.now_us), line)


class Prune(Job):
    """Retire memories beyond the capacity and faded ones, every `lifecycle.prune_interval`."""

    name = "prune"
    summary = "what is beyond the capacity, or has faded away, leaves recall"

    def __init__(self, interval_s: float, config_of: Callable[[str], Config]) -> None:
        """`config_of` returns the settings of a store, by its name."""
        self.interval_s = interval_s
        self._config_of = config_of

    async def run(self, work: Work) -> Done:
        """Prune, unless that is a larger share of the store than a run may take without confirmation."""
        snapshot, config = work.store.snapshot, self._config_of(work.store.name)
        planned = await work.think(candidates, snapshot, config, work.now_us)
        wanted, most = len(planned.ids), most_at_once(snapshot.live)
        if wanted > most and not work.sure:
            question = (
                f"it would prune {wanted:,} of {snapshot.live:,} memories, and does no more than {most:,} at once"
                " unasked; if that is right: mnemonctl jobs run prune --yes"
            )
            return await work.note(Done("stopped", wanted, question))
        if work.dry_run:
            return work.done(wanted)
        return await in_slices(
            work,
            planned.ids,
            RETIRED_SLICE,
            lambda now, some: retire_pruned(now, some, planned, config.lifecycle),
            Line("auto-prune"),
        )


MEGABYTE: Final = 1_000_000
