"""`mnemonctl pin`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.pins import PinResult


def _parser() -> Parser:
    parser = Parser("pin")
    parser.add_argument("--unpin", action="store_true", help="let it be pruned and replaced again")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("pin", {**arguments.options, "id": arguments.identifier("pin")})


def _render(result: PinResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    head = f"{one_line(result.status).capitalize()} {style.strong(short_id(result.id))}"
    return lines(
        f"{head}: {one_line(result.message)}",
        undo_hint(result.op_id, style) if result.changed else None,
    )


COMMAND = Command(
    name="pin",
    summary="Keep one memory from being pruned or replaced.",
    words="ID",
    examples=("mnemonctl pin 1a2b3c4d", "mnemonctl pin 1a2b3c4d --unpin"),
    details=("A pinned memory can still be updated, merged or forgotten by hand.",),
    parser=_parser(),
    request=_request,
    render=_render,
)
