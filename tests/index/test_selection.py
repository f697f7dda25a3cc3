"""The k best, against sorting everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemond.index.arrays import SCORES_A_BLOCK, at_least_kth, top
from mnemond.index.writer import MemoryIndex
from tests.examples import examples
from tests.index.worlds import DIMENSION, insight
from tests.tables import each_row


# One for each way the bound is found, so that none depends on what is drawn.
@example(6 * SCORES_A_BLOCK, 3, 50, -np.inf, 0)
@example(SCORES_A_BLOCK, 9, 50, -1.0, 0)
@example(4, 9, 50, -0.001, 0)
@examples(60)
@given(
    st.integers(0, 6 * SCORES_A_BLOCK),
    st.integers(1, 9) | st.integers(10, SCORES_A_BLOCK // 2),
    st.integers(1, 50),
    st.sampled_from([-np.inf, -1.0, -0.001]),
    st.integers(0, 2**32 - 1),
)
def test_everything_down_to_the_kth_is_kept_and_nothing_else(
    size: int, k: int, values: int, never: float, seed: int
) -> None:
    scores = np.random.default_rng(seed).integers(-1, values, size).astype(np.float32)
    scores[scores < 0] = never
    finite = np.sort(scores[scores >= 0])[::-1]
    expected = np.flatnonzero(scores >= finite[min(k, len(finite)) - 1]) if len(finite) else np.zeros(0)
    assert at_least_kth(scores, k).tolist() == expected.tolist()


@each_row("k", [1, 2, 3, 4, 5, 6, 7])
def test_ties_go_to_importance_then_to_the_newer_then_to_the_smaller_id(k: int) -> None:
    rows = [
        insight("f", importance=3, at=1),
        insight("b", importance=3, at=1),
        insight("newer", importance=3, at=2),
        insight("a", importance=3, at=1),
        insight("important", importance=4, at=0),
        insight("best", importance=1, at=0),
        insight("never", importance=5, at=9),
    ]
    snapshot = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION).snapshot
    scores = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.7, -0.5], dtype=np.float32)
    order = [snapshot.insight(int(row)).id for row in snapshot.best(scores, k)]
    assert order == ["best", "important", "newer", "a", "b", "f"][:k]


def test_scores_may_belong_to_some_of_the_rows() -> None:
    rows = [insight(f"m{number}", importance=1 + number) for number in range(5)]
    snapshot = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION).snapshot
    places = snapshot.best(np.array([0.1, 0.2, 0.2], dtype=np.float32), 2, np.array([4, 0, 2]))
    assert places.tolist() == [2, 1]


@pytest.mark.parametrize("k", [1, 5, 200])
def test_a_thousand_ties_are_ordered_as_a_few_are(k: int) -> None:
    rows = [insight(f"m{number:04d}", importance=1 + number % 3, at=number % 7) for number in range(1000)]
    snapshot = MemoryIndex.build([(row, None) for row in rows], [], DIMENSION).snapshot
    scores = np.where(np.arange(1000) % 2 == 0, 0.5, 0.25).astype(np.float32)
    tied = [row for number, row in enumerate(rows) if number % 2 == 0]
    tied.sort(key=lambda row: row.id)
    tied.sort(key=lambda row: (row.importance, row.created_at), reverse=True)
    assert [snapshot.insight(int(row)).id for row in snapshot.best(scores, k)] == [row.id for row in tied[:k]]


@pytest.mark.parametrize("k", [0, 40, 60])
def test_the_best_of_many_rows_are_as_many_as_there_are(k: int) -> None:
    rows = np.arange(40)
    values = (rows % 7).astype(np.float32)
    expected = sorted(zip(values.tolist(), rows.tolist(), strict=True), reverse=True)[:k]
    assert top(rows, values, k) == [(row, value) for value, row in expected]
