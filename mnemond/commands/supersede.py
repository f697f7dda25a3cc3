"""`mnemonctl supersede`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.revision import DONE_BEFORE
from mnemond.commands.terminal import one_line
from mnemond.protocol.revising import SupersedeResult


def _parser() -> Parser:
    parser = Parser("supersede")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    old, new = arguments.two_identifiers("supersede")
    return Request("supersede", {**arguments.options, "old_id": old, "new_id": new})


def _render(result: SupersedeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    links = f", {plural(result.edges_moved, 'link')} moved" if result.edges_moved else ""
    before = DONE_BEFORE if result.replayed else ""
    taken = f"{style.strong(short_id(result.superseded_by))} takes the place of {style.strong(short_id(result.id))}"
    return lines(
        f"{taken}{links}{before}",
        f"  which had taken the place of {short_id(result.instead_of)} before" if result.instead_of else None,
        undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="supersede",
    summary="Let one memory take the place of another.",
    words="OLD NEW",
    examples=("mnemonctl supersede 1a2b3c4d 9f8e7d6c",),
    details=(
        "The old one leaves recall and its links move to the new one; its row and history stay.",
        "Where the old one was superseded before, the one in its place is meant.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
