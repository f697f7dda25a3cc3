"""Methods about what memories have in common: consolidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStores
from mnemond.api.types_knowledge import ClusterMember, ConsolidateParams, ConsolidateResult, MemoryCluster
from mnemond.jobs.consolidate import ask, searched
from mnemond.memory.consolidation import Cluster, Pairs, Plan, pair_of, preview, proposals
from mnemond.store import reviews
from mnemond.wire.dispatch import Call, handles

T = TypeVar("T")

THREADS = 1
"""Searches at once: more would compete with the event loop for the interpreter."""

DIGITS = 6
"""Decimals of a cosine and of a share."""


class KnowledgeHandlers:
    """consolidate."""

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._threads = trio.CapacityLimiter(THREADS)

    async def _think(self, function: Callable[..., T], *arguments: object) -> T:
        return await trio.to_thread.run_sync(function, *arguments, limiter=self._threads)

    @handles("consolidate", in_task=True)
    async def consolidate(self, call: Call, params: ConsolidateParams) -> ConsolidateResult:
        """Search for clusters, ask about their pairs unless it is a dry run, and show them with previews."""
        warm = await self._open_stores.use(params.store)
        known = await warm.store.read(reviews.asked_pairs)
        plan = await searched(warm.store, warm.rules, known, self._think)
        asked = proposals(plan, known, warm.store.pending_reviews)
        if asked and not params.dry_run:
            await ask(warm.store, self._identities.of(warm, params), tuple(asked))
            known = await warm.store.read(reviews.asked_pairs)
        clusters = await self._think(_shown, plan, known, params.limit)
        return warm.marked(
            ConsolidateResult(
                store=warm.store.name,
                clusters=clusters,
                found=len(plan.clusters),
                pairs=sum(1 for _ in plan.pairs()),
                proposed=len(asked),
                refused=plan.refused,
                apart=plan.apart,
                dry_run=params.dry_run,
            )
        )


def _shown(plan: Plan, known: Pairs, limit: int) -> list[MemoryCluster]:
    """Takes milliseconds for each cluster: for a thread."""
    return [_cluster(each, known) for each in plan.clusters[:limit]]


def _cluster(cluster: Cluster, known: Pairs) -> MemoryCluster:
    centre, joined = cluster.centre, preview(cluster)
    return MemoryCluster(
        id=centre.id,
        content=centre.content,
        category=centre.category,
        project=centre.scope.project,
        created_at=centre.created_at,
        members=[
            ClusterMember(
                id=it.id,
                content=it.content,
                created_at=it.created_at,
                cosine=None if alike.cosine is None else round(alike.cosine, DIGITS),
                jaccard=round(alike.jaccard, DIGITS),
                suggestion=suggestion,
                review=known.get(pair_of(centre.id, it.id)),
                apart=it.id in joined.apart,
            )
            for it, alike, suggestion in cluster.members
        ],
        preview=joined.text,
    )
