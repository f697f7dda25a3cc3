"""From which cosine an embedder is heard, and the decision table with each built-in model."""

from __future__ import annotations

import importlib.util
import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed import registry
from mnemond.embed.calibration import scaled, shipped
from mnemond.model.policy import DiffPolicy
from mnemond.rank.diff import judge
from mnemond.rank.diff_calibration import MEASURED, CosineThresholds, cosine_thresholds, on_reference_scale
from tests.rank.diff_rows import ROWS

POLICY = DiffPolicy()


def half(threshold: float) -> float:
    return threshold / 2


needs_runtime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason='onnxruntime is not installed: pip install "mnemond[onnx]"'
)


@pytest.mark.parametrize("name", ["minilm_static_256_int8", pytest.param("minilm_l6_v2_int8", marks=needs_runtime)])
def test_the_table_beside_the_vectors_of_each_model(name: str) -> None:
    model = registry.create(name)
    thresholds = cosine_thresholds(name, POLICY, partial(scaled, calibration=shipped(name)))
    for row in ROWS:
        old, new = model.embed([row.old, row.new])
        assert old is not None
        assert new is not None
        assert judge(*row.sides(), float(old @ new), POLICY, thresholds).action == row.action, row


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
