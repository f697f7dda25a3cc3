"""`mnemonctl stats`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.status import size
from mnemond.commands.terminal import one_line
from mnemond.protocol.stats import Quantiles, StatsResult

PERCENT = 100


def _parser() -> Parser:
    parser = Parser("stats")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    arguments.nothing("stats")
    return Request("stats", arguments.options)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in counts.items() if count) or "none"


def _spread(found: Quantiles | None, unit: str = "") -> str:
    if found is None:
        return "none"
    low, mid, high = (f"{value:.3g}" for value in (found.p10, found.median, found.p90))
    return f"median {mid}{unit}, eight of ten from {low} to {high}, at most {found.greatest:.3g}"


def _render(result: StatsResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.total_insights))
    model = one_line(result.embedding) if result.embedding else "none"
    free = f", {size(result.free_bytes)} of it free" if result.free_bytes else ""
    parts = {name: count for name, count in result.index_bytes.items() if count}
    index = ", ".join(f"{one_line(name)} {size(count)}" for name, count in parts.items())
    return lines(
        style.strong(f'Store "{one_line(result.store)}": {plural(result.total_insights, "memory")}'),
        f"  states      {_counts(result.by_status)}",
        f"  categories  {_counts(result.by_category)}",
        f"  types       {_counts(result.by_type)}",
        f"  sources     {_counts(result.by_source)}",
        f"  links       {_counts(result.edges_by_type)}",
        f"  embedding   {model}, {result.embedded:,} embedded ({result.embedded_share * PERCENT:.1f} %)",
        f"  made        {_spread(result.age_days, ' days ago')}",
        f"  used        {_spread(result.unused_days, ' days ago')}",
        f"  importance  {_spread(result.importance)}",
        f"              {_counts(result.importance_bands)}",
        f"  file        {size(result.database_bytes)}{free}, log {size(result.log_bytes)}",
        f"  index       {size(result.index_total_bytes)} in {plural(result.rows, 'row')}"
        + (f": {index}" if index else ""),
    )


COMMAND = Command(
    name="stats",
    summary="A store in figures: what it holds, how old it is, how much room it takes.",
    words="",
    examples=("mnemonctl stats", "mnemonctl stats --store work --json"),
    parser=_parser(),
    request=_request,
    render=_render,
)
