"""The queue of what was said in agents' sessions: acknowledged once it is on the disk, read for facts later."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from mnemond.errors import MnemonError
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.submission import Identities
from mnemond.lifecycle.extract import HOST, Desk
from mnemond.model.outcomes import Outcome, Queued
from mnemond.model.queued_exchange import QueuedExchange
from mnemond.pipelines.queueing import propose
from mnemond.server.deferred import Deferred


class ExchangeQueue:
    """For the event loop's thread."""

    def __init__(self, identities: Identities, on_kept: Callable[[str], None] = lambda _: None) -> None:
        """`on_kept` is told the name of a store in which something waits now. It must not raise."""
        self._identities = identities
        self._on_kept = on_kept

    def keep(self, warm: OpenStore, exchange: QueuedExchange) -> Deferred[Queued]:
        """Put what was said into the store's queue: settled after the commit. The same key again changes nothing, nor
        does anything where `extraction.enabled` is false; `Queued.kept` says so.

        Fails with MnemonError when it could not be written; raises MnemonError(BUSY) when too many writes wait.
        """
        deferred: Deferred[Queued] = Deferred()
        identity = self._identities.own(warm.store.name, f"{HOST}{exchange.host}")
        if not warm.policy.extraction.enabled:
            deferred.resolve(Queued(identity.op_id, kept=False))
            return deferred

        def done(result: Outcome | MnemonError) -> None:
            if isinstance(result, MnemonError):
                result.degraded_reason = warm.degraded_reason
                deferred.fail(result)
                return
            queued = cast("Queued", result)
            if queued.kept:
                self._on_kept(warm.store.name)
            deferred.resolve(queued)

        warm.store.submit(propose(exchange, identity), done)
        return deferred


def desks(door: Callable[[], StoreDoor]) -> Callable[[str], Awaitable[Desk]]:
    """What the job that reads the queue works with, of each store by its name, as the door has it then."""

    async def desk(name: str) -> Desk:
        warm = await door().open(name)

        def missing() -> None:
            if warm.on_missing is not None:
                warm.on_missing(name)

        return Desk(warm.policy, warm.limits, warm.embedder, warm.embed_error, warm.threads, missing)

    return desk
