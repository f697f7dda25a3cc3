"""How a memory fades with age: slowly, then fast, never altogether, and what is too faded to keep (spec 7.6)."""

from __future__ import annotations

import msgspec

from mnemond.rank.sigmoid import sigmoid

ISOLATED_WEIGHT = 0.5
"""What stands for the strongest link of a memory that has none; 0 would let it be pruned at birth (spec 7.6)."""


class DecayPolicy(msgspec.Struct, frozen=True):
    """The curve: half faded at `midpoint_days`, the more steeply the smaller `steepness_days`, straight up to
    `linear_cutoff_days`, down to `floor` (S2; spec 5, temporal_decay). Days, `steepness_days` above 0."""

    midpoint_days: float = 28.0
    steepness_days: float = 7.0
    linear_cutoff_days: float = 2.0
    floor: float = 0.05


DECAY = DecayPolicy()


def effective_age(age_days: float, boost_days: float) -> float:
    """Days of age that count: what a boost takes away is not below 0."""
    return max(0.0, age_days - boost_days)


def retention(effective_days: float, policy: DecayPolicy = DECAY) -> float:
    """τ, in [floor, 1]: 1 at age 0, then never rising. Negative ages count as 0.

    S2's form has no floor, exceeds 1 where a boost exceeds the age, and divides by a cutoff of 0; this one is
    continuous at the cutoff and does none of that.
    """
    days = max(0.0, effective_days)
    cutoff = policy.linear_cutoff_days
    if cutoff <= 0.0 or days >= cutoff:
        return _floored(days, policy)
    return 1.0 - days / cutoff * (1.0 - _floored(cutoff, policy))


def unfloored(effective_days: float, policy: DecayPolicy = DECAY) -> float:
    """τ0, in [0, 1 − floor]: the curve of pruning, which does reach 0."""
    return (1.0 - policy.floor) * sigmoid((policy.midpoint_days - max(0.0, effective_days)) / policy.steepness_days)


def prune_score(strongest: float | None, effective_days: float, policy: DecayPolicy = DECAY) -> float:
    """What still speaks for a memory, in [0, 1].

    `strongest`: the largest weight among its links to active memories, None when it has none.
    """
    return (ISOLATED_WEIGHT if strongest is None else strongest) * unfloored(effective_days, policy)


def _floored(days: float, policy: DecayPolicy) -> float:
    return policy.floor + unfloored(days, policy)
