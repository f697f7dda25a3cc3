"""`mnemonctl status`, `stats`, `top`, `doctor`, `logs`, `setup` and `daemon …`.

The client runs all but the first two by itself; their options and texts are here.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api import types_admin as admin
from mnemond.api.types_admin import (
    CheckView,
    DoctorResult,
    HostSeen,
    MethodRate,
    Quantiles,
    SalvageResult,
    StatsResult,
    StatusResult,
    StoreLoad,
    TopResult,
)
from mnemond.cli.output import Style, lines, milliseconds, one_line, shorten, wrap
from mnemond.cli.parser import Command, Group
from mnemond.config.settings import LEVELS, Level
from mnemond.wire.params import about, plural

_KIB = 1024


def size(count: int) -> str:
    """Bytes in the unit that suits them."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < _KIB or unit == "TiB":
            break
        value /= _KIB
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds as "3 s", "4 min", "5 h" or "6 d"."""
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _counts_status(counts: dict[str, int]) -> str:
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in counts.items()) or "none"


def _waiting(result: StatusResult) -> str:
    """What waits for somebody, and what was said and is still to be read; empty when there is nothing."""
    parts = []
    if result.pending_jobs or result.pending_reviews:
        parts += [plural(result.pending_jobs, "job"), plural(result.pending_reviews, "review")]
    if result.pending_exchanges:
        parts.append(f"{plural(result.pending_exchanges, 'exchange')} to be read")
    if result.failed_exchanges:
        parts.append(f"{plural(result.failed_exchanges, 'exchange')} that could not be read (mnemonctl doctor)")
    return ", ".join(parts)


def _hosts(hosts: dict[str, HostSeen]) -> str:
    return ", ".join(
        f"{one_line(name)} {plural(seen.events, 'event')}, last {seen.last_event_at[:19]}Z"
        for name, seen in hosts.items()
    )


def _render_status(result: StatusResult, style: Style) -> str:
    full = " (over capacity)" if result.over_capacity else ""
    deleted = "" if result.deleted_insights is None else f", {result.deleted_insights:,} deleted"
    entities = ", ".join(f"{one_line(item.entity)} {item.count:,}" for item in result.top_entities)
    model = one_line(result.embedding) if result.embedding else "none"
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        f"  memories    {result.total_insights:,} of {result.max_insights:,}{full}{deleted}",
        f"  categories  {_counts_status(result.by_category)}",
        f"  links       {result.edge_count:,}"
        + (f": {_counts_status(result.edges_by_type)}" if result.edges_by_type else ""),
        f"  entities    {entities}" if entities else None,
        f"  embedding   {model}, {result.embedded:,} embedded",
        f"  file        {one_line(result.db_path)} ({size(result.db_size_bytes)})",
        f"  waiting     {waiting}" if (waiting := _waiting(result)) else None,
        *(f"  asks        {one_line(question)}" for question in result.questions),
        f"  agents      {_hosts(result.hosts)}" if result.hosts else None,
        style.faint(
            f"mnemond {one_line(result.version)}, pid {result.pid}, up {duration(result.uptime_s)}, "
            f"{plural(result.connections, 'connection')}"
        ),
    )


STATUS = Command(
    "status",
    Group.LOOK,
    ("mnemonctl status", "mnemonctl status --store work --json"),
    method=admin.STATUS,
    render=_render_status,
)


# `mnemonctl doctor`.


WORDS: Final = {"ok": "ok", "problem": "PROBLEM", "note": "note", "skipped": "skipped"}
WIDTH: Final = max(map(len, WORDS.values())) + 2
MARGIN: Final = " " * WIDTH


class DoctorOptions(msgspec.Struct, frozen=True):
    all: Annotated[bool, about("every store, not only the one that is used")] = False
    full: Annotated[bool, about("every row, link, vector and page: about a second for 10,000", "--verify")] = False
    salvage: Annotated[bool, about("read what can be read of a damaged store into a new one; no daemon may run")] = (
        False
    )
    store: str | None = None


def render_doctor(result: DoctorResult, style: Style) -> str:
    """Every check in a line, problems with where they are and what to do; with --quiet problems alone."""
    shown = [each for each in result.checks if not (style.quiet and each.ok)]
    said = [line for each in shown for line in _check(each, style)]
    if style.quiet:
        return lines(*said)
    total = [plural(result.problems, "problem"), plural(result.notes, "note"), plural(len(result.checks), "check")]
    return lines(*said, style.strong(", ".join(total)))


def render_salvage(result: SalvageResult, style: Style) -> str:
    """Where what was read lies, what was lost, and what to do next."""
    held = f"{plural(result.memories, 'memory')}, {result.retired:,} out of recall"
    said = [f"{style.strong(result.store)}: {held}, read from {result.of}, which is as it was", f"  {result.path}"]
    for each in result.tables:
        parts = [f"{each.kept:,} rows kept"]
        parts += [f"{each.doubtful:,} of them from damaged pages"] if each.doubtful else []
        parts += [f"{each.left_out:,} left out"] if each.left_out else []
        parts += [f"{plural(each.gaps, 'place')} that nobody can read"] if each.gaps else []
        said.append(f"  {each.table}: {', '.join(parts)}")
    said.append("  nothing was lost" if result.whole else "  what is not named was read whole")
    return lines(*said, f"mnemonctl store set {result.store} makes it the one that is used")


def _check(view: CheckView, style: Style) -> list[str]:
    word = WORDS[view.state].ljust(WIDTH)
    name = one_line(view.name if view.store is None else f"{view.store}: {view.name}")
    if not view.problems:
        line = [f"{word}{name}: {one_line(view.detail)}"]
        if view.state == "note":
            first, *rest = wrap(line[0], style.columns)
            return [first, *(MARGIN + each for each in rest)]
        return [style.faint(line[0])] if view.state != "ok" else line
    found: list[str] = []
    for problem in view.problems:
        for label, sentence in (("", problem.what), ("where: ", problem.where), ("next: ", problem.next)):
            head = f"{style.strong(word)}{name}: " if not label else MARGIN + label
            first, *rest = wrap(one_line(sentence), style.columns - WIDTH - 2)
            found += [head + first, *(f"{MARGIN}  {each}" for each in rest)]
    return found


DOCTOR = Command(
    "doctor",
    Group.DAEMON,
    ("mnemonctl doctor", "mnemonctl doctor --all --full", "mnemonctl doctor --store work --json"),
    summary="Check stores, files, daemon and service (exit 1 for a problem). Changes nothing stored.",
    details=(
        "Without a daemon it looks at files and rows; what a daemon has in memory is compared only where one runs.",
        "--salvage makes a store NAME-salvaged; the damaged one is only read. Exit 1 when something was lost.",
        "A daemon looks at the same, --full excepted, every hour by itself: mnemonctl jobs list.",
    ),
    options=DoctorOptions,
)


# `mnemonctl stats`.


PERCENT = 100


def _counts_stats(counts: dict[str, int]) -> str:
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in counts.items() if count) or "none"


def _spread(found: Quantiles | None, unit: str = "") -> str:
    if found is None:
        return "none"
    low, mid, high = (f"{value:.3g}" for value in (found.p10, found.median, found.p90))
    return f"median {mid}{unit}, eight of ten from {low} to {high}, at most {found.greatest:.3g}"


def _render_stats(result: StatsResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.total_insights))
    model = one_line(result.embedding) if result.embedding else "none"
    free = f", {size(result.free_bytes)} of it free" if result.free_bytes else ""
    parts = {name: count for name, count in result.index_bytes.items() if count}
    index = ", ".join(f"{one_line(name)} {size(count)}" for name, count in parts.items())
    return lines(
        style.strong(f'Store "{one_line(result.store)}": {plural(result.total_insights, "memory")}'),
        f"  states      {_counts_stats(result.by_status)}",
        f"  categories  {_counts_stats(result.by_category)}",
        f"  types       {_counts_stats(result.by_type)}",
        f"  sources     {_counts_stats(result.by_source)}",
        f"  links       {_counts_stats(result.edges_by_type)}",
        f"  embedding   {model}, {result.embedded:,} embedded ({result.embedded_share * PERCENT:.1f} %)",
        f"  made        {_spread(result.age_days, ' days ago')}",
        f"  used        {_spread(result.unused_days, ' days ago')}",
        f"  importance  {_spread(result.importance)}",
        f"              {_counts_stats(result.importance_bands)}",
        f"  file        {size(result.database_bytes)}{free}, log {size(result.log_bytes)}",
        f"  index       {size(result.index_total_bytes)} in {plural(result.rows, 'row')}"
        + (f": {index}" if index else ""),
    )


STATS = Command(
    "stats",
    Group.LOOK,
    ("mnemonctl stats", "mnemonctl stats --store work --json"),
    method=admin.STATS,
    render=_render_stats,
)


# `mnemonctl top`.


NAME: Final = 18
"""Cells of a method's or store's name."""


class TopOptions(msgspec.Struct, frozen=True):
    once: Annotated[bool, about("watch once, print, and leave")] = False
    interval: admin.Interval = 1.0


def render_top(result: TopResult, style: Style) -> str:
    """Totals, then methods, the busiest first, then stores."""
    if style.quiet:
        return lines(f"{result.messages_per_s:g}")
    head = (
        f"mnemond {one_line(result.version)}, pid {result.pid}, up {duration(result.uptime_s)}, "
        f"{plural(result.connections, 'connection')}"
    )
    lag = f"{milliseconds(result.lag_p50_ms)} ms, at worst {milliseconds(result.lag_worst_ms)} ms"
    turned = ", ".join(
        f"{count:,} {what}" for what, count in (("refused", result.refused), ("cut", result.cut)) if count
    )
    return lines(
        style.strong(head),
        f"  {result.messages_per_s:,.1f} messages/s of {result.messages:,}, loop late by {lag}",
        f"  connections: {result.accepted:,} accepted, {turned}" if turned else None,
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
    details=("The daemon is watched only while somebody asks. It is not started for this.",),
    options=TopOptions,
)


# `mnemonctl logs`.


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


# `mnemonctl setup`.


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
    everywhere: Annotated[bool, about("for all projects, as in any case", option="--global")] = False


SETUP = Command(
    "setup",
    Group.AGENTS,
    (
        "mnemonctl setup",
        "mnemonctl setup --dry-run",
        "mnemonctl setup --target codex --yes",
        "mnemonctl setup --target generic",
        "mnemonctl setup --eject",
    ),
    summary="Connect Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI to mnemond, or disconnect them.",
    details=(
        "Without --target: every one of them that is found here. It shows what it would change, and asks.",
        "A file that does not parse is left alone, with the line. Entries of others stay as they are, to the byte.",
        "A backup stands beside each file that was changed.",
        "--eject puts back what was there before; where somebody changed a file since, it takes out our entries alone.",
        "generic prints a block for AGENTS.md and an MCP entry for any other program.",
    ),
    options=SetupOptions,
)


# `mnemonctl daemon …`.


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
