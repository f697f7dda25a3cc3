"""What is kept of a session: what the person said with its answer, and summaries. Never what memory said itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import trio

from mnemond.clock import Clock
from mnemond.handlers.agent_place import Place, Stores
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.model.agent_event import AgentEvent
from mnemond.model.outcomes import Queued
from mnemond.model.queued_exchange import ExchangeKind, QueuedExchange
from mnemond.pipelines.known_lines import known_in
from mnemond.server.deferred import Deferred
from mnemond.text.echoes import Known, without_echoes

THREADS: Final = 1
"""Texts being read at once: nobody waits for them longer than a hook does anyway."""


class Queue(Protocol):
    """Where what was said waits to be read for facts."""

    def keep(self, warm: OpenStore, exchange: QueuedExchange) -> Deferred[Queued]:
        """Settled once it is on the disk. Raises MnemonError."""
        ...


class AgentKeeping:
    """Hands on to the queue."""

    def __init__(self, door: StoreDoor, stores: Stores, queue: Queue, clock: Clock) -> None:
        self._door = door
        self._stores = stores
        self._queue = queue
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    async def keep(self, event: AgentEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind) -> bool:
        """Whether there was anything to keep; then it is on the disk. A store that is not there is made for it.
        Raises MnemonError."""
        at_us = self._clock.now_us()
        warm = await self._door.open(place.store) if place.there else None
        if warm is not None and not warm.policy.extraction.enabled:
            return False
        prompt, reply = await self._news(warm, prompt, reply)
        if not (prompt or reply):
            return False
        if warm is None:
            warm = await self._made(place.store)
        exchange = QueuedExchange(
            host=event.host, at_us=at_us, conversation_id=event.session, project=place.tag, prompt=prompt, reply=reply,
            kind=kind,
        )  # fmt: skip
        await settle(self._queue.keep(warm, exchange))
        return True

    async def _news(self, warm: OpenStore | None, *texts: str) -> tuple[str, ...]:
        """What of these texts is new."""
        known: Known = _nothing if warm is None else known_in(warm.store.snapshot)
        read: Callable[[], tuple[str, ...]] = partial(_without_echoes, texts, known)
        return await trio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._threads)

    async def _made(self, store: str) -> OpenStore:
        await self._stores.create(store)
        return await self._door.open(store)


def _without_echoes(texts: tuple[str, ...], known: Known) -> tuple[str, ...]:
    return tuple(without_echoes(text, known) for text in texts)


def _nothing(_: str) -> bool:
    return False
