"""link: somebody says that two memories belong together, and how."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.arrays import Mask
from mnemond.index.edges import CAUSAL, OUT, Links, logical
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import FIELD, WriteContext, as_text, plain_problems, size_problems, without_secrets
from mnemond.memory.edge_builders import causal_chain, is_cause
from mnemond.memory.history import Find, Present, active_row
from mnemond.model.answers import LinkView, RelatedMemory
from mnemond.model.changes import AddEdge, Change, ChangeSet, PutInsight, RemoveEdge
from mnemond.model.memory import EDGE_TYPES, Edge, EdgeType, Insight, Scope
from mnemond.model.outcomes import LinkResult, UnlinkResult
from mnemond.model.query import Filter
from mnemond.store.operations import Proposal, View

MAX_LOOKED_AT = 20_000
"""Memories looked at for a way back, about 70 ms in the writer's thread; where that is not enough to rule a circle
out, the link is refused."""

MAX_NAMED = 20
"""Memories of a circle that are named; the first and last of a longer one."""

_MIRRORED = {"precedes": "succeeds", "succeeds": "precedes"}
"""`direction` of a temporal link, seen from its other end (spec 4, rules)."""


class LinkLink(msgspec.Struct, frozen=True, kw_only=True):
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


def propose_link(link: LinkLink, identity: WriteContext, find: Find) -> Proposal:
    """The write that links two active memories. Everything is checked under the writer; `find` names memories."""
    return identity.proposal(
        method="link",
        decide=partial(_decide_link, link, identity, find),
    )


def _decide_link(link: LinkLink, identity: WriteContext, find: Find, view: View) -> ChangeSet:
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
        outcome=LinkResult(
            status="linked",
            created=True,  # the store compares it with the edge that is there
            updated=False,
            source_id=one,
            target_id=other,
            edge_type=link.edge_type,
            weight=link.weight,
            metadata=msgspec.json.decode(link.metadata),
            bidirectional=both_ways,
            redacted=list(link.redacted),
            op_id=identity.op_id,
            replayed=False,
        ),
        detail=f"{link.edge_type} to {other}",
        subject=one,
    )


def _edges(link: LinkLink, source: str, target: str) -> tuple[Edge, Edge]:
    """The link, and the way back."""
    return (
        Edge(source, target, link.edge_type, link.weight, link.metadata, link.created_by),
        Edge(target, source, link.edge_type, link.weight, _seen_from_behind(link), link.created_by),
    )


def _seen_from_behind(link: LinkLink) -> str:
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
    back = causal_chain(snapshot, effect, cause, MAX_LOOKED_AT)
    if back.rows is not None:
        ids = [snapshot.insight(row).id for row in (cause, *back.rows)]
        raise invalid(
            [FieldProblem("target_id", f"this link would close a circle of causes: {_named(ids)}")],
            hint="unlink one of these, or give allow_cycle (--allow-cycle) if they do cause each other",
        )
    if not back.complete:
        sentence = f"whether this link closes a circle of causes is not known after {MAX_LOOKED_AT:,} memories"
        raise invalid(
            [FieldProblem("target_id", sentence)], hint="give allow_cycle (--allow-cycle) to link them anyway"
        )


def _named(ids: list[str]) -> str:
    if len(ids) <= MAX_NAMED:
        return " → ".join(ids)
    return " → ".join([*ids[: MAX_NAMED - 1], f"… {len(ids) - MAX_NAMED} more …", ids[-1]])


# What somebody wants noted about a link: checked, without secrets, as the text that is stored.


MADE_BY = ("host", "user")
"""Who may say that a link was made by them (spec 8): an agent's host, or a person."""


class Noted(NamedTuple):
    """The text of a JSON object, and the kinds of secrets that were taken out of it."""

    text: str
    redacted: tuple[str, ...]


def metadata_problems(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str | None
) -> list[FieldProblem]:
    """Everything wrong with the metadata of a link. Of what is too large nothing else is looked at."""
    given = dict(metadata or {})
    if too_large := size_problems(given):
        return too_large
    found = plain_problems(given)
    if sub_type is not None and given.get("sub_type", sub_type) != sub_type:
        found.append(FieldProblem("sub_type", "sub_type and metadata.sub_type differ; give one of them"))
    maker = given.get("created_by", created_by)
    if maker is not None and maker not in MADE_BY:
        found.append(FieldProblem(FIELD, "metadata.created_by says who makes the link; it must be host or user"))
    elif created_by is not None and maker != created_by:
        found.append(FieldProblem("created_by", "created_by and metadata.created_by differ; give one of them"))
    return found


def maker_of(metadata: Mapping[str, object] | None, created_by: str | None) -> Literal["host", "user"]:
    """Who makes a link whose metadata have no problems: a person, unless it is said to be the host."""
    return "host" if "host" in (created_by, (metadata or {}).get("created_by")) else "user"


def noted(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str, *, allow_secret: bool
) -> tuple[Noted, list[FieldProblem]]:
    """Metadata without problems as they are stored, every text in NFC and without secrets; and what is wrong then:
    the mark of a secret may be longer than the secret."""
    wanted = dict(metadata or {})
    if sub_type is not None:
        wanted["sub_type"] = sub_type
    clean, kinds = without_secrets(wanted, allow_secret=allow_secret)
    whole = clean | {"created_by": created_by}
    return Noted(as_text(whole), kinds), size_problems(whole)


# related: the memories around one, nearest first, on one snapshot; and the links of one by themselves.


EVERYTHING: Final = Filter(all_sessions=True)


def related(
    snapshot: Snapshot, start: int, wanted: Filter, edge_type: str | None, depth: int, limit: int
) -> list[RelatedMemory]:
    """At most `limit` visible memories within `depth` links of a row, whichever way the links lead.

    Breadth first, through visible rows alone; then heavier links, then smaller ids first. As soon as there are
    `limit`, nothing further is followed, so no more than `limit` rows are ever looked around.
    """
    mask = snapshot.visible(wanted)
    code = None if edge_type is None else EDGE_TYPES.index(edge_type)
    seen = np.zeros(snapshot.rows, dtype=np.bool_) if mask is None else ~mask
    seen[start] = True
    found: list[RelatedMemory] = []
    ring = [start]
    for distance in range(1, depth + 1):
        step = [_reached(snapshot, *link, distance) for link in _ring(snapshot, ring, code, seen)]
        step.sort(key=lambda each: (-each[1].weight, each[1].id))
        found += [each for _, each in step]
        ring = [row for row, _ in step]
        if not ring or len(found) >= limit:
            break
    return found[:limit]


MAX_LINKS = 20
"""Links of one memory that are listed."""

Direction = Literal["to", "from", "both"]


def around(scope: Scope, it: Insight) -> Filter:
    """What a reader of this scope, who may see a memory, may see of those around it: nothing of another session than
    the reader's or, if none is given, than the memory's own. Nothing else is minded: the memory was asked for by id."""
    own = scope.session_id or it.scope.session_id
    return Filter(scope=Scope(scope.user_id, own, scope.agent_id))


def links_of(snapshot: Snapshot, row: int, wanted: Filter = EVERYTHING) -> tuple[dict[str, int], list[LinkView]]:
    """How many links of each type a row has with visible ones, and the heaviest of them: then of the smaller type, then
    to the smaller id."""
    ends = snapshot.neighbours(row)
    visible = snapshot.visible(wanted)
    if visible is not None:
        ends = ends[visible[ends["row"]]]
    counts = dict(zip(EDGE_TYPES, logical(ends), strict=True))
    heavy = ends[np.argsort(-ends["weight"], kind="stable")]
    if len(heavy) > 2 * MAX_LINKS:  # a link that leads both ways has two ends
        heavy = heavy[heavy["weight"] >= heavy["weight"][2 * MAX_LINKS - 1]]
    found: dict[tuple[int, int, Direction], LinkView] = {}
    for other, weight, kind, outgoing in heavy.tolist():
        way: Direction = "both" if kind != CAUSAL else "to" if outgoing else "from"
        link = LinkView(snapshot.insight(other).id, EDGE_TYPES[kind], round(weight, 6), way)
        found.setdefault((other, kind, way), link)
    ranked = sorted(found.values(), key=lambda link: (-link.weight, link.edge_type, link.id, link.direction))
    return {name: count for name, count in counts.items() if count}, ranked[:MAX_LINKS]


def _ring(snapshot: Snapshot, ring: list[int], code: int | None, seen: Mask) -> list[tuple[int, int, float]]:
    """Row, type and weight of the heaviest link to every row not `seen` yet; they are now."""
    links: Links = np.concatenate([snapshot.neighbours(row) for row in ring])
    if code is not None:
        links = links[links["type"] == code]
    links = links[~seen[links["row"]]]
    links = links[np.lexsort((links["type"], -links["weight"]))]
    rows, first = np.unique(links["row"], return_index=True)
    seen[rows] = True
    best = links[first]
    return list(zip(rows.tolist(), best["type"].tolist(), best["weight"].tolist(), strict=True))


def _reached(snapshot: Snapshot, row: int, code: int, weight: float, distance: int) -> tuple[int, RelatedMemory]:
    it = snapshot.insight(row)
    kind, heaviness = EDGE_TYPES[code], round(weight, 6)
    return row, RelatedMemory(it.id, it.content, it.category, it.importance, distance, kind, heaviness)


# unlink: what linked two memories is removed, whoever made it.


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


def propose_unlink(unlink: Unlink, identity: WriteContext, find: Find) -> Proposal:
    """The write that removes every link of the wanted kind. It is refused when there is none."""
    return identity.proposal(
        method="unlink",
        decide=partial(_decide_unlink, unlink, identity, find),
    )


def _decide_unlink(unlink: Unlink, identity: WriteContext, find: Find, view: View) -> ChangeSet:
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
        outcome=UnlinkResult(
            status="unlinked",
            source_id=one,
            target_id=other,
            edges_removed=0,  # counted by the store, as it removes them
            edge_types=list(types),
            cause_other_way=found.cause_other_way,
            op_id=identity.op_id,
            replayed=False,
        ),
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
