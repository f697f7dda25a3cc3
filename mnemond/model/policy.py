"""The numbers of the write path, as data with a source. Names follow the configuration (spec 5)."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.model.memory import EDGE_TYPES


class DiffPolicy(msgspec.Struct, frozen=True):
    """When a new memory repeats, corrects or refines an old one (spec 7.2; C2 and C3 of spec 3).

    `update`, `duplicate` and `cosine_override` are similarities of a reference embedder; those of cosines are mapped
    to the embedder's own scale (spec 7.3). `limit`: rows reported beside the decisive one.

    The last six are beyond the specification and measured (docs/decisions/0006); zeros and falses give its table to
    the letter. `cover`: the least part of the old words that must return in the new text before it takes the old
    one's place. `verbatim`: only what stands word for word in an old memory is skipped. `part`: the least part of the
    longer text that the other must make up for either (half of it for a correction). `cosine_evidence`: the least
    token similarity beside which a cosine is heard. `raise_override`: the cosine override rises where an embedder
    cannot tell a paraphrase from a contradiction. `subjects`: a text that is about something else (sprint 13, not
    sprint 12; another name) takes no other's place.
    """

    update: float = 0.65
    duplicate: float = 0.90
    cosine_override: float = 0.70
    novelty: float = 0.10
    min_tokens: int = 3
    limit: int = 5
    cover: float = 0.90
    verbatim: bool = True
    part: float = 0.50
    cosine_evidence: float = 0.50
    raise_override: bool = True
    subjects: bool = True


class TemporalPolicy(msgspec.Struct, frozen=True):
    """Proximity edges: at most `max_proximity`, to rows within `window_hours` of the new row's own time (spec 8)."""

    window_hours: float = 24.0
    max_proximity: int = 10


class EntityPolicy(msgspec.Struct, frozen=True):
    """Links over shared entities: newest holders per entity, links in all, and the IDF weight (spec 8, 7.12)."""

    max_links: int = 5
    max_total: int = 50
    idf_min_docs: int = 6
    idf_floor: float = 0.1


class CausalPolicy(msgspec.Struct, frozen=True):
    """Causal links to the `lookback` most recent rows that share `min_overlap` of their words (spec 8)."""

    min_overlap: float = 0.15
    lookback: int = 10
    max_candidates: int = 10
    max_hops: int = 2


class SemanticPolicy(msgspec.Struct, frozen=True):
    """Automatic links from `auto` on, candidates from `review` to `auto`: cosines of the reference embedder (spec 8).

    `fallback_min`: the least containment of a candidate when there are no vectors.
    """

    auto: float = 0.80
    review: float = 0.40
    fallback_min: float = 0.10
    max_auto: int = 3
    max_candidates: int = 5


class GraphPolicy(msgspec.Struct, frozen=True):
    """Every number of the four edge builders."""

    temporal: TemporalPolicy = TemporalPolicy()
    entity: EntityPolicy = EntityPolicy()
    causal: CausalPolicy = CausalPolicy()
    semantic: SemanticPolicy = SemanticPolicy()


class RedundancyPolicy(msgspec.Struct, frozen=True):
    """When a memory that is new still repeats another, and how the pair is strengthened (spec 7.4, 7.5, 7.15)."""

    enabled: bool = True
    threshold: float = 0.25
    alpha_nmi: float = 0.6
    bins: int = 16
    boost_max_days: float = 30.0
    boost_crit_days: float = 7.0
    boost_scale_days: float = 1.0
    min_edge_weight: float = 0.5
    alpha_key: float = 0.3


class PruningPolicy(msgspec.Struct, frozen=True):
    """Whether memories go that no link keeps any more, which ones (spec 7.6: PS), and how full a store must be for it:
    a share of `max_insights` (S2; spec 13, probability pruning)."""

    enabled: bool = False
    threshold: float = 0.01
    fullness: float = 0.9


class LifecyclePolicy(msgspec.Struct, frozen=True):
    """How much a store keeps, and what is never pruned (spec 13). `max_insights` 0 means no cap. `pruning`: what goes
    besides."""

    max_insights: int = 1000
    prune_batch: int = 10
    immune_importance: int = 4
    immune_access: int = 3
    pruning: PruningPolicy = PruningPolicy()


class ExtractionPolicy(msgspec.Struct, frozen=True):
    """What of a conversation is kept (spec 5 and 9). `importance_threshold`: the least importance, of ten;
    `message_window`: messages before the latest exchange that are looked at; `max_facts`: facts of one exchange;
    `auto_resolve_conflicts`: whether a fact takes the place of what it contradicts."""

    enabled: bool = True
    importance_threshold: int = 3
    message_window: int = 10
    max_facts: int = 20
    auto_resolve_conflicts: bool = True


class WritePolicy(msgspec.Struct, frozen=True):
    """Everything a write goes by. `min_confidence` is confidence in discarding (spec 6.8)."""

    diff: DiffPolicy = DiffPolicy()
    graph: GraphPolicy = GraphPolicy()
    redundancy: RedundancyPolicy = RedundancyPolicy()
    lifecycle: LifecyclePolicy = LifecyclePolicy()
    min_confidence: float = 0.7
    max_hypothetical: int = 2
    extraction: ExtractionPolicy = ExtractionPolicy()


# The numbers by which a recall walks the graph, as data with a source.


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
