"""Model values in their shape on the wire."""

from __future__ import annotations

from mnemond.model.insight import Insight
from mnemond.model.outcomes import Forgotten, Remembered
from mnemond.model.recall import Hit
from mnemond.protocol.memories import (
    EdgesCreated,
    ForgetResult,
    InsightDetail,
    InsightView,
    RecallHit,
    RememberResult,
    ScopeView,
    SignalsView,
)

SCALE = 1e6
"""Scores and signals have six decimals on the wire: enough to order, short enough to read. `round(x * SCALE) / SCALE`
is what `round(x, 6)` gives, in a third of its time: the product of a float32 and `SCALE` is exact."""


def insight_view(it: Insight) -> InsightView:
    """An insight as results show it."""
    return InsightView(
        it.id, it.content, it.category, it.importance, it.tags, it.entities, it.source, it.access_count,
        it.effective_importance, it.created_at, it.updated_at, it.valid_from, it.invalid_at,
    )  # fmt: skip


def insight_detail(it: Insight) -> InsightDetail:
    """An insight with everything known about it."""
    return InsightDetail(
        it.id, it.content, it.category, it.importance, it.tags, it.entities, it.source, it.access_count,
        it.effective_importance, it.created_at, it.updated_at, it.valid_from, it.invalid_at, it.channel,
        it.conversation_id, it.scope.user_id, it.scope.session_id, it.scope.agent_id, it.status, {},
    )  # fmt: skip


def recall_hit(hit: Hit) -> RecallHit:
    """One result of a recall."""
    signals = hit.signals
    return RecallHit(
        insight_view(hit.insight),
        round(hit.score * SCALE) / SCALE,
        "GENERAL",
        hit.via[0] if len(hit.via) == 1 else "hybrid",
        hit.via,
        hit.confidence,
        SignalsView(
            round(signals.keyword * SCALE) / SCALE,
            round(signals.entity * SCALE) / SCALE,
            round(signals.similarity * SCALE) / SCALE,
            round(signals.graph * SCALE) / SCALE,
        ),
    )


def remember_result(outcome: Remembered) -> RememberResult:
    """What became of a memory: every key of spec 8 step 5, null or empty where this release looks for nothing."""
    return RememberResult(
        id=outcome.id,
        action=outcome.action,
        diff_suggestion="ADD",
        replaced_id=None,
        duplicate_of=None,
        similarity=None,
        matched_id=None,
        reason="not compared with other memories",
        edges_created=EdgesCreated(),
        semantic_candidates=[],
        causal_candidates=[],
        quality_warnings=[],
        quality_details=[],
        embedded=outcome.embedded,
        embed_error=outcome.embed_error,
        effective_importance=outcome.effective_importance,
        auto_pruned=0,
        redundancy=None,
        substance=None,
        trigger_type=None,
        hypothetical_queries=[],
        conflicts=[],
        scope=ScopeView(outcome.user_id, outcome.session_id, outcome.agent_id),
        store=outcome.store,
        op_id=outcome.op_id,
        dry_run=outcome.dry_run,
        replayed=outcome.replayed,
    )


def forget_result(outcome: Forgotten) -> ForgetResult:
    """What was taken out of recall."""
    return ForgetResult(
        id=outcome.id,
        status="deleted",
        message="out of recall; its row and its history stay in the store",
        edges_removed=outcome.edges_removed,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
