"""`mnemonctl status`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.daemon import HostSeen, StatusResult

_KIB = 1024


def _parser() -> Parser:
    parser = Parser("status")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
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


def _counts(counts: dict[str, int]) -> str:
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


def _render(result: StatusResult, style: Style) -> str:
    full = " (over capacity)" if result.over_capacity else ""
    deleted = "" if result.deleted_insights is None else f", {result.deleted_insights:,} deleted"
    entities = ", ".join(f"{one_line(item.entity)} {item.count:,}" for item in result.top_entities)
    model = one_line(result.embedding) if result.embedding else "none"
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        f"  memories    {result.total_insights:,} of {result.max_insights:,}{full}{deleted}",
        f"  categories  {_counts(result.by_category)}",
        f"  links       {result.edge_count:,}" + (f": {_counts(result.edges_by_type)}" if result.edges_by_type else ""),
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


COMMAND = Command(
    name="status",
    summary="A store and the daemon that serves it.",
    words="",
    examples=("mnemonctl status", "mnemonctl status --store work --json"),
    parser=_parser(),
    request=_request,
    render=_render,
)
