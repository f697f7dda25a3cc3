"""Parameters and results of the methods about the daemon itself, the state of a store, and the command line."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.protocol.types import Params, Result, StoreName
from mnemond.protocol.version import MAX_VERSION

MAX_ARGUMENTS = 1000
"""Words of one command line; the message limit bounds their total length."""

ClientVersion = Annotated[str, msgspec.Meta(max_length=MAX_VERSION)]


class HelloParams(Params, frozen=True, kw_only=True):
    """What the caller speaks. Both may be left out."""

    client_version: ClientVersion | None = None
    protocol: int | None = None


class HostSeen(msgspec.Struct, frozen=True):
    """When a hook of an agent's program called last (RFC 3339), and how many calls there were since the daemon
    started."""

    last_event_at: str
    events: int


class HelloResult(Result, frozen=True, kw_only=True):
    """Who answers and what it can do. `outdated` is true when the caller is a newer release than the daemon. `hosts`:
    agents' programs whose hooks have called, by name, the last one first."""

    name: str
    version: str
    protocol: int
    pid: int
    data_dir: str
    capabilities: dict[str, object]
    outdated: bool
    hosts: dict[str, HostSeen] = msgspec.field(default_factory=dict)


class PingParams(Params, frozen=True, kw_only=True):
    """Nothing."""


class PingResult(Result, frozen=True, kw_only=True):
    """Always `ok`."""

    ok: bool


class StatusParams(Params, frozen=True, kw_only=True):
    """Of which store; the active one unless named."""

    store: StoreName | None = None


class EntityCount(msgspec.Struct, frozen=True):
    """How many active memories mention an entity."""

    entity: str
    count: int


class StatusResult(Result, frozen=True, kw_only=True):
    """A store and the daemon that serves it. Counts that only the database knows are null while it cannot be read.

    `pending_jobs` wait for somebody; `questions` are what they ask, see jobs.list. `pending_exchanges`: turns of
    agents' sessions that are still to be read for facts; `failed_exchanges` were tried often enough and set
    aside. `hosts` as in hello.
    """

    store: str
    total_insights: int
    deleted_insights: int | None
    by_category: dict[str, int]
    by_status: dict[str, int] | None
    edge_count: int
    edges_by_type: dict[str, int]
    top_entities: list[EntityCount]
    oplog_count: int | None
    db_path: str
    db_size_bytes: int
    embedding: str | None
    embedded: int
    over_capacity: bool
    max_insights: int
    pending_jobs: int
    questions: list[str]
    pending_reviews: int
    pending_exchanges: int | None
    failed_exchanges: int | None
    version: str
    pid: int
    uptime_s: float
    connections: int
    hosts: dict[str, HostSeen] = msgspec.field(default_factory=dict)


class DaemonStopParams(Params, frozen=True, kw_only=True):
    """Nothing."""


class DaemonStopResult(Result, frozen=True, kw_only=True):
    """The daemon answers what it has received, then leaves."""

    stopping: bool
    pid: int


class CliRunParams(Params, frozen=True, kw_only=True):
    """One command line, as typed. `tty` and `tty_err` say that standard output and standard error are terminals;
    `env_store` is $MNEMON_STORE."""

    argv: Annotated[list[str], msgspec.Meta(max_length=MAX_ARGUMENTS)]
    stdin: str | None = None
    tty: bool = False
    tty_err: bool = False
    columns: Annotated[int, msgspec.Meta(ge=20, le=1000)] = 80
    color: bool = False
    env_store: str | None = None
    client_version: ClientVersion | None = None
    protocol: int | None = None


class CliRunResult(msgspec.Struct, frozen=True):
    """What to print and how to leave. The order of these fields is part of the protocol: the client's fast path reads
    them in this order. `outdated` is true when the caller is a newer release than the daemon."""

    exit_code: int
    outdated: bool
    stdout: str
    stderr: str
