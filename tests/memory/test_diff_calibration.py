"""From which cosine an embedder is heard, and the decision table beside vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.writing import DiffSettings
from mnemond.embed import registry
from mnemond.embed.calibration import Calibration, scaled, shipped
from mnemond.memory.diff import (
    MEASURED,
    SAFEGUARDS,
    CosineThresholds,
    DiffRules,
    Safeguards,
    cosine_thresholds,
    judge,
    on_reference_scale,
)
from tests.memory.diff_rows import OFF, ROWS, Row
from tests.tables import each_row

SETTINGS = DiffSettings()


def half(threshold: float) -> float:
    return threshold / 2


CALIBRATED = partial(scaled, calibration=Calibration(unrelated=0.2, paraphrase=0.9))
"""The scale of an embedder that nobody has measured beside contradictions, but whose spread is known."""

RAISED, UNRAISED = SAFEGUARDS, Safeguards(raise_override=False)


def rules(safeguards: Safeguards, calibration: Callable[[float], float] = CALIBRATED) -> DiffRules:
    thresholds = cosine_thresholds("other", SETTINGS, calibration, safeguards)
    return DiffRules(SETTINGS, thresholds, safeguards)


@pytest.mark.parametrize("name", registry.NAMES)
def test_no_built_in_model_is_ever_heard(name: str) -> None:
    assert cosine_thresholds(name, SETTINGS, partial(scaled, calibration=shipped(name))).override == math.inf


@each_row(("safeguards", "override"), [(RAISED, 0.97), (UNRAISED, 0.69)])
@each_row("row", ROWS)
def test_the_table_beside_the_vectors_of_a_calibrated_embedder(
    row: Row, safeguards: Safeguards, override: float
) -> None:
    by = rules(safeguards)
    thresholds = by.cosines
    assert thresholds.override == pytest.approx(override)
    below = judge(*row.sides(), math.nextafter(thresholds.override, 0.0), by)
    assert below.action == row.action
    assert below.similarity == pytest.approx(row.similarity, abs=5e-5)
    for cosine in (thresholds.override, 0.99, 1.0):
        meant = on_reference_scale(cosine, by)
        heard = safeguards.cosine_evidence <= row.similarity < meant
        verdict = judge(*row.sides(), cosine, by)
        assert verdict.action == row.action
        assert verdict.similarity == (meant if heard else pytest.approx(row.similarity, abs=5e-5))
        assert ("alike in meaning" in verdict.reason) is heard


def test_some_rows_of_the_table_are_heard() -> None:
    heard = [row for row in ROWS if "alike in meaning" in judge(*row.sides(), 0.98, rules(RAISED)).reason]
    assert [row.similarity for row in heard] == [0.6667, 0.8333, 0.75]


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0.51, 1), st.sampled_from([RAISED, UNRAISED]))
def test_no_cosine_changes_what_the_table_says(
    cosine: float, unrelated: float, paraphrase: float, safeguards: Safeguards
) -> None:
    by = rules(safeguards, partial(scaled, calibration=Calibration(unrelated, paraphrase)))
    for row in ROWS:
        assert judge(*row.sides(), cosine, by).action == row.action


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_contradiction_is_no_duplicate_at_any_cosine(
    cosine: float, override: float, update: float, duplicate: float
) -> None:
    thresholds = CosineThresholds(override, min(update, duplicate), max(update, duplicate))
    for row in (row for row in ROWS if row.action == "CONFLICT"):
        for safeguards in (RAISED, UNRAISED, OFF):
            assert judge(*row.sides(), cosine, DiffRules(SETTINGS, thresholds, safeguards)).action == "CONFLICT"


def test_every_built_in_model_is_measured() -> None:
    assert set(MEASURED) == set(registry.NAMES)


def test_an_unmeasured_model_is_heard_from_its_duplicate_threshold() -> None:
    assert cosine_thresholds("other:latest", SETTINGS, half) == CosineThresholds(0.45, 0.325, 0.45, 0.265, 0.175)


def test_a_measured_model_is_known_with_its_tag() -> None:
    assert cosine_thresholds("minilm_static_256_int8:latest", SETTINGS, half).override == math.inf


def test_the_rise_can_be_switched_off() -> None:
    found = cosine_thresholds("minilm_static_256_int8", SETTINGS, half, UNRAISED)
    assert found == CosineThresholds(0.35, 0.325, 0.45, 0.265, 0.175)


@each_row(
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
    own = DiffRules(SETTINGS, CosineThresholds(override=0.5, update=0.4, duplicate=0.8))
    assert on_reference_scale(cosine, own) == pytest.approx(similarity)
    assert (on_reference_scale(0.4, own), on_reference_scale(0.8, own)) == (0.65, 0.90)


@given(st.floats(0, 1))
def test_an_uncalibrated_cosine_stays(cosine: float) -> None:
    own = DiffRules(SETTINGS, cosine_thresholds("", SETTINGS, float))
    assert on_reference_scale(cosine, own) == pytest.approx(cosine)


@given(st.floats(0, 1.001), st.floats(0, 1), st.floats(0, 1))
def test_the_scale_is_total(cosine: float, update: float, duplicate: float) -> None:
    own = DiffRules(SETTINGS, CosineThresholds(0.0, min(update, duplicate), max(update, duplicate)))
    assert 0.0 <= on_reference_scale(cosine, own) <= 1.0
