"""The curve over arrays is the curve of one memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.decay import DECAY, DecayPolicy, effective_age, effective_ages, retention, retentions


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e3)), min_size=1),
    st.sampled_from((DECAY, DecayPolicy(linear_cutoff_days=0.0), DecayPolicy(7.0, 2.0, 5.0, 0.2))),
)
def test_as_one_after_another(memories: list[tuple[float, float]], policy: DecayPolicy) -> None:
    ages, boosts = np.array(memories).T
    found = retentions(effective_ages(ages, boosts), policy)
    assert found.tolist() == pytest.approx([retention(effective_age(*one), policy) for one in memories], abs=1e-12)


def test_ages_without_measure_are_as_old_as_can_be() -> None:
    assert retentions(np.array([np.inf, -np.inf, -1.0])).tolist() == [DECAY.floor, 1.0, 1.0]
