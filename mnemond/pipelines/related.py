"""related: the memories around one, nearest first, on one snapshot; and the links of one by themselves."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from mnemond.index.adjacency import CAUSAL, Links, logical
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.insight import Insight, Scope
from mnemond.model.recall import Filter

EVERYTHING: Final = Filter(all_sessions=True)


class Related(NamedTuple):
    """A memory, over how many links it was reached, and the heaviest link that leads there from one link nearer."""

    insight: Insight
    depth: int
    via: str
    weight: float


def related(
    snapshot: Snapshot, start: int, wanted: Filter, edge_type: str | None, depth: int, limit: int
) -> tuple[Related, ...]:
    """At most `limit` visible memories within `depth` links of a row, whichever way the links lead.

    Breadth first, through visible rows alone; then heavier links, then smaller ids first. As soon as there are
    `limit`, nothing further is followed, so no more than `limit` rows are ever looked around.
    """
    mask = snapshot.visible(wanted)
    code = None if edge_type is None else EDGE_TYPES.index(edge_type)
    seen = np.zeros(snapshot.rows, dtype=np.bool_) if mask is None else ~mask
    seen[start] = True
    found: list[Related] = []
    ring = [start]
    for distance in range(1, depth + 1):
        step = [_reached(snapshot, *link, distance) for link in _ring(snapshot, ring, code, seen)]
        step.sort(key=lambda each: (-each[1].weight, each[1].insight.id))
        found += [each for _, each in step]
        ring = [row for row, _ in step]
        if not ring or len(found) >= limit:
            break
    return tuple(found[:limit])


MOST_LINKS = 20
"""Links of one memory that are told one by one."""

Direction = Literal["to", "from", "both"]


class Link(NamedTuple):
    """A link of one memory with another: `to` its effect, `from` its cause, or of a type that leads both ways."""

    id: str
    edge_type: str
    weight: float
    direction: Direction


def around(scope: Scope, it: Insight) -> Filter:
    """What a reader of this scope, who may see a memory, may see of those around it: nothing of another session than
    the reader's or, if none is given, than the memory's own. Nothing else is minded: the memory was asked for by id."""
    own = scope.session_id or it.scope.session_id
    return Filter(scope=Scope(scope.user_id, own, scope.agent_id))


def links_of(snapshot: Snapshot, row: int, wanted: Filter = EVERYTHING) -> tuple[dict[str, int], list[Link]]:
    """How many links of each type a row has with visible ones, and the heaviest of them: then of the smaller type, then
    to the smaller id."""
    ends = snapshot.neighbours(row)
    visible = snapshot.visible(wanted)
    if visible is not None:
        ends = ends[visible[ends["row"]]]
    counts = dict(zip(EDGE_TYPES, logical(ends), strict=True))
    heavy = ends[np.argsort(-ends["weight"], kind="stable")]
    if len(heavy) > 2 * MOST_LINKS:  # a link that leads both ways has two ends
        heavy = heavy[heavy["weight"] >= heavy["weight"][2 * MOST_LINKS - 1]]
    found: dict[tuple[int, int, Direction], Link] = {}
    for other, weight, kind, outgoing in heavy.tolist():
        way: Direction = "both" if kind != CAUSAL else "to" if outgoing else "from"
        link = Link(snapshot.insight(other).id, EDGE_TYPES[kind], round(weight, 6), way)
        found.setdefault((other, kind, way), link)
    ranked = sorted(found.values(), key=lambda link: (-link.weight, link.edge_type, link.id, link.direction))
    return {name: count for name, count in counts.items() if count}, ranked[:MOST_LINKS]


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


def _reached(snapshot: Snapshot, row: int, code: int, weight: float, distance: int) -> tuple[int, Related]:
    return row, Related(snapshot.insight(row), distance, EDGE_TYPES[code], round(weight, 6))
