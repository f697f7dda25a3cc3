"""`mnemonctl link` and `unlink`."""

from __future__ import annotations

import msgspec

from mnemond.api import types_changes as changes
from mnemond.cli.output import Style, fraction, lines, one_line, short_id, undo_hint, wrap
from mnemond.cli.parser import Command, Group, Words
from mnemond.model.outcomes import LinkResult, UnlinkResult
from mnemond.wire.params import plural


def _render_link(result: LinkResult, style: Style) -> str:
    if style.quiet:
        return lines(f"{one_line(result.source_id)} {one_line(result.target_id)}")
    arrow = "↔" if result.bidirectional else "→"
    ends = f"{style.strong(short_id(result.source_id))} {arrow} {style.strong(short_id(result.target_id))}"
    metadata = one_line(msgspec.json.encode(result.metadata).decode())
    hidden = ", ".join(one_line(kind) for kind in result.redacted)
    return lines(
        f"{_verb(result)} {ends}: {one_line(result.edge_type)}, weight {fraction(result.weight)}",
        *(f"  {line}" for line in wrap(metadata, style.columns - 2)),
        f"  redacted: {hidden} (--allow-secret keeps it)" if hidden else None,
        undo_hint(result.op_id, style) if result.created or result.updated else None,
    )


def _verb(result: LinkResult) -> str:
    if result.replayed:
        return "Linked before, with the same op_id,"
    if result.created:
        return "Linked"
    return "Changed the link" if result.updated else "Linked like this already:"


LINK = Command(
    "link",
    Group.CHANGE,
    (
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type causal --sub-type causes --weight 0.8",
        "mnemonctl link 1a2b3c4d 9f8e7d6c --type semantic",
    ),
    method=changes.LINK,
    words=Words("ID ID", ("source_id", "target_id")),
    details=(
        "A causal link leads from the first memory, the cause, to the second; other links lead both ways.",
        "A causal link that would close a circle of causes is refused, and the circle named.",
        "Of a link that is there already the larger weight counts, and --meta is added to what it says.",
    ),
    render=_render_link,
)


# `mnemonctl unlink`.


def _render_unlink(result: UnlinkResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.edges_removed))
    one, other = short_id(result.source_id), short_id(result.target_id)
    types = ", ".join(one_line(each) for each in result.edge_types)
    before = " (done before, with the same op_id)" if result.replayed else ""
    left = f"  a causal link from {other} to {one} is left: mnemonctl unlink {other} {one} --type causal"
    return lines(
        f"Unlinked {style.strong(one)} and {style.strong(other)}: {plural(result.edges_removed, 'link')} removed"
        f" ({types}){before}",
        left if result.cause_other_way else None,
        undo_hint(result.op_id, style),
    )


UNLINK = Command(
    "unlink",
    Group.CHANGE,
    ("mnemonctl unlink 1a2b3c4d 9f8e7d6c", "mnemonctl unlink 1a2b3c4d 9f8e7d6c --type semantic"),
    method=changes.UNLINK,
    words=Words("ID ID", ("source_id", "target_id")),
    details=("Of causal links, only the one from the first memory to the second is removed.",),
    render=_render_unlink,
)
