"""What a path through the graph is worth: four ways to go from the score of a row to that of its neighbour (7.9)."""

from __future__ import annotations

import numpy as np

from mnemond.graph.best_rows import Scores
from mnemond.model.recall_policy import EdgeWeights, PathPolicy


def type_worth(weights: EdgeWeights, policy: PathPolicy) -> Scores:
    """What an edge of weight 1 adds to a step, by position of its type in EDGE_TYPES, shape (types,).

    λ1·φ; of the largest φ for `activation`, which also shares the sum of λ1 and λ2 out between edge and cosine.
    """
    phi = np.array(weights.by_type(), dtype=np.float64)
    if policy.form == "activation":
        return phi * (policy.lambda1 / (float(phi.max()) or 1.0) / (policy.lambda1 + policy.lambda2))
    return phi * policy.lambda1


def cosine_worth(policy: PathPolicy) -> float:
    """What a cosine of 1 adds to a step."""
    return policy.lambda2 / (policy.lambda1 + policy.lambda2) if policy.form == "activation" else policy.lambda2


def extended(totals: Scores, steps: Scores, policy: PathPolicy) -> Scores:
    """S_v, shape (links,): the totals S_u of the rows the links leave from, each with the step of its link."""
    if policy.form == "magma":
        return policy.gamma * totals + np.exp(steps)
    return totals * steps if policy.form == "activation" else totals + steps


def path_scores(totals: Scores, hops: int, policy: PathPolicy) -> Scores:
    """By what paths of `hops` links are compared: their totals; for `mean` those shared out among their rows."""
    return totals / (hops + 1) if policy.form == "mean" else totals


def min_max(scores: Scores) -> Scores:
    """From the smallest at 0 to the largest at 1, shape kept; all 1 when they are equal."""
    if not len(scores):
        return scores
    least = scores.min()
    spread = scores.max() - least
    return (scores - least) / spread if spread > 0.0 else np.ones_like(scores)
