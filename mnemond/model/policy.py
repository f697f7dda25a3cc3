"""The numbers of the write path, as data with a source. Names follow the configuration (spec 5)."""

from __future__ import annotations

import msgspec


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
