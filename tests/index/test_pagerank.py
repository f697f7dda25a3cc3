"""Global PageRank against the worked numbers (spec 7.7), and what must hold of any graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from mnemond.index.pagerank import MAX_ROUNDS, Centrality, pagerank
from tests.examples import examples
from tests.recall.small_graph import NAMES, Link, graph, links

PATH: list[Link] = [("a", "b", "semantic", 1.0), ("b", "c", "semantic", 1.0)]
STAR: list[Link] = [("a", leaf, "entity", 0.5) for leaf in "bcd"]


def ranked(names: str, edges: list[Link], max_rounds: int = MAX_ROUNDS) -> Centrality:
    return pagerank(graph(names, edges), max_rounds=max_rounds)


def test_worked_path() -> None:
    found = ranked("abc", PATH)
    assert found.mass.tolist() == pytest.approx([0.256757, 0.486486, 0.256757], abs=1e-6)
    assert found.prominence.tolist() == pytest.approx([0.527778, 1.0, 0.527778], abs=1e-6)


def test_worked_star_and_a_row_by_itself() -> None:
    found = ranked("abcde", STAR)
    assert found.mass.tolist() == pytest.approx([0.46239, 0.167155, 0.167155, 0.167155, 0.036145], abs=1e-6)
    assert found.prominence.tolist() == pytest.approx([1.0, *[0.361502] * 3, 0.078169], abs=1e-6)


def test_worked_weights() -> None:
    found = ranked("abc", [("a", "b", "semantic", 0.9), ("c", "a", "causal", 0.1)])
    assert found.prominence.tolist() == pytest.approx([1.0, 0.867778, 0.187778], abs=1e-6)


@given(links)
@examples(60)
def test_a_round_more_changes_nothing(edges: list[Link]) -> None:
    """The masses are those of the walk: the obvious matrix leaves them as they are."""
    weights = np.zeros((len(NAMES), len(NAMES)))
    for source, target, _, weight in edges:
        one, other = NAMES.index(source), NAMES.index(target)
        weights[one, other] = weights[other, one] = max(weight, weights[one, other])
    out = weights.sum(axis=0)
    share = np.where(out > 0, weights / np.maximum(out, 1e-9), 1.0 / len(NAMES))
    found = ranked(NAMES, edges)
    assert found.mass == pytest.approx(0.15 / len(NAMES) + 0.85 * share @ found.mass, abs=2e-7)
    assert found.mass.sum() == pytest.approx(1.0)
    assert found.prominence.max() == 1.0
    assert (found.mass > 0).all()
