"""Jobs on memories and rows: graph metrics, decay refresh, expiry, pruning, trimming of logs; and the list of jobs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import trio

from mnemond.config.sections import seconds
from mnemond.config.settings import Config
from mnemond.index.communities import communities
from mnemond.jobs.consolidate import Consolidate
from mnemond.jobs.core_summary import CoreDeps, CoreSummaries
from mnemond.jobs.derived import Summaries
from mnemond.jobs.entities import EntityBackfill
from mnemond.jobs.extract import Extract, ExtractDeps
from mnemond.jobs.job import DAY_S, HOUR_S, METHOD, Done, Job, Line, Work, in_slices
from mnemond.jobs.memory_questions import ReadMemories
from mnemond.jobs.received import LinkReceived
from mnemond.jobs.resolve import ModelDeps, ResolveReviews
from mnemond.jobs.slow_path import SlowPath
from mnemond.jobs.storage import Backup, Checkpoint, Copy, FullVerify, Vacuum, Verify
from mnemond.memory.retention import (
    IMPORTANCE_TOLERANCE,
    candidates,
    difference,
    expired,
    most_at_once,
    refreshed,
    retire_expired,
    retire_pruned,
    stale,
)
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import DropPassage
from mnemond.store import edges, held_texts, operations, passages, reviews
from mnemond.store.connection import Connection
from mnemond.store.edges import Metric
from mnemond.store.store import Store
from mnemond.store.verify import Examiner

READ: Final = 2_000
"""Metrics rows per read."""

WRITTEN: Final = 250
"""Metrics rows per transaction: about 3 ms of the writer's time."""


class GraphMetrics(Job):
    """Store PageRank, degree and community of every memory, daily."""

    name = "graph_metrics"
    summary = "how central every memory is and which community it belongs to, written down"
    of_each_daemon = True
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Write new and changed metrics."""
        snapshot, written = work.store.snapshot, await metrics_of(work.store)
        before = {each.insight_id: each.community for each in written if each.community is not None}
        groups = await work.in_steps(communities(snapshot, before))
        found = await work.think(difference, snapshot, written, groups)
        changed = len(found.put) + len(found.remove)
        if work.dry_run:
            return work.done(changed)
        put, remove = list(found.put), list(found.remove)

        def some(connection: Connection) -> tuple[int, bool]:
            now = work.identity.now
            part = put[:WRITTEN] or remove[:WRITTEN]
            if put:
                edges.put_metrics(connection, put[:WRITTEN], now)
                del put[:WRITTEN]
            else:
                edges.remove_metrics(connection, remove[:WRITTEN])
                del remove[:WRITTEN]
            return len(part), bool(put or remove)

        return await work.in_parts(some)


async def metrics_of(store: Store) -> list[Metric]:
    """Return the stored metrics of all memories, by id, read a page at a time. Raises MnemonError."""
    found: list[Metric] = []
    while True:
        rows = await store.read(partial(edges.read_metrics, after=found[-1].insight_id if found else "", limit=READ))
        found += rows
        if len(rows) < READ:
            return found


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

LINES: Final = 500
"""Log or outcome rows per transaction: some milliseconds."""


class OplogTrim(Job):
    """Trim the log, daily. Every write trims it as well; this is for a reduced `lifecycle.max_oplog`."""

    name = "oplog_trim"
    summary = "the log keeps its newest lines"
    of_each_daemon = True
    interval_s = DAY_S

    def __init__(self, most: int) -> None:
        """`most`: lines kept."""
        self._most = most

    async def run(self, work: Work) -> Done:
        """Remove the oldest lines beyond the limit."""
        if work.dry_run:
            return work.done(max(0, await work.store.read(operations.count_lines) - self._most))
        return await work.in_parts(self._some)

    def _some(self, connection: Connection) -> tuple[int, bool]:
        many = operations.trim_some_lines(connection, self._most, LINES)
        return many, many == LINES


class OperationsExpiry(Job):
    """Remove outcomes that are too old to be replayed, daily."""

    name = "operations_expiry"
    summary = "outcomes kept for repeated requests go after seven days"
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """Remove expired outcomes."""
        if work.dry_run:
            return work.done(await work.store.read(lambda it: operations.count_expired(it, work.now_us)))

        def some(connection: Connection) -> tuple[int, bool]:
            many = operations.expire_some(connection, work.now_us, LINES)
            return many, many == LINES

        return await work.in_parts(some)


class ReviewExpiry(Job):
    """End reviews that waited too long with the safe answer, daily: both memories stay, and texts that are no memory
    are dropped."""

    name = "review_expiry"
    summary = "questions about two memories end after 14 days, and both stay; texts that give orders are dropped"
    interval_s = DAY_S

    async def run(self, work: Work) -> Done:
        """End expired reviews."""
        if work.dry_run:
            old = await work.store.read(
                lambda it: reviews.count_expired(it, work.now_us) + held_texts.count_expired(it, work.now_us)
            )
            return work.done(old)

        def end(connection: Connection) -> tuple[int, bool]:
            many = reviews.expire(connection, work.now_us)
            dropped = held_texts.expire(connection, work.now_us)
            for what, some in (("expired", many), ("dropped", dropped)):
                if some:
                    operations.log(connection, "review", None, f"{what}={some}", work.identity.now)
            return many + dropped, False

        return await work.in_parts(end)


# The jobs of a daemon.


MIN_S: Final = 60.0
"""The shortest interval; every run is recorded."""


def jobs_of(
    config: Config,
    config_of: Callable[[str], Config],
    copy: Copy,
    reading: ExtractDeps,
    asking: ModelDeps,
    of_users: CoreDeps,
) -> tuple[Job, ...]:
    """Return every job in the order they run in when several are due. `config_of` returns the settings of a store, by
    its name; `copy` makes a backup; `reading` is for the extraction of exchanges, `asking` for what a
    model may be asked, `of_users` for core summaries."""
    lifecycle = config.lifecycle
    jobs: list[Job] = [
        Extract(_interval(lifecycle.extract_interval), reading),
        ResolveReviews(asking),
        SlowPath(config_of, asking),
        LinkReceived(asking),
        EntityBackfill(config_of),
        DecayRefresh(_interval(lifecycle.decay_interval)),
        Expire(config_of),
        Prune(_interval(lifecycle.prune_interval), config_of),
        GraphMetrics(),
        Consolidate(_interval(config.consolidation.interval), asking),
        Summaries(asking),
        CoreSummaries(of_users),
        OplogTrim(lifecycle.max_oplog),
        OperationsExpiry(),
        ReviewExpiry(),
        ReadMemories(asking),
        Checkpoint(),
        Vacuum(),
    ]
    if seconds(lifecycle.backup_interval) > 0:
        jobs.append(Backup(_interval(lifecycle.backup_interval), copy))
    return tuple(jobs)


def looks_of(config: Config, examiner: Examiner) -> tuple[Job, ...]:
    """Return the verification jobs, which run after all others."""
    interval = config.lifecycle.full_verify_interval
    if seconds(interval) > 0:
        return FullVerify(_interval(interval), examiner), Verify(examiner)
    return (Verify(examiner),)


def _interval(duration: float | str) -> float:
    return max(MIN_S, seconds(duration))
