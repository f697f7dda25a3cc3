"""Reciprocal rank fusion against the worked numbers, and its ties."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import AnchorSettings
from mnemond.index.snapshot import Snapshot
from mnemond.recall.fusion import RankedList, reciprocal_rank_fusion
from tests.examples import examples
from tests.index.worlds import built, insight
from tests.tables import each_row

A, B, C = range(3)

fuse = partial(reciprocal_rank_fusion, k=AnchorSettings().rrf_k)


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def plain(count: int) -> Snapshot:
    """Rows that nothing but their ids tells apart, the first one's id being the largest."""
    return built(*(insight(f"m{count - number:03}") for number in range(count))).snapshot


def test_worked_lists() -> None:
    snapshot = built(insight("a"), insight("b"), insight("c")).snapshot
    fused = fuse(snapshot, [RankedList(rows(A, B)), RankedList(rows(B, C)), RankedList(rows(C, A, B))])
    assert fused.rows.tolist() == [B, A, C]
    assert fused.scores.tolist() == pytest.approx([0.0483955, 0.0325225, 0.0325225], abs=1e-6)
    assert fused.normalised.tolist() == pytest.approx([1.0, 0.672015, 0.672015], abs=1e-6)


@each_row(("rank", "expected"), [(0, 0.016393), (1, 0.016129), (19, 0.0125)])
def test_worked_terms(rank: int, expected: float) -> None:
    fused = fuse(plain(20), [RankedList(np.arange(20))])
    assert fused.rows.tolist() == list(range(20))
    assert fused.scores[rank] == pytest.approx(expected, abs=1e-6)


def test_a_list_counts_as_it_weighs() -> None:
    fused = fuse(plain(2), [RankedList(rows(A, B), 0.2), RankedList(rows(B), 0.5), RankedList(rows(A), 0.3)])
    assert dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True)) == pytest.approx(
        {A: 0.2 / 61 + 0.3 / 61, B: 0.2 / 62 + 0.5 / 61}
    )
    assert fused.normalised[0] == 1.0


def test_nothing_and_lists_without_weight() -> None:
    assert fuse(plain(1), []).rows.tolist() == []
    assert fuse(plain(1), [RankedList(rows())]).scores.tolist() == []
    assert fuse(plain(1), [RankedList(rows(A), 0.0)]).normalised.tolist() == [0.0]


def test_ties_go_to_the_more_important_then_the_newer_then_the_smaller_id() -> None:
    snapshot = built(
        insight("d", importance=3, at=5), insight("c", importance=4, at=1), insight("b", importance=3, at=9),
        insight("a", importance=3, at=5), insight("e", importance=5, at=1),
    ).snapshot  # fmt: skip
    each = [RankedList(rows(row)) for row in (0, 1, 2, 3)]
    fused = fuse(snapshot, [RankedList(rows(4)), *each, RankedList(rows(4))])
    assert [snapshot.insight(row).id for row in fused.rows.tolist()] == ["e", "c", "b", "a", "d"]


@given(st.lists(st.permutations(range(4)), min_size=1, max_size=6))
@examples(40)
def test_the_order_of_the_lists_does_not_count(lists: list[list[int]]) -> None:
    snapshot = plain(4)
    one = fuse(snapshot, [RankedList(rows(*each)) for each in lists])
    other = fuse(snapshot, [RankedList(rows(*each)) for each in sorted(lists)])
    assert (one.rows.tobytes(), one.scores.tobytes()) == (other.rows.tobytes(), other.scores.tobytes())


@given(st.lists(st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.integers(1, 2), st.integers(0, 1)), max_size=8))
@examples(60)
def test_results_are_ordered_as_the_obvious_way(kinds: list[tuple[float, int, int]]) -> None:
    count = len(kinds)
    snapshot = built(
        *(insight(f"m{count - row}", importance=kind[1], at=kind[2]) for row, kind in enumerate(kinds))
    ).snapshot
    order = snapshot.in_order(np.arange(count), np.array([kind[0] for kind in kinds]))
    assert order.tolist() == sorted(range(count), key=lambda row: (*(-each for each in kinds[row]), count - row))
