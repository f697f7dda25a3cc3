"""Methods about the daemon, its settings and its checks: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.llm.reader import ReaderStatus
from mnemond.model.answers import LogStanding, SalvagedTable
from mnemond.model.outcomes import Result
from mnemond.wire.params import MAX_DIRECTORY, MAX_VERSION, Access, NoParams, Params, StoreParams, about, method

ClientVersion = Annotated[Annotated[str, Meta(max_length=MAX_VERSION)] | None, about("release of the caller")]


Protocol = Annotated[int | None, about("number of the protocol that the caller speaks")]


class HelloParams(Params, frozen=True, kw_only=True):
    """`directory` holds for the tools of MCP that are called over the same connection."""

    client_version: ClientVersion = None
    protocol: Protocol = None
    directory: Annotated[
        Annotated[str, Meta(max_length=MAX_DIRECTORY)] | None, about("the directory that the client works in")
    ] = None


class HostSeen(msgspec.Struct, frozen=True):
    """The last call of a hook of an agent's program (RFC 3339), and the number of calls since the daemon started."""

    last_event_at: str
    events: int


class HelloResult(Result, frozen=True, kw_only=True):
    """The daemon and its capabilities. `outdated` is true if the caller is a newer release than the daemon. `hosts`:
    agents' programs whose hooks have called, by name, the last one first."""

    name: str
    version: str
    protocol: int
    pid: int
    data_dir: str
    capabilities: dict[str, object]
    outdated: bool
    hosts: dict[str, HostSeen] = msgspec.field(default_factory=dict)


HELLO = method("hello", HelloParams, HelloResult, Access.READ, "Versions, process id and capabilities.")


class PingResult(Result, frozen=True, kw_only=True):
    """Always `ok`."""

    ok: bool


PING = method("ping", NoParams, PingResult, Access.READ, "Answers at once.")


class EntityCount(msgspec.Struct, frozen=True):
    """How many active memories mention an entity."""

    entity: str
    count: int


class StoreCounts(Result, frozen=True, kw_only=True):
    """The counts of a store in status and stats. `total_insights`, categories, links and vectors are those of active
    memories; `deleted_insights` are out of recall, for the reasons in `by_status`. Both are null while the database
    cannot be read. `passages`: exchanges of sessions in recall."""

    store: str
    total_insights: int
    deleted_insights: int | None
    by_status: dict[str, int] | None
    by_category: dict[str, int]
    edge_count: int
    edges_by_type: dict[str, int]
    embedding: str | None
    embedded: int
    passages: int = 0


class StatusResult(StoreCounts, frozen=True, kw_only=True):
    """A store and the daemon that serves it. Counts that only the database knows are null while it cannot be read.

    `pending_jobs` wait for a decision; `questions` are what there is to decide, see jobs.list. `pending_exchanges`:
    turns of agents' sessions that are still to be read for facts; `failed_exchanges` were tried often enough and set
    aside. `hosts` as in hello. `llm`: the language model and what is sent to it, null without one; `gates`: memories of
    the store that it `read` after they were written, and what was accepted of its answers. `held_texts`: texts
    that give orders and wait for a person, see reviews. `syncs`: a sentence for each directory or remote whose last
    sync failed. `shared`: a log that other daemons write to as well, and how far this one is behind it; null for a
    store that is not shared.
    """

    top_entities: list[EntityCount]
    oplog_count: int | None
    db_path: str
    db_size_bytes: int
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
    llm: ReaderStatus | None = None
    gates: dict[str, int] = msgspec.field(default_factory=dict)
    held_texts: int = 0
    syncs: list[str] = msgspec.field(default_factory=list)
    shared: LogStanding | None = None


STATUS = method(
    "status",
    StoreParams,
    StatusResult,
    Access.READ,
    "Show a store and the daemon that serves it.",
    positional=("store",),
)


MIN_INTERVAL_S: Final = 0.1


MAX_INTERVAL_S: Final = 10.0


Interval = Annotated[float, Meta(ge=MIN_INTERVAL_S, le=MAX_INTERVAL_S), about("seconds to watch", metavar="SECONDS")]


class TopParams(Params, frozen=True, kw_only=True):
    interval_s: Interval = 1.0


class MethodRate(msgspec.Struct, frozen=True):
    """A method: requests answered since the daemon started, and a second while it was watched; milliseconds that half
    and nineteen of twenty took at most, while it was watched or, without requests then, since the start. They come from
    buckets, and are off by a fifth at most."""

    name: str
    calls: int
    per_s: float
    p50_ms: float
    p95_ms: float


class StoreLoad(msgspec.Struct, frozen=True):
    """An open store: memories in recall, writes and reads of its database that wait, whether the writer is busy, the
    background job that runs, and why the store is degraded."""

    name: str
    memories: int
    waiting: int
    busy: bool
    job: str | None
    degraded_reason: str | None


class TopResult(Result, frozen=True, kw_only=True):
    """The load of the daemon. Totals since it started; `messages_per_s` and `lag_*_ms` while it was watched: delay of
    the event loop, median and worst."""

    version: str
    pid: int
    uptime_s: float
    interval_s: float
    connections: int
    accepted: int
    refused: int
    cut: int
    messages: int
    messages_per_s: float
    lag_p50_ms: float
    lag_worst_ms: float
    methods: list[MethodRate]
    stores: list[StoreLoad]
    llm: ReaderStatus | None = None


TOP = method("top", TopParams, TopResult, Access.READ, "Watch for a moment what the daemon does.")


class DaemonStopResult(Result, frozen=True, kw_only=True):
    """The daemon answers what it has received, then leaves."""

    stopping: bool
    pid: int


DAEMON_STOP = method(
    "daemon.stop", NoParams, DaemonStopResult, Access.CONTROL, "Answer everything received, then leave."
)


MAX_ARGUMENTS = 1000
"""Words of one command line; the message limit bounds their total length."""


Program = Literal["mnemonctl", "mnemon"]
"""The names by which the client is called: its own, and that of the program whose commands it takes then."""


class CliRunParams(Params, frozen=True, kw_only=True):
    argv: Annotated[list[str], Meta(max_length=MAX_ARGUMENTS), about("the command line as typed")]
    stdin: Annotated[str | None, about("standard input")] = None
    tty: Annotated[bool, about("standard output is a terminal")] = False
    tty_err: Annotated[bool, about("standard error is a terminal")] = False
    columns: Annotated[int, Meta(ge=20, le=1000), about("width of the terminal")] = 80
    color: Annotated[bool, about("the terminal has colours")] = False
    env_store: Annotated[str | None, about("$MNEMON_STORE")] = None
    directory: Annotated[Annotated[str, Meta(max_length=MAX_DIRECTORY)] | None, about("the working directory")] = None
    client_version: ClientVersion = None
    protocol: Protocol = None
    program: Annotated[
        Program, about("the name by which the client was called; as mnemon it takes the commands of that program")
    ] = "mnemonctl"


class CliRunResult(msgspec.Struct, frozen=True):
    """The output and the exit status. The order of these fields is part of the protocol: the client's fast path reads
    them in this order. `outdated` is true if the caller is a newer release than the daemon."""

    exit_code: int
    outdated: bool
    stdout: str
    stderr: str


CLI_RUN = method(
    "cli.run", CliRunParams, CliRunResult, Access.WRITE,
    "Run one mnemonctl command line and return what it prints.", positional=("argv",),
)  # fmt: skip


class ConfigShowParams(StoreParams, frozen=True, kw_only=True):
    below: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None, about("one table or setting, such as diff")
    ] = None
    origin: Annotated[bool, about("say where each value came from")] = False


class SettingView(msgspec.Struct, frozen=True):
    """One setting. `origin`, if requested: default, profile NAME, FILE:LINE, $VARIABLE, --set or --profile."""

    path: str
    value: object
    default: object
    origin: str | UnsetType = UNSET


class ConfigShowResult(Result, frozen=True, kw_only=True):
    """The settings of a store.

    `files` are those that may hold settings, later ones overridden by earlier ones. `waiting` are settings that differ
    in the files by now, and `refused` is why the files cannot be used as they are.
    """

    store: str
    files: list[str]
    settings: list[SettingView]
    waiting: list[str]
    refused: str | None


CONFIG_SHOW = method(
    "config.show", ConfigShowParams, ConfigShowResult, Access.READ,
    "Show every setting with the value that counts.", positional=("store",),
)  # fmt: skip


State = Literal["ok", "problem", "note", "skipped"]


class VerifyParams(StoreParams, frozen=True, kw_only=True):
    full: Annotated[bool, about("every row, link, vector and page: about a second for 10,000 memories")] = False


class ProblemView(msgspec.Struct, frozen=True):
    """A problem: what, where, and what to do next."""

    what: str
    where: str
    next: str


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check. `ok` is false for a problem alone; a note is for information, and `detail` of a skipped
    check is the reason. `store` is null for what concerns no store."""

    name: str
    ok: bool
    state: State
    detail: str
    problems: list[ProblemView] = []
    store: str | None = None


class VerifyResult(Result, frozen=True, kw_only=True):
    """Every check, in order. `open`: the daemon has the store in memory, and memory was compared with the database; a
    store that is not open is not opened for this."""

    store: str
    open: bool
    ok: bool
    checks: list[CheckView]


VERIFY = method("verify", VerifyParams, VerifyResult, Access.READ, "Check the invariants of a store; changes nothing.")


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's program that is installed here or was set up. `installed`: it has entries of ours; `unmodified`: all
    of them, as `mnemonctl setup` leaves them, null if there are none. `untrusted` are hooks that the program does not
    run until its user approves them, `switched_off` settings of the program that keep ours from running, `duplicates`
    entries that would run them twice. `last_seen` is when it last called the running daemon, RFC 3339; null if it did
    not, or none runs."""

    host: str
    title: str
    installed: bool
    unmodified: bool | None = None
    untrusted: list[str] = []
    switched_off: list[str] = []
    duplicates: list[str] = []
    last_seen: str | None = None


class DoctorResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `mnemonctl doctor`: counts of problems and notes, every check, and every agent's program."""

    ok: bool
    problems: int
    notes: int
    checks: list[CheckView]
    hosts: list[HostView] = []


class SalvageResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `mnemonctl doctor --salvage`: the new store, the one it was made of, and each table that differs.
    `recovered`: memories that were taken from their history, as their rows were lost. `mended`: rows with a column that
    could not be used (at most 20). `left_out`: the file with rows that were read and not kept. `problems`: what a full
    verification of the new store found. `whole`: nothing was lost, and the new store is sound."""

    store: str
    of: str
    path: str
    memories: int
    retired: int
    whole: bool
    tables: list[SalvagedTable]
    recovered: int = 0
    mended: list[str] = []
    left_out: str | None = None
    problems: list[str] = []


class Quantiles(msgspec.Struct, frozen=True):
    """The smallest and the largest value, and the quantiles .1, .5 and .9."""

    least: float
    p10: float
    median: float
    p90: float
    greatest: float


class StatsResult(StoreCounts, frozen=True, kw_only=True):
    """A store in figures. Types and sources are those of active memories, most first; of sources only the
    most frequent. `embedded_share` in [0, 1]. Quantiles are null for an empty store: days since memories were made and
    last used, and effective importance; `importance_bands` counts memories by it. `*_bytes` of the database, its
    write-ahead log, free pages in it, and the index in memory by part; `rows` are those of the index, dead ones
    included. `judged`: judgements of active memories (`feedback`). `refused`: texts that the substance filter refused,
    by day (UTC, newest first, at most 30) and reason. `gates`: memories that a language model `read` after they were
    written, and what was accepted of its answers."""

    by_type: dict[str, int]
    by_source: dict[str, int]
    embedded_share: float
    age_days: Quantiles | None
    unused_days: Quantiles | None
    importance: Quantiles | None
    importance_bands: dict[str, int]
    database_bytes: int
    log_bytes: int
    free_bytes: int
    index_bytes: dict[str, int]
    index_total_bytes: int
    rows: int
    refused: dict[str, dict[str, int]]
    judged: dict[str, int]
    llm: ReaderStatus | None = None
    gates: dict[str, int] = msgspec.field(default_factory=dict)


STATS = method(
    "stats", StoreParams, StatsResult, Access.READ,
    "Show a store in figures: contents, ages, sizes.", positional=("store",),
)  # fmt: skip
