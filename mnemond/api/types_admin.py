"""Methods about the daemon, its stores, their upkeep and events, and the command line: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.llm.reader import ReaderStatus
from mnemond.model.answers import Backup, GcResult, GcReview, LogStanding, SalvagedTable, Visibility
from mnemond.model.outcomes import GcDone, GcKept, Result
from mnemond.wire.params import (
    MAX_DIRECTORY,
    MAX_EXACT,
    MAX_VERSION,
    Access,
    IdOrPrefix,
    Limit,
    Name,
    NoParams,
    Params,
    ScopedWriteParams,
    SpoolName,
    StoreName,
    StoreParams,
    about,
    method,
)

# The daemon itself.


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

# A command line.


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

# Named stores.


class StoreEntry(msgspec.Struct, frozen=True):
    """One store. `visibility`: who sees it, for one that daemons share and that is open."""

    name: str
    active: bool
    visibility: Visibility | UnsetType = UNSET


class StoreListResult(Result, frozen=True, kw_only=True):
    """Every store; `source`: where the active name comes from, active-file or default."""

    stores: list[StoreEntry]
    active: str
    source: str


STORE_LIST = method("store.list", NoParams, StoreListResult, Access.READ, "List every store.")


class StoreCreateParams(Params, frozen=True, kw_only=True):
    """Name pattern: a letter or digit, then up to 63 letters, digits, "_" or "-"."""

    name: Annotated[StoreName, about("the name of the new store")]
    backend: Annotated[
        Literal["postgresql"] | None,
        about("where its log of operations is, for a store that several daemons share", metavar="BACKEND"),
    ] = None
    dsn_env: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        about("the environment variable of the daemon that has the connection string", metavar="VARIABLE"),
    ] = None
    visibility: Annotated[
        Visibility | None,
        about("who sees a shared store: private (you), project (members of the role of its name), team", metavar="WHO"),
    ] = None


class StoreCreateResult(Result, frozen=True, kw_only=True):
    """`created` is false if the store existed already. `shared`: how far its log was loaded, null if it is not
    shared."""

    name: str
    path: str
    created: bool
    shared: LogStanding | None = None


STORE_CREATE = method(
    "store.create", StoreCreateParams, StoreCreateResult, Access.WRITE,
    "Make a new, empty store.", positional=("name",),
)  # fmt: skip


class StoreSetParams(Params, frozen=True, kw_only=True):
    """The store has to exist, except `default`. With `visibility` that is changed, and the active store stays."""

    name: Annotated[StoreName, about("the name of a store")]
    visibility: Annotated[
        Visibility | None,
        about("change who sees this shared store (private, project, team); it does not become active", metavar="WHO"),
    ] = None


class StoreSetResult(Result, frozen=True, kw_only=True):
    """The active store, and the one that was active before. With `visibility`: the store whose visibility that is now;
    the active one is `previous`."""

    name: str
    previous: str
    visibility: Visibility | None = None


STORE_SET = method(
    "store.set", StoreSetParams, StoreSetResult, Access.WRITE,
    "Choose the store that is used when none is named.", positional=("name",),
)  # fmt: skip


class StorePathResult(Result, frozen=True, kw_only=True):
    """The path of a store. A store that is made on first use need not exist yet."""

    name: str
    path: str
    exists: bool


STORE_PATH = method(
    "store.path",
    StoreParams,
    StorePathResult,
    Access.READ,
    "Show where the file of a store is.",
    positional=("store",),
)


class StoreRemoveParams(Params, frozen=True, kw_only=True):
    """The active store cannot be removed."""

    name: Annotated[StoreName, about("the name of a store")]
    yes: Annotated[bool, about("yes, remove it")] = False
    purge: Annotated[bool, about("make no last backup, and delete the earlier ones")] = False


class StoreRemoveResult(Result, frozen=True, kw_only=True):
    """`backup` is the name of the last backup, null with `purge`, and for a store that could not be read: `kept` is the
    directory in which that one is kept."""

    name: str
    backup: str | None
    purged: bool
    kept: str | None = None


STORE_REMOVE = method(
    "store.remove", StoreRemoveParams, StoreRemoveResult, Access.WRITE,
    "Delete a store, after a last backup of it; needs yes.", positional=("name",),
)  # fmt: skip

# Backups of stores. These methods name backups and stores, never files.


BackupName = Annotated[
    str, Meta(min_length=6, max_length=64), about("name of a backup, or the beginning of it", metavar="BACKUP")
]


MAX_RECIPIENT: Final = 4096
"""Characters of a public key: one of RSA with 16,384 bits has 2,800."""

Recipient = Annotated[str, Meta(min_length=8, max_length=MAX_RECIPIENT)]


class BackupCreateParams(StoreParams, frozen=True, kw_only=True):
    encrypt_to: Annotated[
        list[Recipient] | None,
        about("public keys for which the backup is encrypted, in place of those of the configuration", by_client=True),
    ] = None


class BackupCreateResult(Result, frozen=True, kw_only=True):
    """The backup holds everything that was acknowledged before the request, and was verified. `dropped` are the names
    of the oldest ones, removed to make room."""

    backup: Backup
    dropped: list[str]


BACKUP_CREATE = method(
    "backup.create", BackupCreateParams, BackupCreateResult, Access.WRITE,
    "Copy a store while it serves.", positional=("store",),
)  # fmt: skip


class BackupListParams(StoreParams, frozen=True, kw_only=True):
    """Of one store, or of all."""


class BackupListResult(Result, frozen=True, kw_only=True):
    """Newest first."""

    backups: list[Backup]


BACKUP_LIST = method(
    "backup.list", BackupListParams, BackupListResult, Access.READ, "List every backup.", positional=("store",)
)


class BackupVerifyParams(StoreParams, frozen=True, kw_only=True):
    """`store` tells backups of one name apart."""

    backup: BackupName


class BackupVerifyResult(Result, frozen=True, kw_only=True):
    """Every page was read and nothing is wrong. A damaged backup is an error. `read` is false for one that is
    encrypted: its bytes are those that were noted when it was made; the client can read its pages, as it has the key.
    """

    backup: Backup
    read: bool = True


BACKUP_VERIFY = method(
    "backup.verify", BackupVerifyParams, BackupVerifyResult, Access.READ,
    "Read every page of a backup.", positional=("backup",),
)  # fmt: skip


class BackupRestoreParams(StoreParams, frozen=True, kw_only=True):
    """`store` tells backups of one name apart. What a replaced store was before is a backup afterwards. Of a backup
    that is encrypted, the file `spool` has the plaintext."""

    backup: BackupName
    into: Annotated[
        StoreName | None, about("restore into this store, which may be new; the one it was made of unless given")
    ] = None
    yes: Annotated[bool, about("yes, replace the store that is there")] = False
    spool: SpoolName | None = None


class BackupRestoreResult(Result, frozen=True, kw_only=True):
    """The store, its size now, and its former contents: the name of the backup of them, or the directory in which they
    are kept because they cannot be read."""

    store: str
    backup: str
    memories: int
    before: str | None
    kept: str | None = None


BACKUP_RESTORE = method(
    "backup.restore", BackupRestoreParams, BackupRestoreResult, Access.WRITE,
    "Replace a store by a backup, or make a new one of it.", positional=("backup",),
)  # fmt: skip

# The configuration.


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

# The examination of a store, and the results of `mnemonctl doctor`.


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


# gc, which has one result for each thing it does.


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

# Background jobs.


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
    """Whether or not the store is in use."""

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

# Figures of a store.


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

# Events, for connections that subscribe.


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
