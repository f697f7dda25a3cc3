"""`mnemonctl log`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, day, lines, short_id, shorten
from mnemond.commands.operation_name import operation_name
from mnemond.commands.options import add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.audit import LogLine

LEAST = 12
"""Cells of a detail that are shown even where the terminal is too narrow for them."""


def _parser() -> Parser:
    parser = Parser("log")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="lines; default 20")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    arguments.nothing("log")
    return Request("log", arguments.options)


def _render(result: list[LogLine], style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(line.insight_id) for line in result if line.insight_id is not None))
    return lines(*(_line(line, style) for line in result)) if result else lines("nothing was done here yet")


def _line(line: LogLine, style: Style) -> str:
    when = f"{day(line.created_at)} {one_line(line.created_at)[11:19]}"
    subject = short_id(line.insight_id) if line.insight_id is not None else ""
    name = operation_name(line.op_id) if line.op_id is not None else ""
    head = f"{when}  {one_line(line.operation):<13}  {subject:<8}  {name:<8}  "
    return (style.faint(head) + shorten(line.detail, max(style.columns - len(head), LEAST))).rstrip()


COMMAND = Command(
    name="log",
    summary="What was done lately, newest first.",
    words="",
    examples=("mnemonctl log", "mnemonctl log --limit 100 --json", "mnemonctl undo 9f8e7d6c"),
    details=(
        "A line has when and what, the memory, the operation (for `mnemonctl undo OP`) and a detail.",
        "The newest 5,000 lines are kept. They never hold a memory's text; `mnemonctl history ID` does.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
