"""Cosines of all embedders and languages on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed.background import BACKGROUNDS, REFERENCE, UNCHANGED, scale_of
from mnemond.embed.registry import DEFAULT, NAMES
from mnemond.text.languages import Language

LANGUAGES: tuple[Language, ...] = ("en", "de", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_unrelated_has_the_same_cosine_everywhere(name: str, language: Language) -> None:
    background, scale = BACKGROUNDS[name][language], scale_of(name, language)
    cosines = np.array([background.mean, background.mean + 3 * background.spread], dtype=np.float32)
    assert scale.of(cosines).tolist() == pytest.approx(
        [REFERENCE.mean, REFERENCE.mean + 3 * REFERENCE.spread], abs=1e-5
    )


def test_the_table_in_english_and_unmeasured_embedders_keep_their_cosines() -> None:
    assert scale_of(DEFAULT, "en") is scale_of(None, "de") is scale_of("nomic-embed-text", "zh") is UNCHANGED
    cosines = np.array([0.2, -0.1], dtype=np.float32)
    assert UNCHANGED.of(cosines) is cosines


def test_a_row_without_a_vector_gains_nothing() -> None:
    assert scale_of("minilm_l6_v2_int8", "en").of(np.zeros(3, dtype=np.float32)).tolist() == [0.0, 0.0, 0.0]


@given(st.sampled_from(NAMES), st.sampled_from(LANGUAGES), st.floats(0.0, 1.0))
def test_a_threshold_is_the_cosine_that_lands_on_it(name: str, language: Language, cosine: float) -> None:
    scale = scale_of(name, language)
    found = scale.of(np.array([scale.threshold(cosine)], dtype=np.float32))
    assert found[0] == pytest.approx(cosine, abs=1e-4) or scale.threshold(cosine) == 0.0


@given(st.sampled_from(NAMES), st.sampled_from(LANGUAGES), st.lists(st.floats(1 / 64, 1.0, width=32), min_size=2))
def test_order_stays(name: str, language: Language, cosines: list[float]) -> None:
    given_ = np.array(sorted(cosines), dtype=np.float32)
    found = scale_of(name, language).of(given_)
    assert (np.diff(found) >= 0).all()
    assert found.max() <= 1.0
