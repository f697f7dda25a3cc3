"""Communities: as good as those of networkx, the same every time, numbered as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index import communities as found
from mnemond.index.communities import LinkGraph, communities, detect, linked, numbered
from mnemond.index.writer import MemoryIndex
from mnemond.model.memory import Edge, EdgeType
from tests.examples import examples
from tests.index.worlds import finished, insight
from tests.tables import each_row

Graph = Any
"""A graph of networkx, which has no types."""


def graph_of(known: Graph) -> LinkGraph:
    edges = [(one, other, fields.get("weight", 1.0)) for one, other, fields in known.edges(data=True)]
    source, target, weight = (np.array(each) for each in zip(*edges, strict=True)) if edges else (np.zeros(0),) * 3
    return LinkGraph.of(len(known), source.astype(np.int64), target.astype(np.int64), weight.astype(np.float64))


def modularity(known: Graph, labels: list[int]) -> float:
    groups: dict[int, set[int]] = {}
    for node, label in enumerate(labels):
        groups.setdefault(label, set()).add(node)
    found: float = nx.community.modularity(known, groups.values())
    return found


GRAPHS: dict[str, Callable[[], Graph]] = {
    "karate": nx.karate_club_graph,
    "novel": lambda: nx.convert_node_labels_to_integers(nx.les_miserables_graph()),
    "caves": lambda: nx.connected_caveman_graph(20, 10),
    "planted": lambda: nx.planted_partition_graph(10, 30, 0.3, 0.02, seed=3),
    "weak": lambda: nx.planted_partition_graph(8, 40, 0.2, 0.04, seed=2),
    "hubs": lambda: nx.barabasi_albert_graph(500, 4, seed=1),
    "ring": lambda: nx.watts_strogatz_graph(1000, 10, 0.1, seed=1),
    "noise": lambda: nx.gnp_random_graph(300, 0.05, seed=2),
}


@each_row("name", GRAPHS)
@pytest.mark.check_all
def test_the_modularity_is_that_of_louvain(name: str) -> None:
    known = GRAPHS[name]()
    ours = modularity(known, finished(detect(graph_of(known))).tolist())
    theirs = [nx.community.modularity(known, nx.community.louvain_communities(known, seed=seed)) for seed in range(3)]
    assert ours >= 0.97 * float(np.mean(theirs))


def test_cliques_in_a_ring_are_communities() -> None:
    known = nx.connected_caveman_graph(6, 5)
    labels = finished(detect(graph_of(known))).tolist()
    assert labels == [5 * (node // 5) for node in range(30)]


LINKS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.floats(0.05, 1.0)), max_size=40)


@given(LINKS)
@examples(150)
def test_a_community_hangs_together_and_is_named_by_its_smallest_node(links: list[tuple[int, int, float]]) -> None:
    known: Graph = nx.Graph()
    known.add_nodes_from(range(12))
    for one, other, weight in links:
        if one != other:
            known.add_edge(one, other, weight=weight + known.get_edge_data(one, other, {"weight": 0.0})["weight"])
    graph = graph_of(known)
    labels = finished(detect(graph)).tolist()
    assert labels == finished(detect(graph)).tolist()
    parts = {node: min(part) for part in nx.connected_components(known) for node in part}
    for node, label in enumerate(labels):
        assert label <= node
        assert labels[label] == label
        assert parts[label] == parts[node]
    if known.edges:
        assert modularity(known, labels) >= modularity(known, list(range(12))) - 1e-9
        assert modularity(known, labels) >= modularity(known, [0] * 12) - 1e-9


def test_a_graph_adds_up_links_and_keeps_what_a_node_has_with_itself() -> None:
    graph = LinkGraph.of(3, np.array([0, 1, 2]), np.array([1, 0, 2]), np.array([0.5, 0.25, 2.0]))
    assert (graph.first.tolist(), graph.other.tolist()) == ([0, 1, 2, 2], [1, 0])
    assert (graph.weight.tolist(), graph.own.tolist()) == ([0.75, 0.75], [0.0, 0.0, 4.0])
    assert finished(detect(graph)).tolist() == [0, 0, 2]
    assert finished(detect(LinkGraph.of(0, *(np.zeros(0, dtype=np.int64),) * 2, np.zeros(0)))).tolist() == []


# ------------------------------------------------------------------ of a store


def index_of(count: int, links: list[tuple[int, int, EdgeType, float]], **fields: Any) -> MemoryIndex:
    rows = [(insight(each, at=at, **fields), None) for at, each in enumerate("abcdefghij"[:count])]
    edges = [Edge("abcdefghij"[one], "abcdefghij"[other], kind, weight) for one, other, kind, weight in links]
    return MemoryIndex.build(rows, edges, 2)


def test_types_of_a_pair_add_up_and_time_weighs_least() -> None:
    links: list[tuple[int, int, EdgeType, float]] = [
        (0, 1, "temporal", 1.0), (1, 0, "temporal", 1.0), (0, 1, "semantic", 0.8), (1, 0, "semantic", 0.5),
        (2, 1, "causal", 0.4),
    ]  # fmt: skip
    members = linked(index_of(3, links).snapshot)
    assert members.rows.tolist() == [0, 1, 2]
    assert members.graph.other.tolist() == [1, 0, 2, 1]
    assert members.graph.weight.tolist() == pytest.approx([1.05, 1.05, 0.4, 0.4])


def test_what_is_never_shown_and_what_is_linked_to_nothing_is_in_none() -> None:
    links: list[tuple[int, int, EdgeType, float]] = [(0, 1, "entity", 0.5), (1, 0, "entity", 0.5)]
    assert finished(communities(index_of(3, links).snapshot, {})) == {"a": 1, "b": 1}
    assert finished(communities(index_of(3, links, quarantined=True).snapshot, {})) == {}


def test_a_community_keeps_its_number() -> None:
    groups = [["a", "b", "c"], ["d", "e"], ["f", "g"]]
    assert numbered(groups, {}) == {1: groups[0], 2: groups[1], 3: groups[2]}
    assert numbered(groups, {"d": 7, "e": 7, "a": 7, "f": 2}) == {1: groups[0], 7: groups[1], 2: groups[2]}
    assert numbered([["a", "b"], ["c", "d"]], dict.fromkeys("abcd", 1)) == {1: ["a", "b"], 2: ["c", "d"]}


def test_it_is_found_in_steps_and_in_bounded_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = nx.watts_strogatz_graph(60, 4, 0.1, seed=1)
    whole = modularity(known, finished(detect(graph_of(known))).tolist())
    monkeypatch.setattr(found, "STEP", 10)
    assert sum(1 for _ in detect(graph_of(known))) >= 6
    monkeypatch.setattr(found, "MAX_LEVELS", 1)
    monkeypatch.setattr(found, "MAX_ROUNDS", 1)
    assert 0.0 < modularity(known, finished(detect(graph_of(known))).tolist()) <= whole
