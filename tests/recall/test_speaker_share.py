"""Whether those who answer are those who are asked about, and what an answer is to be trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.recall.ranking import TRUST_WITHOUT_MEANING, speaker_share, trust
from tests.examples import examples
from tests.tables import each_row

E = math.e


@each_row(
    ("scores", "named", "rows", "share"),
    [
        ([2, 1, 0], [True, False, False], 3, 1 / (1 + 1 / E + 1 / E**2)),
        ([2, 1, 0], [True, False, False], 2, 1 / (1 + 1 / E)),
        ([2, 1, 0], [True, False, False], 1, 1.0),
        ([2, 1, 0], [False, True, True], 1, 0.0),
        ([0, 1, 2], [True, False, True], 2, 1 / (1 + 1 / E)),
        ([5, 5, 5, 5], [True, False, False, False], 10, 0.25),
        ([1, 2], [False, False], 10, 1.0),  # nobody is named
        ([1, 2], [True, True], 10, 1.0),  # everybody is
        ([1000, -1000], [True, False], 10, 1.0),
        ([1000, -1000], [False, True], 10, 0.0),
    ],
)
def test_share_of_those_who_are_named(scores: list[float], named: list[bool], rows: int, share: float) -> None:
    found = speaker_share(np.array(scores, dtype=np.float32), np.array(named), rows)
    assert found == pytest.approx(share, abs=1e-6)


@each_row(
    ("agreed", "cosine", "sure"),
    [(1.0, 1.0, 1.0), (1.0, 0.0, TRUST_WITHOUT_MEANING), (0.5, 0.4, 0.5 * (0.7 + 0.3 * 0.4)), (0.0, 1.0, 0.0),
     (1.0, 1.5, 1.0), (1.0, -0.5, TRUST_WITHOUT_MEANING)],
)  # fmt: skip
def test_trust_in_an_answer(agreed: float, cosine: float, sure: float) -> None:
    assert trust(agreed, cosine) == pytest.approx(sure)


FINITE = st.floats(-1e4, 1e4, width=32)


@examples(100)
@given(st.lists(st.tuples(FINITE, st.booleans()), min_size=1, max_size=20), st.integers(1, 25))
def test_it_is_a_share_whatever_the_scores(drawn: list[tuple[float, bool]], rows: int) -> None:
    scores, named = (np.array(each) for each in zip(*drawn, strict=True))
    found = speaker_share(scores.astype(np.float32), named, rows)
    assert 0.0 <= found <= 1.0 + 1e-6
    others = speaker_share(scores.astype(np.float32), ~named, rows)
    assert named.all() or not named.any() or found + others == pytest.approx(1.0, abs=1e-5)
