"""The curve over arrays is the curve of one memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import TemporalDecaySettings
from mnemond.memory.decay import DECAY, effective_age, effective_ages, retention, retentions


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3)), min_size=1),
    st.sampled_from(
        (
            DECAY,
            TemporalDecaySettings(linear_cutoff_days=0.0),
            TemporalDecaySettings(midpoint_days=7.0, steepness_days=2.0, linear_cutoff_days=5.0, floor=0.2),
            TemporalDecaySettings(enabled=False),
        )
    ),
)
def test_as_one_after_another(memories: list[tuple[float, float]], settings: TemporalDecaySettings) -> None:
    ages, boosts = np.array(memories).T
    found = retentions(effective_ages(ages, boosts), settings)
    assert found.tolist() == pytest.approx([retention(effective_age(*one), settings) for one in memories], abs=1e-12)


def test_ages_without_measure_are_as_old_as_can_be() -> None:
    assert retentions(np.array([np.inf, -np.inf, -1.0])).tolist() == [DECAY.floor, 1.0, 1.0]


def test_disabled_nothing_fades() -> None:
    off = TemporalDecaySettings(enabled=False)
    assert retentions(np.array([0.0, 28.0, np.inf]), off).tolist() == [1.0, 1.0, 1.0]
    assert [retention(days, off) for days in (0.0, 28.0, 1e6)] == [1.0, 1.0, 1.0]
