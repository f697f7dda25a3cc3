"""Redundancy of two memories against the worked numbers (spec 7.4, 7.15)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import EdgeSimilaritySettings, RedundancySettings
from mnemond.memory.diff_rules import (
    edge_similarity,
    is_redundant,
    nmi_analytic,
    nmi_binned,
    pair_weight,
    redundancy,
    with_temporal_bonus,
)
from tests.tables import each_row

SETTINGS, EDGES = RedundancySettings(), EdgeSimilaritySettings()
SHARES = st.floats(0, 1)
Floats = npt.NDArray[np.float32]


@each_row(
    ("cosine", "expected"),
    [
        (-0.9, 0), (0, 0), (0.3, 0.01965), (0.5, 0.05994), (0.6, 0.092985), (0.7, 0.140294), (0.8, 0.212865),
        (0.85, 0.267095), (0.9, 0.346019), (0.93, 0.417070), (0.95, 0.485027), (0.99, 0.816128), (1, 1),
        (1.5, 1), (-1, 0), (math.nan, 0), (math.inf, 1), (-math.inf, 0),
    ],
)  # fmt: skip
def test_worked_information(cosine: float, expected: float) -> None:
    assert nmi_analytic(cosine) == pytest.approx(expected, abs=1e-6)


def test_information_is_measured_in_the_entropy_of_a_component() -> None:
    entropy = -0.5 * math.log(1 - 0.9**2) / nmi_analytic(0.9, 16)
    assert entropy == pytest.approx(2.399768, abs=1e-6)
    assert nmi_analytic(0.9, 32) < nmi_analytic(0.9, 16)
    assert nmi_analytic(0.9, 1) == 0.0


@given(st.floats(), st.integers(-3, 1000))
def test_information_is_total(cosine: float, bins: int) -> None:
    assert 0.0 <= nmi_analytic(cosine, bins) <= 1.0


@each_row(
    ("cosine", "jaccard", "score", "redundant"),
    [
        (0.9, 0.2, 0.287611, True), (0.8, 0.3, 0.247719, False), (0.8, 0.2, 0.207719, False),
        (0.5, 0.5, 0.235964, False), (None, 0.7, 0.28, True), (None, 0.6, 0.24, False), (-0.9, 0.5, 0.2, False),
        (None, 0.625, 0.25, False), (None, 0.626, 0.2504, True),
    ],
)  # fmt: skip
def test_worked_scores(cosine: float | None, jaccard: float, score: float, redundant: bool) -> None:
    found = redundancy(cosine, jaccard, SETTINGS)
    assert found == pytest.approx(score, abs=1e-6)
    assert is_redundant(found, SETTINGS) is redundant


@each_row(
    ("jaccard", "needed"),
    [(0, 0.92986), (0.1, 0.90200), (0.2, 0.86215), (0.3, 0.80406), (0.4, 0.71639), (0.5, 0.57416), (0.6, 0.27727)],
)
def test_the_cosine_that_redundancy_needs(jaccard: float, needed: float) -> None:
    assert not is_redundant(redundancy(needed - 1e-5, jaccard, SETTINGS), SETTINGS)
    assert is_redundant(redundancy(needed + 1e-5, jaccard, SETTINGS), SETTINGS)


def test_enough_words_need_no_more_than_any_likeness() -> None:
    assert not is_redundant(redundancy(0.0, 0.625, SETTINGS), SETTINGS)
    assert is_redundant(redundancy(1e-3, 0.625, SETTINGS), SETTINGS)


@given(st.none() | st.floats(-1, 1), SHARES)
def test_scores_stay_within_their_bounds(cosine: float | None, jaccard: float) -> None:
    assert 0.0 <= redundancy(cosine, jaccard, SETTINGS) <= 1.0
    assert 0.0 <= edge_similarity(cosine, jaccard, EDGES) <= 1.0


@given(st.floats(-1, 1), st.floats(-1, 1), SHARES, SHARES)
def test_scores_never_fall_when_likeness_rises(one: float, other: float, few: float, many: float) -> None:
    low, high = sorted((one, other))
    few, many = sorted((few, many))
    assert redundancy(low, few, SETTINGS) <= redundancy(high, many, SETTINGS) + 1e-12


@each_row(("hours", "expected"), [(0, 0.311578), (6, 0.295054), (24, 0.259648), (72, 0.220701)])
def test_worked_bonus_of_nearness_in_time(hours: float, expected: float) -> None:
    score = redundancy(0.8, 0.2, SETTINGS)
    assert with_temporal_bonus(score, hours, 0.5) == pytest.approx(expected, abs=1e-6)
    assert with_temporal_bonus(score, -hours, 0.5) == pytest.approx(expected, abs=1e-6)
    assert with_temporal_bonus(score, hours, 0.0) == score


@each_row(("cosine", "jaccard", "expected"), [(0.8, 0.2, 0.62), (None, 0.5, 0.15), (-0.5, 0.5, 0.15), (1.0, 1.0, 1.0)])
def test_worked_edge_similarity(cosine: float | None, jaccard: float, expected: float) -> None:
    assert edge_similarity(cosine, jaccard, EDGES) == pytest.approx(expected, abs=1e-6)


@each_row(("similarity", "weight"), [(0.62, 0.62), (0.2, 0.5), (1.2, 1.0)])
def test_a_pair_weighs_at_least_half(similarity: float, weight: float) -> None:
    assert pair_weight(similarity, EDGES) == weight


def floats(*numbers: float) -> Floats:
    return np.array(numbers, dtype=np.float32)


def test_worked_histogram() -> None:
    one, other = floats(-1, -1, 1, 1), floats(-1, -1, -1, 1)
    assert nmi_binned(one, other, 2, corrected=False) == pytest.approx(0.343711, abs=1e-6)
    # MI .215762 nats and NMI .343711 come from marginals of .693147 and .562335 nats; each side's one further bin
    # adds 1/8, the two further joint cells 2/8.
    assert nmi_binned(one, other, 2) == pytest.approx(2 * 0.215762 / (0.693147 + 0.562335 + 0.25), abs=1e-6)


@each_row(
    ("one", "other", "bins"),
    [
        (floats(1, 1, 1), floats(1, 2, 3), 16),
        (floats(1, 2, 3), floats(1, 1, 1), 16),
        (floats(1, 2, 3), floats(-1, -2, -3), 16),
        (floats(1, 2), floats(1, 2, 3), 16),
        (floats(), floats(), 16),
        (floats(1, 2, 3), floats(1, 2, 3), 1),
        (floats(1, 2, math.nan), floats(1, 2, 3), 16),
        (floats(1, 2, 3), floats(1, 2, math.inf), 16),
    ],
)
def test_vectors_that_tell_nothing(one: Floats, other: Floats, bins: int) -> None:
    assert nmi_binned(one, other, bins) == 0.0


def gaussian_pairs(dimension: int, correlation: float, count: int) -> list[tuple[Floats, Floats]]:
    random = np.random.default_rng(7)
    pairs: list[tuple[Floats, Floats]] = []
    while len(pairs) < count:
        one, noise = random.standard_normal((2, dimension)).astype(np.float32)
        other = np.float32(correlation) * one + np.float32(math.sqrt(1 - correlation**2)) * noise
        if one.dot(other) > 0:
            pairs.append((one, other))
    return pairs


@each_row(
    ("dimension", "bins", "corrected", "bias"), [(384, 16, False, 0.10), (384, 16, True, 0.05), (256, 32, False, 0.31)]
)
def test_the_bias_for_independent_vectors_is_the_published_one(
    dimension: int, bins: int, corrected: bool, bias: float
) -> None:
    found = [nmi_binned(*pair, bins, corrected=corrected) for pair in gaussian_pairs(dimension, 0.0, 60)]
    assert float(np.mean(found)) == pytest.approx(bias, abs=0.025)


def test_both_estimates_agree_on_gaussian_vectors() -> None:
    found = [nmi_binned(*pair) for pair in gaussian_pairs(384, 0.9, 60)]
    assert float(np.mean(found)) == pytest.approx(nmi_analytic(0.9), abs=0.04)


@given(st.lists(st.tuples(st.floats(-100, 100, width=32), st.floats(-100, 100, width=32)), max_size=40))
def test_histograms_are_total_and_symmetric(components: list[tuple[float, float]]) -> None:
    one, other = floats(*(each[0] for each in components)), floats(*(each[1] for each in components))
    found = nmi_binned(one, other)
    assert 0.0 <= found <= 1.0
    assert nmi_binned(other, one) == pytest.approx(found, abs=1e-9)


def test_a_vector_tells_everything_about_itself() -> None:
    one, _ = gaussian_pairs(384, 0.0, 1)[0]
    assert nmi_binned(one, one) == pytest.approx(1.0)
