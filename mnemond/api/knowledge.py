"""Methods about what memories have in common: consolidate, summarize, communities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import trio

from mnemond.api.remember import embedding_of
from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStores
from mnemond.api.types_knowledge import (
    ClusterMember,
    CommunitiesParams,
    CommunitiesResult,
    Community,
    CommunityMemory,
    ConsolidateParams,
    ConsolidateResult,
    MemoryCluster,
    SummarizeParams,
)
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.jobs.consolidate import ask, searched
from mnemond.jobs.graph_metrics import metrics_of
from mnemond.memory.consolidation import Cluster, Pairs, Plan, pair_of, preview, proposals
from mnemond.memory.retention import visible_rows
from mnemond.memory.summaries import Summarize, propose_summarize, summary_text
from mnemond.model.memory import Insight, TextWithCues
from mnemond.model.outcomes import SummarizeResult
from mnemond.recall.graph_view import members
from mnemond.store import reviews
from mnemond.store.edges import Metric
from mnemond.store.store import Store
from mnemond.wire.dispatch import Call, handles

T = TypeVar("T")

THREADS = 1
"""Searches at once: more would compete with the event loop for the interpreter."""

DIGITS = 6
"""Decimals of a cosine and of a share."""


class KnowledgeHandlers:
    """consolidate, summarize, communities."""

    def __init__(
        self, open_stores: OpenStores, identities: Identities, measure: Callable[[str], Awaitable[object]]
    ) -> None:
        """`measure` runs the job `graph_metrics` on a store, by its name."""
        self._open_stores = open_stores
        self._identities = identities
        self._measure = measure
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

    @handles("summarize", in_task=True)
    async def summarize(self, call: Call, params: SummarizeParams) -> SummarizeResult:
        """Store a summary. Raises MnemonError: NOT_FOUND; INVALID_PARAMS for memories that cannot be summed up."""
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        text = await self._think(_text_of, warm.store.snapshot, params.ids)
        embedding = await embedding_of(warm, text)
        wish = Summarize(
            ids=params.ids,
            scope=scope_of(params),
            embedded_text=embedding.text,
            vector=embedding.vector,
            embed_error=embedding.error,
        )
        return await submitted(warm, propose_summarize(wish, identity, one_active, warm.rules), SummarizeResult)

    @handles("communities", in_task=True)
    async def communities(self, call: Call, params: CommunitiesParams) -> CommunitiesResult:
        """Return the stored communities, found anew on request, or if there are none. Raises
        MnemonError."""
        warm = await self._open_stores.use(params.store)
        metrics = [] if params.refresh else await metrics_of(warm.store)
        if not metrics:
            await self._measure(warm.store.name)
            metrics = await metrics_of(warm.store)
        return warm.marked(await self._think(_described, warm.store, metrics, params))


def _text_of(snapshot: Snapshot, ids: Sequence[str]) -> TextWithCues | None:
    """Return the text to embed; None if there is none: then the writer reports why, or answers a repeat. Takes
    milliseconds: for a thread."""
    try:
        sources = [one_active(snapshot, each) for each in ids]
    except MnemonError:
        return None
    text = summary_text(sources)
    return None if text is None else TextWithCues(text)


def _described(store: Store, metrics: list[Metric], params: CommunitiesParams) -> CommunitiesResult:
    """Takes some microseconds for each memory: for a thread."""
    snapshot = store.snapshot
    rows = frozenset(visible_rows(snapshot, scope_of(params)))
    found = members(snapshot, metrics, rows)
    live = sum(1 for row in rows if snapshot.row_of(snapshot.insight(row).id) == row)
    return CommunitiesResult(
        store=store.name,
        communities=[_community(*each) for each in found[: params.limit]],
        total=len(found),
        outside=live - sum(len(group) for _, group in found),
    )


EXAMPLES: Final = 3
"""Memories shown of a community: the most central ones."""


def _community(number: int, group: Sequence[Insight]) -> Community:
    examples = [CommunityMemory(each.id, each.content) for each in group[:EXAMPLES]]
    return Community(number=number, memories=len(group), examples=examples)


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
