"""`mnemonctl history`."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import SHORT_ID, Style, day, lines, plural, short_id, shorten
from mnemond.commands.options import add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.audit import EdgeState, HistoryResult, MemoryOperation, MemoryState

_COMPARED = (
    "content", "category", "importance", "tags", "entities", "access_count", "status", "superseded_by", "valid_from",
    "invalid_at", "pinned", "paired_with", "corroboration_count", "metadata",
)  # fmt: skip
"""What is told when it changed; the rest follows from these, or is of no interest to people."""

_VERBS = {
    "CREATE": "remembered", "UPDATE": "changed", "DELETE": "taken out of recall", "MERGE": "merged",
    "SUPERSEDE": "replaced", "RESTORE": "back in recall", "PRUNE": "pruned", "BOOST": "said again", "PAIR": "paired",
}  # fmt: skip

LEAST = 24
"""Cells of a value that are shown even where the terminal is too narrow for them."""

_INDENT = 4


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
        *(line for operation in result.operations for line in _operation(operation, style)),
    )


def _chain(result: HistoryResult) -> str:
    links = (f"{short_id(link.id)} ({one_line(link.status)})" for link in result.chain)
    return f"  {' → '.join(links)}"


def _operation(operation: MemoryOperation, style: Style) -> Iterator[str]:
    before, after = operation.before_state, operation.after_state
    verb = _VERBS.get(operation.operation_type, one_line(operation.operation_type).lower())
    if before is None and after is None:
        verb = "purged: nothing of it is kept"
    by = "" if operation.triggered_by == "user" else f" by {one_line(operation.triggered_by)}"
    undoes = "" if operation.undoes is None else f", which took back {one_line(operation.undoes)}"
    when = f"{day(operation.created_at)} {one_line(operation.created_at)[11:19]}"
    yield f"  {when}  {style.strong(verb)}{by}{style.faint(f'  operation {one_line(operation.op_id)}{undoes}')}"
    if after is not None:
        for line in _differences(before, after):
            yield " " * _INDENT + shorten(line, max(style.columns - _INDENT, LEAST))


def _differences(before: MemoryState | None, after: MemoryState) -> Iterator[str]:
    if before is None:
        yield _value(after.content)
        return
    for name in _COMPARED:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"{name.replace('_', ' ')}: {_value(old)} → {_value(new)}"
    yield from _links(before, after)


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
        elif edge != had[place]:
            yield f"{_link(had[place])}, now {edge.weight:.2f}"


def _place(edge: EdgeState, retired: MemoryState | None = None) -> tuple[str, ...]:
    """What no two links have in common; with a memory that was retired, where the link goes then."""
    heir = None if retired is None else retired.superseded_by
    ends = [heir if heir and retired and end == retired.id else end for end in (edge.source_id, edge.target_id)]
    return edge.edge_type, *(ends if edge.edge_type == "causal" else sorted(ends))


LONGEST = 60
"""Characters of an old or new value, so that both fit on a line."""


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


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
