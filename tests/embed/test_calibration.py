"""Thresholds move with the model; what moves them can be measured, and gives the same numbers each time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.embed.calibration import (
    REFERENCE,
    SHIPPED,
    Calibration,
    calibrate,
    scaled,
    scaled_high,
    shipped,
    token_dropout,
    unrelated_pairs,
    unscaled,
)
from mnemond.errors import UNAVAILABLE, MnemonError
from tests.tables import each_row

shares = st.floats(min_value=0.0, max_value=1.0)
calibrations = st.tuples(shares, shares).filter(lambda both: both[0] < both[1]).map(lambda both: Calibration(*both))


@given(shares, shares, calibrations)
def test_order_and_bounds_are_kept(left: float, right: float, calibration: Calibration) -> None:
    low, high = sorted((left, right))
    assert 0.0 <= scaled(low, calibration) <= scaled(high, calibration) <= 1.0


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0.05, 0.5))
def test_a_cosine_is_led_back_to_the_scale_of_the_thresholds(cosine: float, unrelated: float, apart: float) -> None:
    calibration = Calibration(unrelated, unrelated + apart)
    back = unscaled(cosine, calibration)
    assert 0.0 <= back <= 1.0
    if 0.0 < back < 1.0:
        assert scaled(back, calibration) == pytest.approx(cosine, abs=1e-9)
    assert unscaled(unrelated, calibration) == pytest.approx(REFERENCE.unrelated)
    assert unscaled(unrelated + apart, calibration) == pytest.approx(REFERENCE.paraphrase)
    assert unscaled(cosine, None) == cosine


def test_every_built_in_model_is_calibrated() -> None:
    assert set(registry.NAMES) < set(SHIPPED)
    assert shipped("nomic-embed-text:v1.5") == SHIPPED["nomic-embed-text"]
    assert shipped("unheard-of") is None
    assert all(0.0 < each.unrelated < each.paraphrase < 1.0 for each in SHIPPED.values())


@each_row(("unrelated", "paraphrases"), [([], [0.9]), ([0.1], []), ([0.5], [0.5]), ([0.9], [0.2]), ([0.1], [math.nan])])
def test_what_tells_nothing_apart_is_no_calibration(unrelated: list[float], paraphrases: list[float]) -> None:
    with pytest.raises(MnemonError, match="cannot be calibrated") as caught:
        calibrate(unrelated, paraphrases)
    assert caught.value.kind is UNAVAILABLE


@given(st.text(max_size=200), shares, st.integers(0, 9))
def test_any_text_can_lose_words(text: str, share: float, seed: int) -> None:
    kept = token_dropout(text, share, seed)
    assert len(kept) <= len(text)
    if text.strip() and share < 1.0:
        assert kept


@given(st.integers(0, 50), st.integers(0, 40), st.integers(0, 5))
def test_pairs_are_of_two_different_rows(count: int, wanted: int, seed: int) -> None:
    pairs = unrelated_pairs(count, wanted, seed)
    assert len(pairs) == (wanted if count >= 2 else 0)
    assert all(0 <= left < count and 0 <= right < count and left != right for left, right in pairs)


def test_the_default_model_tells_paraphrases_from_the_rest() -> None:
    texts = [
        "Chose SQLite because the team lacks Redis experience",
        "The flaky mount leads to corruption of the write-ahead log",
        "Lunch on Friday is at the Italian place near the station",
        "Deploys go through the staging cluster before production",
        "Her daughter starts school in September and likes drawing",
        "Timeouts of the search service doubled after the upgrade",
    ]
    model = registry.create(registry.DEFAULT)
    vectors = model.embed(texts)
    others = model.embed([token_dropout(text) for text in texts])
    unrelated = [float(vectors[left] @ vectors[right]) for left, right in unrelated_pairs(len(texts), 30)]  # type: ignore[operator]
    paraphrases = [float(one @ other) for one, other in zip(vectors, others, strict=True)]  # type: ignore[operator]
    found = calibrate(unrelated, paraphrases)
    assert found.paraphrase > 0.8
    assert found.unrelated < 0.6


def test_a_threshold_beyond_a_paraphrase_stays_below_one() -> None:
    model = Calibration(0.5, 0.96)
    assert scaled(0.92, model) == 1.0
    assert scaled_high(0.92, model) == pytest.approx(0.96 + 0.07 / 0.15 * 0.04)
    assert (scaled_high(1.0, model), scaled_high(0.92, None)) == (1.0, 0.92)
    assert scaled_high(0.8, model) == scaled(0.8, model)
