"""Building what stays for as long as the daemon, without the garbage collector looking at it again and again.

A full collection holds every thread up for as long as it takes to look at all there is: 25 to 60 ms at 10,000 memories,
several times while these are read, and now and then afterwards (measured on CPython 3.11). An index has no
cycles, so there is nothing to find in it.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MANY: Final = 1_000
"""Rows of an index that is worth leaving out: a collection of fewer takes some milliseconds."""

_lock = threading.Lock()
_building = 0


@contextmanager
def no_collections() -> Iterator[None]:
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


def leave_out(rows: int) -> None:
    """Later collections leave out what there is now, where an index of so many rows was built. What is let go of is
    freed as before, but for cycles: those that are garbage at this moment stay."""
    if rows >= MANY:
        gc.freeze()
