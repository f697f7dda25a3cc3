"""Temporal decay: retention by age, probability pruning, and the boost of repeated memories."""

from __future__ import annotations

import math

import numpy as np

from mnemond.config.reading import TemporalDecaySettings
from mnemond.config.writing import RedundancySettings
from mnemond.index.arrays import Scores


def sigmoid(x: float) -> float:
    """Return 1 / (1 + e^−x), in [0, 1] for every x, infinities included."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)


ISOLATED_WEIGHT = 0.5
"""Replaces the strongest link weight of a memory without links; 0 would let it be pruned at birth."""

DECAY = TemporalDecaySettings()
"""The decay curve of pruning; `retrieval.temporal_decay` applies to recall only."""


def effective_age(age_days: float, boost_days: float) -> float:
    """Return the age reduced by the boost, at least 0."""
    return max(0.0, age_days - boost_days)


def retention(effective_days: float, settings: TemporalDecaySettings = DECAY) -> float:
    """Compute τ in [floor, 1]: 1 at age 0, then never rising. Negative ages count as 0.

    Mnemosyne's form has no floor, exceeds 1 where a boost exceeds the age, and divides by a cutoff of 0; this one is
    continuous at the cutoff and does none of that.
    """
    if not settings.enabled:
        return 1.0
    days = max(0.0, effective_days)
    cutoff = settings.linear_cutoff_days
    if cutoff <= 0.0 or days >= cutoff:
        return _floored(days, settings)
    return 1.0 - days / cutoff * (1.0 - _floored(cutoff, settings))


def unfloored(effective_days: float, settings: TemporalDecaySettings = DECAY) -> float:
    """Compute τ0 in [0, 1 − floor]: the curve of pruning, which reaches 0."""
    return (1.0 - settings.floor) * sigmoid(
        (settings.midpoint_days - max(0.0, effective_days)) / settings.steepness_days
    )


def prune_score(strongest: float | None, effective_days: float, settings: TemporalDecaySettings = DECAY) -> float:
    """Compute the pruning score in [0, 1] (Mnemosyne): strongest link times remaining retention.

    `strongest`: the largest weight among its links to active memories, None when it has none.
    """
    return (ISOLATED_WEIGHT if strongest is None else strongest) * unfloored(effective_days, settings)


def _floored(days: float, settings: TemporalDecaySettings) -> float:
    return settings.floor + unfloored(days, settings)


def boost_gain(gap_days: float, settings: RedundancySettings) -> float:
    """Compute the days gained by a repetition, in [0, boost_max_days]: half at `boost_crit_days`, nearly all later.

    `gap_days` counts from the last boost of the pair, else from the creation of its older member; negative counts as
    0. Mnemosyne subtracts times of different units within the exponential; here every time is in days.
    """
    late = (max(0.0, gap_days) - settings.boost_crit_days) / settings.boost_scale_days
    return settings.boost_max_days * sigmoid(late)


def accumulated(boost_days: float, gap_days: float, settings: RedundancySettings) -> float:
    """Return the boost of a pair after another repetition: the sum, at most `boost_max_days`."""
    return min(settings.boost_max_days, boost_days + boost_gain(gap_days, settings))


def effective_ages(age_days: Scores, boost_days: Scores) -> Scores:
    """Return `effective_age` elementwise; equal shapes."""
    return np.maximum(age_days - boost_days, 0.0)


def retentions(effective_days: Scores, settings: TemporalDecaySettings = DECAY) -> Scores:
    """Compute `retention` elementwise, same shape."""
    days = np.maximum(effective_days, 0.0)
    if not settings.enabled:
        return np.ones_like(days)
    with np.errstate(over="ignore"):  # infinite age gives the floor
        curve = settings.floor + (1.0 - settings.floor) / (
            1.0 + np.exp((days - settings.midpoint_days) / settings.steepness_days)
        )
    cutoff = settings.linear_cutoff_days
    if cutoff <= 0.0:
        return curve
    return np.where(days >= cutoff, curve, 1.0 - days / cutoff * (1.0 - retention(cutoff, settings)))
