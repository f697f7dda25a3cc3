"""subscribe and unsubscribe, and what becomes an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mnemond.errors import MnemonError
from mnemond.lifecycle.job import Done
from mnemond.model.outcomes import Outcome
from mnemond.pipelines.queueing import METHOD
from mnemond.protocol.subscriptions import (
    JobEvent,
    MemoryEvent,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
    UnsubscribeResult,
)
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.server.feed import Feed
from mnemond.store.proposal import Write
from mnemond.store.store import Store

_NO_EVENT = frozenset({"recall", METHOD})
"""Methods whose writes only count uses, or queue what was said: every question and every turn would be an event."""


class SubscriptionHandlers:
    """subscribe, unsubscribe. `later` runs something in the next pass of the event loop."""

    def __init__(self, feed: Feed, later: Callable[[Callable[[], None]], None]) -> None:
        self._feed = feed
        self._later = later

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {"subscribe": self.subscribe, "unsubscribe": self.unsubscribe}

    def subscribe(self, call: Call, params: SubscribeParams) -> SubscribeResult:
        """Events follow the reply. Raises MnemonError for a number that is still to come, or one too many."""
        name = self._feed.subscribe(call.connection, frozenset(params.topics), params.since_seq)
        self._later(lambda: self._feed.pump(call.connection))
        return SubscribeResult(subscription=name, seq=self._feed.seq)

    def unsubscribe(self, call: Call, params: UnsubscribeParams) -> UnsubscribeResult:
        """What was sent before stays sent."""
        return UnsubscribeResult(ended=self._feed.unsubscribe(call.connection, params.subscription))


def watch(store: Store, feed: Feed) -> None:
    """Make events of what is written to a store."""

    def committed(write: Write, outcome: Outcome) -> None:
        if write.method not in _NO_EVENT and not _changed_nothing(outcome):
            about: object = getattr(outcome, "id", None)
            memory = about if isinstance(about, str) else None
            feed.emit("memory", MemoryEvent(store=store.name, method=write.method, op_id=write.op_id, id=memory))

    store.on_commit = committed


def _changed_nothing(outcome: Outcome) -> bool:
    """Whether it repeats what was done before, or only said what would be done."""
    return bool(getattr(outcome, "replayed", False) or getattr(outcome, "dry_run", False))


def job_told(feed: Feed, store: str, job: str, result: Done | MnemonError) -> None:
    """Make an event of a run, unless there was nothing to do."""
    if isinstance(result, MnemonError):
        feed.emit("job", JobEvent(store=store, job=job, outcome="failed", changed=0, error=result.message))
    elif result.outcome != "nothing":
        feed.emit("job", JobEvent(store=store, job=job, outcome=result.outcome, changed=result.changed, error=None))
