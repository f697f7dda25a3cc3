"""Places of nodes: the same every time, apart from each other, linked ones and groups near each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index import layout as module
from mnemond.index.arrays import Rows, Scores
from mnemond.index.layout import EXACT, GAP, Places, layout
from tests.examples import examples

Graph = tuple[Rows, Rows, Rows, Scores]


def parts(count: int, size: int, *, links: int = 4) -> Graph:
    """Parts of `size` nodes, each linked within itself alone."""
    generator = np.random.default_rng(7)
    groups = np.repeat(np.arange(count), size)
    source = np.repeat(np.arange(count * size), links)
    target = source // size * size + generator.integers(0, size, len(source))
    return groups, source, target, np.ones(len(source))


def distances(places: Places) -> Scores:
    between = places[:, None, :] - places[None, :, :]
    found: Scores = np.hypot(between[:, :, 0], between[:, :, 1])
    return found


@pytest.mark.parametrize("count", [2, 8, 40])  # the first below EXACT, the others on the mesh
def test_what_is_linked_is_near_and_no_two_are_in_one_place(count: int) -> None:
    graph = parts(count, 20)
    places = layout(*graph)
    assert (len(places) <= EXACT) == (count == 2)
    apart = distances(places)
    same = graph[0][:, None] == graph[0][None, :]
    assert np.median(apart[same]) < 0.6 * np.median(apart[~same])
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.8 * GAP
    assert np.abs(places.mean(axis=0)).max() < 1e-6
    assert np.abs(places).max() < 3.0 * np.sqrt(len(places)) + 5.0


def test_it_is_the_same_every_time() -> None:
    graph = parts(8, 20)
    assert (layout(*graph) == layout(*graph)).all()


def test_a_heavier_link_is_shorter() -> None:
    none, one = np.zeros(3, dtype=np.int64), np.array([0, 0])
    places = layout(none, one, np.array([1, 2]), np.array([1.0, 0.1]))
    apart = distances(places)
    assert apart[0, 1] < apart[0, 2]


def test_the_mesh_pushes_as_all_pairs_do() -> None:
    generator = np.random.default_rng(3)
    places = generator.uniform(-30.0, 30.0, (900, 2))
    exact, meshed = module._exact(places), module._on_mesh(places)
    wrong = np.hypot(*(exact - meshed).T) / np.hypot(*exact.T).mean()
    assert np.median(wrong) < 0.03
    assert np.percentile(wrong, 90) < 0.2


def test_nodes_in_one_place_are_pushed_apart() -> None:
    places = module._apart(np.zeros((40, 2)))
    apart = distances(places)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 0.5 * GAP


@given(
    st.lists(st.integers(0, 5), max_size=14),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13), st.floats(0.05, 1.0)), max_size=30),
)
@examples(60)
def test_any_graph_has_places(groups: list[int], links: list[tuple[int, int, float]]) -> None:
    links = [(one, other, weight) for one, other, weight in links if max(one, other) < len(groups)]
    source, target, weight = (np.array(each) for each in zip(*links, strict=True)) if links else (np.zeros(0),) * 3
    places = layout(
        np.array(groups, dtype=np.int64), source.astype(np.int64), target.astype(np.int64), weight.astype(np.float64)
    )
    assert places.shape == (len(groups), 2)
    assert np.isfinite(places).all()
