"""Keep long-lived index objects out of full passes of the garbage collector.

A full collection holds up every thread for as long as it takes to traverse all objects: 25 to 60 ms at 10,000 memories,
100 on a busy machine, several times while these are loaded, and now and then afterwards (measured on CPython 3.11). An
index has no reference cycles, so the collector finds nothing in it.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from mnemond.clock import monotonic_s

MIN_FROZEN_ROWS: Final = 1_000
"""Rows of an index that is worth freezing: a collection of fewer takes some milliseconds."""

LONG_S: Final = 0.005
"""A full collection that takes this long is the last to traverse the objects it has traversed: a tenth of the time that
the event loop may be held up. The next one comes when there is a quarter as much again, and traverses no more."""

_FULL: Final = 2
"""The oldest generation; collecting it traverses all others as well."""

_lock = threading.Lock()
_pauses = 0


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no garbage in reference cycles, in any thread, until the block ends."""
    global _pauses  # noqa: PLW0603
    with _lock:
        _pauses += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses:
                gc.enable()


def freeze_built_index(rows: int) -> None:
    """Keep all present objects out of later collections, if an index of so many rows was built. They are still freed by
    reference counting; only cycles that are garbage at this moment stay."""
    if rows >= MIN_FROZEN_ROWS:
        gc.freeze()


class _FreezeAfterLong:
    """A callback of the collector, which runs in the thread that it holds up first."""

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
    """From now on, keep objects that survive a long collection out of the next: memories added to an open store live
    as long as those before. No cycle is garbage at that moment; frozen objects that become cyclic garbage later stay,
    but few do: there is a collection of this kind every few thousand memories."""
    gc.callbacks.append(_FreezeAfterLong())
