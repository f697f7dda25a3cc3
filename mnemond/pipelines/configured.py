"""The policies of all writes and reads, as the configuration has them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

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
from mnemond.model.recall_policy import PageRankPolicy, PathPolicy, TouchPolicy, WalkPolicy
from mnemond.pipelines.read_policy import ReadPolicy
from mnemond.pipelines.reranking import RerankPolicy
from mnemond.rank.business_rules import SPECIFIED, BusinessRules
from mnemond.rank.decay import DecayPolicy
from mnemond.rank.prior import PriorPolicy
from mnemond.rank.profiles import PROFILES_BY_NAME, Profile
from mnemond.rank.rerank import RerankWeights
from mnemond.rank.start_nodes import StartPolicy
from mnemond.retrieval_settings import RerankRules, Retrieval, TemporalDecay
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


def read_policy(config: Config) -> ReadPolicy:
    """What the configuration says, and for the rest the numbers of the code."""
    retrieval = config.retrieval
    look, touch = retrieval.rerank, retrieval.touch
    return ReadPolicy(
        own=_ranking(retrieval),
        limit=retrieval.limit,
        rerank=retrieval.rerank_enabled,
        second_look=RerankPolicy(look.late_weight, look.min_query_tokens, look.shortlist, _rules(look.rules)),
        seed=retrieval.traversal.seed,
        touch=TouchPolicy(touch.policy, touch.min_score),
    )


RANKINGS: Mapping[str, str] = {"measured": "mnemond", "intent": "mnemon", "start_node": "mnemosyne", "mem0": "mem0"}
"""The ranking that each way of fusion begins with."""


def _ranking(retrieval: Retrieval) -> Profile:
    anchors, walk = retrieval.anchors, retrieval.traversal
    start = retrieval.start_node
    return msgspec.structs.replace(
        PROFILES_BY_NAME[RANKINGS[retrieval.fusion.profile]],
        similarity_floor=anchors.min_cosine,
        top_k=anchors.top_k,
        rrf_k=anchors.rrf_k,
        hypothetical=anchors.hypothetical,
        mode=walk.mode,
        path=PathPolicy(walk.path_score, walk.lambda1, walk.lambda2, walk.gamma),
        walk=WalkPolicy(walk.max_nodes, walk.exploration_factor, walk.signal_decay),
        weights=RerankWeights(retrieval.keyword_weight, 0.0, retrieval.vector_weight, retrieval.graph_weight),
        start=StartPolicy(start.top_k, start.alpha_meta, start.alpha_mode, min_score=start.min_score),
        decay=_decay(retrieval.temporal_decay),
        centrality=PageRankPolicy(damping=retrieval.pagerank.damping),
        prior=_prior(retrieval),
    )


def _decay(decay: TemporalDecay) -> DecayPolicy:
    return DecayPolicy(
        decay.midpoint_days, decay.steepness_days, decay.linear_cutoff_days, decay.floor if decay.enabled else 1.0
    )


def _prior(retrieval: Retrieval) -> PriorPolicy:
    central = retrieval.pagerank
    if not central.enabled:
        return PriorPolicy(0.0, retrieval.prior.weight)
    return PriorPolicy(central.weight, retrieval.prior.weight, central.combine)


def _rules(rules: RerankRules) -> BusinessRules:
    """Those that are on, with the factors they are specified with."""
    return msgspec.structs.replace(
        SPECIFIED,
        **{name: 1.0 for name in RerankRules.__struct_fields__ if not getattr(rules, name)},
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
