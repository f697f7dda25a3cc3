"""`mnemonctl top`: run by the client, which asks again and again; here its grammar and its text."""

from __future__ import annotations

from typing import Final

from mnemond.commands.command import Command
from mnemond.commands.layout import Style, lines, milliseconds, plural, shorten
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.status import duration
from mnemond.commands.terminal import one_line
from mnemond.protocol.stats import MethodRate, StoreLoad, TopResult

LEAST_S: Final = 0.1
MOST_S: Final = 10.0
"""What the daemon accepts (a test compares them)."""

NAME: Final = 18
"""Cells of a method's or store's name."""


def interval(text: str) -> float:
    """Seconds to watch. Raises ValueError, which argparse turns into a usage error."""
    value = float(text)
    if not LEAST_S <= value <= MOST_S:
        raise ValueError(text)
    return value


def _parser() -> Parser:
    parser = Parser("top")
    parser.add_argument("--once", action="store_true", help="watch once, print, and leave")
    parser.add_argument(
        "--interval", type=interval, metavar="SECONDS", help=f"how long to watch, {LEAST_S:g} … {MOST_S:g}; default 1"
    )
    add_globals(parser)
    return parser


def render(result: TopResult, style: Style) -> str:
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


COMMAND = Command(
    name="top",
    summary="What the daemon is doing: rates, latencies, queues, again and again until Ctrl-C.",
    words="",
    examples=("mnemonctl top", "mnemonctl top --once", "mnemonctl top --once --interval 5 --json"),
    details=("The daemon is watched only while somebody asks. It is not started for this.",),
    parser=_parser(),
)
