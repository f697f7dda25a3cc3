"""`mnemonctl status`."""

from __future__ import annotations

from typing import Final

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
from mnemond.cli.parser import Arguments, Command, Parser, Request, Split, add_globals
from mnemond.config.settings import LEVELS
from mnemond.wire.params import plural

_KIB = 1024


def _parser_status() -> Parser:
    parser = Parser("status")
    add_globals(parser)
    return parser


def _request_status(arguments: Arguments) -> Request:
    arguments.nothing("status")
    return Request("status", arguments.options)


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


STATUS_COMMAND = Command(
    name="status",
    summary="A store and the daemon that serves it.",
    words="",
    examples=("mnemonctl status", "mnemonctl status --store work --json"),
    parser=_parser_status(),
    request=_request_status,
    render=_render_status,
)


# `mnemonctl daemon …`: run by the client itself; here only its grammar and its help.


def seconds(text: str) -> float:
    """A positive number of seconds, at most an hour. Raises ValueError, which argparse turns into a usage error."""
    value = float(text)
    if not 0 < value <= 3600:
        raise ValueError(text)
    return value


def _parser_daemon(command: str, *, waits: bool = False) -> Parser:
    parser = Parser(command)
    if waits:
        parser.add_argument("--wait", type=seconds, metavar="SECONDS", help="how long it may take to answer; default 2")
    add_globals(parser)
    return parser


def _installing(command: str, verb: str, *, sandbox: bool = False) -> Parser:
    parser = Parser(command)
    parser.add_argument("--dry-run", action="store_true", help=f"show what would be {verb}, and do nothing")
    parser.add_argument("--force", action="store_true", help="also files that somebody changed, or that are not ours")
    if sandbox:
        parser.add_argument("--sandbox", action="store_true", help="see nothing else of the file system as writable")
    add_globals(parser)
    return parser


START = Command(
    name="daemon start",
    summary="Start the daemon, if none runs. Other commands do so by themselves.",
    words="",
    examples=("mnemonctl daemon start", "mnemonctl daemon start --wait 10"),
    details=("They wait as long for its first answer as $MNEMON_START_WAIT says: 10 seconds, unless it is set.",),
    parser=_parser_daemon("daemon start", waits=True),
)
STOP = Command(
    name="daemon stop",
    summary="Let the daemon answer what it has received, then leave.",
    words="",
    examples=("mnemonctl daemon stop",),
    parser=_parser_daemon("daemon stop"),
)
RESTART = Command(
    name="daemon restart",
    summary="Stop the daemon, if one runs, and start it again.",
    words="",
    examples=("mnemonctl daemon restart",),
    details=("The configuration is checked first: a daemon that could not start again is not stopped.",),
    parser=_parser_daemon("daemon restart", waits=True),
)
STATUS = Command(
    name="daemon status",
    summary="Whether a daemon runs (exit 69 if not), its process, version and stores.",
    words="",
    examples=("mnemonctl daemon status", "mnemonctl daemon status --json"),
    parser=_parser_daemon("daemon status"),
)
RUN = Command(
    name="daemon run",
    summary="Run the daemon in the foreground; Ctrl-C stops it.",
    words="",
    examples=("mnemonctl daemon run", "mnemonctl daemon run --data-dir /tmp/try-it"),
    parser=_parser_daemon("daemon run"),
)
INSTALL = Command(
    name="daemon install",
    summary="Make the daemon a service of systemd or launchd: it starts at login, and again after a crash.",
    words="",
    examples=("mnemonctl daemon install", "mnemonctl daemon install --dry-run", "mnemonctl daemon install --sandbox"),
    details=(
        "It is a service of this user, not of the machine, and each data directory (--data-dir) can have one.",
        "Installing again is harmless, and necessary after mnemond moved to another environment.",
        "--sandbox needs user namespaces, which not every system lets users have.",
    ),
    parser=_installing("daemon install", "written and run", sandbox=True),
)
UNINSTALL = Command(
    name="daemon uninstall",
    summary="Stop the daemon's service and remove it. Memories stay.",
    words="",
    examples=("mnemonctl daemon uninstall", "mnemonctl daemon uninstall --dry-run"),
    parser=_installing("daemon uninstall", "removed"),
)


# `mnemonctl doctor`: run by the client, which asks the daemon about its stores; here its grammar and its text.


WORDS: Final = {"ok": "ok", "problem": "PROBLEM", "note": "note", "skipped": "skipped"}
WIDTH: Final = max(map(len, WORDS.values())) + 2
MARGIN: Final = " " * WIDTH


def _parser_doctor() -> Parser:
    parser = Parser("doctor")
    parser.add_argument("--all", action="store_true", help="every store, not only the one that is used")
    parser.add_argument(
        "--full", "--verify", action="store_true", help="every row, link, vector and page: about a second for 10,000"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="read what can be read of a damaged store into a new one; no daemon may run",
    )
    add_globals(parser)
    return parser


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


DOCTOR_COMMAND = Command(
    name="doctor",
    summary="Whether stores, files, daemon and service are sound (exit 1 if not). Changes nothing stored.",
    words="",
    examples=("mnemonctl doctor", "mnemonctl doctor --all --full", "mnemonctl doctor --store work --json"),
    details=(
        "Without a daemon it looks at files and rows; what a daemon has in memory is compared only where one runs.",
        "--salvage makes a store NAME-salvaged; the damaged one is only read. Exit 1 when something was lost.",
        "A daemon looks at the same, --full excepted, every hour by itself: mnemonctl jobs list.",
    ),
    parser=_parser_doctor(),
)


# `mnemonctl logs`: run by the client itself; here only its grammar and its help.


USUAL_LINES: Final = 50
"""Lines that are shown unless another number is asked for: a screen or two."""

MAX_LINES: Final = 1_000_000


def _lines(text: str) -> int:
    """A number of lines. Raises ValueError, which argparse turns into a usage error."""
    value = int(text)
    if not 0 <= value <= MAX_LINES:
        raise ValueError(text)
    return value


def _parser_logs() -> Parser:
    parser = Parser("logs")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what comes; Ctrl-C ends it")
    parser.add_argument("-n", "--lines", type=_lines, metavar="N", help=f"the last N lines; default {USUAL_LINES}")
    parser.add_argument("--level", choices=list(LEVELS), help="only what is at least as important")
    add_globals(parser)
    return parser


LOGS_COMMAND = Command(
    name="logs",
    summary="What the daemon wrote down of its own doings. No memory's text is in it.",
    words="",
    examples=("mnemonctl logs", "mnemonctl logs -f", "mnemonctl logs -n 200 --level warning"),
    details=(
        "It works while no daemon runs.",
        "The log of a service of systemd is in the journal; otherwise it is log/mnemond.log in the data directory.",
    ),
    parser=_parser_logs(),
)


# `mnemonctl setup`: run by the client itself; here only its grammar and its help.


TARGETS = "claude-code, codex, gemini, cursor, copilot-cli, generic"


def _parser_setup() -> Parser:
    parser = Parser("setup")
    parser.add_argument("--target", action=Split, metavar="NAME", help=f"only this one, may be repeated: {TARGETS}")
    parser.add_argument("--dry-run", action="store_true", help="show every change as a diff, and do nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--eject", action="store_true", help="take everything back")
    parser.add_argument(
        "--global", dest="everywhere", action="store_true", help="for all projects; so it is in any case"
    )
    add_globals(parser)
    return parser


SETUP_COMMAND = Command(
    name="setup",
    summary="Tell Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI about mnemond, or take that back.",
    words="",
    examples=(
        "mnemonctl setup",
        "mnemonctl setup --dry-run",
        "mnemonctl setup --target codex --yes",
        "mnemonctl setup --target generic",
        "mnemonctl setup --eject",
    ),
    details=(
        "Without --target: every one of them that is found here. It shows what it would change, and asks.",
        "A file that does not parse is left alone, with the line. Entries of others stay as they are, to the byte.",
        "A backup stands beside each file that was changed.",
        "--eject puts back what was there before; where somebody changed a file since, it takes out our entries alone.",
        "generic prints a block for AGENTS.md and an MCP entry for any other program.",
    ),
    parser=_parser_setup(),
)


# `mnemonctl stats`.


PERCENT = 100


def _parser_stats() -> Parser:
    parser = Parser("stats")
    add_globals(parser)
    return parser


def _request_stats(arguments: Arguments) -> Request:
    arguments.nothing("stats")
    return Request("stats", arguments.options)


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


STATS_COMMAND = Command(
    name="stats",
    summary="A store in figures: what it holds, how old it is, how much room it takes.",
    words="",
    examples=("mnemonctl stats", "mnemonctl stats --store work --json"),
    parser=_parser_stats(),
    request=_request_stats,
    render=_render_stats,
)


# `mnemonctl top`: run by the client, which asks again and again; here its grammar and its text.


MIN_S: Final = 0.1
MAX_S: Final = 10.0
"""What the daemon accepts (a test compares them)."""

NAME: Final = 18
"""Cells of a method's or store's name."""


def interval(text: str) -> float:
    """Seconds to watch. Raises ValueError, which argparse turns into a usage error."""
    value = float(text)
    if not MIN_S <= value <= MAX_S:
        raise ValueError(text)
    return value


def _parser_top() -> Parser:
    parser = Parser("top")
    parser.add_argument("--once", action="store_true", help="watch once, print, and leave")
    parser.add_argument(
        "--interval", type=interval, metavar="SECONDS", help=f"how long to watch, {MIN_S:g} … {MAX_S:g}; default 1"
    )
    add_globals(parser)
    return parser


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


TOP_COMMAND = Command(
    name="top",
    summary="What the daemon is doing: rates, latencies, queues, again and again until Ctrl-C.",
    words="",
    examples=("mnemonctl top", "mnemonctl top --once", "mnemonctl top --once --interval 5 --json"),
    details=("The daemon is watched only while somebody asks. It is not started for this.",),
    parser=_parser_top(),
)
