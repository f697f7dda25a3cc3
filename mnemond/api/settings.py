"""The configuration in force: of the daemon, and of each store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import trio

from mnemond.api.types_admin import ConfigShowParams, ConfigShowResult, SettingView
from mnemond.config import loading
from mnemond.config.loading import FILE, SETTINGS, Configuration, Layers, Loaded, Sources
from mnemond.config.settings import (
    DAY_S,
    Commitment,
    Config,
    Extraction,
    Graph,
    RerankRules,
    Retrieval,
    TemporalDecay,
    seconds,
)
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.index.hnsw import Hnsw
from mnemond.index.vectors import VectorPolicy
from mnemond.memory.decay import DecayPolicy
from mnemond.model.policy import (
    CausalPolicy,
    DiffPolicy,
    EntityPolicy,
    ExtractionPolicy,
    GraphPolicy,
    LifecyclePolicy,
    PageRankPolicy,
    PathPolicy,
    PruningPolicy,
    RedundancyPolicy,
    SemanticPolicy,
    TemporalPolicy,
    TouchPolicy,
    WalkPolicy,
    WritePolicy,
)
from mnemond.recall.policy import ReadPolicy
from mnemond.recall.profiles import PROFILES_BY_NAME, PriorPolicy, Profile
from mnemond.recall.published_profiles import SPECIFIED, BusinessRules, RerankPolicy
from mnemond.recall.rerank import RerankWeights, StartPolicy
from mnemond.store.registry import StoreRegistry
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import nearest

# The policies of all writes and reads, as the configuration has them.


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


class StoreSettings:
    """What every store goes by. What was read outside of stores stays until `take_up`; files of stores are read when a
    store is opened."""

    def __init__(self, stores: StoreRegistry, loaded: Loaded) -> None:
        self._stores = stores
        self._loaded = loaded
        self._in_force: dict[str, Configuration] = {}
        stores.on_closed.append(self._closed)

    def take_up(self, loaded: Loaded) -> None:
        """From now on this is what was read outside of stores. One whose own file cannot be used goes on as it is."""
        self._loaded = loaded
        for name in self._in_force:
            with suppress(MnemonError):
                self._in_force[name] = self.of(name)

    @property
    def sources(self) -> Sources:
        """Where it was read."""
        return self._loaded.sources

    def file_of(self, name: str) -> Path:
        """The settings of a store; there need not be any."""
        return self._stores.path(name).with_name(FILE)

    def of(self, name: str, layers: Layers | None = None) -> Configuration:
        """What a store goes by (blocking). Raises MnemonError(CONFIG) for a file of its own that cannot be used."""
        return loading.resolve(layers or self._loaded.layers, self.file_of(name))

    def _closed(self, name: str) -> None:
        self._in_force.pop(name, None)

    def in_force(self, name: str) -> Configuration:
        """What an open store goes by, or a closed one would (blocking). Raises MnemonError(CONFIG)."""
        return self._in_force.get(name) or self.of(name)

    def opening(self, name: str) -> None:
        """A store is being opened: what it goes by is settled (blocking). Raises MnemonError(CONFIG)."""
        self._in_force[name] = self.of(name)

    def policy(self, name: str) -> WritePolicy:
        """What the writes of a store go by. Raises MnemonError(CONFIG)."""
        return write_policy(self.in_force(name).config)

    def reading(self, name: str) -> ReadPolicy:
        """What the questions to a store go by. Raises MnemonError(CONFIG)."""
        return read_policy(self.in_force(name).config)


class ConfigHandlers:
    """config.show."""

    def __init__(self, stores: StoreRegistry, settings: StoreSettings) -> None:
        self._stores = stores
        self._settings = settings

    @handles("config.show", in_task=True)
    async def show(self, call: Call, params: ConfigShowParams) -> ConfigShowResult:
        """What counts and where it came from. Raises MnemonError: NOT_FOUND, and CONFIG for the file of the store."""
        name = self._stores.resolve(params.store)
        self._stores.find(name)
        return await trio.to_thread.run_sync(partial(self._shown, name, _below(params.below), params.origin))

    def _shown(self, name: str, paths: Sequence[str], with_origin: bool) -> ConfigShowResult:
        found, unset = self._settings.in_force(name), Config()
        waiting: list[str] = []
        refused: str | None = None
        try:
            now = self._settings.of(name, loading.read(self._settings.sources))
            waiting = loading.differing(found.config, now.config)
        except MnemonError as error:
            refused = error.message
        return ConfigShowResult(
            store=name,
            files=[str(self._settings.sources.path), str(self._settings.file_of(name))],
            settings=[
                SettingView(
                    path,
                    found.value(path),
                    loading.value_of(unset, path),
                    found.origin(path) if with_origin else msgspec.UNSET,
                )
                for path in paths
            ],
            waiting=waiting,
            refused=refused,
        )


def _below(table: str | None) -> list[str]:
    """Settings of a table, or one by its path. Raises MnemonError(INVALID_PARAMS) for neither."""
    if table is None:
        return list(SETTINGS)
    found = [path for path in SETTINGS if path == table or path.startswith(f"{table}.")]
    if not found:
        tables = {path.rpartition(".")[0] for path in SETTINGS} - {""}
        near = nearest(table, [*tables, *SETTINGS])
        raise MnemonError(
            INVALID_PARAMS,
            f"there is no setting or table {table[:60]!a}",
            hint=f"did you mean {near}?" if near else "`mnemonctl config show` has all of them",
            outcome="rejected",
        )
    return found
