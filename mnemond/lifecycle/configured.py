"""The jobs of a daemon, as the configuration has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemond.config import Config
from mnemond.lifecycle.backup import Backup, Copy
from mnemond.lifecycle.checkpoint import Checkpoint
from mnemond.lifecycle.decay_refresh import DecayRefresh
from mnemond.lifecycle.expire import Expire
from mnemond.lifecycle.extract import Extract, Means
from mnemond.lifecycle.graph_metrics import GraphMetrics
from mnemond.lifecycle.job import Job
from mnemond.lifecycle.prune import Prune
from mnemond.lifecycle.trim import OperationsExpiry, OplogTrim
from mnemond.lifecycle.vacuum import Vacuum
from mnemond.lifecycle.verify import FullVerify, Verify
from mnemond.model.policy import LifecyclePolicy
from mnemond.store.invariants.examination import Examiner
from mnemond.write_settings import seconds

LEAST_S: Final = 60.0
"""The shortest interval: a run writes down that it ran."""


def jobs_of(config: Config, policy: Callable[[str], LifecyclePolicy], copy: Copy, reading: Means) -> tuple[Job, ...]:
    """Every job, in the order they run in where several are due: what was said, what ages and what leaves first, then
    what is counted and copied. `policy`: what a store, by its name, goes by; `copy` makes a backup; `reading` is what
    exchanges are read with."""
    lifecycle = config.lifecycle
    jobs: list[Job] = [
        Extract(_interval(lifecycle.extract_interval), reading),
        DecayRefresh(_interval(lifecycle.decay_interval)),
        Expire(),
        Prune(_interval(lifecycle.prune_interval), policy),
        GraphMetrics(),
        OplogTrim(lifecycle.max_oplog),
        OperationsExpiry(),
        Checkpoint(),
        Vacuum(),
    ]
    if seconds(lifecycle.backup_interval) > 0:
        jobs.append(Backup(_interval(lifecycle.backup_interval), copy))
    return tuple(jobs)


def looks_of(config: Config, examiner: Examiner) -> tuple[Job, ...]:
    """The jobs that look at what others leave, and run after them."""
    interval = config.lifecycle.full_verify_interval
    if seconds(interval) > 0:
        return FullVerify(_interval(interval), examiner), Verify(examiner)
    return (Verify(examiner),)


def _interval(duration: float | str) -> float:
    return max(LEAST_S, seconds(duration))
