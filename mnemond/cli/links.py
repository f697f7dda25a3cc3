"""`mnemonctl link`, `unlink` and `related`."""

from __future__ import annotations

import msgspec

from mnemond.api import types_changes
from mnemond.cli.output import (
    Style,
    body,
    fraction,
    ids,
    kind,
    lines,
    one_line,
    remarks,
    repeated,
    short_id,
    undo_hint,
    wrap,
)
from mnemond.cli.parser import ID, Command, Group, Words
from mnemond.model.answers import RelatedMemory
from mnemond.model.outcomes import LinkResult, UnlinkResult
from mnemond.wire.params import plural


def _link(result: LinkResult, style: Style) -> str:
    if style.quiet:
        return lines(f"{one_line(result.source_id)} {one_line(result.target_id)}")
    if result.replayed:
        verb = "Linked before, with the same op_id,"
    elif result.created:
        verb = "Linked"
    else:
        verb = "Changed the link" if result.updated else "Linked like this already:"
    arrow = "↔" if result.bidirectional else "→"
    ends = f"{style.strong(short_id(result.source_id))} {arrow} {style.strong(short_id(result.target_id))}"
    metadata = one_line(msgspec.json.encode(result.metadata).decode())
    return lines(
        f"{verb} {ends}: {one_line(result.edge_type)}, weight {fraction(result.weight)}",
        *(f"  {line}" for line in wrap(metadata, style.columns - 2)),
        *remarks(None, result.redacted),
        undo_hint(result.op_id, style) if result.created or result.updated else None,
    )


LINK = Command(
    "link",
    Group.CHANGE,
    (
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type causal --sub-type causes --weight 0.8",
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type semantic",
    ),
    method=types_changes.LINK,
    words=Words("ID ID", ("source_id", "target_id")),
    details=(
        "A causal link leads from the first memory, the cause, to the second; other links lead both ways.",
        "A causal link that would close a circle of causes is refused, and the circle named.",
        "Of an existing link the larger weight counts, and --metadata is added to its own.",
    ),
    render=_link,
)


def _unlink(result: UnlinkResult, style: Style) -> str:
    if style.quiet:
        return lines(f"{one_line(result.source_id)} {one_line(result.target_id)}")
    one, other = short_id(result.source_id), short_id(result.target_id)
    removed = f"{plural(result.edges_removed, 'link')} removed ({', '.join(map(one_line, result.edge_types))})"
    left = f"  a causal link from {other} to {one} is left: mnemonctl unlink {other} {one} --type causal"
    return lines(
        f"Unlinked {style.strong(one)} and {style.strong(other)}: {removed}{repeated(result)}",
        left if result.cause_other_way else None,
        undo_hint(result.op_id, style),
    )


UNLINK = Command(
    "unlink",
    Group.CHANGE,
    ("mnemonctl unlink 1a2b3c4d 9f8e7d6c", "mnemonctl unlink 1a2b3c4d 9f8e7d6c --type semantic"),
    method=types_changes.UNLINK,
    words=Words("ID ID", ("source_id", "target_id")),
    details=("Of causal links, only the one from the first memory to the second is removed.",),
    render=_unlink,
)


def _related(result: list[RelatedMemory], style: Style) -> str:
    if style.quiet:
        return ids(result)
    return lines(*(_memory(each, style) for each in result)) if result else lines("nothing is linked to it")


def _memory(each: RelatedMemory, style: Style) -> str:
    way = f"over {one_line(each.via_edge_type)} {fraction(each.weight)}"
    evidence = style.faint(f"  {plural(each.depth, 'link')} away, {way}")
    return f"{style.strong(short_id(each.id))}  {kind(each)}{evidence}\n{body(each.content, style)}"


RELATED = Command(
    "related",
    Group.RECALL,
    ("mnemonctl related 1a2b3c4d", "mnemonctl related 1a2b3c4d --edge causal --depth 3"),
    method=types_changes.RELATED,
    words=ID,
    details=("Links are followed whichever way they lead, but not through memories outside the scope.",),
    render=_related,
)
