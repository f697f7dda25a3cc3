"""Fading with age against the worked numbers (spec 7.6)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import TemporalDecaySettings
from mnemond.memory.decay import DECAY, effective_age, prune_score, retention, sigmoid, unfloored
from mnemond.model.memory import BASE
from tests.tables import each_row

CASES = [
    (-13, 1.0), (0, 1.0), (0.5, 0.994349), (1, 0.988698), (2, 0.977397), (7, 0.954945), (14, 0.886757),
    (21, 0.744506), (28, 0.525), (30, 0.457601), (35, 0.305494), (42, 0.163243), (56, 0.067087), (60, 0.059725),
    (90, 0.050135), (365, 0.05),
]  # fmt: skip


@each_row(("days", "expected"), CASES)
def test_worked_retention(days: float, expected: float) -> None:
    assert retention(days) == pytest.approx(expected, abs=1e-6)


@each_row(("age", "boost", "expected"), [(40, 15, 0.625256), (10, 15, 1.0), (28, 0, 0.525)])
def test_a_boost_makes_younger(age: float, boost: float, expected: float) -> None:
    assert retention(effective_age(age, boost)) == pytest.approx(expected, abs=1e-6)


def test_the_curve_is_continuous_where_the_line_ends() -> None:
    cutoff = DECAY.linear_cutoff_days
    assert retention(math.nextafter(cutoff, 0)) == pytest.approx(retention(cutoff), abs=1e-12)


def test_without_a_straight_part_the_curve_starts_below_one() -> None:
    settings = TemporalDecaySettings(linear_cutoff_days=0.0)
    assert retention(0, settings) == pytest.approx(0.982913, abs=1e-6)
    assert retention(28, settings) == retention(28)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_an_older_memory_is_never_fresher(one: float, other: float) -> None:
    younger, older = sorted((one, other))
    assert 1.0 >= retention(younger) >= retention(older) - 1e-12 >= DECAY.floor - 1e-9
    assert unfloored(younger) >= unfloored(older) >= 0.0


@each_row(
    ("strongest", "days", "expected"),
    [(0.5, 54, 0.011302), (0.5, 55, 0.009828), (None, 55, 0.009828), (1.0, 58, 0.012898), (1.0, 60, 0.009725)],
)
def test_worked_prune_scores(strongest: float | None, days: float, expected: float) -> None:
    assert prune_score(strongest, days) == pytest.approx(expected, abs=1e-6)


@each_row(("strongest", "days"), [(0.5, 54.88), (0.7, 57.27), (1.0, 59.80)])
def test_where_the_line_of_a_hundredth_is_crossed(strongest: float, days: float) -> None:
    assert prune_score(strongest, days - 0.01) > 0.01 > prune_score(strongest, days + 0.01)


@each_row(("days", "expected"), [(28, 0.2625), (60, 0.029863)])
def test_worked_importance_on_this_curve(days: float, expected: float) -> None:
    assert BASE[3] * retention(days) == pytest.approx(expected, abs=1e-6)


@given(st.floats(allow_nan=False))
def test_the_logistic_function_is_total_and_symmetric(x: float) -> None:
    assert 0.0 <= sigmoid(x) <= 1.0
    assert sigmoid(x) + sigmoid(-x) == pytest.approx(1.0)
