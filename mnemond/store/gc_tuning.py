"""Building what stays for as long as the daemon, without the garbage collector looking at it again and again.

A full collection holds every thread up for as long as it takes to look at all there is: 25 to 60 ms at 10,000 memories,
100 on a busy machine, several times while these are read, and now and then afterwards (measured on CPython 3.11). An
index has no cycles, so there is nothing to find in it.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mnemond.clock import monotonic_s

MANY: Final = 1_000
"""Rows of an index that is worth leaving out: a collection of fewer takes some milliseconds."""

LONG_S: Final = 0.005
"""A full collection that took so long is the last to look at what it has looked at: a tenth of what the event loop may
be held up for. The next comes when there is a quarter as much again, and looks at no more than that."""

_lock = threading.Lock()
_building = 0
_FULL: Final = 2
"""The oldest generation; a collection of it looks at all others as well."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Until the block ends, in any thread, garbage that is in cycles waits."""
    global _building  # noqa: PLW0603
    with _lock:
        _building += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _building -= 1
            if not _building:
                gc.enable()


def freeze_built_index(rows: int) -> None:
    """Later collections leave out what there is now, where an index of so many rows was built. What is let go of is
    freed as before, but for cycles: those that are garbage at this moment stay."""
    if rows >= MANY:
        gc.freeze()


class _Watch:
    """Hears of each collection, in the thread that it holds up first."""

    def __init__(self) -> None:
        self._begun_s = 0.0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] < _FULL:
            return
        if phase == "start":
            self._begun_s = monotonic_s()
        elif monotonic_s() - self._begun_s >= LONG_S:
            gc.freeze()


def freeze_after_long_gc() -> None:
    """From now on, what a long collection leaves is left out of the next: memories that came since a store was opened
    are as lasting as those before. No cycle is garbage at that moment; one that becomes garbage later stays, as in
    `leave_out`, but what is frozen with it seldom is one: there is a collection of this kind every few thousand
    memories."""
    gc.callbacks.append(_Watch())
