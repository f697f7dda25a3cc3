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
from mnemond.index.communities import LinkGraph, detect
from tests.examples import examples
from tests.index.worlds import finished
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


# ------------------------------------------------------------------ of a store


def test_it_is_found_in_steps_and_in_bounded_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = nx.watts_strogatz_graph(60, 4, 0.1, seed=1)
    whole = modularity(known, finished(detect(graph_of(known))).tolist())
    monkeypatch.setattr(found, "STEP", 10)
    assert sum(1 for _ in detect(graph_of(known))) >= 6
    monkeypatch.setattr(found, "MAX_LEVELS", 1)
    monkeypatch.setattr(found, "MAX_ROUNDS", 1)
    assert 0.0 < modularity(known, finished(detect(graph_of(known))).tolist()) <= whole
