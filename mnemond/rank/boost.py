"""How much younger a memory becomes when it is met again (spec 7.5)."""

from __future__ import annotations

from mnemond.model.policy import RedundancyPolicy
from mnemond.rank.sigmoid import sigmoid


def boost_gain(gap_days: float, policy: RedundancyPolicy) -> float:
    """Days won, in [0, boost_max_days]: half of them at `boost_crit_days`, all of them after long.

    `gap_days` counts from the last boost of the pair, else from the creation of its older member; negative counts as
    0. S2 subtracts times of different units within the exponential; here every time is in days.
    """
    late = (max(0.0, gap_days) - policy.boost_crit_days) / policy.boost_scale_days
    return policy.boost_max_days * sigmoid(late)


def accumulated(boost_days: float, gap_days: float, policy: RedundancyPolicy) -> float:
    """The boost of a pair that had `boost_days` and is met again: their sum, at most `boost_max_days`."""
    return min(policy.boost_max_days, boost_days + boost_gain(gap_days, policy))
