"""Personalised PageRank against the worked numbers, the whole matrix, and its own limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.recall.walks import LocalPageRankPolicy, PageRankScores, personalised_pagerank
from tests.examples import examples
from tests.recall.small_graph import NAMES, Link, at, graph, links, named

PATH: list[Link] = [("a", "b", "semantic", 1.0), ("b", "c", "semantic", 1.0)]


def spread(snapshot: Snapshot, anchors: dict[str, float], policy: LocalPageRankPolicy | None = None) -> PageRankScores:
    found = personalised_pagerank(snapshot, at(snapshot, anchors), np.array(list(anchors.values())), policy=policy)
    assert found.mass.sum() == pytest.approx(1.0)
    assert (np.diff(found.rows) > 0).all()
    return found


def masses(snapshot: Snapshot, found: PageRankScores) -> dict[str, float]:
    return dict(zip(named(snapshot, found.rows), found.mass.tolist(), strict=True))


def test_worked_path() -> None:
    found = spread(graph("abc", PATH), {"a": 1.0})
    assert found.mass.tolist() == pytest.approx([0.583333, 0.333333, 0.083333], abs=1e-6)
    assert found.scores.tolist() == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)


def test_what_cannot_be_reached_has_no_score() -> None:
    snapshot = graph("abcd", PATH)
    assert named(snapshot, spread(snapshot, {"a": 0.3}).rows) == "abc"
    assert spread(snapshot, {"d": 0.3}).scores.tolist() == [1.0]


def test_anchors_count_as_their_scores_say() -> None:
    snapshot = graph("abcd", [])
    assert masses(snapshot, spread(snapshot, {"a": 3.0, "c": 1.0})) == pytest.approx({"a": 0.75, "c": 0.25})
    assert masses(snapshot, spread(snapshot, {"a": 0.0, "c": 0.0})) == pytest.approx({"a": 0.5, "c": 0.5})


def test_links_count_as_they_are_heavy_and_the_heaviest_of_two_rows() -> None:
    edges: list[Link] = [("b", "a", "entity", 0.75), ("a", "b", "causal", 0.25), ("c", "a", "causal", 0.25)]
    found = masses(graph("abc", edges), spread(graph("abc", edges), {"a": 1.0}))
    assert found["b"] == pytest.approx(3 * found["c"], abs=1e-6)


def test_a_link_without_weight_leads_nowhere() -> None:
    snapshot = graph("ab", [("a", "b", "causal", 0.0)])
    assert masses(snapshot, spread(snapshot, {"a": 1.0})) == {"a": 1.0}


def test_a_hidden_row_is_not_walked_through() -> None:
    snapshot = graph("abcd", [*PATH, ("a", "d", "causal", 0.5)])
    mask = np.array([True, False, True, True])
    found = personalised_pagerank(snapshot, at(snapshot, "a"), np.array([1.0]), mask)
    assert masses(snapshot, found) == pytest.approx({"a": 2 / 3, "d": 1 / 3})


def test_nothing_comes_of_nothing() -> None:
    assert personalised_pagerank(graph("ab", PATH[:1]), at(graph("ab", []), ""), np.zeros(0)).rows.tolist() == []


def test_only_the_best_anchors_are_expanded_and_ties_go_to_the_smaller_id() -> None:
    snapshot = graph("dcba", [])
    policy = LocalPageRankPolicy(expanded=2)
    anchors = {"d": 0.5, "c": 0.9, "b": 0.5, "a": 0.1}
    assert masses(snapshot, spread(snapshot, anchors, policy)) == pytest.approx({"c": 0.9 / 1.4, "b": 0.5 / 1.4})


def test_rows_that_are_not_expanded_are_reached_and_the_walk_starts_anew() -> None:
    """a and b are expanded. Of what is at b half goes on, half of it to c; as much as would come back from there
    begins at a again, so that what a and b have is in the proportion of 1 to 1/2."""
    snapshot = graph("abcd", [*PATH, ("c", "d", "semantic", 1.0)])
    found = masses(snapshot, spread(snapshot, {"a": 1.0}, LocalPageRankPolicy(expanded=2)))
    assert found == pytest.approx({"a": 1 / 1.625, "b": 0.5 / 1.625, "c": 0.125 / 1.625}, abs=1e-6)


def test_the_rows_that_most_walks_reach_are_expanded() -> None:
    edges: list[Link] = [("a", "b", "causal", 0.25), ("a", "c", "causal", 0.5), ("b", "d", "causal", 1.0)]
    snapshot = graph("abcde", [*edges, ("c", "e", "causal", 1.0)])
    assert set(masses(snapshot, spread(snapshot, {"a": 1.0}, LocalPageRankPolicy(expanded=2)))) == set("abce")


@given(links, st.dictionaries(st.sampled_from(NAMES), st.sampled_from((0.25, 0.5, 1.0)), min_size=1))
@examples(60)
def test_as_the_whole_matrix(edges: list[Link], anchors: dict[str, float]) -> None:
    weights = np.zeros((len(NAMES), len(NAMES)))
    for source, target, _, weight in edges:
        one, other = NAMES.index(source), NAMES.index(target)
        weights[one, other] = weights[other, one] = max(weight, weights[one, other])
    starts = np.array([anchors.get(name, 0.0) for name in NAMES])
    starts /= starts.sum()
    out = weights.sum(axis=0)
    share = np.where(out > 0, weights / np.maximum(out, 1e-9), starts[:, None])
    exact = np.linalg.solve(np.eye(len(NAMES)) - 0.5 * share, 0.5 * starts)
    snapshot = graph(NAMES, edges)
    found = masses(snapshot, spread(snapshot, anchors))
    assert [found.get(name, 0.0) for name in NAMES] == pytest.approx(exact.tolist(), abs=1e-6)


@given(links.flatmap(lambda edges: st.tuples(st.just(edges), st.permutations(edges))))
@examples(30)
def test_the_same_bytes_in_whatever_order_links_are_stored(orders: tuple[list[Link], list[Link]]) -> None:
    edges, shuffled = orders
    policy = LocalPageRankPolicy(expanded=4)
    one, other = (
        spread(graph(NAMES, order, one_by_one=apart), {"a": 0.7, "e": 0.3}, policy)
        for order, apart in ((edges, False), (shuffled, True))
    )
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.mass.tobytes() == other.mass.tobytes()
