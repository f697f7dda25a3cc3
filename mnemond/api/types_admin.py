"""Parameters and results of the methods about the daemon itself, the state of a store, and the command line."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.wire.params import MAX_VERSION, IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName

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


# Parameters and results of the methods about backups of stores. They name backups and stores, never files.


BackupName = Annotated[str, msgspec.Meta(min_length=6, max_length=64)]
"""As `backup.create` and `backup.list` give it, or the beginning of it."""


class BackupView(msgspec.Struct, frozen=True):
    """One backup: SQLite's own file format, readable by its owner only.

    `kind`: `asked` for, `scheduled`, or made because the store was about to be `replaced` or `removed`. `memories` and
    `retired` are those in recall and out of it; with `sha256` they are null when the note of them is lost.
    """

    name: str
    store: str
    kind: Literal["asked", "scheduled", "replaced", "removed"]
    created_at: str
    path: str
    bytes: int
    memories: int | None
    retired: int | None
    sha256: str | None


class BackupCreateParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class BackupCreateResult(Result, frozen=True, kw_only=True):
    """It holds everything that was acknowledged before the request, and was verified. `dropped` are the names of the
    oldest, whose place it took."""

    backup: BackupView
    dropped: list[str]


class BackupListParams(Params, frozen=True, kw_only=True):
    """Of which store; of all unless named."""

    store: StoreName | None = None


class BackupListResult(Result, frozen=True, kw_only=True):
    """Newest first."""

    backups: list[BackupView]


class BackupVerifyParams(Params, frozen=True, kw_only=True):
    """Which backup; of which store, where several have one of that name."""

    backup: BackupName
    store: StoreName | None = None


class BackupVerifyResult(Result, frozen=True, kw_only=True):
    """Every page was read and nothing is wrong; what it holds. One that is damaged is an error."""

    backup: BackupView


class BackupRestoreParams(Params, frozen=True, kw_only=True):
    """Make a store what a backup holds: the one it was made of, or `into` another or a new one.

    `yes` is needed where a store is replaced. What it was before is a backup afterwards.
    """

    backup: BackupName
    store: StoreName | None = None
    into: StoreName | None = None
    yes: bool = False


class BackupRestoreResult(Result, frozen=True, kw_only=True):
    """The store, what is in it now, and the name of the backup of what was there before."""

    store: str
    backup: str
    memories: int
    before: str | None


# Parameters and results of the methods about the configuration.


class ConfigShowParams(Params, frozen=True, kw_only=True):
    """As it is for which store; the active one unless named. `below`: only this table or setting, such as "diff".

    `origin`: say where each value came from.
    """

    store: StoreName | None = None
    below: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    origin: bool = False


class SettingView(msgspec.Struct, frozen=True):
    """One setting. `origin`, if it was asked for: default, profile NAME, FILE:LINE, $VARIABLE, --set or --profile."""

    path: str
    value: object
    default: object
    origin: str | msgspec.UnsetType = msgspec.UNSET


class ConfigShowResult(Result, frozen=True, kw_only=True):
    """The settings a store goes by.

    `files` are those that may say something, in the order in which the later goes before the earlier. `waiting` are
    settings of which the files say something else by now, and `refused` why they cannot be used as they are.
    """

    store: str
    files: list[str]
    settings: list[SettingView]
    waiting: list[str]
    refused: str | None


# Parameters and results of the method that examines a store, and what `mnemonctl doctor` prints as JSON.


State = Literal["ok", "problem", "note", "skipped"]


class VerifyParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named. `full`: read every row, link, vector and page, which may take a second
    for each 10,000 memories."""

    full: bool = False
    store: StoreName | None = None


class ProblemView(msgspec.Struct, frozen=True):
    """What is the matter, where, and what to do next."""

    what: str
    where: str
    next: str


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """What one check came to. `ok` is false for a problem alone; a note is something to know, and what was skipped is
    said with its reason in `detail`. `store` is null for what concerns no store."""

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


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's program that is here or was set up. `installed`: something of ours stands in it; `unmodified`: all of
    it, as `mnemonctl setup` leaves it, null when nothing does. `untrusted` are hooks that the program does not run
    until its user approves them, `switched_off` settings of the program that keep ours from running, `duplicates`
    what would run them twice. `last_seen` is when it last called the daemon that runs, RFC 3339; null when it did not,
    or none runs."""

    host: str
    title: str
    installed: bool
    unmodified: bool | None = None
    untrusted: list[str] = []
    switched_off: list[str] = []
    duplicates: list[str] = []
    last_seen: str | None = None


class DoctorResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemonctl doctor` found: how many problems and notes, every check, and every agent's program."""

    ok: bool
    problems: int
    notes: int
    checks: list[CheckView]
    hosts: list[HostView] = []


class SalvagedTable(msgspec.Struct, frozen=True):
    """What became of a table: rows kept, of those the ones from damaged pages (their text is the one that was stored,
    other fields may not be), rows that were left out, and places where nothing could be read."""

    table: str
    kept: int
    doubtful: int
    left_out: int
    gaps: int


class SalvageResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `mnemonctl doctor --salvage` made: the new store, of which one, and what became of each table that is not as
    it was. `whole`: nothing was lost."""

    store: str
    of: str
    path: str
    memories: int
    retired: int
    whole: bool
    tables: list[SalvagedTable]


# Parameters and results of gc, which has one result for each thing it does.


MAX_DAYS = 36_500


class GcParams(Params, frozen=True, kw_only=True):
    """List what matters least, or do one thing about it.

    `threshold` and `limit` say which memories: those of less effective importance, so many at most. `keep` makes one
    memory immune; `review` lists texts that may have to be written again; `apply` takes what is listed out of recall;
    `purge_deleted` removes for good what left recall more than so many days ago, the longest ago first.
    """

    threshold: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.5
    limit: Limit = 20
    keep: IdOrPrefix | None = None
    review: bool = False
    apply: bool = False
    purge_deleted: Annotated[int, msgspec.Meta(ge=0, le=MAX_DAYS)] | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class GcCandidate(msgspec.Struct, frozen=True):
    """A memory that matters little. `effective_importance` is that of now; `edge_count` counts links."""

    id: str
    content: str
    category: str
    importance: int
    access_count: int
    effective_importance: float
    days_since_access: float
    edge_count: int
    immune: bool


class GcResult(Result, frozen=True, kw_only=True):
    """What matters least, least first. `candidates_found` counts those beyond `limit` too; `actions` are command lines
    by what they do."""

    total_insights: int
    threshold: float
    candidates_found: int
    candidates: list[GcCandidate]
    max_insights: int
    actions: dict[str, str]


class GcKept(Result, frozen=True, kw_only=True):
    """A memory that is left alone from now on."""

    status: Literal["retained"]
    id: str
    content: str
    new_access: int
    effective_importance: float
    immune: bool
    op_id: str
    replayed: bool


class GcFlagged(msgspec.Struct, frozen=True):
    """A memory whose text may have to be written again. What looks like a secret is taken out of `content`."""

    id: str
    content: str
    importance: int
    quality_warnings: list[str]


class GcReview(Result, frozen=True, kw_only=True):
    """Those with the most warnings first; `total_flagged` counts those beyond `limit` too."""

    review_results: list[GcFlagged]
    total_flagged: int
    actions: dict[str, str]


class GcDone(Result, frozen=True, kw_only=True):
    """What was taken out of recall, or removed for good. `left`: how many more there are; `backups`: names of copies of
    the store's file, beside it, that still hold some of what was removed."""

    status: Literal["retired", "purged"]
    count: int
    ids: list[str]
    left: int
    backups: tuple[str, ...] = ()
    op_id: str
    replayed: bool


# Parameters and results of the methods about background jobs.


class JobsListParams(Params, frozen=True, kw_only=True):
    """Of which store; the active one unless named."""

    store: StoreName | None = None


class JobView(msgspec.Struct, frozen=True):
    """One job of a store, and how it ran last: what never was is null.

    `outcome`: done, nothing (there was nothing to change), or stopped: it would change too much, and `detail` says how
    to let it. `changed` counts memories, lines or rows; of one that stopped, how many it would have changed. `op_id`
    is for undo. `next_run` is null while it runs. `skipped`: why it does not run although it is due; `error`: why the
    last attempt failed.
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
    """Every job, in the order they run in where several are due."""

    store: str
    jobs: list[JobView]


class JobsRunParams(Params, frozen=True, kw_only=True):
    """Run one job now, whether or not the store is in use. `dry_run`: say what it would come to, and change nothing.
    `yes`: let it change as much as there is to change."""

    name: Name
    dry_run: bool = False
    yes: bool = False
    store: StoreName | None = None


class JobsRunResult(Result, frozen=True, kw_only=True):
    """What the run came to, or of a dry run would come to; the fields are those of JobView."""

    store: str
    name: str
    outcome: Literal["done", "nothing", "stopped"]
    changed: int
    detail: str
    op_id: str | None
    dry_run: bool


# Parameters and results of the methods that count: what a store holds, and what the daemon is doing.


class StatsParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class Quantiles(msgspec.Struct, frozen=True):
    """The least, the greatest, and what a tenth, half and nine tenths are not above."""

    least: float
    p10: float
    median: float
    p90: float
    greatest: float


class StatsResult(Result, frozen=True, kw_only=True):
    """A store in figures. Categories, types and sources are those of active memories, most first; of sources only the
    most frequent. `embedded_share` in [0, 1]. Quantiles are null for an empty store: days since memories were made and
    last used, and effective importance; `importance_bands` counts memories by it. `*_bytes` of the database, its
    write-ahead log, free pages in it, and the index in memory by part; `rows` are those of the index, dead ones
    included."""

    store: str
    total_insights: int
    by_status: dict[str, int]
    by_category: dict[str, int]
    by_type: dict[str, int]
    by_source: dict[str, int]
    edges_by_type: dict[str, int]
    embedding: str | None
    embedded: int
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


class TopParams(Params, frozen=True, kw_only=True):
    """How many seconds to watch before answering."""

    interval_s: Annotated[float, msgspec.Meta(ge=0.1, le=10.0)] = 1.0


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
    """An open store: memories in recall, writes and questions to its database that wait, whether the writer is busy,
    the background job that runs, and why it is not fully well."""

    name: str
    memories: int
    waiting: int
    busy: bool
    job: str | None
    degraded_reason: str | None


class TopResult(Result, frozen=True, kw_only=True):
    """What the daemon does. Totals since it started; `messages_per_s` and `lag_*_ms` while it was watched: how late
    the event loop was, half of the time at most and at worst."""

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


# Parameters and results of the methods about named stores.


class StoreListParams(Params, frozen=True, kw_only=True):
    """Nothing."""


class StoreEntry(msgspec.Struct, frozen=True):
    """One store."""

    name: str
    active: bool


class StoreListResult(Result, frozen=True, kw_only=True):
    """Every store; `source` says where the active name comes from: active-file or default."""

    stores: list[StoreEntry]
    active: str
    source: str


class StoreCreateParams(Params, frozen=True, kw_only=True):
    """Name pattern: a letter or digit, then up to 63 letters, digits, "_" or "-"."""

    name: StoreName


class StoreCreateResult(Result, frozen=True, kw_only=True):
    """`created` is false when the store was there already."""

    name: str
    path: str
    created: bool


class StoreSetParams(Params, frozen=True, kw_only=True):
    """Which store is used from now on when none is named. It has to exist, except `default`."""

    name: StoreName


class StoreSetResult(Result, frozen=True, kw_only=True):
    """The active store, and the one that was active before."""

    name: str
    previous: str


class StorePathParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class StorePathResult(Result, frozen=True, kw_only=True):
    """Where a store lies. A store that is made on first use need not exist yet."""

    name: str
    path: str
    exists: bool


class StoreRemoveParams(Params, frozen=True, kw_only=True):
    """Delete a store; not the active one, and only with `yes`. A last backup of it is made before.

    `purge`: no last backup, and its earlier ones are deleted as well.
    """

    name: StoreName
    yes: bool = False
    purge: bool = False


class StoreRemoveResult(Result, frozen=True, kw_only=True):
    """`backup` is the name of the last backup, null with `purge`."""

    name: str
    backup: str | None
    purged: bool
