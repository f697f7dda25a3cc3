"""link, unlink and related: links made by hand, and the memories around one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.arrays import Mask
from mnemond.index.edges import CAUSAL, IN, OUT, Links, logical
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import FIELD, as_text, plain_problems, size_problems, without_secrets
from mnemond.memory.history import Find, Present, active_row, metadata_of
from mnemond.memory.write import WriteContext
from mnemond.model.answers import LinkView, RelatedMemory, project_fields
from mnemond.model.changes import AddEdge, Change, ChangeSet, PutInsight, RemoveEdge
from mnemond.model.memory import EDGE_TYPES, Edge, Insight, Scope
from mnemond.model.outcomes import LinkResult, UnlinkResult
from mnemond.model.query import Filter
from mnemond.store import edges
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View

MAX_LOOKED_AT = 20_000
"""Memories visited in search of a cycle, about 70 ms in the writer's thread; where that cannot rule a cycle out, the
link is refused."""

MAX_NAMED = 20
"""Memories of a cycle that are named; the first and last of a longer one."""

_MIRRORED = {"precedes": "succeeds", "succeeds": "precedes"}
"""`direction` of a temporal link, seen from its other end."""


class LinkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A valid link to make; `edge` holds the ids or prefixes as given."""

    edge: Edge
    bidirectional: bool = False
    allow_cycle: bool = False
    redacted: tuple[str, ...] = ()
    scope: Scope = Scope()


def direction_problems(edge_type: str, *, bidirectional: bool, allow_cycle: bool) -> list[FieldProblem]:
    """Refuse two memories as each other's cause unless `allow_cycle`."""
    if edge_type != "causal" or not bidirectional or allow_cycle:
        return []
    sentence = "a causal link both ways is a circle: each memory would be the cause of the other"
    return [FieldProblem("bidirectional", f"{sentence}; link the cause to the effect alone, or give allow_cycle")]


def propose_link(link: LinkRequest, identity: WriteContext, find: Find) -> Proposal:
    """Propose the link of two active memories. Everything is checked in the writer; `find` resolves ids."""
    return identity.proposal("link", partial(decide_link, link, identity, find))


def decide_link(link: LinkRequest, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    source = active_row(view, find, link.edge.source_id, link.scope)
    target = active_row(view, find, link.edge.target_id, link.scope)
    one, other = source.insight.id, target.insight.id
    if one == other:
        raise invalid([FieldProblem("target_id", f"target_id is the source itself, {one}; link it to another")])
    edge = msgspec.structs.replace(link.edge, source_id=one, target_id=other)
    if edge.edge_type == "causal" and not link.allow_cycle:
        refuse_cycle(view.snapshot, source.row, target.row)
    both_ways = link.bidirectional or edge.edge_type != "causal"
    return identity.change_set(
        method="link",
        changes=tuple(AddEdge(each, audited=True) for each in (edge, _reverse(edge))[: 1 + both_ways]),
        outcome=LinkResult(
            status="linked",
            created=True,  # the store compares it with the existing edge
            updated=False,
            source_id=one,
            target_id=other,
            edge_type=edge.edge_type,
            weight=edge.weight,
            metadata=msgspec.json.decode(edge.metadata),
            bidirectional=both_ways,
            redacted=list(link.redacted),
            op_id=identity.op_id,
            replayed=False,
        ),
        detail=f"{edge.edge_type} to {other}",
        subject=one,
    )


def _reverse(edge: Edge) -> Edge:
    metadata = edge.metadata
    if edge.edge_type == "temporal":
        fields = msgspec.json.decode(metadata)
        if (way := fields.get("direction")) in _MIRRORED:
            metadata = msgspec.json.encode(fields | {"direction": _MIRRORED[way]}).decode()
    return msgspec.structs.replace(edge, source_id=edge.target_id, target_id=edge.source_id, metadata=metadata)


def refuse_cycle(snapshot: Snapshot, cause: int, effect: int) -> None:
    """Raise MnemonError(INVALID_PARAMS) if the effect leads back to the cause and the link does not exist yet."""
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


class CausalChain(NamedTuple):
    """`rows`: those of a shortest causal chain, both ends included, None when none was found.

    `complete` is false when the search stopped early.
    """

    rows: tuple[int, ...] | None
    complete: bool = True


def causal_chain(snapshot: Snapshot, cause: int, effect: int, most: int) -> CausalChain:
    """Find a chain of causal links from one row to another, visiting about `most` rows at most.

    Searches from both ends, the smaller frontier first.
    """
    ahead: dict[int, int | None] = {cause: None}
    behind: dict[int, int | None] = {effect: None}
    front, rear = [cause], [effect]
    while front and rear:
        if len(ahead) + len(behind) > most:
            return CausalChain(None, complete=False)
        if len(front) <= len(rear):
            front, met = _step(snapshot, front, OUT, ahead, behind)
        else:
            rear, met = _step(snapshot, rear, IN, behind, ahead)
        if met is not None:
            return CausalChain((*reversed(_trail(met, ahead)), *_trail(met, behind)[1:]))
    return CausalChain(None)


def is_cause(snapshot: Snapshot, cause: int, effect: int) -> bool:
    """Return True if a causal link from one row to the other exists."""
    return effect in _relatives(snapshot, cause, OUT)


def _relatives(snapshot: Snapshot, row: int, way: int) -> list[int]:
    """Return the rows one causal link away in this direction."""
    links = snapshot.neighbours(row)
    found: list[int] = links["row"][(links["type"] == CAUSAL) & (links["outgoing"] == way)].tolist()
    return found


def _step(
    snapshot: Snapshot, ring: list[int], way: int, seen: dict[int, int | None], other: dict[int, int | None]
) -> tuple[list[int], int | None]:
    """Return the rows one link further, each entered in `seen` with its predecessor, and one in `other`, if any."""
    following: list[int] = []
    for row in ring:
        for found in _relatives(snapshot, row, way):
            if found in seen:
                continue
            seen[found] = row
            following.append(found)
            if found in other:
                return following, found
    return following, None


def _trail(row: int, came_from: dict[int, int | None]) -> list[int]:
    """Return the path from a row back to the start of the search."""
    trail = [row]
    while (row_before := came_from[trail[-1]]) is not None:
        trail.append(row_before)
    return trail


# The metadata of a link.


MAKERS = ("host", "user")
"""Values of `created_by` that a request may give: an agent's host, or a person."""


class LinkMetadata(NamedTuple):
    """The text of a JSON object, and the kinds of secrets that were redacted in it."""

    text: str
    redacted: tuple[str, ...]


def metadata_problems(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str | None
) -> list[FieldProblem]:
    """Return everything wrong with the metadata of a link; of a too large object only that."""
    given = dict(metadata or {})
    if too_large := size_problems(given):
        return too_large
    found = plain_problems(given)
    if sub_type is not None and given.get("sub_type", sub_type) != sub_type:
        found.append(FieldProblem("sub_type", "sub_type and metadata.sub_type differ; give one of them"))
    maker = given.get("created_by", created_by)
    if maker is not None and maker not in MAKERS:
        found.append(FieldProblem(FIELD, "metadata.created_by says who makes the link; it must be host or user"))
    elif created_by is not None and maker != created_by:
        found.append(FieldProblem("created_by", "created_by and metadata.created_by differ; give one of them"))
    return found


def maker_of(metadata: Mapping[str, object] | None, created_by: str | None) -> Literal["host", "user"]:
    """Return the maker of a link with valid metadata: the user, unless the host is given."""
    return "host" if "host" in (created_by, (metadata or {}).get("created_by")) else "user"


def stored_metadata(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str, *, allow_secret: bool
) -> tuple[LinkMetadata, list[FieldProblem]]:
    """Return valid metadata as stored, every text in NFC and redacted, and the problems that redaction causes: its
    mark may be longer than the secret."""
    wanted = dict(metadata or {})
    if sub_type is not None:
        wanted["sub_type"] = sub_type
    clean, kinds = without_secrets(wanted, allow_secret=allow_secret)
    whole = clean | {"created_by": created_by}
    return LinkMetadata(as_text(whole), kinds), size_problems(whole)


# related: the memories around one, nearest first, and the links of one memory.


EVERYTHING: Final = Filter(all_sessions=True)


def related(
    snapshot: Snapshot, start: int, wanted: Filter, edge_type: str | None, depth: int, limit: int
) -> list[RelatedMemory]:
    """Return at most `limit` visible memories within `depth` links of a row, in either direction.

    Breadth first, through visible rows only; then heavier links, then smaller ids first. The search stops at `limit`,
    so the neighbours of at most `limit` rows are read. Those of another project than the row are marked.
    """
    mask = snapshot.visible(wanted)
    code = None if edge_type is None else EDGE_TYPES.index(edge_type)
    seen = np.zeros(snapshot.rows, dtype=np.bool_) if mask is None else ~mask
    seen[start] = True
    found: list[RelatedMemory] = []
    ring, here = [start], snapshot.insight(start).scope.project
    for distance in range(1, depth + 1):
        step = [_reached(snapshot, *link, distance, here) for link in _ring(snapshot, ring, code, seen)]
        step.sort(key=lambda each: (-each[1].weight, each[1].id))
        found += [each for _, each in step]
        ring = [row for row, _ in step]
        if not ring or len(found) >= limit:
            break
    return found[:limit]


MAX_LINKS = 20
"""Listed links of one memory."""

Direction = Literal["to", "from", "both"]


def around(scope: Scope, it: Insight) -> Filter:
    """Return the filter for the memories around one that a reader of this scope may see: only those of the reader's
    session or, if none is given, of the memory's own."""
    own = scope.session_id or it.scope.session_id
    return Filter(scope=Scope(scope.user_id, own, scope.agent_id))


def links_of(snapshot: Snapshot, row: int, wanted: Filter = EVERYTHING) -> tuple[dict[str, int], list[LinkView]]:
    """Count the links of each type between a row and visible ones, and return the heaviest: ties by type, then id."""
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


def with_sub_types(connection: Connection, insight_id: str, links: Sequence[LinkView]) -> list[LinkView]:
    """Add the sub_type of each link of a memory, which the index does not have."""
    found = []
    for link in links:
        source, target = (link.id, insight_id) if link.direction == "from" else (insight_id, link.id)
        edge = edges.read(connection, source, target, link.edge_type)
        kind = None if edge is None else metadata_of(edge).get("sub_type")
        found.append(msgspec.structs.replace(link, sub_type=kind) if isinstance(kind, str) else link)
    return found


def _ring(snapshot: Snapshot, ring: list[int], code: int | None, seen: Mask) -> list[tuple[int, int, float]]:
    """Return row, type and weight of the heaviest link to every row not in `seen`, and add these rows to it."""
    links: Links = np.concatenate([snapshot.neighbours(row) for row in ring])
    if code is not None:
        links = links[links["type"] == code]
    links = links[~seen[links["row"]]]
    links = links[np.lexsort((links["type"], -links["weight"]))]
    rows, first = np.unique(links["row"], return_index=True)
    seen[rows] = True
    best = links[first]
    return list(zip(rows.tolist(), best["type"].tolist(), best["weight"].tolist(), strict=True))


def _reached(
    snapshot: Snapshot, row: int, code: int, weight: float, distance: int, here: str | None
) -> tuple[int, RelatedMemory]:
    it = snapshot.insight(row)
    kind, heaviness = EDGE_TYPES[code], round(weight, 6)
    return row, RelatedMemory(
        it.id, it.content, it.category, it.importance, distance, kind, heaviness, **project_fields(it, here)
    )


# unlink: remove the links between two memories, made by hand or automatic.


class Unlink(msgspec.Struct, frozen=True, kw_only=True):
    """The links to remove: of one type, or of all (None). A causal one is removed in the given direction only."""

    source_id: str
    target_id: str
    edge_type: str | None = None
    scope: Scope = Scope()


class _Found(NamedTuple):
    """Edges between two memories, as (type, True if it leads from the source to the target)."""

    going: list[tuple[str, bool]]
    cause_other_way: bool


def propose_unlink(unlink: Unlink, identity: WriteContext, find: Find) -> Proposal:
    """Propose the removal of every link of the given type. Refused when there is none."""
    return identity.proposal("unlink", partial(_decide_unlink, unlink, identity, find))


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
    """The link of a pair is semantic; without it the two are a pair no longer."""
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
