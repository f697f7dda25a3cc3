"""Cosines of all embedders and languages on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed.registry import DEFAULT, NAMES
from mnemond.index.arrays import Floats
from mnemond.recall.default_profile import BACKGROUNDS, REFERENCE_MEAN, REFERENCE_SPREAD, Scale, scale_of
from mnemond.text.languages import Language
from tests.tables import each_row

LANGUAGES: tuple[Language, ...] = ("en", "de", "zh")

MEASURED = [(name, language) for name in NAMES for language in LANGUAGES if (name, language) != (DEFAULT, "en")]


def scale(name: str, language: Language) -> Scale:
    found = scale_of(name, language)
    assert found is not None
    return found


def array(*cosines: float) -> Floats:
    return np.array(cosines, dtype=np.float32)


@each_row(("name", "language"), MEASURED)
@each_row("other", LANGUAGES)
def test_what_is_unrelated_has_the_same_similarity_everywhere(name: str, language: Language, other: Language) -> None:
    background, own = BACKGROUNDS[name][language], scale(name, language)
    mean, spread = background.means[other], background.spread
    found = own.similarity(own.of(array(mean, mean + 3 * spread)), [other, other])
    assert found.tolist() == pytest.approx([REFERENCE_MEAN, REFERENCE_MEAN + 3 * REFERENCE_SPREAD], abs=1e-4)


@each_row(("name", "language"), MEASURED)
def test_no_language_of_memories_seems_less_than_unrelated_before_it_is_known(name: str, language: Language) -> None:
    means = BACKGROUNDS[name][language].means
    assert (scale(name, language).of(array(*(means[it] for it in ("en", language)))) >= REFERENCE_MEAN - 1e-4).all()


def test_the_table_in_english_and_unmeasured_embedders_keep_their_cosines() -> None:
    assert scale_of(DEFAULT, "en") is scale_of(None, "de") is scale_of("nomic-embed-text", "zh") is None


def test_a_row_without_a_vector_gains_nothing() -> None:
    assert scale("minilm_l6_v2_int8", "en").of(array(0.0, 0.0)).tolist() == [0.0, 0.0]


@given(st.sampled_from(MEASURED), st.floats(0.0, 1.0))
def test_a_threshold_is_the_cosine_that_lands_on_it(measured: tuple[str, Language], cosine: float) -> None:
    own = scale(*measured)
    raw = own.threshold(cosine, measured[1])
    found = own.similarity(own.of(array(raw)), [measured[1]])
    assert found[0] == pytest.approx(cosine, abs=1e-4) or raw == 0.0


@given(st.sampled_from(MEASURED), st.lists(st.floats(1 / 64, 1.0, width=32), min_size=2))
def test_order_stays(measured: tuple[str, Language], cosines: list[float]) -> None:
    assert (np.diff(scale(*measured).of(array(*sorted(cosines)))) >= 0).all()
