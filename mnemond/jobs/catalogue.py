"""Every job of a daemon, in the order in which they run when several are due."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemond.config.sections import seconds
from mnemond.config.settings import Config
from mnemond.jobs.consolidate import Consolidate
from mnemond.jobs.core_summary import CoreDeps, CoreSummaries
from mnemond.jobs.entities import EntityBackfill
from mnemond.jobs.extract import Extract, ExtractDeps
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.job import Job
from mnemond.jobs.link_received import LinkReceived
from mnemond.jobs.memory_questions import ReadMemories
from mnemond.jobs.resolve import ModelDeps, ResolveReviews
from mnemond.jobs.retention import DecayRefresh, Expire, Prune
from mnemond.jobs.slow_path import SlowPath
from mnemond.jobs.storage import (
    Backup,
    Checkpoint,
    Copy,
    FullVerify,
    OperationsExpiry,
    OplogTrim,
    ReviewExpiry,
    Vacuum,
    Verify,
)
from mnemond.jobs.summaries import Summaries
from mnemond.store.verify import Examiner

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
