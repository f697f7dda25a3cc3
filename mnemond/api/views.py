"""Model values in their shape on the wire."""

from __future__ import annotations

import msgspec

from mnemond.memory.diff import Verdict
from mnemond.model.answers import (
    DiffMatch,
    ExplanationView,
    InsightDetail,
    InsightView,
    PathStep,
    RecallHit,
    RetiredView,
    SignalsView,
)
from mnemond.model.memory import Insight
from mnemond.model.query import Hit

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
        it.conversation_id, it.scope.user_id, it.scope.session_id, it.scope.agent_id, it.status,
        msgspec.json.decode(it.metadata), it.pinned, it.paired_with,
    )  # fmt: skip


def retired_view(it: Insight, retired_at: str) -> RetiredView:
    """An insight out of recall."""
    assert it.status != "active", "it has a time when it left recall"  # noqa: S101
    return RetiredView(
        it.id, it.content, it.category, it.importance, it.tags, it.entities, it.source, it.access_count,
        it.effective_importance, it.created_at, it.updated_at, it.valid_from, it.invalid_at, it.status,
        it.superseded_by, retired_at,
    )  # fmt: skip


def recall_hit(hit: Hit, intent: str) -> RecallHit:
    """One result of a recall for a question of that intent."""
    signals = hit.signals
    return RecallHit(
        insight_view(hit.insight),
        round(hit.score * SCALE) / SCALE,
        intent,
        hit.via[0] if len(hit.via) == 1 else "hybrid",
        hit.via,
        hit.confidence,
        SignalsView(
            round(signals.keyword * SCALE) / SCALE,
            round(signals.entity * SCALE) / SCALE,
            round(signals.similarity * SCALE) / SCALE,
            round(signals.graph * SCALE) / SCALE,
            msgspec.UNSET if signals.prior is None else round(signals.prior * SCALE) / SCALE,
            msgspec.UNSET if signals.rerank is None else round(signals.rerank * SCALE) / SCALE,
        ),
        tuple(PathStep(step.source_id, step.edge_type, step.weight) for step in hit.path),
        hit.also,
        None if hit.explanation is None else ExplanationView(hit.explanation.parts, hit.explanation.above),
        None if hit.first_score is None else round(hit.first_score * SCALE) / SCALE,
    )


def diff_match(content: str, insight_id: str, verdict: Verdict) -> DiffMatch:
    """One stored memory beside a text that might be remembered."""
    return DiffMatch(
        id=insight_id,
        content=content,
        token_similarity=round(verdict.token_similarity, 6),
        cosine_similarity=None if verdict.cosine is None else round(verdict.cosine, 6),
        similarity=round(verdict.similarity, 6),
        novelty=round(verdict.novelty, 6),
        polarity_flip=verdict.polarity_flip,
        number_change=verdict.number_change,
        suggestion=verdict.action,
        reason=verdict.reason,
    )
