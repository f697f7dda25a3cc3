"""Model values in their shape on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mnemond.config.settings import CausalSettings
from mnemond.embed.calibration import Calibration, unscaled
from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff import Verdict
from mnemond.memory.remember import CausalCandidate, causal_candidates
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
from mnemond.model.outcomes import (
    Candidate,
    Conflict,
    ConflictView,
    EdgesCreated,
    EdgesMade,
    ForgetResult,
    Forgotten,
    Note,
    QualityDetail,
    Redundancy,
    RedundancyView,
    Remembered,
    RememberResult,
    ScopeView,
    SemanticCandidate,
    SubstanceView,
)
from mnemond.model.outcomes import CausalCandidate as CausalCandidateView
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


def remember_result(
    snapshot: Snapshot, outcome: Remembered, settings: CausalSettings, calibration: Calibration | None
) -> RememberResult:
    """What became of a memory: every key of spec 8 step 5. Candidates are shown as `snapshot` has them now, and their
    cosines on the reference scale as well, which `calibration` leads to."""
    stored = outcome.action in ("added", "replaced", "merged") and not outcome.dry_run and outcome.id is not None
    causal = causal_candidates(snapshot, outcome.id, settings) if stored and outcome.id is not None else ()
    return RememberResult(
        id=outcome.id,
        action=outcome.action,
        diff_suggestion=outcome.suggestion,
        replaced_id=outcome.replaced_id,
        duplicate_of=outcome.duplicate_of,
        similarity=outcome.similarity,
        matched_id=outcome.matched_id,
        reason=outcome.reason,
        edges_created=edges_created(outcome.edges_created),
        semantic_candidates=list(_semantic(snapshot, outcome.candidates, calibration)),
        causal_candidates=[_causal(each) for each in causal],
        quality_warnings=quality_warnings(outcome.notes),
        quality_details=quality_details(outcome.notes),
        redacted=list(outcome.redacted),
        embedded=outcome.embedded,
        embed_error=outcome.embed_error,
        effective_importance=outcome.effective_importance,
        auto_pruned=outcome.auto_pruned,
        redundancy=_redundancy(outcome.redundancy),
        substance=None
        if outcome.substance is None
        else SubstanceView(outcome.substance.score, outcome.substance.decision),
        trigger_type=outcome.trigger_type,
        hypothetical_queries=list(outcome.queries),
        conflicts=conflicts(outcome.conflicts),
        scope=ScopeView(outcome.user_id, outcome.session_id, outcome.agent_id),
        store=outcome.store,
        op_id=outcome.op_id,
        dry_run=outcome.dry_run,
        replayed=outcome.replayed,
    )


def edges_created(links: EdgesMade) -> EdgesCreated:
    """Logical links by type."""
    return EdgesCreated(links.temporal, links.entity, links.causal, links.semantic)


def quality_warnings(notes: Sequence[Note]) -> list[str]:
    """What a writer may want to reconsider, each kind once."""
    return list(dict.fromkeys(note.label for note in notes))


def quality_details(notes: Sequence[Note]) -> list[QualityDetail]:
    """What a writer may want to reconsider, and where."""
    return [QualityDetail(note.code, note.label, note.match, note.offset) for note in notes]


def _semantic(
    snapshot: Snapshot, candidates: tuple[Candidate, ...], calibration: Calibration | None
) -> Iterator[SemanticCandidate]:
    """Those that are still there."""
    for each in candidates:
        row = snapshot.row_of(each.id)
        if row is not None:
            it = snapshot.insight(row)
            alike = each.similarity if each.cosine is None else round(unscaled(each.cosine, calibration), 6)
            yield SemanticCandidate(it.id, it.content, it.category, each.cosine, alike)


def _causal(each: CausalCandidate) -> CausalCandidateView:
    return CausalCandidateView(
        each.insight.id, each.insight.content, each.hop, each.via, each.signal, each.sub_type, each.way, each.overlap
    )


def _redundancy(found: Redundancy | None) -> RedundancyView | None:
    return None if found is None else RedundancyView(found.score, found.redundant, found.paired_with, found.boost_days)


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


def conflicts(found: Sequence[Conflict]) -> list[ConflictView]:
    """Memories to be looked at again."""
    return [ConflictView(each.id, each.suggestion, each.similarity, each.reason) for each in found]


def forget_result(outcome: Forgotten) -> ForgetResult:
    """What was taken out of recall."""
    message = "out of recall; its row and its history stay in the store"
    if outcome.purged:
        message = "nothing of it is left in the store's files"
        if outcome.merged_into is not None:
            message += f"; {outcome.merged_into} took over what it said and keeps it"
    return ForgetResult(
        id=outcome.id,
        status="purged" if outcome.purged else "deleted",
        message=message,
        edges_removed=outcome.edges_removed,
        merged_into=outcome.merged_into,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )


def with_backups(result: ForgetResult, names: list[str]) -> ForgetResult:
    """The same, naming the files beside the store's that still hold what was purged."""
    if not names:
        return result
    message = f"{result.message}; copies of the store that still hold it: {', '.join(names)}"
    return msgspec.structs.replace(result, backups=tuple(names), message=message)
