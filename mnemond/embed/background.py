"""What the cosine of unrelated texts is, by embedder and language; and cosines of all of them on one scale.

A cosine of .5 says much of two English notes by the built-in table, and nothing of two German ones, which share their
function words. So cosines are compared with those of questions and memories that have nothing to do with each other: as
many spreads above their mean is as similar, whatever the embedder and the language.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from mnemond.index.arrays import Floats
from mnemond.text.languages import Language


class Background(msgspec.Struct, frozen=True):
    """Cosines of unrelated questions and memories of one language: their mean, and their standard deviation."""

    mean: float
    spread: float


REFERENCE: Final = Background(0.186, 0.113)
"""The scale on which the ranking, confidence and thresholds are stated: that of the built-in table in English."""

BACKGROUNDS: Final[dict[str, dict[Language, Background]]] = {
    "minilm_static_256_int8": {
        "en": REFERENCE,
        "de": Background(0.490, 0.122),
        "zh": Background(0.381, 0.150),
    },
    "minilm_l6_v2_int8": {
        "en": Background(0.068, 0.085),
        "de": Background(0.346, 0.092),
        "zh": Background(0.565, 0.087),
    },
    "multilingual_e5_small_q4": {
        "en": Background(0.742, 0.028),
        "de": Background(0.812, 0.022),
        "zh": Background(0.840, 0.018),
    },
}
"""By embedder and language of the question; measured by `python -m benchmarks.background`."""


class Scale(msgspec.Struct, frozen=True):
    """Converts the cosines of one embedder and language to those of `REFERENCE`: factor · cosine + shift."""

    factor: float = 1.0
    shift: float = 0.0

    def of(self, cosines: Floats) -> Floats:
        """Convert cosines, any shape. Those of exactly 0 stay so: they belong to rows without a vector."""
        if self == UNCHANGED:
            return cosines
        found: Floats = np.where(cosines == 0.0, np.float32(0.0), cosines * np.float32(self.factor))
        found[cosines != 0.0] += np.float32(self.shift)
        return np.minimum(found, np.float32(1.0), out=found)

    def threshold(self, cosine: float) -> float:
        """Return the embedder's cosine for one of the reference."""
        return (cosine - self.shift) / self.factor


UNCHANGED: Final = Scale()


def scale_of(embedder: str | None, language: Language) -> Scale:
    """Return the scale for the name of an embedder; cosines stay as they are for one that was not measured."""
    background = BACKGROUNDS.get(embedder or "", {}).get(language, REFERENCE)
    if background == REFERENCE:
        return UNCHANGED
    factor = REFERENCE.spread / background.spread
    return Scale(factor, REFERENCE.mean - factor * background.mean)
