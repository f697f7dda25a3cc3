"""Effective importance against the published worked numbers (spec 7.14, vectors `ei`)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.model.memory import effective_importance
from tests.tables import each_row

CASES = [
    (5, 0, 0, 0, 1.0), (5, 0, 0, 7, 1.5), (4, 3, 30, 2, 0.665421), (3, 0, 0, 0, 0.5), (3, 0, 0, 4, 0.7),
    (3, 0, 30, 0, 0.25), (3, 2, 0, 0, 0.549306), (3, 3, 60, 6, 0.25993), (2, 10, 15, 10, 0.763006),
    (1, 0, 90, 0, 0.01875), (3, 0, -4, 0, 0.5),
]  # fmt: skip


@each_row(("importance", "access", "days", "degree", "expected"), CASES)
def test_worked_numbers(importance: int, access: int, days: float, degree: int, expected: float) -> None:
    assert effective_importance(importance, access, days, degree) == pytest.approx(expected, abs=1.5e-6)


@given(
    st.integers(1, 5), st.integers(0, 10**9), st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 10**6)
)
def test_total_and_never_negative(importance: int, access: int, days: float, degree: int) -> None:
    value = effective_importance(importance, access, days, degree)
    assert math.isfinite(value)
    assert value >= 0
