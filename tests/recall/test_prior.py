"""Priors of memories against worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import PageRankSettings
from mnemond.memory.decay import retention
from mnemond.recall.profiles import access_factor, priors, with_prior
from tests.tables import each_row


@each_row(
    ("accesses", "most", "expected"),
    [(0, 0, 1.0), (0, 1, 0.590616), (1, 1, 1.0), (0, 10, 0.294300), (3, 10, 0.702286), (10, 10, 1.0)],
)
def test_worked_access_factors(accesses: int, most: int, expected: float) -> None:
    assert access_factor(np.array([accesses], dtype=np.int32), most)[0] == pytest.approx(expected, abs=1e-6)


@each_row(
    ("days", "prominence", "accesses", "most", "expected"),
    [(28, 1.0, 0, 10, 0.196445), (28, 0.2, 0, 10, 0.125813), (365, 1.0, 10, 10, 0.335), (0, 0.2, 0, 0, 0.76)],
)
def test_worked_priors(days: float, prominence: float, accesses: int, most: int, expected: float) -> None:
    found = priors(np.array([retention(days)]), np.array([prominence]), np.array([accesses]), most, PageRankSettings())
    assert found[0] == pytest.approx(expected, abs=1e-6)


@each_row(("weight", "expected"), [(0.0, 0.8), (1.0, 0.2), (0.5, 0.5)])
def test_how_much_of_a_score_the_prior_decides(weight: float, expected: float) -> None:
    found = with_prior(np.array([0.8]), np.array([0.25]), weight)
    assert found[0] == pytest.approx(expected)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6), st.integers(0, 10**6))
def test_priors_lie_between_0_and_1(fading: float, prominence: float, one: int, other: int) -> None:
    few, most = sorted((one, other))
    found = priors(np.array([fading]), np.array([prominence]), np.array([few]), most, PageRankSettings())[0]
    assert 0.0 <= found <= 1.0 + 1e-12


def test_without_pagerank_the_prior_is_freshness_and_use() -> None:
    off = PageRankSettings(enabled=False, combine="product")
    found = priors(np.array([0.5]), np.array([0.2]), np.array([3]), 10, off)
    assert found[0] == pytest.approx(0.5 * 0.702286, abs=1e-6)
