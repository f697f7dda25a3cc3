"""The numbers by which a recall walks the graph, as data with a source."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.model.edge import EDGE_TYPES

Intent = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
"""What a question is after (spec 11.1)."""

PathForm = Literal["mean", "sum", "magma", "activation"]
"""How the score of a path grows with its length (spec 7.9; C8 of spec 3)."""


class EdgeWeights(msgspec.Struct, frozen=True):
    """What an edge of each type is worth to an intent: φ, in [0, 1]."""

    causal: float
    temporal: float
    entity: float
    semantic: float

    def by_type(self) -> tuple[float, ...]:
        """In the order of EDGE_TYPES."""
        return tuple(float(getattr(self, name)) for name in EDGE_TYPES)


EDGE_WEIGHTS: dict[Intent, EdgeWeights] = {
    "WHY": EdgeWeights(causal=0.70, temporal=0.20, entity=0.05, semantic=0.05),
    "WHEN": EdgeWeights(causal=0.15, temporal=0.65, entity=0.10, semantic=0.10),
    "ENTITY": EdgeWeights(causal=0.10, temporal=0.05, entity=0.55, semantic=0.30),
    "GENERAL": EdgeWeights(causal=0.25, temporal=0.25, entity=0.25, semantic=0.25),
}
"""Spec 7.9."""


class PathPolicy(msgspec.Struct, frozen=True):
    """`lambda1` weighs the edge, `lambda2` the cosine of the row it leads to with the query (MAGMA's table 6; spec 5);
    `gamma`: what `magma` keeps of the path so far.

    `mean` is the default: a sum grows with every hop, which makes the farthest row the best (spec 7.9).
    """

    form: PathForm = "mean"
    lambda1: float = 1.0
    lambda2: float = 0.4
    gamma: float = 0.5


class BeamLimits(msgspec.Struct, frozen=True):
    """Rows kept a depth, depths, and rows reached in all, anchors included.

    `starts`: how many of the best anchors are followed, None for all. The others are results all the same.
    """

    width: int
    depth: int
    budget: int
    starts: int | None = None


BEAM_LIMITS: dict[Intent, BeamLimits] = {
    "WHY": BeamLimits(width=15, depth=5, budget=500),
    "WHEN": BeamLimits(width=10, depth=5, budget=400),
    "ENTITY": BeamLimits(width=10, depth=4, budget=400),
    "GENERAL": BeamLimits(width=10, depth=4, budget=500),
}
"""Spec 11.3 (S0); the budget is one for all anchors (C23 of spec 3)."""


class PageRankPolicy(msgspec.Struct, frozen=True):
    """`damping`: how often a walk goes on instead of starting anew; rounds end at an L1 change below `tolerance`
    (spec 7.7)."""

    damping: float = 0.85
    tolerance: float = 1e-9
    rounds: int = 100


class LocalPageRankPolicy(msgspec.Struct, frozen=True):
    """Personalised PageRank near the anchors. `damping` .5 is what HippoRAG is reimplemented with (spec 11.3).

    `expanded`: rows whose links are followed, anchors included; a walk that reaches any other row starts anew. With
    300 of them ten thousand rows are walked in about a millisecond (performance §5). Half of what a round moves is
    what the one before moved, so `rounds` is where `tolerance` is reached.
    """

    damping: float = 0.5
    tolerance: float = 1e-7
    rounds: int = 24
    expanded: int = 300


class WalkPolicy(msgspec.Struct, frozen=True):
    """The probabilistic walk (S2; spec 5, retrieval.traversal): at most `max_nodes` rows, starts included.

    `exploration` is μ, `signal_decay` the most that is left of a signal after an edge (C24 of spec 3),
    `boost_max_days` Δ_max. `max_draws` is our own: a row with thousands of links must not hold up everybody else.
    """

    max_nodes: int = 5
    exploration: float = 2.0
    signal_decay: float = 0.8
    boost_max_days: float = 30.0
    max_draws: int = 1000


class TouchPolicy(msgspec.Struct, frozen=True):
    """Which results count as used: those of at least `min_score`; with `confident` only where something speaks for them
    but their age, and confidence is above low (spec 11.8)."""

    policy: Literal["confident", "any", "never"] = "confident"
    min_score: float = 0.25


class CausalOrderPolicy(msgspec.Struct, frozen=True):
    """`max_chain`: causes named behind one result (spec 11.7)."""

    max_chain: int = 5
