"""What the cosine of unrelated texts is, by embedder and language; and cosines of all of them on one scale.

A cosine of .5 says much of two English notes by the built-in table, and nothing of two German ones, which share their
function words. So cosines are compared with those of questions and memories that have nothing to do with each other: as
many spreads above their mean is as similar, whatever the embedder and the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from mnemond.index.arrays import Floats
from mnemond.text.languages import Language


class Background(msgspec.Struct, frozen=True):
    """Cosines of unrelated questions of one language and memories: `means` by the language of the memory, and the
    standard deviation of those of the question's own language."""

    means: dict[Language, float]
    spread: float


REFERENCE_MEAN: Final = 0.186
REFERENCE_SPREAD: Final = 0.113
"""The scale on which confidence and thresholds are stated: that of the built-in table in English."""

BACKGROUNDS: Final[dict[str, dict[Language, Background]]] = {
    "minilm_static_256_int8": {
        "en": Background({"en": REFERENCE_MEAN, "de": 0.116, "zh": -0.001}, REFERENCE_SPREAD),
        "de": Background({"en": 0.116, "de": 0.490, "zh": 0.149}, 0.122),
        "zh": Background({"en": -0.001, "de": 0.149, "zh": 0.381}, 0.150),
    },
    "minilm_l6_v2_int8": {
        "en": Background({"en": 0.068, "de": 0.027, "zh": 0.027}, 0.085),
        "de": Background({"en": 0.027, "de": 0.346, "zh": 0.162}, 0.092),
        "zh": Background({"en": 0.027, "de": 0.162, "zh": 0.565}, 0.087),
    },
    "multilingual_e5_small_q4": {
        "en": Background({"en": 0.742, "de": 0.765, "zh": 0.766}, 0.028),
        "de": Background({"en": 0.768, "de": 0.812, "zh": 0.782}, 0.022),
        "zh": Background({"en": 0.764, "de": 0.791, "zh": 0.840}, 0.018),
    },
}
"""By embedder and language of the question; measured by `python -m benchmarks.background`."""


class Scale(msgspec.Struct, frozen=True):
    """Converts the cosines of one embedder with a question of one language to those of the table in English.

    `factor`: of a cosine. `means`: of unrelated memories, by their language. `least`: the mean that is subtracted where
    the language of the memories is not known: that of the question's language, or of English if that is smaller, so
    that no memory in another language than the question seems less than unrelated.
    """

    factor: float
    means: dict[Language, float]
    least: float

    def of(self, cosines: Floats) -> Floats:
        """Convert cosines of memories whose language is not known, any shape. Those of exactly 0 stay so: they belong
        to rows without a vector."""
        found: Floats = np.where(
            cosines == 0.0, np.float32(0.0), (cosines - np.float32(self.least)) * np.float32(self.factor)
        ).astype(np.float32)
        found[cosines != 0.0] += np.float32(REFERENCE_MEAN)
        return found

    def similarity(self, converted: Floats, languages: Sequence[Language]) -> Floats:
        """Return what `of` returned as it is for memories of these languages, in [0, 1]; shapes (n,)."""
        beyond = [self.factor * (self.means[language] - self.least) for language in languages]
        found: Floats = np.clip(converted - np.array(beyond, dtype=np.float32), 0.0, 1.0)
        return found

    def threshold(self, cosine: float, language: Language) -> float:
        """Return the embedder's cosine of two memories of one language for one of the reference."""
        return self.means[language] + (cosine - REFERENCE_MEAN) / self.factor


def scale_of(embedder: str | None, language: Language) -> Scale | None:
    """Return the scale for the name of an embedder; None where cosines stay as they are: with the table in English, and
    with an embedder that was not measured."""
    background = BACKGROUNDS.get(embedder or "", {}).get(language)
    if background is None or (background.spread, background.means[language]) == (REFERENCE_SPREAD, REFERENCE_MEAN):
        return None
    least = min(background.means[language], background.means["en"])
    return Scale(REFERENCE_SPREAD / background.spread, background.means, least)
