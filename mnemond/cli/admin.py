"""`mnemonctl status`, `stats`, `top`, `doctor`, `logs`, `setup` and `daemon …`.

The client runs all but the first two by itself; their options and texts are here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, starmap
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api import types_admin
from mnemond.api.types_admin import (
    CheckView,
    DoctorResult,
    HostSeen,
    MethodRate,
    Quantiles,
    SalvagedTable,
    SalvageResult,
    StatsResult,
    StatusResult,
    StoreCounts,
    StoreLoad,
    TopResult,
)
from mnemond.cli.keys import IdentityFile
from mnemond.cli.output import Style, counts, duration, hanging, lines, milliseconds, one_line, shorten, size
from mnemond.cli.parser import Command, Group
from mnemond.cli.stores import shared_log
from mnemond.config.settings import LEVELS, Level
from mnemond.llm.reader import ReaderStatus
from mnemond.wire.params import about, plural

# status and stats.


def _status(result: StatusResult, style: Style) -> str:
    full = " (over capacity)" if result.over_capacity else ""
    capacity = f" of {result.max_insights:,}{full}" if result.max_insights else ", no limit"
    entities = counts({item.entity: item.count for item in result.top_entities})
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        *_counts(result, capacity),
        f"  entities    {entities}" if result.top_entities else None,
        f"  embedding   {one_line(result.embedding or 'none')}, {result.embedded:,} embedded",
        f"  file        {one_line(result.db_path)} ({size(result.db_size_bytes)})",
        f"  {shared_log(result.shared)}" if result.shared else None,
        f"  waiting     {waiting}" if (waiting := ", ".join(_waiting(result))) else None,
        *(f"  asks        {one_line(question)}" for question in result.questions),
        *(f"  sync        {one_line(each)}" for each in result.syncs),
        f"  agents      {', '.join(starmap(_host, result.hosts.items()))}" if result.hosts else None,
        f"  model       {_reader(result.llm)}" if result.llm else None,
        f"  gates       {_gates(result.gates)}" if result.gates else None,
        style.faint(_daemon(result)),
    )


def _counts(result: StoreCounts, capacity: str = "") -> Iterator[str]:
    """Yield the lines about the contents of a store that status and stats share."""
    out = ""
    if result.by_status is not None:
        reasons = {name: count for name, count in result.by_status.items() if name != "active"}
        why = f" ({counts(reasons)})" if reasons else ""
        out = f", {result.deleted_insights:,} out of recall{why}"
    yield f"  memories    {result.total_insights:,}{capacity}{out}"
    yield f"  categories  {counts(result.by_category)}"
    links = _some(result.edges_by_type)
    yield f"  links       {result.edge_count:,}" + (f": {links}" if result.edge_count else "")
    if result.passages:
        yield f"  sessions    {plural(result.passages, 'exchange')}, verbatim"


def _waiting(result: StatusResult) -> Iterator[str]:
    """Jobs and reviews that wait for a decision, and exchanges that are not read yet."""
    if result.pending_jobs:
        yield plural(result.pending_jobs, "job")
    if result.pending_reviews:
        yield f"{plural(result.pending_reviews, 'review')} to decide (mnemonctl reviews)"
    if result.held_texts:
        yield f"{plural(result.held_texts, 'text')} of orders to look at (mnemonctl reviews)"
    if result.pending_exchanges:
        yield f"{plural(result.pending_exchanges, 'exchange')} to be read"
    if result.failed_exchanges:
        yield f"{plural(result.failed_exchanges, 'exchange')} that could not be read (mnemonctl doctor)"


def _reader(found: ReaderStatus) -> str:
    """The language model: what is sent where, and what was used today."""
    calls = f"{found.calls_today:,}" + (f" of {found.max_calls:,}" if found.max_calls else "")
    tokens = f"{found.tokens_today:,}" + (f" of {found.max_tokens:,}" if found.max_tokens else "")
    used = f"today {calls} calls, {tokens} tokens; {found.failed:,} of {found.answered + found.failed:,} failed"
    waiting = f"; {one_line(found.waiting)}" if found.waiting else ""
    where = one_line(f"{found.model} at {found.sent}")
    return f"{where} gets parts of conversations and memories; {used}{waiting}"


def _gates(found: dict[str, int]) -> str:
    """The memories that the model read after they were written, and what came of it."""
    more = counts({name: count for name, count in found.items() if name != "read"})
    return f"{plural(found.get('read', 0), 'memory')} read by the model" + (f": {more}" if more else "")


def _host(name: str, seen: HostSeen) -> str:
    return f"{one_line(name)} {plural(seen.events, 'event')}, last {seen.last_event_at[:19]}Z"


def _daemon(result: StatusResult | TopResult) -> str:
    connections = plural(result.connections, "connection")
    return f"mnemond {one_line(result.version)}, pid {result.pid}, up {duration(result.uptime_s)}, {connections}"


STATUS = Command(
    "status",
    Group.LOOK,
    ("mnemonctl status", "mnemonctl status --store work --json"),
    method=types_admin.STATUS,
    render=_status,
)


def _stats(result: StatsResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.total_insights))
    share = f"{result.embedded_share * 100:.1f}"
    free = f", {size(result.free_bytes)} of it free" if result.free_bytes else ""
    parts = [f"{one_line(name)} {size(count)}" for name, count in result.index_bytes.items() if count]
    index = f": {', '.join(parts)}" if parts else ""
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        *_counts(result),
        f"  types       {_some(result.by_type)}",
        f"  sources     {_some(result.by_source)}",
        f"  embedding   {one_line(result.embedding or 'none')}, {result.embedded:,} embedded ({share} %)",
        f"  made        {_spread(result.age_days, ' days ago')}",
        f"  used        {_spread(result.unused_days, ' days ago')}",
        f"  importance  {_spread(result.importance)}",
        f"              {_some(result.importance_bands)}",
        f"  file        {size(result.database_bytes)}{free}, log {size(result.log_bytes)}",
        f"  index       {size(result.index_total_bytes)} in {plural(result.rows, 'row')}{index}",
        f"  judged      {_some(result.judged)}" if any(result.judged.values()) else None,
        f"  model       {_reader(result.llm)}" if result.llm else None,
        f"  gates       {_gates(result.gates)}" if result.gates else None,
        *_refusals(result.refused),
    )


SHOWN_DAYS: Final = 7
"""Days whose refusals people are shown."""


def _refusals(refused: dict[str, dict[str, int]]) -> Iterator[str]:
    """Yield the refusals of the substance filter, a line for each of the newest days."""
    for number, (day, reasons) in enumerate(islice(refused.items(), SHOWN_DAYS)):
        yield f"  {'' if number else 'refused':<11} {one_line(day)}  {_some(reasons)}"


def _some(found: dict[str, int]) -> str:
    return counts({name: count for name, count in found.items() if count})


def _spread(found: Quantiles | None, unit: str = "") -> str:
    if found is None:
        return "none"
    low, mid, high, most = (f"{value:.3g}" for value in (found.p10, found.median, found.p90, found.greatest))
    if low == most:
        return f"{mid}{unit}"
    return f"mostly {low if low == high else f'{low} to {high}'}{unit} (median {mid}, at most {most})"


STATS = Command(
    "stats",
    Group.LOOK,
    ("mnemonctl stats", "mnemonctl stats --store work --json"),
    method=types_admin.STATS,
    render=_stats,
)


# doctor.


class DoctorOptions(msgspec.Struct, frozen=True):
    all: Annotated[bool, about("every store, as without --store")] = False
    full: Annotated[
        bool, about("every row, link, vector and page, and every backup: about a second for 10,000", "--verify")
    ] = False
    salvage: Annotated[bool, about("read what can be read of a damaged store into a new one; no daemon may run")] = (
        False
    )
    identity: IdentityFile = None
    store: str | None = None


def render_doctor(result: DoctorResult, style: Style) -> str:
    """Every check in a line, problems with their place and the next step; with --quiet problems alone."""
    shown = [line for each in result.checks if not (style.quiet and each.ok) for line in _check(each, style)]
    total = [plural(result.problems, "problem"), plural(result.notes, "note"), plural(len(result.checks), "check")]
    return lines(*shown, None if style.quiet else style.strong(", ".join(total)))


_STATES: Final = {"ok": "ok", "problem": "PROBLEM", "note": "note", "skipped": "skipped"}
_MARGIN: Final = max(map(len, _STATES.values())) + 2


def _check(view: CheckView, style: Style) -> list[str]:
    word = _STATES[view.state].ljust(_MARGIN)
    name = one_line(view.name if view.store is None else f"{view.store}: {view.name}")
    detail = f"{word}{name}: {one_line(view.detail)}"
    if view.problems:
        return [
            line
            for problem in view.problems
            for head, sentence in (
                (f"{style.strong(word)}{name}: ", problem.what),
                (" " * _MARGIN + "where: ", problem.where),
                (" " * _MARGIN + "next: ", problem.next),
            )
            for line in hanging(head, one_line(sentence), style.columns - _MARGIN - 2, _MARGIN + 2)
        ]
    if view.state == "note":
        return hanging("", detail, style.columns, _MARGIN)
    return [detail if view.state == "ok" else style.faint(detail)]


def render_salvage(result: SalvageResult, style: Style) -> str:
    """The new store, the losses, and the next step."""
    memories = f"{plural(result.memories, 'memory')}, {result.retired:,} out of recall"
    return lines(
        f"{style.strong(result.store)}: {memories}, read from {result.of}, which is unchanged",
        f"  {result.path}",
        *(f"  {each.table}: {', '.join(_losses(each))}" for each in result.tables),
        "  nothing was lost" if result.whole else "  tables that are not listed were read whole",
        f"  {plural(result.recovered, 'memory')} taken from the history" if result.recovered else None,
        *(f"  mended: {one_line(each)}" for each in result.mended),
        f"  what was left out: {one_line(result.left_out)}" if result.left_out else None,
        *(style.strong(f"  PROBLEM in the new store: {one_line(each)}") for each in result.problems),
        f"mnemonctl store set {result.store} makes it the one that is used",
    )


def _losses(table: SalvagedTable) -> Iterator[str]:
    yield f"{table.kept:,} rows kept"
    if table.doubtful:
        yield f"{table.doubtful:,} of them from damaged pages"
    if table.mended:
        yield f"{table.mended:,} of them with a field that could not be read and is empty now"
    if table.left_out:
        yield f"{table.left_out:,} left out"
    if table.gaps:
        yield f"{plural(table.gaps, 'place')} that cannot be read"


DOCTOR = Command(
    "doctor",
    Group.DAEMON,
    ("mnemonctl doctor", "mnemonctl doctor --full", "mnemonctl doctor --store work --json"),
    summary="Check stores, files, daemon and service (exit 1 for a problem). Changes nothing stored.",
    details=(
        "Without a daemon it looks at files and rows; what a daemon has in memory is compared only where one runs.",
        "--salvage makes a store NAME-salvaged; the damaged one is only read. Exit 1 when something was lost.",
        "A daemon looks at the same, --full excepted, every hour by itself: mnemonctl jobs list.",
    ),
    options=DoctorOptions,
)


# top.


NAME: Final = 18
"""Cells of a method's or store's name."""


class TopOptions(msgspec.Struct, frozen=True):
    once: Annotated[bool, about("watch once, print, and leave")] = False
    interval: types_admin.Interval = 1.0


def render_top(result: TopResult, style: Style) -> str:
    """Totals, then methods, the busiest first, then stores."""
    if style.quiet:
        return lines(f"{result.messages_per_s:g}")
    lag = f"{milliseconds(result.lag_p50_ms)} ms, at worst {milliseconds(result.lag_worst_ms)} ms"
    refused = ", ".join(
        f"{count:,} {what}" for what, count in (("refused", result.refused), ("cut", result.cut)) if count
    )
    return lines(
        style.strong(_daemon(result)),
        f"  {result.messages_per_s:,.1f} messages/s of {result.messages:,}, loop late by {lag}",
        f"  connections: {result.accepted:,} accepted, {refused}" if refused else None,
        f"  model: {_reader(result.llm)}" if result.llm else None,
        style.faint(f"{'method':{NAME}}{'per s':>9}{'calls':>12}{'p50 ms':>10}{'p95 ms':>10}"),
        *map(_method, result.methods),
        style.faint(f"{'store':{NAME}}{'waiting':>9}{'memories':>12}  state"),
        *(_store(store, style) for store in result.stores),
        "no store is open" if not result.stores else None,
    )


def _method(rate: MethodRate) -> str:
    name = shorten(rate.name, NAME - 1)
    times = f"{milliseconds(rate.p50_ms):>10}{milliseconds(rate.p95_ms):>10}"
    return f"{name:{NAME}}{rate.per_s:>9,.1f}{rate.calls:>12,}{times}"


def _store(store: StoreLoad, style: Style) -> str:
    state = "busy" if store.busy else "idle"
    if store.job is not None:
        state += f", runs {one_line(store.job)}"
    if store.degraded_reason is not None:
        state += f", degraded: {one_line(store.degraded_reason)}"
    head = f"{shorten(store.name, NAME - 1):{NAME}}{store.waiting:>9,}{store.memories:>12,}  "
    return head + shorten(state, max(style.columns - len(head), NAME))


TOP = Command(
    "top",
    Group.DAEMON,
    ("mnemonctl top", "mnemonctl top --once", "mnemonctl top --once --interval 5 --json"),
    summary="Show what the daemon is doing, again and again until Ctrl-C: rates, latencies, queues.",
    details=("The daemon is watched only meanwhile. It is not started for this.",),
    options=TopOptions,
)


# logs.


MAX_LINES: Final = 1_000_000


class LogsOptions(msgspec.Struct, frozen=True):
    follow: Annotated[bool, about("go on with what comes; Ctrl-C ends it", "-f")] = False
    lines: Annotated[int, Meta(ge=0, le=MAX_LINES), about("the last N lines", "-n")] = 50
    level: Annotated[Level | None, about("only what is at least as important", choices=tuple(LEVELS))] = None


LOGS = Command(
    "logs",
    Group.DAEMON,
    ("mnemonctl logs", "mnemonctl logs -f", "mnemonctl logs -n 200 --level warning"),
    summary="Show the daemon's own log. No memory's text is in it.",
    details=(
        "It works while no daemon runs.",
        "The log of a service of systemd is in the journal; otherwise it is log/mnemond.log in the data directory.",
    ),
    options=LogsOptions,
)


# setup.


class SetupOptions(msgspec.Struct, frozen=True):
    target: Annotated[
        list[str],
        about(
            "only this one; may be repeated: claude-code, codex, gemini, cursor, copilot-cli, generic", metavar="NAME"
        ),
    ] = []
    dry_run: Annotated[bool, about("show every change as a diff, and do nothing")] = False
    yes: Annotated[bool, about("do not ask")] = False
    eject: Annotated[bool, about("take everything back")] = False
    import_sessions: Annotated[
        bool, about("also read the transcripts that Claude Code, Codex and Gemini CLI have, as `import --from` does")
    ] = False
    everywhere: Annotated[bool, about("for all projects, as in any case", option="--global")] = False
    mnemon_alias: Annotated[
        bool, about("make the link ~/.local/bin/mnemon as well, by which mnemonctl takes the commands of mnemon")
    ] = False


SETUP = Command(
    "setup",
    Group.AGENTS,
    (
        "mnemonctl setup",
        "mnemonctl setup --dry-run",
        "mnemonctl setup --target codex --yes",
        "mnemonctl setup --target generic",
        "mnemonctl setup --mnemon-alias",
        "mnemonctl setup --eject",
    ),
    summary="Connect Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI to mnemond, or disconnect them.",
    details=(
        "Without --target: every one of them that is found here. It shows what it would change, and asks.",
        "A file that does not parse is left alone, with the line. Entries of others stay as they are, to the byte.",
        "A backup is beside each file that was changed.",
        "--eject puts back what was there before; from a file that was changed since, it removes our entries alone.",
        "At a terminal it offers to read the sessions that there were before; --yes needs --import-sessions for that.",
        "generic prints a block for AGENTS.md and an MCP entry for any other program.",
        "--mnemon-alias: never in place of another program called mnemon. --eject without --target removes the link.",
    ),
    options=SetupOptions,
)


# daemon ….


class WaitOptions(msgspec.Struct, frozen=True):
    wait: Annotated[float, Meta(ge=0.001, le=3600), about("how long it may take to answer", metavar="SECONDS")] = 2.0


class UninstallOptions(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, about("show what would be done, and do nothing")] = False
    force: Annotated[bool, about("also files that were changed, or that are not ours")] = False


class InstallOptions(UninstallOptions, frozen=True):
    sandbox: Annotated[bool, about("see nothing else of the file system as writable")] = False


DAEMON_START = Command(
    "daemon start",
    Group.DAEMON,
    ("mnemonctl daemon start", "mnemonctl daemon start --wait 10"),
    summary="Start the daemon, if none runs. Other commands do so by themselves.",
    details=("They wait as long for its first answer as $MNEMON_START_WAIT says: 10 seconds, unless it is set.",),
    options=WaitOptions,
)
DAEMON_STOP = Command(
    "daemon stop",
    Group.DAEMON,
    ("mnemonctl daemon stop",),
    summary="Let the daemon answer what it has received, then leave.",
)
DAEMON_RESTART = Command(
    "daemon restart",
    Group.DAEMON,
    ("mnemonctl daemon restart",),
    summary="Stop the daemon, if one runs, and start it again.",
    details=("The configuration is checked first: a daemon that could not start again is not stopped.",),
    options=WaitOptions,
)
DAEMON_STATUS = Command(
    "daemon status",
    Group.DAEMON,
    ("mnemonctl daemon status", "mnemonctl daemon status --json"),
    summary="Show whether a daemon runs (exit 69 if not), its process, version and stores.",
)
DAEMON_RUN = Command(
    "daemon run",
    Group.DAEMON,
    ("mnemonctl daemon run", "mnemonctl daemon run --data-dir /tmp/try-it"),
    summary="Run the daemon in the foreground; Ctrl-C stops it.",
)
DAEMON_INSTALL = Command(
    "daemon install",
    Group.DAEMON,
    ("mnemonctl daemon install", "mnemonctl daemon install --dry-run", "mnemonctl daemon install --sandbox"),
    summary="Make the daemon a service of systemd or launchd: it starts at login, and again after a crash.",
    details=(
        "It is a service of this user, not of the machine, and each data directory (--data-dir) can have one.",
        "Installing again is harmless, and necessary after mnemond moved to another environment.",
        "--sandbox needs user namespaces, which not every system lets users have.",
    ),
    options=InstallOptions,
)
DAEMON_UNINSTALL = Command(
    "daemon uninstall",
    Group.DAEMON,
    ("mnemonctl daemon uninstall", "mnemonctl daemon uninstall --dry-run"),
    summary="Stop the daemon's service and remove it. Memories stay.",
    options=UninstallOptions,
)
