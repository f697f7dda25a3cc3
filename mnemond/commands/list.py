"""`mnemonctl list`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request, long_enough
from mnemond.commands.layout import SHORT_ID, Style, day, lines, short_id, shorten
from mnemond.commands.options import FILTERS, add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.recall import kind
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import InsightView, ListResult, RetiredResult, RetiredView

MIN_CONTENT = 20
"""Cells of the content that are shown even where the terminal is too narrow for them."""


def _parser() -> Parser:
    parser = Parser("list")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="memories a page; default 20")
    parser.add_argument("--before", metavar="ID", help="go on after this memory (the page before names it)")
    parser.add_argument("--retired", action="store_true", help="those out of recall, the last to leave first")
    add_filters(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    arguments.nothing("list")
    if "before" in arguments.options:
        long_enough(str(arguments.options["before"]))
    return Request("list", arguments.options)


def _render(result: ListResult | RetiredResult, style: Style) -> str:
    return _retired(result, style) if isinstance(result, RetiredResult) else _active(result, style)


def _active(result: ListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(insight.id) for insight in result.insights))
    if not result.insights:
        return lines("no memories here")
    more = f"More: mnemonctl list --before {short_id(result.next)}" if result.next else None
    return lines(*(_row(insight, style) for insight in result.insights), more)


def _retired(result: RetiredResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.retired))
    if not result.retired:
        return lines("nothing here is out of recall")
    more = f"More: mnemonctl list --retired --before {short_id(result.next)}" if result.next else None
    return lines(*(_retired_row(each, style) for each in result.retired), more)


def _retired_row(each: RetiredView, style: Style) -> str:
    """When it left recall, why, and what stands in its place."""
    why = one_line(each.status) + (f" by {short_id(each.superseded_by)}" if each.superseded_by else "")
    return _line(f"{short_id(each.id)}  {day(each.retired_at)}  {why:<{_WHY}}  ", each.content, style)


_WHY = len("superseded by ") + SHORT_ID


def _row(insight: InsightView, style: Style) -> str:
    head = f"{short_id(insight.id)}  {day(insight.created_at)}  {kind(insight):<13}  "
    return _line(head, insight.content, style)


def _line(head: str, content: str, style: Style) -> str:
    return style.faint(head) + shorten(content, max(style.columns - len(head), MIN_CONTENT))


COMMAND = Command(
    name="list",
    summary="Memories, newest first.",
    words="",
    examples=(
        "mnemonctl list",
        "mnemonctl list --category decision --limit 50",
        "mnemonctl list --before 1a2b3c4d",
        "mnemonctl list --retired --limit 5",
        "mnemonctl list --since 2026-02-01 --until 2026-02-28 --any-tags infra,db",
        "mnemonctl list --as-of 2026-01-01T12:00:00Z",
    ),
    details=(
        "--retired: what was superseded, merged, forgotten, pruned or has expired, since when, and what stands in its",
        "place. `mnemonctl restore ID` brings one back; what was purged is nowhere.",
        *FILTERS,
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
