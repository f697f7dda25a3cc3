"""What speaks for a memory before anything is asked: how fresh, how central and how often read it is (spec 7.7)."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.rank.tie_order import Scores


class PriorPolicy(msgspec.Struct, frozen=True):
    """`pagerank_weight` w: how much prominence counts beside freshness, and `combine` how the two go together.
    `weight` ω: how much of a score the prior decides; 0 leaves the published formula as it is (spec 5,
    retrieval.pagerank and prior)."""

    pagerank_weight: float = 0.3
    weight: float = 0.0
    combine: Literal["mix", "product"] = "mix"


def access_factor(accesses: npt.NDArray[np.integer], most: int) -> Scores:
    """(1 + ln(1 + a)) / (1 + ln(1 + a_max)), in (0, 1]: small for what was never read, but not 0.

    `most`: the largest number of accesses of any memory. S2's form is 0 / 0 at a_max = 1 and never lets anything be
    read that was not read before.
    """
    factor: Scores = (1.0 + np.log1p(accesses)) / (1.0 + np.log1p(most))
    return factor


def priors(
    retention: Scores, prominence: Scores, accesses: npt.NDArray[np.integer], most: int, policy: PriorPolicy
) -> Scores:
    """((1 − w)·τ + w·p̂)·access factor, in [0, 1]; shapes alike.

    A sum, not S2's product τ·p̂, which is to be had: being central keeps a memory from fading, it must not be able to
    lower anything (C26).
    """
    w = policy.pagerank_weight
    both = retention * prominence if policy.combine == "product" else (1.0 - w) * retention + w * prominence
    return both * access_factor(accesses, most)


def with_prior(scores: Scores, prior: Scores, policy: PriorPolicy) -> Scores:
    """score·((1 − ω) + ω·prior); shapes alike."""
    return scores * ((1.0 - policy.weight) + policy.weight * prior)
