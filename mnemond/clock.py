"""The only place that reads the wall clock; everything below the edge receives time as an argument."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where "now" comes from. Tests move their own by hand."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        ...


class SystemClock:
    """The machine's wall clock."""

    def now_us(self) -> int:
        """Microseconds since 1970-01-01T00:00:00Z."""
        return time.time_ns() // 1000


def monotonic_s() -> float:
    """Seconds on a clock that never goes back, for measuring how long something took."""
    return time.perf_counter()


def monotonic_us() -> int:
    """Microseconds on CLOCK_MONOTONIC, on which a service manager compares moments with its own."""
    return time.monotonic_ns() // 1000
