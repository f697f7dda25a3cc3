"""Score fusion and the labels of confidence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.rank.confidence import label
from mnemond.rank.fusion import evidence, fuse
from mnemond.rank.profiles import MNEMOND, Confidence, Weights

WEIGHTS = Weights(keyword=0.45, vector=0.55)
SHARES = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=30)


def floats(*numbers: float) -> npt.NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)


def z_scores(signal: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    wide = signal.astype(np.float64)
    scores: npt.NDArray[np.float64] = (wide - wide.mean()) / wide.std()
    return scores


@given(SHARES, st.integers(0, 2**32 - 1))
def test_the_order_is_that_of_the_weighted_z_scores(shares: list[float], seed: int) -> None:
    keyword = np.round(floats(*shares), 3)
    similarity = np.round(np.random.default_rng(seed).random(len(shares)), 3).astype(np.float32)
    if keyword.std() < 0.01 or similarity.std() < 0.01:
        return
    fused = fuse(keyword, similarity, WEIGHTS)
    reference = 0.45 * z_scores(keyword) + 0.55 * z_scores(similarity)
    clear = np.diff(np.sort(reference)) > 1e-3
    order = np.argsort(reference)
    assert (np.diff(fused.scores[order])[clear] > 0).all()


@given(SHARES, SHARES)
def test_scores_are_averages_of_the_signals(first: list[float], second: list[float]) -> None:
    size = min(len(first), len(second))
    keyword, similarity = floats(*first[:size]), floats(*second[:size])
    fused = fuse(keyword, similarity, WEIGHTS)
    assert fused.keyword + fused.vector == pytest.approx(1.0)
    assert fused.scores == pytest.approx(fused.keyword * keyword + fused.vector * similarity, abs=1e-5)
    assert (fused.scores >= -1e-6).all()
    assert (fused.scores <= 1 + 1e-6).all()


def test_a_signal_that_does_not_vary_gets_no_weight() -> None:
    fused = fuse(floats(0, 0, 0), floats(0.1, 0.2, 0.3), WEIGHTS)
    assert (fused.keyword, fused.vector) == (0.0, 1.0)
    fused = fuse(floats(0, 0.5, 0), floats(0.2, 0.2, 0.2), WEIGHTS)
    assert (fused.keyword, fused.vector) == (1.0, 0.0)


def test_one_row_keeps_the_weights_as_given() -> None:
    fused = fuse(floats(0.5), floats(1.0), WEIGHTS)
    assert [fused.keyword, fused.vector] == pytest.approx([0.45, 0.55])
    assert fused.scores.tolist() == [pytest.approx(0.775)]


def test_a_missing_signal_leaves_its_weight_to_the_other() -> None:
    assert fuse(floats(0.5), None, WEIGHTS)[1:] == (1.0, 0.0)
    assert fuse(None, floats(0.5), WEIGHTS)[1:] == (0.0, 1.0)
    assert fuse(None, None, WEIGHTS).scores.shape == (0,)
    assert fuse(floats(), floats(), WEIGHTS).scores.shape == (0,)


def test_evidence_is_absolute_and_follows_the_weights_that_are_left() -> None:
    assert evidence(0.5, 1.0, WEIGHTS) == pytest.approx(0.775)
    assert evidence(0.5, 0.0, Weights(keyword=0.45, vector=0.0)) == pytest.approx(0.5)
    assert evidence(0.5, 0.5, Weights(keyword=0.0, vector=0.0)) == 0.0


@pytest.mark.parametrize(
    ("amount", "word"),
    [(0.0, "low"), (0.2499, "low"), (0.25, "medium"), (0.5999, "medium"), (0.6, "high"), (1.0, "high")],
)
def test_confidence_has_half_open_bounds(amount: float, word: str) -> None:
    assert label(amount, Confidence(medium=0.25, high=0.60)) == word


def test_every_number_of_the_default_profile_names_its_source() -> None:
    numbers = {name for name in MNEMOND.__struct_fields__ if name not in ("name", "sources")}
    assert set(MNEMOND.sources) == numbers
