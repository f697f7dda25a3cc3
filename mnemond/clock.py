"""The only module that reads clocks; all others receive the time as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Source of the current time; tests have their own."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        return time.time_ns() // 1000


def monotonic_s() -> float:
    """Return seconds on a clock that never goes back, for measuring durations."""
    return time.perf_counter()


def monotonic_us() -> int:
    """Return microseconds on CLOCK_MONOTONIC, the clock of the service manager."""
    return time.monotonic_ns() // 1000
