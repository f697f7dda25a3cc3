"""link: somebody says that two memories belong together, and how."""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec

from mnemond.errors import FieldProblem, invalid
from mnemond.graph.cycle import causal_chain, is_cause
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, ChangeSet
from mnemond.model.edge import Edge, EdgeType
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Linked
from mnemond.pipelines.active_row import Find, active_row
from mnemond.pipelines.identity import Identity
from mnemond.store.proposal import Proposal, View

MOST_LOOKED_AT = 20_000
"""Memories looked at for a way back, about 70 ms in the writer's thread; where that is not enough to rule a circle
out, the link is refused."""

MOST_NAMED = 20
"""Memories of a circle that are named; the first and last of a longer one."""

_MIRRORED = {"precedes": "succeeds", "succeeds": "precedes"}
"""`direction` of a temporal link, seen from its other end (spec 4, rules)."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A link as it is wanted: valid fields, ids as they were given. `metadata` is the text of a JSON object."""

    source_id: str
    target_id: str
    edge_type: EdgeType
    weight: float
    metadata: str
    created_by: Literal["host", "user"]
    bidirectional: bool = False
    allow_cycle: bool = False
    redacted: tuple[str, ...] = ()
    scope: Scope = Scope()


def direction_problems(edge_type: str, *, bidirectional: bool, allow_cycle: bool) -> list[FieldProblem]:
    """Nothing, unless two memories are to be each other's cause by oversight."""
    if edge_type != "causal" or not bidirectional or allow_cycle:
        return []
    sentence = "a causal link both ways is a circle: each memory would be the cause of the other"
    return [FieldProblem("bidirectional", f"{sentence}; link the cause to the effect alone, or give allow_cycle")]


def propose(link: Link, identity: Identity, find: Find) -> Proposal:
    """The write that links two active memories. Everything is checked under the writer; `find` names memories."""
    return identity.proposal(
        method="link",
        decide=partial(_decide, link, identity, find),
    )


def _decide(link: Link, identity: Identity, find: Find, view: View) -> ChangeSet:
    source = active_row(view, find, link.source_id, link.scope)
    target = active_row(view, find, link.target_id, link.scope)
    one, other = source.insight.id, target.insight.id
    if one == other:
        raise invalid([FieldProblem("target_id", f"target_id is the source itself, {one}; link it to another")])
    if link.edge_type == "causal" and not link.allow_cycle:
        _refuse_circle(view.snapshot, source.row, target.row)
    both_ways = link.bidirectional or link.edge_type != "causal"
    return identity.change_set(
        method="link",
        changes=tuple(AddEdge(edge, audited=True) for edge in _edges(link, one, other)[: 1 + both_ways]),
        outcome=Linked(
            op_id=identity.op_id,
            source_id=one,
            target_id=other,
            edge_type=link.edge_type,
            weight=link.weight,
            metadata=link.metadata,
            created=True,
            bidirectional=both_ways,
            redacted=link.redacted,
        ),
        detail=f"{link.edge_type} to {other}",
        subject=one,
    )


def _edges(link: Link, source: str, target: str) -> tuple[Edge, Edge]:
    """The link, and the way back."""
    return (
        Edge(source, target, link.edge_type, link.weight, link.metadata, link.created_by),
        Edge(target, source, link.edge_type, link.weight, _seen_from_behind(link), link.created_by),
    )


def _seen_from_behind(link: Link) -> str:
    if link.edge_type != "temporal":
        return link.metadata
    fields = msgspec.json.decode(link.metadata)
    way = fields.get("direction")
    if way not in _MIRRORED:
        return link.metadata
    return msgspec.json.encode(fields | {"direction": _MIRRORED[way]}).decode()


def _refuse_circle(snapshot: Snapshot, cause: int, effect: int) -> None:
    """Raises MnemonError(INVALID_PARAMS) when the effect leads back to the cause, and the link is not there yet."""
    if is_cause(snapshot, cause, effect):
        return
    back = causal_chain(snapshot, effect, cause, MOST_LOOKED_AT)
    if back.rows is not None:
        ids = [snapshot.insight(row).id for row in (cause, *back.rows)]
        raise invalid(
            [FieldProblem("target_id", f"this link would close a circle of causes: {_named(ids)}")],
            hint="unlink one of these, or give allow_cycle (--allow-cycle) if they do cause each other",
        )
    if not back.complete:
        sentence = f"whether this link closes a circle of causes is not known after {MOST_LOOKED_AT:,} memories"
        raise invalid(
            [FieldProblem("target_id", sentence)], hint="give allow_cycle (--allow-cycle) to link them anyway"
        )


def _named(ids: list[str]) -> str:
    if len(ids) <= MOST_NAMED:
        return " → ".join(ids)
    return " → ".join([*ids[: MOST_NAMED - 1], f"… {len(ids) - MOST_NAMED} more …", ids[-1]])
