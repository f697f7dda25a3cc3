"""Boosts against the worked numbers (spec 7.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import RedundancySettings
from mnemond.memory.decay import accumulated, boost_gain
from tests.tables import each_row

SETTINGS = RedundancySettings()
DAYS = st.floats(-1e12, 1e12)


@each_row(
    ("gap", "expected"),
    [
        (0, 0.027332), (1, 0.074179), (3, 0.539586), (5, 3.576088), (7, 15.0), (8, 21.931757), (10, 28.577224),
        (14, 29.972668), (1_000_000, 30.0), (-5, 0.027332),
    ],
)  # fmt: skip
def test_worked_gains(gap: float, expected: float) -> None:
    assert boost_gain(gap, SETTINGS) == pytest.approx(expected, abs=1e-6)


def test_worked_accumulation() -> None:
    boost, seen = 0.0, []
    for gap in (10, 3, 7):
        boost = accumulated(boost, gap, SETTINGS)
        seen.append(boost)
    assert seen == pytest.approx([28.577224, 29.116810, 30.0], abs=1e-6)


@given(DAYS, DAYS)
def test_a_longer_gap_never_wins_less(one: float, other: float) -> None:
    shorter, longer = sorted((one, other))
    assert 0.0 <= boost_gain(shorter, SETTINGS) <= boost_gain(longer, SETTINGS) <= SETTINGS.boost_max_days


@given(st.floats(0, 30), DAYS)
def test_a_boost_never_shrinks_nor_exceeds_its_limit(boost: float, gap: float) -> None:
    assert boost <= accumulated(boost, gap, SETTINGS) <= SETTINGS.boost_max_days
