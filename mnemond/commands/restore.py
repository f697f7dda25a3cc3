"""`mnemonctl restore`."""

from __future__ import annotations

from mnemond.commands.candidates import conflicts_of
from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.revision import DONE_BEFORE, new_links, remarks
from mnemond.commands.terminal import one_line
from mnemond.protocol.revising import RestoreResult


def _parser() -> Parser:
    parser = Parser("restore")
    parser.add_argument("--force", action="store_true", help="even though another memory stands in its place")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("restore", {**arguments.options, "id": arguments.identifier("restore")})


def _render(result: RestoreResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    before = DONE_BEFORE if result.replayed else ""
    return lines(
        f"Restored {style.strong(short_id(result.id))}{new_links(result.edges_created)}{before}",
        f"  {short_id(result.superseded_by)} had taken its place and stays" if result.superseded_by else None,
        *remarks(result.embed_error),
        *conflicts_of(result.id, result.conflicts, style),
        undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="restore",
    summary="Bring a retired memory back into recall.",
    words="ID",
    examples=("mnemonctl restore 1a2b3c4d", "mnemonctl restore 1a2b3c4d --force"),
    details=(
        "For what was forgotten, superseded, merged, pruned or has expired.",
        "Its automatic links are made anew.",
        "While the memory in its place is active, only --force restores it beside that one.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
