"""`mnemonctl undo`."""

from __future__ import annotations

from mnemond.commands.candidates import conflicts_of
from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.operation_name import operation_name
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.undo import UndoneView, UndoResult

_BECAME = {
    "restored": "back in recall",
    "revised": "as it was before",
    "retired": "out of recall",
    "relinked": "linked as before",
}

MOST_SHOWN = 10
"""Memories that are listed one by one."""


def _parser() -> Parser:
    parser = Parser("undo")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    if not arguments.words:
        return Request("undo", arguments.options)
    operation = arguments.single("undo", "the id of one operation")
    return Request("undo", {**arguments.options, "operation": operation})


def _render(result: UndoResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.op_id))
    more = len(result.memories) - MOST_SHOWN
    before = " (done before, with the same op_id)" if result.replayed else ""
    what = "" if result.method is None else f"{one_line(result.method)}, "
    return lines(
        f"Took back: {what}operation {style.strong(one_line(result.undone))}{before}",
        *(_memory(memory) for memory in result.memories[:MOST_SHOWN]),
        f"  and {more:,} more" if more > 0 else None,
        _links(result),
        f"  not embedded: {one_line(result.embed_error)}" if result.embed_error else None,
        *(line for memory in result.memories for line in conflicts_of(memory.id, memory.conflicts, style)),
        f"To have it again: mnemonctl undo {operation_name(result.op_id)}",
    )


def _memory(memory: UndoneView) -> str:
    became = _BECAME.get(memory.became) or one_line(memory.became)
    return f"  {short_id(memory.id)}  {became}"


def _links(result: UndoResult) -> str | None:
    told = [
        f"{plural(count, 'link')} {what}"
        for count, what in (
            (result.edges_restored, "put back"),
            (result.edges_removed, "removed"),
            (result.edges_missing, "not put back, because the other memory is out of recall"),
        )
        if count
    ]
    return f"  {', '.join(told)}" if told else None


COMMAND = Command(
    name="undo",
    summary="Take one whole operation back.",
    words="[OP]",
    examples=("mnemonctl undo", "mnemonctl undo 9f8e7d6c", "mnemonctl history 1a2b3c4d"),
    details=(
        "OP is the id of an operation, which every write, `mnemonctl log` and `mnemonctl history` show, or the",
        "beginning of one.",
        "Without it, the newest operation that can be taken back is.",
        "Refused when a memory was changed again since, or another left its place to it: take that back first.",
        "What was purged cannot come back.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
