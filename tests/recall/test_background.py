"""Cosines of all embedders and languages on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.embed.registry import DEFAULT, NAMES
from mnemond.index.arrays import Floats
from mnemond.recall.default_profile import Scale, scale_of
from mnemond.text.languages import Language

LANGUAGES: tuple[Language, ...] = ("en", "de", "zh")

MEASURED = [(name, language) for name in NAMES for language in LANGUAGES if (name, language) != (DEFAULT, "en")]


def scale(name: str, language: Language) -> Scale:
    found = scale_of(name, language)
    assert found is not None
    return found


def array(*cosines: float) -> Floats:
    return np.array(cosines, dtype=np.float32)


@given(st.sampled_from(MEASURED), st.floats(0.0, 1.0))
def test_a_threshold_is_the_cosine_that_lands_on_it(measured: tuple[str, Language], cosine: float) -> None:
    own = scale(*measured)
    raw = own.threshold(cosine, measured[1])
    found = own.similarity(own.of(array(raw)), [measured[1]])
    assert found[0] == pytest.approx(cosine, abs=1e-4) or raw == 0.0


@given(st.sampled_from(MEASURED), st.lists(st.floats(1 / 64, 1.0, width=32), min_size=2))
def test_order_stays(measured: tuple[str, Language], cosines: list[float]) -> None:
    assert (np.diff(scale(*measured).of(array(*sorted(cosines)))) >= 0).all()
