"""Methods about jobs and events: parameters and results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mnemond.model.answers import GcResult, GcReview
from mnemond.model.outcomes import GcDone, GcKept, Result
from mnemond.wire.params import (
    MAX_EXACT,
    Access,
    IdOrPrefix,
    Limit,
    Name,
    Params,
    ScopedWriteParams,
    StoreParams,
    about,
    method,
)

MAX_DAYS = 36_500


class GcParams(ScopedWriteParams, frozen=True, kw_only=True):
    """List what matters least, or do one thing about it."""

    threshold: Annotated[float, Meta(ge=0, le=100), about("memories of less effective importance")] = 0.5
    limit: Annotated[Limit, about("at most so many memories", "-n")] = 20
    keep: Annotated[IdOrPrefix | None, about("exempt one memory from pruning")] = None
    review: Annotated[bool, about("list texts that may have to be written again")] = False
    apply: Annotated[
        bool, about("take what is listed out of recall", cli="take what is listed out of recall; needs --yes")
    ] = False
    purge_deleted: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_DAYS)] | None,
        about("remove for good what left recall more than so many days ago, the longest ago first", metavar="DAYS",
              cli="remove for good what left recall more than DAYS days ago; needs --yes"),
    ] = None  # fmt: skip


GC = method(
    "gc", GcParams, GcResult | GcKept | GcReview | GcDone, Access.WRITE,
    "List what matters least, keep it, or take it out of recall.",
)  # fmt: skip


class JobView(msgspec.Struct, frozen=True):
    """One job of a store, and its last run; fields without a value are null.

    `outcome`: done, nothing (there was nothing to change), or stopped: it would change too much, and `detail` says how
    to allow it. `changed` counts memories, lines or rows; of a stopped run, how many it would have changed. `op_id` is
    for undo. `next_run` is null while it runs. `skipped`: why it does not run although it is due; `error`: why the last
    attempt failed.
    """

    name: str
    summary: str
    every_s: float
    running: bool
    last_run: str | None
    outcome: Literal["done", "nothing", "stopped"] | None
    changed: int | None
    detail: str | None
    seconds: float | None
    op_id: str | None
    next_run: str | None
    skipped: str | None
    error: str | None


class JobsListResult(Result, frozen=True, kw_only=True):
    """Every job, in the order they run in if several are due."""

    store: str
    jobs: list[JobView]


JOBS_LIST = method("jobs.list", StoreParams, JobsListResult, Access.READ, "List background jobs, and how they ran.")


class JobsRunParams(StoreParams, frozen=True, kw_only=True):
    """Run a job of a store, which need not be open."""

    name: Annotated[Name, about("the name of a job")]
    dry_run: Annotated[bool, about("say what it would change, and change nothing")] = False
    yes: Annotated[bool, about("let it change as much as there is to change")] = False


class JobsRunResult(Result, frozen=True, kw_only=True):
    """The result of the run, or of a dry run; the fields are those of JobView."""

    store: str
    name: str
    outcome: Literal["done", "nothing", "stopped"]
    changed: int
    detail: str
    op_id: str | None
    dry_run: bool


JOBS_RUN = method(
    "jobs.run", JobsRunParams, JobsRunResult, Access.WRITE, "Run one background job now.", positional=("name",)
)


Topic = Literal["memory", "job"]


TOPICS: tuple[Topic, ...] = ("memory", "job")


Seq = Annotated[int, Meta(ge=0, le=MAX_EXACT)]


class SubscribeParams(Params, frozen=True, kw_only=True):
    topics: Annotated[
        tuple[Topic, ...], Meta(min_length=1, max_length=len(TOPICS)), about("which events; all of them unless given")
    ] = TOPICS
    since_seq: Annotated[
        Seq | None, about("number of the last event that was received; later ones that are kept are sent first")
    ] = None


class SubscribeResult(Result, frozen=True, kw_only=True):
    """Events follow on this connection as notifications called `event`, with `subscription`, `seq`, `topic` and `data`,
    and as `event.dropped`, with `subscription`, `from` and `to`, for numbers that are no longer kept: after a restart,
    or for a reader that is too slow. Numbers grow from event to event, not always by one.

    `seq` is the number of the newest event.
    """

    subscription: str
    seq: int


SUBSCRIBE = method("subscribe", SubscribeParams, SubscribeResult, Access.READ, "Send events on this connection.")


class UnsubscribeParams(Params, frozen=True, kw_only=True):
    subscription: Annotated[str, Meta(min_length=1, max_length=64), about("one that was made on this connection")]


class UnsubscribeResult(Result, frozen=True, kw_only=True):
    """`ended` is false if there was none of that name on this connection."""

    ended: bool


UNSUBSCRIBE = method(
    "unsubscribe",
    UnsubscribeParams,
    UnsubscribeResult,
    Access.READ,
    "Send no more events.",
    positional=("subscription",),
)


class MemoryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `memory`: a write is on disk. `method` is the method or job that wrote; `op_id` is its name in history,
    receipt and undo; `id` the memory, if it was about one. No text is sent."""

    store: str
    method: str
    op_id: str
    id: str | None


class JobEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Topic `job`: a background job changed something, needs a decision, or failed (`error`)."""

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
    """The parameters of a notification `event.dropped`; both ends are among the lost numbers."""

    subscription: str
    from_: int = msgspec.field(name="from")
    to: int
