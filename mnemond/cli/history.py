"""`mnemonctl history`, `log`, `receipt` and `undo`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mnemond.api import types_changes as changes
from mnemond.api.types_changes import ReceiptEvent, ReceiptResult
from mnemond.cli.output import (
    SHORT_ID,
    Style,
    conflicts_of,
    day,
    lines,
    one_line,
    operation_name,
    short_id,
    shorten,
    text_width,
)
from mnemond.cli.parser import ID, Command, Group, Words
from mnemond.model.answers import EdgeState, HistoryResult, LogLine, MemoryOperation, MemoryState
from mnemond.model.outcomes import UndoneMemory, UndoResult
from mnemond.wire.params import plural

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


HISTORY = Command(
    "history",
    Group.LOOK,
    ("mnemonctl history 1a2b3c4d", "mnemonctl history 1a2b3c4d --json --pretty"),
    method=changes.HISTORY,
    words=ID,
    details=(
        "Works for every memory that ever was in the store. An operation's id is what `mnemonctl undo` takes.",
        "Of a purged memory only that and when something was done to it is kept.",
    ),
    render=_render,
)


# `mnemonctl log`.


LOG_LEAST = 12
"""Cells of a detail that are shown even where the terminal is too narrow for them."""


def _render_log(result: list[LogLine], style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(line.insight_id) for line in result if line.insight_id is not None))
    return lines(*(_line(line, style) for line in result)) if result else lines("nothing was done here yet")


def _line(line: LogLine, style: Style) -> str:
    when = f"{day(line.created_at)} {one_line(line.created_at)[11:19]}"
    subject = short_id(line.insight_id) if line.insight_id is not None else ""
    name = operation_name(line.op_id) if line.op_id is not None else ""
    head = f"{when}  {one_line(line.operation):<13}  {subject:<8}  {name:<8}  "
    return (style.faint(head) + shorten(line.detail, max(style.columns - len(head), LOG_LEAST))).rstrip()


LOG = Command(
    "log",
    Group.LOOK,
    ("mnemonctl log", "mnemonctl log --limit 100 --json", "mnemonctl undo 9f8e7d6c"),
    method=changes.LOG,
    details=(
        "A line has when and what, the memory, the operation (for `mnemonctl undo OP`) and a detail.",
        "The newest 5,000 lines are kept. They never hold a memory's text; `mnemonctl history ID` does.",
    ),
    render=_render_log,
)


# `mnemonctl receipt`.


SHORT_HASH = 12
"""Characters of a hash that people are shown."""


def _render_receipt(result: ReceiptResult, style: Style) -> str:
    events = [_event(event) for event in result.events]
    if style.quiet:
        return lines(*events)
    head = f'{plural(result.count, "event")} of store "{one_line(result.store)}", {one_line(result.generated_at)}'
    return lines(style.strong(head), *events, "Ids and details are SHA-256 hashes; --json shows them whole.")


def _event(event: ReceiptEvent) -> str:
    when = f"{day(event.created_at)} {one_line(event.created_at)[11:19]}"
    hashes = (event.insight_id_hash, event.detail_hash)
    shown = "  ".join(f"{'-' if each is None else one_line(each)[:SHORT_HASH]:<{SHORT_HASH}}" for each in hashes)
    return f"{when}  {one_line(event.event_name):<20}  {shown}".rstrip()


RECEIPT = Command(
    "receipt",
    Group.LOOK,
    ("mnemonctl receipt --json > receipt.json", "mnemonctl receipt --limit 100 --json --pretty"),
    method=changes.RECEIPT,
    details=("Whoever knows the id of a memory can find it in a receipt by its hash; nobody else learns one from it.",),
    render=_render_receipt,
)


# `mnemonctl undo`.


_UNDO_BECAME = {
    "restored": "back in recall",
    "revised": "as it was before",
    "retired": "out of recall",
    "relinked": "linked as before",
}

MAX_SHOWN = 10
"""Memories that are listed one by one."""


def _render_undo(result: UndoResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.op_id))
    more = len(result.memories) - MAX_SHOWN
    before = " (done before, with the same op_id)" if result.replayed else ""
    what = "" if result.method is None else f"{one_line(result.method)}, "
    return lines(
        f"Took back: {what}operation {style.strong(one_line(result.undone))}{before}",
        *(_memory(memory) for memory in result.memories[:MAX_SHOWN]),
        f"  and {more:,} more" if more > 0 else None,
        _links_undo(result),
        f"  not embedded: {one_line(result.embed_error)}" if result.embed_error else None,
        *(line for memory in result.memories for line in conflicts_of(memory.id, memory.conflicts, style)),
        f"To have it again: mnemonctl undo {operation_name(result.op_id)}",
    )


def _memory(memory: UndoneMemory) -> str:
    became = _UNDO_BECAME.get(memory.became) or one_line(memory.became)
    return f"  {short_id(memory.id)}  {became}"


def _links_undo(result: UndoResult) -> str | None:
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


UNDO = Command(
    "undo",
    Group.EVERYDAY,
    ("mnemonctl undo", "mnemonctl undo 9f8e7d6c", "mnemonctl history 1a2b3c4d"),
    method=changes.UNDO,
    words=Words("[OP]", ("operation",), optional=True),
    details=(
        "OP is the id of an operation, which every write, `mnemonctl log` and `mnemonctl history` show, or the",
        "beginning of one.",
        "Without it, the newest operation that can be taken back is.",
        "Refused when a memory was changed again since, or another left its place to it: take that back first.",
        "What was purged cannot come back.",
    ),
    render=_render_undo,
)
