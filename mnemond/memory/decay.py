"""How a memory fades with age: slowly, then fast, never altogether, and what is too faded to keep (spec 7.6)."""

from __future__ import annotations

import math

import numpy as np

from mnemond.config.settings import RedundancySettings, TemporalDecaySettings
from mnemond.index.arrays import Scores

# The logistic function, in the form that overflows for no argument.


def sigmoid(x: float) -> float:
    """1 / (1 + e^−x), in [0, 1] for every x, infinities included."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)


ISOLATED_WEIGHT = 0.5
"""What stands for the strongest link of a memory that has none; 0 would let it be pruned at birth (spec 7.6)."""


DECAY = TemporalDecaySettings()
"""The curve of pruning: `retrieval.temporal_decay` is for recall alone."""


def effective_age(age_days: float, boost_days: float) -> float:
    """Days of age that count: what a boost takes away is not below 0."""
    return max(0.0, age_days - boost_days)


def retention(effective_days: float, settings: TemporalDecaySettings = DECAY) -> float:
    """τ, in [floor, 1]: 1 at age 0, then never rising. Negative ages count as 0.

    S2's form has no floor, exceeds 1 where a boost exceeds the age, and divides by a cutoff of 0; this one is
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
    """τ0, in [0, 1 − floor]: the curve of pruning, which does reach 0."""
    return (1.0 - settings.floor) * sigmoid(
        (settings.midpoint_days - max(0.0, effective_days)) / settings.steepness_days
    )


def prune_score(strongest: float | None, effective_days: float, settings: TemporalDecaySettings = DECAY) -> float:
    """What still speaks for a memory, in [0, 1].

    `strongest`: the largest weight among its links to active memories, None when it has none.
    """
    return (ISOLATED_WEIGHT if strongest is None else strongest) * unfloored(effective_days, settings)


def _floored(days: float, settings: TemporalDecaySettings) -> float:
    return settings.floor + unfloored(days, settings)


# How much younger a memory becomes when it is met again (spec 7.5).


def boost_gain(gap_days: float, settings: RedundancySettings) -> float:
    """Days won, in [0, boost_max_days]: half of them at `boost_crit_days`, all of them after long.

    `gap_days` counts from the last boost of the pair, else from the creation of its older member; negative counts as
    0. S2 subtracts times of different units within the exponential; here every time is in days.
    """
    late = (max(0.0, gap_days) - settings.boost_crit_days) / settings.boost_scale_days
    return settings.boost_max_days * sigmoid(late)


def accumulated(boost_days: float, gap_days: float, settings: RedundancySettings) -> float:
    """The boost of a pair that had `boost_days` and is met again: their sum, at most `boost_max_days`."""
    return min(settings.boost_max_days, boost_days + boost_gain(gap_days, settings))


# How faded many memories are, at once: the curve of `rank.decay` over arrays (spec 7.6).


def effective_ages(age_days: Scores, boost_days: Scores) -> Scores:
    """Days of age that count, none below 0; shapes alike."""
    return np.maximum(age_days - boost_days, 0.0)


def retentions(effective_days: Scores, settings: TemporalDecaySettings = DECAY) -> Scores:
    """τ of each, in [floor, 1], shape kept. Negative ages count as 0."""
    days = np.maximum(effective_days, 0.0)
    if not settings.enabled:
        return np.ones_like(days)
    with np.errstate(over="ignore"):  # what is infinitely old has faded to the floor
        curve = settings.floor + (1.0 - settings.floor) / (
            1.0 + np.exp((days - settings.midpoint_days) / settings.steepness_days)
        )
    cutoff = settings.linear_cutoff_days
    if cutoff <= 0.0:
        return curve
    return np.where(days >= cutoff, curve, 1.0 - days / cutoff * (1.0 - retention(cutoff, settings)))
