"""The policy of all writes, as the configuration has it."""

from __future__ import annotations

from mnemond.config import Config
from mnemond.index.approximate import Hnsw
from mnemond.index.dense import VectorPolicy
from mnemond.model.policy import (
    CausalPolicy,
    DiffPolicy,
    EntityPolicy,
    ExtractionPolicy,
    GraphPolicy,
    LifecyclePolicy,
    PruningPolicy,
    RedundancyPolicy,
    SemanticPolicy,
    TemporalPolicy,
    WritePolicy,
)
from mnemond.write_settings import DAY_S, Commitment, Extraction, Graph, seconds


def write_policy(config: Config) -> WritePolicy:
    """What the configuration says, and for the rest the numbers of the code."""
    diff, lifecycle, queries = config.diff, config.lifecycle, config.commitment.hypothetical_queries
    return WritePolicy(
        diff=DiffPolicy(
            update=diff.update,
            duplicate=diff.duplicate,
            cosine_override=diff.cosine_override,
            novelty=diff.novelty,
            min_tokens=diff.min_tokens,
            limit=diff.limit,
        ),
        graph=_graph(config.graph),
        redundancy=_redundancy(config.commitment),
        lifecycle=LifecyclePolicy(
            max_insights=lifecycle.max_insights,
            prune_batch=lifecycle.prune_batch,
            immune_importance=lifecycle.immune_importance,
            immune_access=lifecycle.immune_access,
            pruning=PruningPolicy(config.pruning.enabled, config.pruning.threshold),
        ),
        min_confidence=config.commitment.substance_filter.min_confidence,
        max_hypothetical=queries.max_queries if queries.enabled else 0,
        extraction=_extraction(config.extraction),
    )


def vector_policy(config: Config) -> VectorPolicy:
    """How vectors are searched, as the configuration has it."""
    vector = config.vector
    return VectorPolicy(
        kind=vector.index,
        int8_from=vector.int8_from,
        exact_limit=vector.exact_limit,
        hnsw=Hnsw(vector.hnsw.m, vector.hnsw.ef_construction, vector.hnsw.ef_search),
    )


def _graph(graph: Graph) -> GraphPolicy:
    temporal, entity, causal, semantic = graph.temporal, graph.entity, graph.causal, graph.semantic
    return GraphPolicy(
        temporal=TemporalPolicy(window_hours=temporal.window_hours, max_proximity=temporal.max_proximity),
        entity=EntityPolicy(
            max_links=entity.max_links,
            max_total=entity.max_total,
            idf_min_docs=entity.idf_min_docs,
            idf_floor=entity.idf_floor,
        ),
        causal=CausalPolicy(
            min_overlap=causal.min_overlap, lookback=causal.lookback, max_candidates=causal.max_candidates
        ),
        semantic=SemanticPolicy(
            auto=semantic.auto,
            review=semantic.review,
            fallback_min=semantic.fallback_min,
            max_auto=semantic.max_auto,
            max_candidates=semantic.max_candidates,
        ),
    )


def _extraction(extraction: Extraction) -> ExtractionPolicy:
    return ExtractionPolicy(
        enabled=extraction.enabled,
        importance_threshold=extraction.importance_threshold,
        message_window=extraction.message_window,
        max_facts=extraction.max_facts,
        auto_resolve_conflicts=extraction.auto_resolve_conflicts,
    )


def _redundancy(commitment: Commitment) -> RedundancyPolicy:
    pairs, similarity = commitment.redundancy, commitment.edge_similarity
    return RedundancyPolicy(
        enabled=pairs.enabled,
        threshold=pairs.threshold,
        alpha_nmi=pairs.alpha_nmi,
        bins=pairs.bins,
        boost_max_days=seconds(pairs.boost_max) / DAY_S,
        boost_crit_days=seconds(pairs.boost_crit) / DAY_S,
        boost_scale_days=seconds(pairs.boost_scale) / DAY_S,
        min_edge_weight=similarity.threshold,
        alpha_key=similarity.alpha_key,
    )
