"""`mnemonctl history`, `undo`, `log` and `receipt`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from mnemond.api import types_changes
from mnemond.api.types_changes import ReceiptEvent, ReceiptResult
from mnemond.cli.output import (
    SHORT_ID,
    Style,
    conflicts_of,
    first_words,
    lines,
    one_line,
    operation_name,
    remarks,
    repeated,
    row,
    second,
    short_id,
    shorten,
    text_width,
)
from mnemond.cli.parser import ID, Command, Group, Words
from mnemond.cli.recall import trigger_text
from mnemond.model.answers import EdgeState, HistoryResult, LogLine, MemoryOperation, MemoryState
from mnemond.model.outcomes import UndoResult
from mnemond.wire.params import plural

# history.


_COMPARED = (
    "content", "category", "importance", "tags", "entities", "cues", "when", "source", "channel", "access_count",
    "status", "superseded_by", "created_at", "valid_from", "invalid_at", "conversation_id", "user_id", "session_id",
    "agent_id", "project", "pinned", "paired_with", "corroboration_count", "useful", "misled", "metadata",
)  # fmt: skip
"""Fields whose changes are shown: all but `updated_at`, which is the time of the operation, and
`effective_importance`, which follows from the rest and from the hour."""

_VERBS = {
    "CREATE": "remembered", "UPDATE": "changed", "DELETE": "taken out of recall", "MERGE": "merged",
    "SUPERSEDE": "replaced", "RESTORE": "back in recall", "PRUNE": "pruned", "BOOST": "said again", "PAIR": "paired",
}  # fmt: skip

MIN_VALUE: Final = 24
"""Cells of a value that are shown even where the terminal is too narrow for them."""

_ARROW = " → "

_DOERS = ("host:", "system:")
"""Prefixes of causes that act themselves: a tool, and a background job."""


def _history(result: HistoryResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(operation.op_id) for operation in result.operations))
    missing = result.total_operations - len(result.operations)
    chain = " → ".join(f"{short_id(each.id)} ({one_line(each.status)})" for each in result.chain)
    return lines(
        style.strong(one_line(result.id)),
        f"  {chain}" if len(result.chain) > 1 else None,
        f"  … {plural(missing, 'earlier operation')}, see --limit" if missing else None,
        *(
            line
            for operation in result.operations
            for line in _operation(operation, style, newest=operation is result.operations[-1])
        ),
    )


def _operation(operation: MemoryOperation, style: Style, *, newest: bool) -> Iterator[str]:
    before, after = operation.before_state, operation.after_state
    undoes = "" if operation.undoes is None else f", which took back {one_line(operation.undoes)}"
    name = style.faint(f"  operation {one_line(operation.op_id)}{undoes}")
    yield f"  {second(operation.created_at)}  {style.strong(_verb(operation, newest=newest))}{name}"
    if after is not None:
        room = style.columns - 4
        for line in _differences(before, after, room):
            yield "    " + shorten(line, max(room, MIN_VALUE))


def _verb(operation: MemoryOperation, *, newest: bool) -> str:
    """The action and its cause. Of a purged memory the newest operation is the purge itself."""
    verb = _VERBS.get(operation.operation_type, one_line(operation.operation_type).lower())
    by = _by(operation.triggered_by)
    if operation.before_state is not None or operation.after_state is not None:
        return f"{verb}{by}"
    if newest and operation.operation_type == "DELETE":
        return f"purged{by}: nothing of it is kept"
    return f"{verb}{by}, and purged since"


def _by(triggered_by: str) -> str:
    """The cause of an operation; none for the user."""
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
            if name == "cues":
                old, new = (tuple(cue.text for cue in state.cues) for state in (before, after))
            if name == "when":
                old, new = (tuple(map(trigger_text, state.when)) for state in (before, after))
            yield _change(f"{name.replace('_', ' ')}: ", one_line(_value(old)), one_line(_value(new)), room)
    yield from _links(before, after)


def _change(head: str, old: str, new: str, room: int) -> str:
    """Both values on a line of `room` cells. If they do not fit, each has half of it, and cells that one does not need
    are for the other."""
    left = max(room - len(head) - len(_ARROW), MIN_VALUE)
    before = shorten(old, max(left // 2, left - text_width(new)))
    return f"{head}{before}{_ARROW}{shorten(new, left - text_width(before))}"


class _LinkChange(NamedTuple):
    """A link of which something became: what, as a participle, and the line about it."""

    edge: EdgeState
    became: str
    line: str


def _links(before: MemoryState, after: MemoryState) -> Iterator[str]:
    """Changed links, a line each; automatic temporal ones, a dozen of which are usual, share a line."""
    changes = list(_link_changes(before, after))
    temporal = [each for each in changes if each.edge.edge_type == "temporal" and each.edge.created_by == "auto"]
    if len(temporal) > 1:
        counted = Counter(each.became for each in temporal)
        yield f"temporal links: {', '.join(f'{count:,} {became}' for became, count in counted.items())}"
        changes = [each for each in changes if each not in temporal]
    yield from (each.line for each in changes)


def _link_changes(before: MemoryState, after: MemoryState) -> Iterator[_LinkChange]:
    """Every changed link. One that went to the successor was moved, not removed and made, and the link it met there is
    the same now."""
    had, has = ({_place(edge): edge for edge in state.edges} for state in (before, after))
    taken: set[tuple[str, ...]] = set()
    for place, edge in had.items():
        moved = _place(edge, after)
        if moved != place and moved in has:
            taken.add(moved)
            became = f"moved to {str(after.superseded_by)[:SHORT_ID]}"
            yield _LinkChange(edge, became, f"{became}: {_link(edge)}")
        elif place not in has:
            yield _LinkChange(edge, "removed", f"- {_link(edge)}")
    for place, edge in has.items():
        if place in taken:
            continue
        if place not in had:
            yield _LinkChange(edge, "made", f"+ {_link(edge)}")
        elif changes := _relinked(had[place], edge):
            yield _LinkChange(edge, "changed", f"{_link(had[place])}, {changes}")


def _place(edge: EdgeState, retired: MemoryState | None = None) -> tuple[str, ...]:
    """A key that no two links share; with a retired memory, the key of the link once it moved to the successor."""
    moved = None if retired is None else retired.superseded_by
    ends = [moved if moved and retired and end == retired.id else end for end in (edge.source_id, edge.target_id)]
    return edge.edge_type, *(ends if edge.edge_type == "causal" else sorted(ends))


def _relinked(old: EdgeState, new: EdgeState) -> str:
    """The changes of a link; "" if only the end from which it is listed differs."""
    changes = []
    if old.weight != new.weight:
        changes.append(f"now {new.weight:.2f}" if f"{old.weight:.2f}" != f"{new.weight:.2f}" else f"now {new.weight:g}")
    if old.created_by != new.created_by:
        changes.append(f"made by {one_line(old.created_by)}{_ARROW}{one_line(new.created_by)}")
    if old.metadata != new.metadata:
        changes.append(f"metadata {_value(old.metadata)}{_ARROW}{_value(new.metadata)}")
    return ", ".join(changes)


def _value(value: object) -> str:
    """A value as JSON or a person would write it."""
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
    method=types_changes.HISTORY,
    words=ID,
    details=(
        "Works for every memory that ever was in the store. An operation's id is what `mnemonctl undo` takes.",
        "Of a purged memory only that and when something was done to it is kept.",
    ),
    render=_history,
)


# undo.


_BECAME = {
    "restored": "back in recall", "revised": "as it was before", "retired": "out of recall",
    "relinked": "linked as before",
}  # fmt: skip

_STATE: Final = max(map(len, _BECAME.values()))

MAX_MEMORIES: Final = 10
"""Memories that are listed one by one."""


def _undo(result: UndoResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.op_id))
    unshown = len(result.memories) - MAX_MEMORIES
    method = "" if result.method is None else f"{one_line(result.method)}, "
    links = {
        "put back": result.edges_restored,
        "removed": result.edges_removed,
        "not put back, because the other memory is out of recall": result.edges_missing,
    }
    changed = ", ".join(f"{plural(count, 'link')} {what}" for what, count in links.items() if count)
    return lines(
        f"Took back: {method}operation {style.strong(one_line(result.undone))}{repeated(result)}",
        *(
            row(
                f"  {short_id(each.id)}  {_BECAME.get(each.became) or one_line(each.became):<{_STATE}}  ",
                first_words(each.words, purged=each.purged),
                style,
            ).rstrip()
            for each in result.memories[:MAX_MEMORIES]
        ),
        f"  and {unshown:,} more" if unshown > 0 else None,
        f"  {changed}" if changed else None,
        f"  {plural(result.passages, 'passage')} of sessions" if result.passages else None,
        *remarks(result.embed_error),
        *(line for each in result.memories for line in conflicts_of(each.id, each.conflicts, style)),
        f"To have it again: mnemonctl undo {operation_name(result.op_id)}",
    )


UNDO = Command(
    "undo",
    Group.EVERYDAY,
    ("mnemonctl undo", "mnemonctl undo 9f8e7d6c", "mnemonctl history 1a2b3c4d"),
    method=types_changes.UNDO,
    words=Words("[OP]", ("operation",), optional=True),
    details=(
        "OP is the id of an operation or its beginning; every write, `mnemonctl log` and `mnemonctl history` show it.",
        "Without it, the newest operation that can be taken back is.",
        "Refused if a memory was changed again since, or another left its place to it: take that back first.",
        "What was purged cannot come back.",
    ),
    render=_undo,
)


# log.


def _log(result: list[LogLine], style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(line.insight_id) for line in result if line.insight_id is not None))
    return lines(*(_log_line(line, style) for line in result)) if result else lines("nothing was done here yet")


def _log_line(line: LogLine, style: Style) -> str:
    subject = short_id(line.insight_id) if line.insight_id is not None else ""
    name = operation_name(line.op_id) if line.op_id is not None else ""
    head = f"{second(line.created_at)}  {one_line(line.operation):<13}  {subject:<8}  {name:<8}  "
    about = first_words(line.words, purged=line.purged)
    return row(
        head, f"{about}  ({line.detail})" if about and line.detail else about or line.detail, style, least=12
    ).rstrip()


LOG = Command(
    "log",
    Group.LOOK,
    ("mnemonctl log", "mnemonctl log --limit 100 --json", "mnemonctl undo 9f8e7d6c"),
    method=types_changes.LOG,
    details=(
        "A line has when and what, the memory, the operation (for `mnemonctl undo OP`), its first words and a detail.",
        "The words are looked up when they are shown: no line holds a memory's text, nor the question of a recall.",
        "The newest 5,000 writes and the newest 1,000 recalls are kept.",
    ),
    render=_log,
)


# receipt.


SHORT_HASH: Final = 12
"""Characters of a hash that are shown."""


def _receipt(result: ReceiptResult, style: Style) -> str:
    events = [_event(event) for event in result.events]
    if style.quiet:
        return lines(*events)
    head = f'{plural(result.count, "event")} of store "{one_line(result.store)}", {one_line(result.generated_at)}'
    return lines(style.strong(head), *events, "Ids and details are SHA-256 hashes; --json shows them whole.")


def _event(event: ReceiptEvent) -> str:
    hashes = (event.insight_id_hash, event.detail_hash)
    shown = "  ".join(f"{'-' if each is None else one_line(each)[:SHORT_HASH]:<{SHORT_HASH}}" for each in hashes)
    return f"{second(event.created_at)}  {one_line(event.event_name):<20}  {shown}".rstrip()


RECEIPT = Command(
    "receipt",
    Group.LOOK,
    ("mnemonctl receipt --json > receipt.json", "mnemonctl receipt --limit 100 --json --pretty"),
    method=types_changes.RECEIPT,
    details=("An id that is known can be found in a receipt by its hash; no other can be learned from it.",),
    render=_receipt,
)
