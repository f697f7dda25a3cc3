"""unlink: what linked two memories is removed, whoever made it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.index.adjacency import OUT
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Change, ChangeSet, PutInsight, RemoveEdge
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Unlinked
from mnemond.pipelines.active_row import Find, Present, active_row
from mnemond.pipelines.identity import Identity
from mnemond.store.proposal import Proposal, View


class Unlink(msgspec.Struct, frozen=True, kw_only=True):
    """Which links are to go: of one type, or of all (None). A causal one goes in the given direction alone."""

    source_id: str
    target_id: str
    edge_type: str | None = None
    scope: Scope = Scope()


class _Found(NamedTuple):
    """Edges between two memories, as (type, whether it leads from the source to the target)."""

    going: list[tuple[str, bool]]
    cause_other_way: bool


def propose(unlink: Unlink, identity: Identity, find: Find) -> Proposal:
    """The write that removes every link of the wanted kind. It is refused when there is none."""
    return identity.proposal(
        method="unlink",
        decide=partial(_decide, unlink, identity, find),
    )


def _decide(unlink: Unlink, identity: Identity, find: Find, view: View) -> ChangeSet:
    source = active_row(view, find, unlink.source_id, unlink.scope)
    target = active_row(view, find, unlink.target_id, unlink.scope)
    one, other = source.insight.id, target.insight.id
    found = _between(view.snapshot, source.row, target.row, unlink.edge_type)
    if not found.going:
        raise _nothing(unlink.edge_type, one, other, found)
    ends = ((one, other) if outgoing else (other, one) for _, outgoing in found.going)
    removals = [
        RemoveEdge(*pair, edge_type, audited=True) for pair, (edge_type, _) in zip(ends, found.going, strict=True)
    ]
    types = tuple(kind for kind in EDGE_TYPES if any(kind == edge_type for edge_type, _ in found.going))
    return identity.change_set(
        method="unlink",
        changes=(*removals, *_unpaired(source, target, types)),
        outcome=Unlinked(identity.op_id, one, other, 0, edge_types=types, cause_other_way=found.cause_other_way),
        detail=f"{', '.join(types)} to {other}",
        subject=one,
    )


def _between(snapshot: Snapshot, source: int, target: int, edge_type: str | None) -> _Found:
    found = _Found([], cause_other_way=False)
    for row, _, code, way in snapshot.neighbours(source).tolist():
        kind = EDGE_TYPES[code]
        if row != target or edge_type not in (None, kind):
            continue
        if kind == "causal" and way != OUT:
            found = found._replace(cause_other_way=True)
        else:
            found.going.append((kind, way == OUT))
    return found


def _unpaired(source: Present, target: Present, types: tuple[str, ...]) -> list[Change]:
    """The link of a pair is semantic (spec 8); without it the two are a pair no longer."""
    if "semantic" not in types:
        return []
    both = ((source.insight, target.insight), (target.insight, source.insight))
    return [
        PutInsight(msgspec.structs.replace(it, paired_with=None), "PAIR")
        for it, partner in both
        if it.paired_with == partner.id
    ]


def _nothing(edge_type: str | None, one: str, other: str, found: _Found) -> MnemonError:
    kind = f"{edge_type} link" if edge_type else "link"
    if found.cause_other_way:
        return MnemonError(
            NOT_FOUND,
            f"no {kind} leads from {one} to {other}; the causal one leads the other way, from {other} to {one}",
            hint=f"mnemonctl unlink {other} {one} --type causal",
            outcome="rejected",
        )
    return MnemonError(
        NOT_FOUND,
        f"there is no {kind} between {one} and {other}",
        hint=f"`mnemonctl related {one}` shows what it is linked to",
        outcome="rejected",
    )
