"""How near memories are in meaning, with and without a graph that leads to the nearest."""

from __future__ import annotations

import numpy as np
import pytest

from mnemond.config.reading import HnswSettings
from mnemond.index import hnsw as approximates
from mnemond.index.hnsw import ApproximateIndex
from mnemond.recall.ranking import vector_scores
from tests.index.vector_worlds import at_once, by_hand, coded, dense, exhaustive, marks, unit

MATRIX = unit(400, 3)
QUESTION = unit(1, 4)[0]


def test_without_a_graph_every_row_has_its_cosine() -> None:
    near = vector_scores(dense(MATRIX), QUESTION, None, 10)
    assert near.first == pytest.approx(MATRIX @ QUESTION)
    assert near.of(np.array([3, 1])) == pytest.approx((MATRIX @ QUESTION)[[3, 1]])


@pytest.mark.parametrize("hidden", [(), (5, 6, 7)])
def test_with_a_graph_only_the_nearest_have_it_and_of_any_row_it_can_be_asked(
    monkeypatch: pytest.MonkeyPatch, hidden: tuple[int, ...]
) -> None:
    monkeypatch.setattr(approximates, "MIN_TAIL", 0)
    graph = ApproximateIndex(HnswSettings(), exhaustive, at_once)
    graph.keep_up(MATRIX, marks(len(MATRIX)), marks(len(MATRIX)))
    visible = marks(len(MATRIX), *hidden).astype(np.bool_) if hidden else None
    near = vector_scores(dense(MATRIX, coded(MATRIX), graph), QUESTION, visible, 10)
    nearest = by_hand(MATRIX, QUESTION, 10, visible)
    assert sorted(np.flatnonzero(near.first).tolist()) == sorted(nearest)
    assert near.first[nearest] == pytest.approx((MATRIX @ QUESTION)[nearest])
    every = np.arange(len(MATRIX))
    assert near.of(every) == pytest.approx(MATRIX @ QUESTION, abs=1e-6)
