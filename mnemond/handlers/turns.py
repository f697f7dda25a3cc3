"""Who is next where few can be served at once: connections in turn, and nobody who has left."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.server.call import Call

LEFT: Final = "whoever asked has left; nothing was looked for"


class Turns:
    """So many `places`. Who comes while all are taken waits; a place that becomes free goes to the connection that has
    waited longest for its turn, and within one to the request that came first. So a connection that asks a hundred
    things at once holds up another for no more than one of them. For the event loop's thread.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[int, deque[_Waiter]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Requests that wait for a place."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def of(self, call: Call) -> AsyncIterator[None]:
        """A place, for the time of the block. Raises MnemonError(UNAVAILABLE) when nobody is left to be answered by
        the time there is one."""
        await self._taken(call)
        try:
            yield
        finally:
            self._free += 1
            self._pass_on()

    async def _taken(self, call: Call) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        waiter = _Waiter(call)
        self._waiting.setdefault(call.connection, deque()).append(waiter)
        woken = False
        try:
            await waiter.woken.wait()
            woken = True
        finally:
            if not woken:
                self._withdraw(waiter)
        if not waiter.has_place:
            raise MnemonError(UNAVAILABLE, LEFT, outcome="rejected")

    def _withdraw(self, waiter: _Waiter) -> None:
        """It was cancelled, perhaps with a place of its own by now."""
        if waiter.has_place:
            self._free += 1
            self._pass_on()
            return
        connection = waiter.call.connection
        if waiter in (others := self._waiting.get(connection, deque())):
            others.remove(waiter)
            if not others:
                del self._waiting[connection]

    def _pass_on(self) -> None:
        while self._free and self._waiting:
            connection, others = self._waiting.popitem(last=False)
            waiter = others.popleft()
            if others:
                self._waiting[connection] = others  # behind all other connections
            if not waiter.call.gone():
                waiter.has_place = True
                self._free -= 1
            waiter.woken.set()


class _Waiter:
    """One request that waits."""

    __slots__ = ("call", "has_place", "woken")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.woken = trio.Event()
        self.has_place = False
