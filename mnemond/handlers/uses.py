"""What recalls found, gathered for a moment and written in one go, after whoever asked has the answer.

A count that is lost with the process is a recall nobody remembers; no answer ever waits for one, and none fails for it.
A stop writes what still waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

import trio

from mnemond.errors import MnemonError
from mnemond.handlers.door import OpenStore
from mnemond.handlers.submission import Identities
from mnemond.model.outcomes import Outcome
from mnemond.pipelines.use import propose

GATHER_S: Final = 1.0
"""Seconds that recalls are gathered for: an agent's burst of questions becomes one small write."""

MOST_WAITING: Final = 4096
"""Different memories of a store that wait to be counted; those that come then are not counted."""

CAUSE: Final = "system:recall"

Guard = Callable[[], AbstractContextManager[object]]
"""Where a defect ends, so that it ends nothing else."""


class Uses:
    """Counts for every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, identities: Identities, guard: Guard) -> None:
        self._identities = identities
        self._guard = guard
        self._waiting: dict[str, _Waiting] = {}
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
            for name in list(self._waiting):
                with self._guard():
                    self._count(name)

    def note(self, warm: OpenStore, insight_ids: Sequence[str]) -> None:
        """These memories were recalled; they are counted soon."""
        if not insight_ids or self._nursery is None:
            return
        name = warm.store.name
        waiting = self._waiting.get(name)
        if waiting is None:
            waiting = self._waiting[name] = _Waiting(warm, Counter())
            self._nursery.start_soon(self._count_soon, name)
        times = waiting.times
        if len(times.keys() | insight_ids) <= MOST_WAITING:
            times.update(insight_ids)

    async def _count_soon(self, name: str) -> None:
        await trio.sleep(GATHER_S)
        with self._guard():
            self._count(name)

    def _count(self, name: str) -> None:
        warm, times = self._waiting.pop(name)
        try:
            warm.store.submit(propose(times, self._identities.own(name, CAUSE)), _ignored)
        except MnemonError:
            return  # the store is busy or closing: what is told of it elsewhere matters more than these counts


class _Waiting(NamedTuple):
    """How often each memory was recalled, and of which store."""

    warm: OpenStore
    times: Counter[str]


def _ignored(result: Outcome | MnemonError) -> None:
    """A store that cannot be written says so to whoever writes next."""
