"""From which cosine an embedder is heard, and the decision table beside vectors."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.embed.registry import Calibration, scaled, shipped
from mnemond.memory.diff import MEASURED, CosineThresholds, cosine_thresholds, judge, on_reference_scale
from mnemond.model.policy import DiffPolicy
from tests.memory.diff_rows import LITERAL, ROWS, Row

POLICY = DiffPolicy()


def half(threshold: float) -> float:
    return threshold / 2


CALIBRATED = partial(scaled, calibration=Calibration(unrelated=0.2, paraphrase=0.9))
"""The scale of an embedder that nobody has measured beside contradictions, but whose spread is known."""

RAISED, UNRAISED = DiffPolicy(), DiffPolicy(raise_override=False)


@pytest.mark.parametrize("name", registry.NAMES)
def test_no_built_in_model_is_ever_heard(name: str) -> None:
    assert cosine_thresholds(name, POLICY, partial(scaled, calibration=shipped(name))).override == math.inf


@pytest.mark.parametrize(("policy", "override"), [(RAISED, 0.97), (UNRAISED, 0.69)], ids=["raised", "not raised"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.new[:40])
def test_the_table_beside_the_vectors_of_a_calibrated_embedder(row: Row, policy: DiffPolicy, override: float) -> None:
    thresholds = cosine_thresholds("other", policy, CALIBRATED)
    assert thresholds.override == pytest.approx(override)
    below = judge(*row.sides(), math.nextafter(thresholds.override, 0.0), policy, thresholds)
    assert below.action == row.action
    assert below.similarity == pytest.approx(row.similarity, abs=5e-5)
    for cosine in (thresholds.override, 0.99, 1.0):
        meant = on_reference_scale(cosine, thresholds, policy)
        heard = policy.cosine_evidence <= row.similarity < meant
        verdict = judge(*row.sides(), cosine, policy, thresholds)
        assert verdict.action == row.action
        assert verdict.similarity == (meant if heard else pytest.approx(row.similarity, abs=5e-5))
        assert ("alike in meaning" in verdict.reason) is heard


def test_some_rows_of_the_table_are_heard() -> None:
    thresholds = cosine_thresholds("other", RAISED, CALIBRATED)
    heard = [row for row in ROWS if "alike in meaning" in judge(*row.sides(), 0.98, RAISED, thresholds).reason]
    assert [row.similarity for row in heard] == [0.6667, 0.8333, 0.75]


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0.51, 1), st.sampled_from([RAISED, UNRAISED]))
def test_no_cosine_changes_what_the_table_says(
    cosine: float, unrelated: float, paraphrase: float, policy: DiffPolicy
) -> None:
    spread = Calibration(unrelated, paraphrase)
    thresholds = cosine_thresholds("other", policy, partial(scaled, calibration=spread))
    for row in ROWS:
        assert judge(*row.sides(), cosine, policy, thresholds).action == row.action


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_contradiction_is_no_duplicate_at_any_cosine(
    cosine: float, override: float, update: float, duplicate: float
) -> None:
    thresholds = CosineThresholds(override, min(update, duplicate), max(update, duplicate))
    for row in (row for row in ROWS if row.action == "CONFLICT"):
        for policy in (RAISED, UNRAISED, LITERAL):
            assert judge(*row.sides(), cosine, policy, thresholds).action == "CONFLICT"


def test_every_built_in_model_is_measured() -> None:
    assert set(MEASURED) == set(registry.NAMES)


def test_an_unmeasured_model_is_heard_from_its_duplicate_threshold() -> None:
    assert cosine_thresholds("other:latest", POLICY, half) == CosineThresholds(0.45, 0.325, 0.45)


def test_a_measured_model_is_known_with_its_tag() -> None:
    assert cosine_thresholds("minilm_static_256_int8:latest", POLICY, half).override == math.inf


def test_the_rise_can_be_switched_off() -> None:
    literal = DiffPolicy(raise_override=False)
    assert cosine_thresholds("minilm_static_256_int8", literal, half) == CosineThresholds(0.35, 0.325, 0.45)


@pytest.mark.parametrize(
    ("cosine", "similarity"),
    [
        (-0.5, -0.8125),
        (0.0, 0.0),
        (0.2, 0.325),
        (0.4, 0.65),
        (0.6, 0.775),
        (0.8, 0.90),
        (0.9, 0.95),
        (1.0, 1.0),
        (1.001, 1.0),
    ],
)
def test_thresholds_come_out_on_thresholds(cosine: float, similarity: float) -> None:
    own = CosineThresholds(override=0.5, update=0.4, duplicate=0.8)
    assert on_reference_scale(cosine, own, POLICY) == pytest.approx(similarity)
    assert (on_reference_scale(0.4, own, POLICY), on_reference_scale(0.8, own, POLICY)) == (0.65, 0.90)


@given(st.floats(0, 1))
def test_an_uncalibrated_cosine_stays(cosine: float) -> None:
    own = cosine_thresholds("", POLICY, float)
    assert on_reference_scale(cosine, own, POLICY) == pytest.approx(cosine)


@given(st.floats(0, 1.001), st.floats(0, 1), st.floats(0, 1))
def test_the_scale_is_total(cosine: float, update: float, duplicate: float) -> None:
    own = CosineThresholds(0.0, min(update, duplicate), max(update, duplicate))
    assert 0.0 <= on_reference_scale(cosine, own, POLICY) <= 1.0
