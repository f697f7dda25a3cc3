"""Events for whoever wants to hear of them: numbered, kept for a while, sent in order, never waited for.

The newest events are kept once, encoded. A subscription is a place in that row; what its reader cannot take yet stays
there until it can, or until it is too old. So a slow reader costs nothing but its own events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from mnemond import errors
from mnemond.api.types_admin import (
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
from mnemond.store.operations import Write
from mnemond.store.store import Store
from mnemond.wire.dispatch import Call, handles

KEPT = 1_000
"""Events that can still be sent: with about 200 bytes each a fifth of a megabyte."""

EACH_CONNECTION = 8
"""Subscriptions on one connection: each costs a message an event."""

Tell = Callable[[int, bytes], bool]
"""Sends a line, without its line break, to the connection of that number; False where it cannot take it now."""

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
    """The number of the last event that was sent, was about something else, or was said to be dropped."""


class Feed:
    """`first_seq` is the number before that of the first event. Numbers of a later run must be larger, so that one
    which was cut off by a restart is told that it may have missed something: a wall clock in microseconds gives that.

    For the event loop alone.
    """

    def __init__(self, first_seq: int) -> None:
        self._seq = first_seq
        self.tell: Tell = _nobody_listens
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._lost = first_seq
        """The number of the newest event that can no longer be sent."""
        self._subscriptions: dict[tuple[int, str], _Subscription] = {}
        self._made = 0

    @property
    def seq(self) -> int:
        """The number of the newest event."""
        return self._seq

    def subscribe(self, connection: int, topics: frozenset[str], since: int | None) -> str:
        """The name of a new subscription. What came after `since` follows once `pump` is called.

        Raises MnemonError(INVALID_PARAMS) for a `since` that is still to come, TOO_LARGE for one subscription too many.
        """
        if since is not None and since > self._seq:
            problem = f"since_seq is {since}; the newest event is {self._seq}"
            raise invalid([FieldProblem("since_seq", problem)], hint="leave it out to hear what comes from now on")
        if sum(number == connection for number, _ in self._subscriptions) >= EACH_CONNECTION:
            sentence = f"this connection has {EACH_CONNECTION} subscriptions, which is the limit"
            raise MnemonError(errors.TOO_LARGE, sentence, hint="unsubscribe one first", outcome="rejected")
        self._made += 1
        name = f"s{self._made}"
        seen = self._seq if since is None else since
        self._subscriptions[connection, name] = _Subscription(name, connection, topics, seen)
        return name

    def unsubscribe(self, connection: int, name: str) -> bool:
        """Whether there was such a subscription of this connection."""
        return self._subscriptions.pop((connection, name), None) is not None

    def gone(self, connection: int) -> None:
        """The connection is closed."""
        for key in [key for key in self._subscriptions if key[0] == connection]:
            del self._subscriptions[key]

    def emit(self, topic: str, data: msgspec.Struct) -> None:
        """Something happened. Whoever wants to hear of it is sent it, unless it lags."""
        self._seq += 1
        if len(self._kept) == KEPT:
            self._lost = self._kept[0].seq
        self._kept.append(_Kept(self._seq, topic, _encode(data)))
        for subscription in self._subscriptions.values():
            self._send(subscription)

    def pump(self, connection: int) -> None:
        """This connection can take something again, or for the first time."""
        for (number, _), subscription in self._subscriptions.items():
            if number == connection:
                self._send(subscription)

    def _send(self, subscription: _Subscription) -> None:
        """Everything that it has not seen, as far as it takes it."""
        if subscription.seen < self._lost:
            if not self.tell(subscription.connection, _dropped(subscription, self._lost)):
                return
            subscription.seen = self._lost
        ahead = self._seq - subscription.seen  # numbers follow each other without a gap in one run
        for kept in list(self._kept)[len(self._kept) - ahead :]:
            wanted = kept.topic in subscription.topics
            if wanted and not self.tell(subscription.connection, _event(subscription, kept)):
                return
            subscription.seen = kept.seq


def _nobody_listens(_connection: int, _line: bytes) -> bool:
    return False


def _event(subscription: _Subscription, kept: _Kept) -> bytes:
    head = f'{{"jsonrpc":"2.0","method":"event","params":{{"subscription":"{subscription.name}","seq":{kept.seq},'
    return head.encode() + b'"topic":"' + kept.topic.encode() + b'","data":' + kept.data + b"}}"


def _dropped(subscription: _Subscription, last: int) -> bytes:
    return (
        f'{{"jsonrpc":"2.0","method":"event.dropped","params":{{"subscription":"{subscription.name}",'
        f'"from":{subscription.seen + 1},"to":{last}}}}}'
    ).encode()


# subscribe and unsubscribe, and what becomes an event.


_NO_EVENT = frozenset({"recall", METHOD})
"""Methods whose writes only count uses, or queue what was said: every question and every turn would be an event."""


class SubscriptionHandlers:
    """subscribe, unsubscribe. `later` runs something in the next pass of the event loop."""

    def __init__(self, feed: Feed, later: Callable[[Callable[[], None]], None]) -> None:
        self._feed = feed
        self._later = later

    @handles("subscribe")
    async def subscribe(self, call: Call, params: SubscribeParams) -> SubscribeResult:
        """Events follow the reply. Raises MnemonError for a number that is still to come, or one too many."""
        name = self._feed.subscribe(call.connection, frozenset(params.topics), params.since_seq)
        self._later(lambda: self._feed.pump(call.connection))
        return SubscribeResult(subscription=name, seq=self._feed.seq)

    @handles("unsubscribe")
    async def unsubscribe(self, call: Call, params: UnsubscribeParams) -> UnsubscribeResult:
        """What was sent before stays sent."""
        return UnsubscribeResult(ended=self._feed.unsubscribe(call.connection, params.subscription))


def watch(store: Store, feed: Feed) -> None:
    """Make events of what is written to a store."""

    def committed(write: Write, outcome: Outcome) -> None:
        if write.method not in _NO_EVENT and not _changed_nothing(outcome):
            memory = _subject(outcome)
            feed.emit("memory", MemoryEvent(store=store.name, method=write.method, op_id=write.op_id, id=memory))

    store.on_commit = committed


def _subject(outcome: Outcome) -> str | None:
    """The memory that a write was about: of a supersede the one that is active now."""
    about: object = outcome.superseded_by if isinstance(outcome, SupersedeResult) else getattr(outcome, "id", None)
    return about if isinstance(about, str) else None


def _changed_nothing(outcome: Outcome) -> bool:
    """Whether it repeats what was done before, or only said what would be done."""
    return bool(getattr(outcome, "replayed", False) or getattr(outcome, "dry_run", False))


def job_told(feed: Feed, store: str, job: str, result: Done | MnemonError) -> None:
    """Make an event of a run, unless there was nothing to do."""
    if isinstance(result, MnemonError):
        feed.emit("job", JobEvent(store=store, job=job, outcome="failed", changed=0, error=result.message))
    elif result.outcome != "nothing":
        feed.emit("job", JobEvent(store=store, job=job, outcome=result.outcome, changed=result.changed, error=None))
