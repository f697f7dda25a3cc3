"""Parameters and results of subscribe and unsubscribe, and what a subscriber is sent."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import Params, Result

Topic = Literal["memory", "job"]
TOPICS: tuple[Topic, ...] = ("memory", "job")

MAX_SEQ = 2**53 - 1
"""The largest number that every reader of JSON holds exactly (RFC 8259, 6)."""

Seq = Annotated[int, msgspec.Meta(ge=0, le=MAX_SEQ)]


class SubscribeParams(Params, frozen=True, kw_only=True):
    """`topics`: all of them unless given. `since_seq`: the number of the last event that was seen, to be sent what came
    after it first; without it, only what comes from now on."""

    topics: Annotated[tuple[Topic, ...], msgspec.Meta(min_length=1, max_length=len(TOPICS))] = TOPICS
    since_seq: Seq | None = None


class SubscribeResult(Result, frozen=True, kw_only=True):
    """Events follow on this connection as notifications called `event`, with `subscription`, `seq`, `topic` and `data`,
    and as `event.dropped`, with `subscription`, `from` and `to`, for numbers that are no longer kept: after a restart,
    or for a reader that is too slow. Numbers grow from event to event, not always by one.

    `seq` is the number of the newest event there was.
    """

    subscription: str
    seq: int


class UnsubscribeParams(Params, frozen=True, kw_only=True):
    """One's own, made on this connection."""

    subscription: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class UnsubscribeResult(Result, frozen=True, kw_only=True):
    """`ended` is false when there was none by that name on this connection."""

    ended: bool


class MemoryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `memory`: something was written, and is on disk. `method` did it, or the job that is called so; `op_id` is
    what history, receipt and undo call it; `id` the memory it was about, if it was about one. No text is sent."""

    store: str
    method: str
    op_id: str
    id: str | None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `job`: a background job ran and did something, asks something, or failed (`error`)."""

    store: str
    job: str
    outcome: str
    changed: int
    error: str | None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a notification `event`."""

    subscription: str
    seq: int
    topic: Topic
    data: msgspec.Raw


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a notification `event.dropped`: both ends are among what is lost."""

    subscription: str
    from_: int = msgspec.field(name="from")
    to: int
