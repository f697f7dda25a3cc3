"""Jobs that are watched: after each run what it promises is looked at, whatever was done to the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings, PruningSettings
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.job import Done, Job, Work
from mnemond.jobs.retention import DecayRefresh, Expire, Prune
from mnemond.jobs.storage import OperationsExpiry, OplogTrim
from mnemond.memory.retention import IMPORTANCE_TOLERANCE, most_at_once
from mnemond.model.memory import MAX_US, effective_importance, parse_rfc3339
from mnemond.store.edges import read_metrics
from tests.jobs.factories import DAY_US, HOUR_S, Keeping

CAP = 60
LIFECYCLE = LifecycleSettings(max_insights=CAP)
CONFIG = Config(lifecycle=LIFECYCLE, pruning=PruningSettings(enabled=True))
LINES = 400
ROUNDING = 1e-6


class CheckedDecay(DecayRefresh):
    async def run(self, work: Work) -> Done:
        done = await super().run(work)
        if not work.dry_run:
            snapshot, tolerance = work.store.snapshot, 0.0 if work.asked else IMPORTANCE_TOLERANCE
            for row in np.flatnonzero(snapshot.alive()).tolist():
                it = snapshot.insight(row)
                days = (work.now_us - parse_rfc3339(it.last_accessed_at or it.created_at)) / DAY_US
                true = effective_importance(it.importance, it.access_count, days, int(snapshot.columns.degree[row]))
                assert abs(it.effective_importance - true) <= tolerance + ROUNDING
        return done


class CheckedPrune(Prune):
    async def run(self, work: Work) -> Done:
        live = work.store.snapshot.live
        done = await super().run(work)
        gone = live - work.store.snapshot.live
        assert gone == (done.changed if done.outcome == "done" and not work.dry_run else 0)
        assert work.sure or gone <= most_at_once(live)
        if done.outcome == "stopped":
            assert done.changed > most_at_once(live)
        elif not work.dry_run:  # whatever is left is immune
            snapshot = work.store.snapshot
            kept = [snapshot.insight(row) for row in np.flatnonzero(snapshot.alive()).tolist()]
            assert len(kept) <= CAP or all(_is_immune(it.importance, it.access_count, it.pinned) for it in kept)
        return done


class CheckedExpire(Expire):
    async def run(self, work: Work) -> Done:
        done = await super().run(work)
        if not work.dry_run:
            snapshot = work.store.snapshot
            left = [snapshot.insight(row).expires_at for row in np.flatnonzero(snapshot.alive()).tolist()]
            assert all(at is None or parse_rfc3339(at) > work.now_us for at in left)
        return done


class CheckedMetrics(GraphMetrics):
    async def run(self, work: Work) -> Done:
        done = await super().run(work)
        if not work.dry_run:
            snapshot = work.store.snapshot
            written = {each.insight_id for each in await work.store.read(lambda it: read_metrics(it, "", 10_000))}
            assert written == {snapshot.insight(row).id for row in np.flatnonzero(snapshot.alive()).tolist()}
        return done


class CheckedClock(Job):
    """Sees what every run counts as now."""

    name, summary, interval_s, first_s = "clock", "checks the clock", HOUR_S, 0.0

    def __init__(self) -> None:
        self._aged_us: int | None = None

    async def run(self, work: Work) -> Done:
        wall_us = work.identity.now_us
        assert work.now_us <= wall_us
        if self._aged_us is not None:
            assert 0 <= work.aged_us - self._aged_us <= MAX_US
        self._aged_us = work.aged_us
        return await work.note(work.done(0))


def jobs() -> Sequence[Job]:
    """All of them, every hour or day."""
    return (
        CheckedClock(), CheckedDecay(HOUR_S), CheckedExpire(), CheckedPrune(HOUR_S, lambda name: CONFIG),
        CheckedMetrics(), OplogTrim(LINES), OperationsExpiry(),
    )  # fmt: skip


def _is_immune(importance: int, accesses: int, pinned: bool) -> bool:
    return importance >= LIFECYCLE.immune_importance or accesses >= LIFECYCLE.immune_access or pinned


async def none_was_immune(over: Keeping) -> int:
    """Look at every memory that was ever pruned, as it was before; how many."""
    sql = "SELECT before_state, triggered_by FROM memory_operations WHERE operation_type = 'PRUNE'"
    rows = await over.store.read(lambda it: it.rows(sql))
    for before, cause in rows:
        it: dict[str, Any] = json.loads(before)["insight"]
        assert cause == "system:prune"
        assert not _is_immune(it.get("importance", 3), it.get("access_count", 0), it.get("pinned", False))
    return len(rows)
