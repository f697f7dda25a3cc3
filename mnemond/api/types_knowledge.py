"""Methods about what memories have in common: consolidate, summarize, communities. Parameters and results."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mnemond.api.types_memories import DryRun
from mnemond.model.answers import DatedMemory
from mnemond.model.outcomes import Result, SummarizeResult
from mnemond.model.reviews import Resolution
from mnemond.wire.params import Access, IdOrPrefix, Limit, ScopedWriteParams, ScopeParams, StoreParams, about, method

MAX_SUMMED = 20
"""Memories of one summary; as many as a cluster has."""

# consolidate.


class ConsolidateParams(StoreParams, frozen=True, kw_only=True):
    """Memories of one category and for the same readers that say nearly the same are proposed to be merged. A pair is
    proposed once; what was left apart is not proposed again."""

    dry_run: DryRun = False
    limit: Annotated[Limit, about("show at most so many clusters", "-n")] = 20


class ClusterMember(msgspec.Struct, frozen=True):
    """A memory that is like the first one of its cluster: `cosine` of their vectors (null without), share of all words
    of the two that both have, and what may become of the two. `review`: the number of the question about them, null if
    none was asked yet. `apart`: it contradicts what is merged before it, and would stay."""

    id: str
    content: str
    created_at: str
    cosine: float | None
    jaccard: float
    suggestion: Resolution
    review: int | None
    apart: bool


class MemoryCluster(DatedMemory, frozen=True, kw_only=True):
    """A memory and the later ones that are like it; `preview` is the text that they would become."""

    project: str | None
    members: list[ClusterMember]
    preview: str


class ConsolidateResult(Result, frozen=True, kw_only=True):
    """`clusters`: the largest first, `found` of them in all, with `pairs`. `proposed`: pairs that this call asked
    about, or would ask about. `refused`: pairs that were left apart before; `apart`: pairs that are alike, but
    contradict each other or name different things."""

    store: str
    clusters: list[MemoryCluster]
    found: int
    pairs: int
    proposed: int
    refused: int
    apart: int
    dry_run: bool


CONSOLIDATE = method(
    "consolidate", ConsolidateParams, ConsolidateResult, Access.WRITE,
    "Propose to merge memories that say nearly the same.",
)  # fmt: skip

# summarize.


class SummarizeParams(ScopedWriteParams, frozen=True, kw_only=True):
    """The summary holds what the memories say, each statement once; they stay. Recall shows it if it fits a question
    better than each of them, or in their place where the room of a context is short. It leaves recall when one of them
    leaves or changes, and a job makes a new one; when one is purged, it is purged as well."""

    ids: Annotated[
        Annotated[tuple[IdOrPrefix, ...], Meta(min_length=2, max_length=MAX_SUMMED)],
        about("2 to 20 memories for the same readers that do not contradict each other", metavar="ID"),
    ]


SUMMARIZE = method(
    "summarize", SummarizeParams, SummarizeResult, Access.WRITE,
    "Store a summary of several memories.", positional=("ids",),
)  # fmt: skip


# communities.


class CommunitiesParams(ScopeParams, frozen=True, kw_only=True):
    """Groups of memories that are linked among each other more than to others, as of the last run of the job
    `graph_metrics`; the first call in a store runs it."""

    limit: Annotated[Limit, about("at most so many communities, the largest first", "-n")] = 20
    refresh: Annotated[bool, about("find them anew first")] = False


class CommunityMemory(msgspec.Struct, frozen=True):
    id: str
    content: str


class Community(msgspec.Struct, frozen=True):
    """`number` stays as long as most of the memories do. `examples`: its most central memories."""

    number: int
    memories: int
    examples: list[CommunityMemory]


class CommunitiesResult(Result, frozen=True, kw_only=True):
    """`total`: of all communities; `outside`: active memories in none."""

    store: str
    communities: list[Community]
    total: int
    outside: int


COMMUNITIES = method(
    "communities", CommunitiesParams, CommunitiesResult, Access.READ,
    "Show groups of memories that belong together.", positional=("limit",),
)  # fmt: skip
