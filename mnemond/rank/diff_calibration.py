"""The cosines from which an embedder is heard when a new memory is compared with an old one (spec 7.2, 7.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import msgspec

from mnemond.model.policy import DiffPolicy

MEASURED: Final = {
    "minilm_static_256_int8": math.inf,
    "minilm_l6_v2_int8": math.inf,
}
"""From which cosine on, in the model's own scale, no contradiction was found (docs/decisions/0006): for neither of the
built-in models is there one.

The static model adds up words without their order, and contradictions are more alike to it (median .96) than
paraphrases (.90). The transformer gives contradictions up to .97, its own figure for a pair moves by up to .05 with
the texts it is computed beside, and where it does not know the characters different texts have a cosine of 1.
"""


class CosineThresholds(msgspec.Struct, frozen=True):
    """The numbers of a DiffPolicy on the scale of one embedder; an override that is infinite is never reached."""

    override: float
    update: float
    duplicate: float


def cosine_thresholds(model: str, policy: DiffPolicy, scale: Callable[[float], float]) -> CosineThresholds:
    """What `policy` means for the embedder called `model`; the tag of an Ollama model (":latest") does not count.

    `scale` maps a threshold of the reference embedder to this one (spec 7.3). A model nobody has measured is heard
    from the line on where it would call two texts duplicates, and only beside the evidence of words.
    """
    override = scale(policy.cosine_override)
    if policy.raise_override:
        override = max(override, MEASURED.get(model.partition(":")[0], scale(policy.duplicate)))
    return CosineThresholds(override, scale(policy.update), scale(policy.duplicate))


def on_reference_scale(cosine: float, thresholds: CosineThresholds, policy: DiffPolicy) -> float:
    """A cosine of the embedder as one of the reference scale, so that it can be compared with other rows' similarity.

    Straight lines through 0, the update threshold, the duplicate threshold and 1: a cosine on a threshold comes out
    on that threshold exactly, one between two of them between the two, and an uncalibrated cosine comes out as it is.
    """
    known = ((0.0, 0.0), (thresholds.update, policy.update), (thresholds.duplicate, policy.duplicate), (1.0, 1.0))
    low, low_is = known[0]
    for high, high_is in known[1:]:
        if cosine <= high:
            return high_is if cosine == high else low_is + (cosine - low) * (high_is - low_is) / (high - low)
        low, low_is = high, high_is
    return 1.0
