"""How faded many memories are, at once: the curve of `rank.decay` over arrays (spec 7.6)."""

from __future__ import annotations

import numpy as np

from mnemond.rank.decay import DECAY, DecayPolicy, retention
from mnemond.rank.tie_order import Scores


def effective_ages(age_days: Scores, boost_days: Scores) -> Scores:
    """Days of age that count, none below 0; shapes alike."""
    return np.maximum(age_days - boost_days, 0.0)


def retentions(effective_days: Scores, policy: DecayPolicy = DECAY) -> Scores:
    """τ of each, in [floor, 1], shape kept. Negative ages count as 0."""
    days = np.maximum(effective_days, 0.0)
    with np.errstate(over="ignore"):  # what is infinitely old has faded to the floor
        curve = policy.floor + (1.0 - policy.floor) / (
            1.0 + np.exp((days - policy.midpoint_days) / policy.steepness_days)
        )
    cutoff = policy.linear_cutoff_days
    if cutoff <= 0.0:
        return curve
    return np.where(days >= cutoff, curve, 1.0 - days / cutoff * (1.0 - retention(cutoff, policy)))
