"""`mnemonctl forget`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import ForgetResult


def _parser() -> Parser:
    parser = Parser("forget")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("forget", {**arguments.options, "id": arguments.identifier("forget")})


def _render(result: ForgetResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    links = f", {plural(result.edges_removed, 'link')} removed" if result.edges_removed else ""
    before = " (done before, with the same op_id)" if result.replayed else ""
    return lines(f"Forgot {style.strong(short_id(result.id))}{links}{before}")


COMMAND = Command(
    name="forget",
    summary="Take one memory out of recall.",
    words="ID",
    examples=("mnemonctl forget 1a2b3c4d",),
    details=(
        "The memory is marked as deleted, not erased. Any unique beginning of the id will do, from six characters.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
