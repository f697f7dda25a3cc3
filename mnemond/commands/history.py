"""`mnemonctl history`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import SHORT_ID, Style, day, lines, plural, short_id, shorten, text_width
from mnemond.commands.options import add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.audit import EdgeState, HistoryResult, MemoryOperation, MemoryState

_COMPARED = (
    "content", "category", "importance", "tags", "entities", "source", "channel", "access_count", "status",
    "superseded_by", "created_at", "valid_from", "invalid_at", "conversation_id", "user_id", "session_id", "agent_id",
    "pinned", "paired_with", "corroboration_count", "metadata",
)  # fmt: skip
"""What is told when it changed: everything but `updated_at`, which is the time of the operation, and
`effective_importance`, which follows from the rest and from the hour."""

_VERBS = {
    "CREATE": "remembered", "UPDATE": "changed", "DELETE": "taken out of recall", "MERGE": "merged",
    "SUPERSEDE": "replaced", "RESTORE": "back in recall", "PRUNE": "pruned", "BOOST": "said again", "PAIR": "paired",
}  # fmt: skip

LEAST = 24
"""Cells of a value that are shown even where the terminal is too narrow for them."""

_INDENT = 4

_BECAME = " → "

_DOERS = ("host:", "system:")
"""How those begin who cause operations themselves: a tool, and a job of the daemon's own."""


def _parser() -> Parser:
    parser = Parser("history")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="the newest N operations; default 100")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("history", {**arguments.options, "id": arguments.identifier("history")})


def _render(result: HistoryResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(operation.op_id) for operation in result.operations))
    missing = result.total_operations - len(result.operations)
    return lines(
        style.strong(one_line(result.id)),
        _chain(result) if len(result.chain) > 1 else None,
        f"  … {plural(missing, 'earlier operation')}, see --limit" if missing else None,
        *(
            line
            for operation in result.operations
            for line in _operation(operation, style, newest=operation is result.operations[-1])
        ),
    )


def _chain(result: HistoryResult) -> str:
    links = (f"{short_id(link.id)} ({one_line(link.status)})" for link in result.chain)
    return f"  {' → '.join(links)}"


def _operation(operation: MemoryOperation, style: Style, *, newest: bool) -> Iterator[str]:
    before, after = operation.before_state, operation.after_state
    undoes = "" if operation.undoes is None else f", which took back {one_line(operation.undoes)}"
    when = f"{day(operation.created_at)} {one_line(operation.created_at)[11:19]}"
    name = style.faint(f"  operation {one_line(operation.op_id)}{undoes}")
    yield f"  {when}  {style.strong(_verb(operation, newest=newest))}{name}"
    if after is not None:
        room = style.columns - _INDENT
        for line in _differences(before, after, room):
            yield " " * _INDENT + shorten(line, max(room, LEAST))


def _verb(operation: MemoryOperation, *, newest: bool) -> str:
    """What was done and what caused it. Of a purged memory the newest operation is the purge itself."""
    verb = _VERBS.get(operation.operation_type, one_line(operation.operation_type).lower())
    by = _by(operation.triggered_by)
    if operation.before_state is not None or operation.after_state is not None:
        return f"{verb}{by}"
    if newest and operation.operation_type == "DELETE":
        return f"purged{by}: nothing of it is kept"
    return f"{verb}{by}, and purged since"


def _by(triggered_by: str) -> str:
    """Who or what caused an operation: a conversation causes one without doing it."""
    if triggered_by == "user":
        return ""
    if triggered_by.startswith(_DOERS):
        return f" by {one_line(triggered_by)}"
    if triggered_by == "conversation":
        return " in a conversation"
    marked = triggered_by.removeprefix("conversation:")
    return f" in conversation {one_line(marked if marked == 'user' or marked.startswith(_DOERS) else triggered_by)}"


def _differences(before: MemoryState | None, after: MemoryState, room: int) -> Iterator[str]:
    if before is None:
        yield _value(after.content)
        return
    for name in _COMPARED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield _change(f"{name.replace('_', ' ')}: ", one_line(_value(old)), one_line(_value(new)), room)
    yield from _links(before, after)


def _change(head: str, old: str, new: str, room: int) -> str:
    """Both values on a line of `room` cells. Where they do not fit, each has half of it, and what one does not need is
    for the other: a reader is to see what became of a value no less than what it was."""
    left = max(room - len(head) - len(_BECAME), LEAST)
    half = left // 2
    had = shorten(old, max(half, left - text_width(new)))
    return f"{head}{had}{_BECAME}{shorten(new, left - text_width(had))}"


def _links(before: MemoryState, after: MemoryState) -> Iterator[str]:
    """What became of links, a line each: one that went to the successor was moved, not removed and made, and the link
    it met there is the same now."""
    had, has = ({_place(edge): edge for edge in state.edges} for state in (before, after))
    taken: set[tuple[str, ...]] = set()
    for place, edge in had.items():
        heir = _place(edge, after)
        if heir != place and heir in has:
            taken.add(heir)
            yield f"moved to {str(after.superseded_by)[:SHORT_ID]}: {_link(edge)}"
        elif place not in has:
            yield f"- {_link(edge)}"
    for place, edge in has.items():
        if place in taken:
            continue
        if place not in had:
            yield f"+ {_link(edge)}"
        elif told := _relinked(had[place], edge):
            yield f"{_link(had[place])}, {told}"


def _place(edge: EdgeState, retired: MemoryState | None = None) -> tuple[str, ...]:
    """What no two links have in common; with a memory that was retired, where the link goes then."""
    heir = None if retired is None else retired.superseded_by
    ends = [heir if heir and retired and end == retired.id else end for end in (edge.source_id, edge.target_id)]
    return edge.edge_type, *(ends if edge.edge_type == "causal" else sorted(ends))


def _relinked(old: EdgeState, new: EdgeState) -> str:
    """What is different about a link; "" where only the end from which it is told is."""
    told = []
    if old.weight != new.weight:
        told.append(f"now {new.weight:.2f}" if f"{old.weight:.2f}" != f"{new.weight:.2f}" else f"now {new.weight:g}")
    if old.created_by != new.created_by:
        told.append(f"made by {one_line(old.created_by)}{_BECAME}{one_line(new.created_by)}")
    if old.metadata != new.metadata:
        told.append(f"metadata {_value(old.metadata)}{_BECAME}{_value(new.metadata)}")
    return ", ".join(told)


def _value(value: object) -> str:
    """A value as people and JSON write it, never as Python does."""
    match value:
        case None | ():
            return "none"
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(map(str, value))
        case dict():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)


def _link(edge: EdgeState) -> str:
    way = "→" if edge.edge_type == "causal" else "↔"
    return f"{edge.edge_type} link {edge.source_id[:8]} {way} {edge.target_id[:8]}, weight {edge.weight:.2f}"


COMMAND = Command(
    name="history",
    summary="What became of one memory, and which operations did it.",
    words="ID",
    examples=("mnemonctl history 1a2b3c4d", "mnemonctl history 1a2b3c4d --json --pretty"),
    details=(
        "Works for every memory that ever was in the store. An operation's id is what `mnemonctl undo` takes.",
        "Of a purged memory only that and when something was done to it is kept.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
