"""Events and their subscriptions: numbered, buffered, sent in order without blocking.

The newest events are buffered once, encoded. A subscription is a position in that buffer: events that its connection
cannot take yet wait there until they are too old, so a slow reader loses events and delays no other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from mnemond import errors
from mnemond.api.types_jobs import (
    JobEvent,
    MemoryEvent,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
    UnsubscribeResult,
)
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.jobs.job import Done
from mnemond.memory.exchanges import METHOD
from mnemond.model.outcomes import Outcome, SupersedeResult
from mnemond.store.operation_log import Operation
from mnemond.store.operations import Write
from mnemond.store.store import Store
from mnemond.wire.dispatch import Call, handles

KEPT = 1_000
"""Events in the buffer: about 200 bytes each, a fifth of a megabyte in all."""

EACH_CONNECTION = 8
"""Subscriptions per connection: each costs one message per event."""

Send = Callable[[int, bytes], bool]
"""Sends a line, without its line break, to the connection of that number; returns False if it cannot take it now."""

_encode = msgspec.json.Encoder().encode


class _Kept(NamedTuple):
    seq: int
    topic: str
    data: bytes


class _Subscription(msgspec.Struct):
    name: str
    connection: int
    topics: frozenset[str]
    seen: int
    """Number of the last event that was sent, skipped as of another topic, or reported as dropped."""


class Feed:
    """Buffer of events. For the event loop's thread.

    `first_seq` is one less than the number of the first event. It must be larger in a later run of the daemon, so that
    a client that reconnects after a restart learns that it may have missed events; use the wall clock in microseconds.
    """

    def __init__(self, first_seq: int) -> None:
        self._seq = first_seq
        self.send: Send = _no_connection
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._lost = first_seq
        """Number of the newest event that was discarded."""
        self._subscriptions: dict[tuple[int, str], _Subscription] = {}
        self._made = 0

    @property
    def seq(self) -> int:
        """Number of the newest event."""
        return self._seq

    def subscribe(self, connection: int, topics: frozenset[str], since: int | None) -> str:
        """Add a subscription and return its name. The events after `since` follow with the next `pump`.

        Raises MnemonError(INVALID_PARAMS) for a `since` in the future, TOO_LARGE beyond `EACH_CONNECTION`.
        """
        if since is not None and since > self._seq:
            problem = f"since_seq is {since}; the newest event is {self._seq}"
            raise invalid([FieldProblem("since_seq", problem)], hint="leave it out to receive the events from now on")
        if sum(number == connection for number, _ in self._subscriptions) >= EACH_CONNECTION:
            sentence = f"this connection has {EACH_CONNECTION} subscriptions, which is the limit"
            raise MnemonError(errors.TOO_LARGE, sentence, hint="unsubscribe one first", outcome="rejected")
        self._made += 1
        name = f"s{self._made}"
        seen = self._seq if since is None else since
        self._subscriptions[connection, name] = _Subscription(name, connection, topics, seen)
        return name

    def unsubscribe(self, connection: int, name: str) -> bool:
        """Remove a subscription; return False if the connection has none of that name."""
        return self._subscriptions.pop((connection, name), None) is not None

    def unsubscribe_all(self, connection: int) -> None:
        """Remove the subscriptions of a closed connection."""
        for key in [key for key in self._subscriptions if key[0] == connection]:
            del self._subscriptions[key]

    def emit(self, topic: str, data: msgspec.Struct) -> None:
        """Add an event and send it to the subscriptions of its topic."""
        self._seq += 1
        if len(self._kept) == KEPT:
            self._lost = self._kept[0].seq
        self._kept.append(_Kept(self._seq, topic, _encode(data)))
        for subscription in self._subscriptions.values():
            self._send(subscription)

    def pump(self, connection: int) -> None:
        """Send pending events to a connection that can take them now."""
        for (number, _), subscription in self._subscriptions.items():
            if number == connection:
                self._send(subscription)

    def _send(self, subscription: _Subscription) -> None:
        if subscription.seen < self._lost:
            if not self.send(subscription.connection, _dropped(subscription, self._lost)):
                return
            subscription.seen = self._lost
        ahead = self._seq - subscription.seen  # numbers have no gaps within one run
        for kept in list(self._kept)[len(self._kept) - ahead :]:
            wanted = kept.topic in subscription.topics
            if wanted and not self.send(subscription.connection, _event(subscription, kept)):
                return
            subscription.seen = kept.seq


def _no_connection(_connection: int, _line: bytes) -> bool:
    return False


def _event(subscription: _Subscription, kept: _Kept) -> bytes:
    head = f'{{"jsonrpc":"2.0","method":"event","params":{{"subscription":"{subscription.name}","seq":{kept.seq},'
    return head.encode() + b'"topic":"' + kept.topic.encode() + b'","data":' + kept.data + b"}}"


def _dropped(subscription: _Subscription, last: int) -> bytes:
    return (
        f'{{"jsonrpc":"2.0","method":"event.dropped","params":{{"subscription":"{subscription.name}",'
        f'"from":{subscription.seen + 1},"to":{last}}}}}'
    ).encode()


_NO_EVENT = frozenset({"recall", METHOD})
"""Methods without events: they count uses or queue exchanges, once per recall or turn."""


class SubscriptionHandlers:
    """subscribe, unsubscribe. `later` runs a function in the next pass of the event loop."""

    def __init__(self, feed: Feed, later: Callable[[Callable[[], None]], None]) -> None:
        self._feed = feed
        self._later = later

    @handles("subscribe")
    async def subscribe(self, call: Call, params: SubscribeParams) -> SubscribeResult:
        """Subscribe; events follow the reply. Raises MnemonError: INVALID_PARAMS, TOO_LARGE."""
        name = self._feed.subscribe(call.connection, frozenset(params.topics), params.since_seq)
        self._later(lambda: self._feed.pump(call.connection))
        return SubscribeResult(subscription=name, seq=self._feed.seq)

    @handles("unsubscribe")
    async def unsubscribe(self, call: Call, params: UnsubscribeParams) -> UnsubscribeResult:
        """End a subscription."""
        return UnsubscribeResult(ended=self._feed.unsubscribe(call.connection, params.subscription))


def emit_writes(store: Store, feed: Feed) -> None:
    """Emit an event for every write to a store."""

    def committed(write: Write, outcome: Outcome) -> None:
        unchanged = getattr(outcome, "replayed", False) or getattr(outcome, "dry_run", False)
        if write.method not in _NO_EVENT and not unchanged:
            memory = _subject(outcome)
            feed.emit("memory", MemoryEvent(store=store.name, method=write.method, op_id=write.op_id, id=memory))

    store.on_commit = committed


def emit_replayed(store: str, feed: Feed, operations: Sequence[Operation]) -> None:
    """Emit an event for every operation of another daemon that has a name."""
    for each in operations:
        if each.op_id and each.method not in _NO_EVENT:
            feed.emit("memory", MemoryEvent(store=store, method=each.method, op_id=each.op_id, id=None))


def _subject(outcome: Outcome) -> str | None:
    """Return the id of the memory that a write changed; for a supersede, the active one."""
    about: object = outcome.superseded_by if isinstance(outcome, SupersedeResult) else getattr(outcome, "id", None)
    return about if isinstance(about, str) else None


def emit_job_event(feed: Feed, store: str, job: str, result: Done | MnemonError) -> None:
    """Emit an event for a run of a job, unless it had nothing to do."""
    if isinstance(result, MnemonError):
        feed.emit("job", JobEvent(store=store, job=job, outcome="failed", changed=0, error=result.message))
    elif result.outcome != "nothing":
        feed.emit("job", JobEvent(store=store, job=job, outcome=result.outcome, changed=result.changed, error=None))
