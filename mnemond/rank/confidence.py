"""One word for how much a result is to be trusted."""

from __future__ import annotations

from mnemond.model.recall import Confidence
from mnemond.rank.profiles import ConfidenceBounds


def label(evidence: float, bounds: ConfidenceBounds) -> Confidence:
    """The word for evidence in [0, 1]. Absolute, so that the best of nothing relevant is still low."""
    if evidence < bounds.medium:
        return "low"
    return "medium" if evidence < bounds.high else "high"
