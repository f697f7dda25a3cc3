"""backup: a copy of the store, as often as somebody wants one. How it is made is handed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from mnemond.lifecycle.job import Done, Work
from mnemond.store.store import Store

Copy = Callable[[Store, int], Awaitable[str]]
"""Makes a copy at a time (microseconds) and lets go of those that are one too many; says in a line what it did.
Raises MnemonError."""


FIRST_S: Final = 600.0
"""Seconds that a store is open before its first copy: one that was just made has nothing worth copying."""


class Backup:
    """As often as it is configured."""

    name = "backup"
    summary = "a copy of the store, and none too many"
    first_s = FIRST_S

    def __init__(self, interval_s: float, copy: Copy) -> None:
        self.interval_s = interval_s
        self._copy = copy

    async def run(self, work: Work) -> Done:
        """Make one."""
        if work.dry_run:
            return work.done(1)
        return await work.note(work.done(1, await self._copy(work.store, work.identity.now_us)))
