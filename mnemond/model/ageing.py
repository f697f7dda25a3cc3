"""What counts as now for memories that fade, prune and expire: a clock that jumps must not cost years in an hour."""

from __future__ import annotations

from typing import Final

MOST_US: Final = 2 * 86_400 * 1_000_000
"""Microseconds that memories age between two runs of a job at most: two days (spec 13, clock rules)."""


def aged(before_us: int | None, wall_us: int) -> int:
    """What memories are aged to by a run at `wall_us`; `before_us` is what the run before aged them to, None for the
    first. Never less than that, and at most MOST_US more: after a long pause the next runs catch up step by step.

    All are microseconds since the epoch.
    """
    if before_us is None:
        return wall_us
    return before_us + min(max(0, wall_us - before_us), MOST_US)


def effective_now(aged_us: int, wall_us: int) -> int:
    """The time that ages are told by. A clock that was ahead and was put right makes nothing older than it is."""
    return min(aged_us, wall_us)
