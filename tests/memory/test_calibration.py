"""The thresholds of the write path on the scale of a store's own embedder (spec 7.3)."""

from __future__ import annotations

import math

import pytest

from mnemond.config.settings import Config
from mnemond.memory.write import calibration_of, write_rules
from mnemond.store.meta import EmbedderRecord
from tests.tables import each_row

CONFIG = Config()


def test_an_embedder_nobody_measured_is_taken_at_its_word() -> None:
    for record in (None, EmbedderRecord("unheard-of", 4, "x")):
        rules = write_rules(record, CONFIG)
        assert calibration_of(record) is None
        assert rules.config == CONFIG
        assert (rules.diff.cosines.update, rules.diff.cosines.duplicate) == (0.65, 0.90)
        assert rules.diff.cosines.override == 0.90  # unmeasured: heard only where it would call two texts duplicates


def test_what_was_measured_on_the_store_counts_before_what_was_shipped() -> None:
    measured = EmbedderRecord("minilm_l6_v2_int8", 384, "x", unrelated=0.1, paraphrase=0.6)
    rules = write_rules(measured, CONFIG)
    assert rules.config.graph.semantic.auto == pytest.approx(0.1 + 0.45 * (0.6 - 0.1) / 0.5)
    assert rules.config.graph.semantic.review == pytest.approx(0.15)
    assert rules.config.graph.temporal == CONFIG.graph.temporal
    shipped = write_rules(EmbedderRecord("minilm_l6_v2_int8", 384, "x"), CONFIG)
    assert shipped.config.graph.semantic != rules.config.graph.semantic
    assert calibration_of(EmbedderRecord("minilm_l6_v2_int8", 384, "x", unrelated=0.1)) == calibration_of(
        EmbedderRecord("minilm_l6_v2_int8", 384, "x")
    )


@each_row("name", ["minilm_l6_v2_int8", "minilm_static_256_int8"])
def test_of_the_models_that_come_along_no_cosine_decides(name: str) -> None:
    assert math.isinf(write_rules(EmbedderRecord(name, 4, "x"), CONFIG).diff.cosines.override)
