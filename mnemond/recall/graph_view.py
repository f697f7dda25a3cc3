"""Builds the picture of a store: which memories and links are in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.index.arrays import Mask, Rows, Scores
from mnemond.index.communities import FACTORS, communities
from mnemond.index.edges import CAUSAL
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import six
from mnemond.model.graph import Graph, GraphCommunity, GraphEdge, GraphNode
from mnemond.model.memory import EDGE_TYPES, Insight, project_parts
from mnemond.model.relations import StatedRelation, shown_type
from mnemond.store import relations
from mnemond.store.connection import Connection
from mnemond.store.edges import Metric

MAX_EDGES: Final = 20_000
"""Pairs of linked memories in a picture: with more, lines cover each other, and a reply has more than 10 MB."""

MAX_TEXT: Final = 4_000_000
"""Characters of all texts of a picture. A store of 5,000 notes of usual length has a quarter of it."""

MAX_RELATIONS: Final = 10_000
"""Statements about names in a picture."""

LEAST_PULL: Final = 0.05
"""Pull of the weakest link: one of weight 0 keeps two memories near each other, too."""


class Wish(NamedTuple):
    """What is to be in the picture. `around`: a row, with all that `depth` links lead to; None: all rows."""

    limit: int
    around: int | None = None
    depth: int = 1
    redact: bool = False


class Pairs(NamedTuple):
    """Linked pairs of nodes, each part of shape (pairs,): where a link is causal, `source` is the cause. `kinds` has a
    bit for each type; `pull` is the greatest weight times the factor of its type."""

    source: Rows
    target: Rows
    kinds: Rows
    weight: Scores
    pull: Scores

    def among(self, kept: Rows | Mask) -> Pairs:
        return Pairs(*(part[kept] for part in self))  # type: ignore[arg-type]  # mypy unites the types of the parts


def stated(connection: Connection, ids: Collection[str]) -> list[StatedRelation]:
    """Return what memories state about names, in the order of their arrival."""
    wanted = frozenset(ids)
    found = [it for it in relations.all_evidence(connection) if it.memory_id in wanted]
    visible = relations.visible(connection, found, relations.NO_SCOPE)
    found = [it for it in found if it.id in visible][:MAX_RELATIONS]
    roots = relations.roots(connection)
    things = {each for it in found for each in (it.source_id, it.target_id) if each is not None}
    called = relations.names(connection, {roots.of(each) for each in things})
    shown = [
        StatedRelation(
            memory_id=it.memory_id,
            source=called.get(roots.of(it.source_id), ""),
            type=shown_type(it),
            target=it.value or "" if it.target_id is None else called.get(roots.of(it.target_id), ""),
        )
        for it in found
    ]
    return list(dict.fromkeys(shown))


def communities_of(snapshot: Snapshot, metrics: Sequence[Metric]) -> list[Metric]:
    """Return the stored communities of memories; found now, and not stored, where there are none yet."""
    if metrics:
        return list(metrics)
    steps = communities(snapshot, {})
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return [Metric(each, 0.0, 0, number) for each, number in sorted(done.value.items())]


def members(
    snapshot: Snapshot, metrics: Sequence[Metric], rows: frozenset[int]
) -> list[tuple[int, tuple[Insight, ...]]]:
    """Return the communities of the memories in `rows`, the largest first: their numbers and memories, the most central
    ones first. Takes some microseconds a memory: not for the event loop."""
    found: dict[int, list[tuple[float, str, Insight]]] = {}
    for it in metrics:
        row = snapshot.row_of(it.insight_id)
        if it.community is not None and row in rows:
            found.setdefault(it.community, []).append((-it.pagerank, it.insight_id, snapshot.insight(row)))
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return [(number, tuple(it for _, _, it in sorted(group))) for number, group in ordered]


def build(
    snapshot: Snapshot,
    mask: Mask,
    metrics: Sequence[Metric],
    wish: Wish,
    store: str,
    now: str,
) -> Graph:
    """Return the picture of the rows in `mask`, shape (rows,), without relations (see `stated`). Takes some
    tenths of a second for 5,000 memories: for a thread."""
    pairs = _pairs(snapshot, mask)
    rows, total = _chosen(snapshot, mask, pairs, wish)
    place = np.full(snapshot.rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    pairs = pairs._replace(source=place[pairs.source], target=place[pairs.target])
    pairs = pairs.among((pairs.source >= 0) & (pairs.target >= 0))
    degree = np.bincount(np.concatenate([pairs.source, pairs.target]), minlength=len(rows))
    total_edges = len(pairs.source)
    ranks = _ranks(pairs, len(rows))
    pairs = pairs.among(np.lexsort((-pairs.pull, ranks))[:MAX_EDGES])  # first one link of each memory, and so on
    memories = [snapshot.insight(row) for row in rows.tolist()]
    known = communities_of(snapshot, metrics)
    number = {it.insight_id: it.community for it in known if it.community is not None}
    cut_at = _cut(memories)
    nodes = [_node(it, cut_at, number.get(it.id), links) for it, links in zip(memories, degree.tolist(), strict=True)]
    graph = Graph(
        store=store, generated_at=now, redacted=False, total=total, limit=wish.limit, total_edges=total_edges,
        cut_at=cut_at, nodes=nodes, edges=_edges(pairs, memories),
        communities=[
            GraphCommunity(number, len(found)) for number, found in members(snapshot, known, frozenset(rows.tolist()))
        ],
        relations=[],
    )  # fmt: skip
    return redacted(graph) if wish.redact else graph


def _pairs(snapshot: Snapshot, mask: Mask) -> Pairs:
    """Return the linked pairs of rows in `mask`."""
    edges = snapshot.edges()
    kept = mask[edges.source] & mask[edges.target] & (edges.source != edges.target)
    source, target, kind = edges.source[kept], edges.target[kept], edges.kind[kept].astype(np.int64)
    weight = edges.weight[kept].astype(np.float64)
    low, high = np.minimum(source, target), np.maximum(source, target)
    keys, of_pair = np.unique(low * max(1, snapshot.rows) + high, return_inverse=True)
    kinds = np.zeros(len(keys), dtype=np.int64)
    np.bitwise_or.at(kinds, of_pair, 1 << kind)
    heaviest, pull = np.zeros(len(keys)), np.zeros(len(keys))
    np.maximum.at(heaviest, of_pair, weight)
    factors = np.array([FACTORS[each] for each in EDGE_TYPES])  # type: ignore[index]
    np.maximum.at(pull, of_pair, np.maximum(weight * factors[kind], LEAST_PULL))
    turned = np.zeros(len(keys), dtype=np.bool_)
    turned[of_pair[(kind == CAUSAL) & (source > target)]] = True
    turned[of_pair[(kind == CAUSAL) & (source < target)]] = False
    low, high = np.divmod(keys, max(1, snapshot.rows))
    return Pairs(np.where(turned, high, low), np.where(turned, low, high), kinds, heaviest, pull)


def _chosen(snapshot: Snapshot, mask: Mask, pairs: Pairs, wish: Wish) -> tuple[Rows, int]:
    """Return the rows of the picture, newest first or by distance, and how many there would be without a limit."""
    if wish.around is None:
        return snapshot.newest_rows(mask, wish.limit), int(np.count_nonzero(mask))
    found = [np.array([wish.around], dtype=np.int64)]
    seen: Mask = np.zeros(snapshot.rows, dtype=np.bool_)
    seen[wish.around] = True
    for _ in range(wish.depth):
        beside = np.concatenate([pairs.target[seen[pairs.source]], pairs.source[seen[pairs.target]]])
        fresh: Rows = np.unique(beside[~seen[beside]])
        if not len(fresh):
            break
        seen[fresh] = True
        found.append(fresh[::-1])
    rows = np.concatenate(found)
    return rows[: wish.limit], len(rows)


def _ranks(pairs: Pairs, nodes: int) -> Rows:
    """Return the rank of each pair among those of either end, the better of the two, from 0; shape (pairs,)."""
    count = len(pairs.source)
    ends, pull = np.concatenate([pairs.source, pairs.target]), np.tile(pairs.pull, 2)
    order = np.lexsort((-pull, ends))
    sizes = np.bincount(ends, minlength=nodes)
    of_end = np.empty(2 * count, dtype=np.int64)
    of_end[order] = np.arange(2 * count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.minimum(of_end[:count], of_end[count:])


def _edges(pairs: Pairs, memories: Sequence[Insight]) -> list[GraphEdge]:
    types = [[kind for bit, kind in enumerate(EDGE_TYPES) if mask >> bit & 1] for mask in range(1 << len(EDGE_TYPES))]
    parts = (pairs.source.tolist(), pairs.target.tolist(), pairs.kinds.tolist(), pairs.weight.tolist())
    return [
        GraphEdge(memories[source].id, memories[target].id, types[kinds], six(weight))
        for source, target, kinds, weight in zip(*parts, strict=True)
    ]


def _node(it: Insight, cut_at: int | None, community: int | None, degree: int) -> GraphNode:
    project = it.scope.project
    return GraphNode(
        id=it.id,
        content=it.content if cut_at is None or len(it.content) <= cut_at else f"{it.content[: cut_at - 1]}…",
        category=it.category, importance=it.importance, community=community, tags=it.tags, entities=it.entities,
        project=None if project is None else project_parts(project)[0], created_at=it.created_at,
        event_start=it.event_start, event_end=it.event_end, pinned=it.pinned, degree=degree,
    )  # fmt: skip


def _cut(memories: Sequence[Insight]) -> int | None:
    """Return the length to which texts are cut so that all have MAX_TEXT characters at most; None if they have."""
    lengths = np.sort(np.array([len(it.content) for it in memories], dtype=np.int64))
    if int(lengths.sum()) <= MAX_TEXT:
        return None
    left = len(lengths) - np.arange(len(lengths))
    before = np.cumsum(lengths) - lengths
    level = int(np.argmax(before + lengths * left > MAX_TEXT))
    return int((MAX_TEXT - before[level]) // left[level])


def redacted(graph: Graph) -> Graph:
    """Return the same picture without texts: a memory is called by its id; tags, names and projects by numbers, equal
    ones by the same. Statements are left out."""
    tags: dict[str, str] = {}
    names: dict[str, str] = {}
    projects: dict[str, str] = {}
    nodes = [
        msgspec.structs.replace(
            it,
            content=it.id,
            tags=tuple(_numbered(tags, "tag", each) for each in it.tags),
            entities=tuple(_numbered(names, "entity", each) for each in it.entities),
            project=None if it.project is None else _numbered(projects, "project", it.project),
        )
        for it in graph.nodes
    ]
    return msgspec.structs.replace(graph, redacted=True, cut_at=None, nodes=nodes, relations=[])


def _numbered(known: dict[str, str], what: str, text: str) -> str:
    return known.setdefault(text, f"{what} {len(known) + 1}")
