"""Communities: groups of memories that are linked among each other more than to others.

Label propagation under the constraint of modularity (Barber and Clark 2009), one memory after the other, then passes in
the manner of Louvain (Blondel et al. 2008), which move whole groups. Without the constraint, with ties decided by the
smallest label, one label runs through a whole store: measured, docs/decisions/0050. The result depends on nothing but
ids and links.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.arrays import Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import EDGE_TYPES, EdgeType

FACTORS: Final[Mapping[EdgeType, float]] = {"temporal": 0.25, "semantic": 1.0, "causal": 1.0, "entity": 1.0}
"""Weight of each type of link: that one memory came after the other says least about what they are about."""

MAX_ROUNDS: Final = 20
"""Rounds of label propagation; more than ten are rare."""

MAX_LEVELS: Final = 3
"""Passes that move groups; on graphs of 10,000 nodes the second one hardly finds anything."""

SPREAD: Final = np.uint64(2_654_435_761)
SPREAD_OVER: Final = np.uint64(1 << 32)
"""Fibonacci hashing (Knuth, 6.4): nodes are visited far apart, in an order that is always the same. Visited one after
the other along a chain, the first one's label would be carried on to its end."""

LEAST_GAIN: Final = 1e-9
"""Rise of the modularity below which nothing is moved: rounding must not move anything to and fro."""

STEP: Final = 2_000
"""Memories of one step, some 10 ms."""

Steps = Generator[None, None, Rows]
"""A computation in steps; its value is the community of each node."""


class LinkGraph(NamedTuple):
    """An undirected graph of `nodes`: the links of node n, without those to itself, are the places `first[n]` to
    `first[n + 1]` of `other` and `weight`, ascending; each link is there twice. `own`: weight of the links within a
    node, shape (nodes,), counted twice as well."""

    first: Rows
    other: Rows
    weight: Scores
    own: Scores

    @property
    def nodes(self) -> int:
        return len(self.own)

    @classmethod
    def of(cls, nodes: int, source: Rows, target: Rows, weight: Scores) -> LinkGraph:
        """Build it from links, each given once; several of one pair add up, those of a node to itself are its own."""
        within = source == target
        own = 2.0 * np.bincount(source[within], weights=weight[within], minlength=nodes).astype(np.float64)
        source, target, weight = source[~within], target[~within], weight[~within]
        keys = np.concatenate([source * nodes + target, target * nodes + source])
        keys, places = np.unique(keys, return_inverse=True)
        of_pair = np.bincount(places, weights=np.tile(weight, 2), minlength=len(keys)).astype(np.float64)
        owner, other = np.divmod(keys, max(1, nodes))
        return cls(np.searchsorted(owner, np.arange(nodes + 1)), other, of_pair, own)


def detect(graph: LinkGraph) -> Steps:
    """Return the community of each node, in steps; nodes of one community have the smallest node of it."""
    labels = yield from _propagated(graph)
    for _ in range(MAX_LEVELS):
        groups, of_node = np.unique(labels, return_inverse=True)
        joined = yield from _propagated(_grouped(graph, len(groups), of_node))
        if len(np.unique(joined)) == len(groups):
            break
        labels = yield from _propagated(graph, joined[of_node])
    return _smallest(labels)


def _grouped(graph: LinkGraph, groups: int, of_node: Rows) -> LinkGraph:
    """Return the graph of groups of nodes."""
    owner = np.repeat(np.arange(graph.nodes), np.diff(graph.first))
    once = owner < graph.other
    return LinkGraph.of(
        groups,
        np.concatenate([of_node[owner[once]], of_node]),
        np.concatenate([of_node[graph.other[once]], of_node]),
        np.concatenate([graph.weight[once], graph.own / 2.0]),
    )


def _propagated(graph: LinkGraph, labels: Rows | None = None) -> Steps:
    """Give every node, in turn, the label of a neighbour with which the modularity is highest, until none changes;
    each begins with `labels`, or with one of its own."""
    first, other, weight = graph.first.tolist(), graph.other.tolist(), graph.weight.tolist()
    owner = np.repeat(np.arange(graph.nodes), np.diff(graph.first))
    strength = (np.bincount(owner, weights=graph.weight, minlength=graph.nodes) + graph.own).tolist()
    total = sum(strength)
    found: list[int] = list(range(graph.nodes)) if labels is None else labels.tolist()
    order = np.argsort(np.arange(graph.nodes, dtype=np.uint64) * SPREAD % SPREAD_OVER, kind="stable").tolist()
    sizes: dict[int, float] = {}
    for label, own in zip(found, strength, strict=True):
        sizes[label] = sizes.get(label, 0.0) + own
    for _ in range(MAX_ROUNDS if total > 0.0 else 0):
        changed = False
        for visited, node in enumerate(order):
            if visited % STEP == STEP - 1:
                yield
            before = found[node]
            sums: dict[int, float] = {before: 0.0}
            for place in range(first[node], first[node + 1]):
                label = found[other[place]]
                sums[label] = sums.get(label, 0.0) + weight[place]
            sizes[before] -= strength[node]
            part = strength[node] / total
            best, most = before, sums[before] - part * sizes[before]
            for label, shared in sums.items():
                gain = shared - part * sizes[label]
                if gain > most + LEAST_GAIN or (gain > most - LEAST_GAIN and best != before and label < best):
                    best, most = label, gain
            sizes[best] += strength[node]
            if best != before:
                found[node] = best
                changed = True
        if not changed:
            break
    return np.array(found, dtype=np.int64)


def _smallest(labels: Rows) -> Rows:
    """Return, for each node, the smallest node with its label."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    found: Rows = first[places]
    return found


# The graph of a store.


class Members(NamedTuple):
    """Rows in the order of their ids, and the graph between them; node n is `rows[n]`."""

    rows: Rows
    graph: LinkGraph


def linked(snapshot: Snapshot) -> Members:
    """Return the live memories that may be shown and their links. Of the links of a pair the types add up, each with
    its heavier way. Takes a microsecond a link: not for the event loop."""
    shown = [row for row in np.flatnonzero(snapshot.alive()).tolist() if not snapshot.insight(row).quarantined]
    rows = np.array(sorted(shown, key=lambda row: snapshot.insight(row).id), dtype=np.int64)
    node = np.full(snapshot.rows, -1, dtype=np.int64)
    node[rows] = np.arange(len(rows))
    edges = snapshot.edges()
    source, target = node[edges.source], node[edges.target]
    kept = (source >= 0) & (target >= 0)
    kind = edges.kind[kept].astype(np.int64)
    low, high = np.minimum(source, target)[kept], np.maximum(source, target)[kept]
    keys, places = np.unique((low * len(rows) + high) * len(EDGE_TYPES) + kind, return_inverse=True)
    heaviest = np.zeros(len(keys))
    np.maximum.at(heaviest, places, edges.weight[kept].astype(np.float64))
    factors = np.array([FACTORS[each] for each in EDGE_TYPES])  # type: ignore[index]
    pair, kind = np.divmod(keys, len(EDGE_TYPES))
    low, high = np.divmod(pair, max(1, len(rows)))
    return Members(rows, LinkGraph.of(len(rows), low, high, heaviest * factors[kind]))


def communities(snapshot: Snapshot, before: Mapping[str, int]) -> Generator[None, None, dict[str, int]]:
    """Return the community of every memory that is in one of two memories at least, by id, in steps. A community has
    the number of the one in `before` with which it shares most memories; others get the next free numbers, the largest
    first."""
    members = linked(snapshot)
    yield
    labels = yield from detect(members.graph)
    ids = [snapshot.insight(row).id for row in members.rows.tolist()]
    groups: dict[int, list[str]] = {}
    for insight_id, label in zip(ids, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(insight_id)
    numbers = numbered([each for each in groups.values() if len(each) > 1], before)
    return {insight_id: number for number, group in numbers.items() for insight_id in group}


def numbered(groups: Iterable[list[str]], before: Mapping[str, int]) -> dict[int, list[str]]:
    """Return groups of ids by their numbers, see `communities`."""
    ordered = sorted(groups, key=lambda group: (-len(group), group[0]))
    shared: dict[tuple[int, int], int] = {}
    for place, group in enumerate(ordered):
        for insight_id in group:
            if insight_id in before:
                pair = place, before[insight_id]
                shared[pair] = shared.get(pair, 0) + 1
    chosen: dict[int, int] = {}
    taken: set[int] = set()
    for place, number in sorted(shared, key=lambda pair: (-shared[pair], pair[1], pair[0])):
        if place not in chosen and number not in taken:
            chosen[place] = number
            taken.add(number)
    free = 1
    for place in range(len(ordered)):
        if place not in chosen:
            while free in taken:
                free += 1
            chosen[place] = free
            taken.add(free)
    return {chosen[place]: group for place, group in enumerate(ordered)}
