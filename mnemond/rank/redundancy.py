"""How much two memories say the same, from what their embeddings and their keywords share (spec 7.4, 7.15)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mnemond.model.policy import RedundancyPolicy

Floats = npt.NDArray[np.floating]
Bins = npt.NDArray[np.int64]

BINS = 16
"""Bins of a vector's components between −3 and 3 standard deviations (S2)."""

CLIP = 3.0
"""Standard deviations from the mean beyond which components count as the last bin."""

TEMPORAL_HALF_LIFE_HOURS = 24.0
"""Hours after which the bonus of nearness in time halves (S2, table C3)."""


def redundancy(cosine: float | None, jaccard: float, policy: RedundancyPolicy) -> float:
    """RS = α·NMI + (1 − α)·J, in [0, 1], and never falling in either of its two.

    `jaccard` of the keywords, in [0, 1]. Without a cosine the first term is 0 and the weights stay.
    """
    nmi = 0.0 if cosine is None else nmi_analytic(cosine, policy.bins)
    return policy.alpha_nmi * nmi + (1.0 - policy.alpha_nmi) * jaccard


def is_redundant(score: float, policy: RedundancyPolicy) -> bool:
    """Whether RS lies above the threshold; a score at the threshold does not."""
    return score > policy.threshold


def with_temporal_bonus(
    score: float, hours_apart: float, factor: float, half_life_hours: float = TEMPORAL_HALF_LIFE_HOURS
) -> float:
    """RS·(1 + f·2^(−|Δh| / half-life)): what was said twice within hours repeats itself the more (S2, table C3)."""
    nearness: float = 2.0 ** (-abs(hours_apart) / half_life_hours)
    return score * (1.0 + factor * nearness)


def nmi_analytic(cosine: float, bins: int = BINS) -> float:
    """Normalised mutual information of two vectors with jointly Gaussian components of that correlation, in [0, 1].

    −½·ln(1 − ρ²) over the entropy of one binned component, ½·ln(2πe) − ln(6 / bins). 0 for cosines up to 0, because
    information knows no sign and an opposite is no repetition; 0 for fewer than two bins, which tell nothing.
    """
    if bins < 2 or not cosine > 0.0:
        return 0.0
    if cosine >= 1.0:
        return 1.0
    entropy = 0.5 * math.log(2.0 * math.pi * math.e) - math.log(2.0 * CLIP / bins)
    return min(1.0, -0.5 * math.log1p(-cosine * cosine) / entropy)


def nmi_binned(one: Floats, other: Floats, bins: int = BINS, *, corrected: bool = True) -> float:
    """The same from histograms of the components themselves, in [0, 1] (S2); `corrected` after Miller and Madow.

    Shape (dimension,) each. Biased upwards, and meaningless for sparse vectors. 0 for vectors of different or no
    dimensions, for constant ones, for ones that are not finite, and for a cosine up to 0.
    """
    if one.shape != other.shape or not one.size or bins < 2:
        return 0.0
    first, second = _binned(one, bins), _binned(other, bins)
    if first is None or second is None or not float(np.dot(one, other)) > 0.0:
        return 0.0
    of_first = _entropy(first, corrected)
    of_second = _entropy(second, corrected)
    of_both = _entropy(first * bins + second, corrected)
    shared = max(0.0, of_first + of_second - of_both)
    return min(1.0, 2.0 * shared / (of_first + of_second))


def _binned(vector: Floats, bins: int) -> Bins | None:
    """Bin of each component; None when it says nothing."""
    wide = vector.astype(np.float64)
    if not np.isfinite(wide).all():
        return None
    spread = float(wide.std())
    if not spread > 0.0:
        return None
    scores = np.clip((wide - wide.mean()) / spread, -CLIP, CLIP)
    numbers: Bins = np.minimum((scores + CLIP) * (bins / (2.0 * CLIP)), bins - 1).astype(np.int64)
    return numbers


def _entropy(numbers: Bins, corrected: bool) -> float:
    """Nats, from the counts of equal numbers; corrected by (occupied − 1) / 2n."""
    counts = np.unique(numbers, return_counts=True)[1]
    shares = counts / len(numbers)
    bias = (len(counts) - 1) / (2.0 * len(numbers)) if corrected else 0.0
    return float(-(shares * np.log(shares)).sum()) + bias


def edge_similarity(cosine: float | None, jaccard: float, policy: RedundancyPolicy) -> float:
    """(1 − α_key)·cos + α_key·J, in [0, 1]: meaning ahead of words, as S2 intends (spec 7.15).

    No cosine, or a negative one, counts as 0.
    """
    nearness = max(0.0, cosine or 0.0)
    return min(1.0, (1.0 - policy.alpha_key) * nearness + policy.alpha_key * jaccard)


def pair_weight(similarity: float, policy: RedundancyPolicy) -> float:
    """Weight of the edge between two redundant memories of that edge similarity (spec 8)."""
    return min(1.0, max(policy.min_edge_weight, similarity))
