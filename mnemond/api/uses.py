"""What recalls found, gathered for a moment and written a few at a time, after whoever asked has the answer.

A count that is lost with the process is a recall nobody remembers; no answer ever waits for one, and none fails for it.
A stop writes what still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final

import trio

from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore
from mnemond.errors import MnemonError
from mnemond.memory.retention import propose
from mnemond.model.outcomes import Outcome
from mnemond.store.store import OnResult

GATHER_S: Final = 1.0
"""Seconds that recalls are gathered for: an agent's burst of questions becomes one small write."""

MAX_WAITING: Final = 4096
"""Different memories of a store that wait to be counted; those that come then are not counted."""

AT_ONCE: Final = 50
"""Memories a write: 1 ms of the writer's time in a store of 10,000. Five hundred recalls a second leave a thousand to
be counted: 16 ms in one go, 40 to 110 beside these recalls, for which each remember that came then waited."""

CAUSE: Final = "system:recall"

Guard = Callable[[], AbstractContextManager[object]]
"""Where a defect ends, so that it ends nothing else."""


class Uses:
    """Counts for every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, identities: Identities, guard: Guard) -> None:
        self._identities = identities
        self._guard = guard
        self._waiting: dict[str, _Gathered] = {}
        self._counting: list[_Gathered] = []
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Count until cancelled; then, before any store is closed, what still waits."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None
            for gathered in (*self._counting, *self._waiting.values()):
                with self._guard():
                    while self._submit(gathered, _ignored):
                        pass
            self._waiting.clear()

    def note(self, warm: OpenStore, insight_ids: Sequence[str]) -> None:
        """These memories were recalled; they are counted soon."""
        if not insight_ids or self._nursery is None:
            return
        name = warm.store.name
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = _Gathered(warm)
            self._nursery.start_soon(self._count_soon, name)
        times = waiting.times
        if len(times) + sum(each not in times for each in set(insight_ids)) <= MAX_WAITING:
            times.update(insight_ids)

    async def _count_soon(self, name: str) -> None:
        await trio.sleep(GATHER_S)
        gathered = self._waiting.pop(name)
        self._counting.append(gathered)
        with self._guard():
            await self._count(gathered)
        self._counting.remove(gathered)  # not where this is cancelled: a stop writes what is left

    async def _count(self, gathered: _Gathered) -> None:
        """One write after the other, with everybody else's between them."""
        written = trio.Event()
        while self._submit(gathered, _tells(written)):
            await written.wait()
            written = trio.Event()

    def _submit(self, gathered: _Gathered, done: OnResult) -> bool:
        """Write the next few; False where there are none, or where the store takes none: it is busy or closing, and
        what is told of that elsewhere matters more than these counts."""
        times = gathered.part()
        if not times:
            return False
        store = gathered.warm.store
        try:
            store.submit(propose(times, self._identities.own(store.name, CAUSE)), done)
        except MnemonError:
            return False
        return True


class _Gathered:
    """How often each memory was recalled, and of which store."""

    def __init__(self, warm: OpenStore) -> None:
        self.warm = warm
        self.times: Counter[str] = Counter()

    def part(self) -> dict[str, int]:
        """The next few, which are let go of."""
        return {each: self.times.pop(each) for each in list(islice(self.times, AT_ONCE))}


def _tells(written: trio.Event) -> OnResult:
    def tell(_result: Outcome | MnemonError) -> None:
        written.set()

    return tell


def _ignored(_result: Outcome | MnemonError) -> None:
    """A store that cannot be written says so to whoever writes next."""
