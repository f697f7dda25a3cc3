"""`mnemonctl list`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, day, lines, short_id, shorten
from mnemond.commands.options import add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.recall import kind
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import InsightView, ListResult

MIN_CONTENT = 20
"""Cells of the content that are shown even where the terminal is too narrow for them."""


def _parser() -> Parser:
    parser = Parser("list")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="memories a page; default 20")
    parser.add_argument("--before", metavar="ID", help="go on after this memory (the page before names it)")
    add_filters(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    arguments.nothing("list")
    return Request("list", arguments.options)


def _render(result: ListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(insight.id) for insight in result.insights))
    if not result.insights:
        return lines("no memories here")
    more = f"More: mnemonctl list --before {short_id(result.next)}" if result.next else None
    return lines(*(_row(insight, style) for insight in result.insights), more)


def _row(insight: InsightView, style: Style) -> str:
    head = f"{short_id(insight.id)}  {day(insight.created_at)}  {kind(insight):<13}  "
    room = max(style.columns - len(head), MIN_CONTENT)
    return style.faint(head) + shorten(insight.content, room)


COMMAND = Command(
    name="list",
    summary="Memories, newest first.",
    words="",
    examples=("mnemonctl list", "mnemonctl list --category decision --limit 50", "mnemonctl list --before 1a2b3c4d"),
    parser=_parser(),
    request=_request,
    render=_render,
)
