"""Parameters and results of the methods that look at memories, and of forget."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName

Anchor = Literal["keyword", "vector"]


class RecallParams(Params, frozen=True, kw_only=True):
    """`anchors` limits the signals that take part, for ablations; `touch: false` promises that nothing is written."""

    query: Annotated[str, msgspec.Meta(max_length=8000)]
    limit: Limit = 10
    category: str | None = None
    source: Name | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    all_sessions: bool = False
    anchors: list[Anchor] | None = None
    now: str | None = None
    touch: bool = True
    store: StoreName | None = None


class InsightView(msgspec.Struct, frozen=True, gc=False):
    """A memory as it is shown in results."""

    id: str
    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    source: str
    access_count: int
    effective_importance: float
    created_at: str
    updated_at: str
    valid_from: str | None
    invalid_at: str | None


class SignalsView(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]."""

    keyword: float
    entity: float
    similarity: float
    graph: float


class RecallHit(msgspec.Struct, frozen=True, gc=False):
    """One result. `via` names the signal that found it, or "hybrid" when several did (`via_all`)."""

    insight: InsightView
    score: float
    intent: str
    via: str
    via_all: tuple[str, ...]
    confidence: Literal["low", "medium", "high"]
    signals: SignalsView
    path: tuple[()] = ()


class RerankMeta(msgspec.Struct, frozen=True):
    """Whether a reranker had a say."""

    applied: bool = False


class RecallMeta(msgspec.Struct, frozen=True):
    """How a recall came about; times in milliseconds. `weights` are those of keyword, entity, similarity and graph."""

    intent: str
    intent_source: str
    anchor_count: int
    traversed: int
    mode: str
    weights: tuple[float, ...]
    embedding: str | None
    window: None
    hint: str | None
    rerank: RerankMeta
    stages_ms: dict[str, float]
    took_ms: float
    store: str


class RecallResult(Result, frozen=True, kw_only=True):
    """Results, best first."""

    results: list[RecallHit]
    meta: RecallMeta


class GetParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters."""

    id: IdOrPrefix
    store: StoreName | None = None


class InsightDetail(InsightView, frozen=True):
    """A memory with everything known about it."""

    channel: str
    conversation_id: str | None
    user_id: str | None
    session_id: str | None
    agent_id: str | None
    status: str
    metadata: dict[str, object]
    pinned: bool = False


class GetResult(Result, frozen=True, kw_only=True):
    """One memory."""

    insight: InsightDetail


class ListParams(Params, frozen=True, kw_only=True):
    """Newest first. `before` is the `next` of the page before: the whole id of its last memory."""

    limit: Limit = 20
    before: Name | None = None
    category: str | None = None
    source: Name | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    all_sessions: bool = False
    store: StoreName | None = None


class ListResult(Result, frozen=True, kw_only=True):
    """One page; `next` is null on the last."""

    insights: list[InsightView]
    next: str | None


class ForgetParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters. `purge` removes the memory from the
    store's files as well, whether it is active or retired; that cannot be undone."""

    id: IdOrPrefix
    purge: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class ForgetResult(Result, frozen=True, kw_only=True):
    """What was taken out of recall.

    Of a purged one: `merged_into` is the memory that took over what it said, and keeps it; `backups` are names of
    copies of the store's file, beside it, that still hold it.
    """

    id: str
    status: Literal["deleted", "purged"]
    message: str
    edges_removed: int
    merged_into: str | None = None
    backups: tuple[str, ...] = ()
    op_id: str
    replayed: bool
