"""How long code takes, for tests that hostile texts take linear time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def cpu_s(call: Callable[[], object], times: int = 3) -> float:
    """CPU seconds that this thread takes for the fastest of `times` calls.

    Time of other threads and processes counts in none of them, nor does a collection of garbage, which takes longer
    than most calls in a process that has run thousands of tests. The limit of a test should be ten times what is usual:
    a text that takes quadratic time takes a hundred times as long.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return min(_once(call) for _ in range(times))
    finally:
        if enabled:
            gc.enable()


def _once(call: Callable[[], object]) -> float:
    begun = time.thread_time()
    call()
    return time.thread_time() - begun
