"""The thresholds of the write path on the scale of a store's own embedder (spec 7.3)."""

from __future__ import annotations

import math

import pytest

from mnemond.memory.limits import calibration_of, limits_of
from mnemond.model.policy import WritePolicy
from mnemond.store.meta import EmbedderRecord

POLICY = WritePolicy()


def test_an_embedder_nobody_measured_is_taken_at_its_word() -> None:
    for record in (None, EmbedderRecord("unheard-of", 4, "x")):
        limits = limits_of(record, POLICY)
        assert calibration_of(record) is None
        assert limits.policy == POLICY
        assert (limits.cosines.update, limits.cosines.duplicate) == (0.65, 0.90)
        assert limits.cosines.override == 0.90  # unmeasured: heard only where it would call two texts duplicates


def test_what_was_measured_on_the_store_counts_before_what_was_shipped() -> None:
    measured = EmbedderRecord("minilm_l6_v2_int8", 384, "x", unrelated=0.1, paraphrase=0.6)
    limits = limits_of(measured, POLICY)
    assert limits.policy.graph.semantic.auto == pytest.approx(0.1 + 0.45 * (0.6 - 0.1) / 0.5)
    assert limits.policy.graph.semantic.review == pytest.approx(0.15)
    assert limits.policy.graph.temporal == POLICY.graph.temporal
    shipped = limits_of(EmbedderRecord("minilm_l6_v2_int8", 384, "x"), POLICY)
    assert shipped.policy.graph.semantic != limits.policy.graph.semantic
    assert calibration_of(EmbedderRecord("minilm_l6_v2_int8", 384, "x", unrelated=0.1)) == calibration_of(
        EmbedderRecord("minilm_l6_v2_int8", 384, "x")
    )


@pytest.mark.parametrize("name", ["minilm_l6_v2_int8", "minilm_static_256_int8"])
def test_of_the_models_that_come_along_no_cosine_decides(name: str) -> None:
    assert math.isinf(limits_of(EmbedderRecord(name, 4, "x"), POLICY).cosines.override)
