"""The daemon's side of being supervised: ready, well, alive, reading its configuration anew, stopping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import trio
from structlog.typing import FilteringBoundLogger

from mnemond.clock import monotonic_us
from mnemond.service import standing, watchdog
from mnemond.service.notify import Notifier
from mnemond.service.standing import StoreStanding

STATUS_S: Final = 5.0
"""Seconds between two looks at how the daemon is; only what has changed is told."""

MORE_TIME_S: Final = 30
"""While a large store is being opened the manager is asked, in time, to wait as long again."""

_US_IN_S: Final = 1_000_000


class Supervised(Protocol):
    """What supervision knows of the daemon."""

    async def warm_up(self) -> None:
        """Open what most requests mean; afterwards they need not wait."""
        ...

    def standing(self) -> Sequence[StoreStanding]:
        """Every open store."""
        ...

    async def writers_answer(self) -> None:
        """Returns once the writer of every open store has answered."""
        ...

    async def stop_requested(self) -> None:
        """Returns when the daemon begins to stop."""
        ...


class Supervision:
    """Tells the service manager, if there is one."""

    def __init__(
        self, notifier: Notifier, feed_every_s: float | None, daemon: Supervised, log: FilteringBoundLogger
    ) -> None:
        """`feed_every_s` is None where no watchdog waits for signs of life."""
        self._notifier = notifier
        self._feed_every_s = feed_every_s
        self._daemon = daemon
        self._log = log
        self._told = ""
        self._note: str | None = None

    async def run(self) -> None:
        """Warm the daemon up, say that it is ready, then how it is, until it stops."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tell_of_stop, nursery.cancel_scope)
            if self._notifier.heard and self._feed_every_s is not None:
                nursery.start_soon(
                    watchdog.feed, self._feed_every_s, self._daemon.writers_answer, self._fed, self._late
                )
            await self._warm_up()
            self._tell(READY=1)
            while self._notifier.heard:
                await trio.sleep(STATUS_S)
                if self._sentence() != self._told:
                    self._tell()

    def reloading(self) -> None:
        """The configuration is about to be read anew; `reloaded` has to follow."""
        self._notifier.tell(RELOADING=1, MONOTONIC_USEC=monotonic_us(), STATUS="reading the configuration anew")

    def reloaded(self, note: str | None) -> None:
        """The daemon is itself again; `note` is what the manager's status says of its configuration from now on."""
        self._note = note
        self._tell(READY=1)

    async def _warm_up(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_for_time)
            await self._daemon.warm_up()
            nursery.cancel_scope.cancel()

    async def _ask_for_time(self) -> None:
        while True:
            self._notifier.tell(EXTEND_TIMEOUT_USEC=MORE_TIME_S * _US_IN_S, STATUS="opening the store")
            await trio.sleep(MORE_TIME_S / 2)

    async def _tell_of_stop(self, others: trio.CancelScope) -> None:
        await self._daemon.stop_requested()
        self._notifier.tell(STOPPING=1, STATUS="answering what was received")
        others.cancel()

    def _fed(self) -> None:
        self._notifier.tell(WATCHDOG=1)

    def _late(self) -> None:
        self._log.error("a store's writer does not answer", seconds=self._feed_every_s)

    def _sentence(self) -> str:
        return standing.sentence(self._daemon.standing(), self._note)

    def _tell(self, **assignments: int) -> None:
        self._told = self._sentence()
        self._notifier.tell(**assignments, STATUS=self._told)
