"""Parameters and results of remember and of diff, its dry run."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from mnemond.protocol.types import Name, OpId, Params, Result, StoreName

MAX_NAMES = 500
"""Entries of a list of tags or entities as it is sent; how many different ones a memory may have is less."""

Names = Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NAMES)]
Suggestion = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]


class RememberParams(Params, frozen=True, kw_only=True):
    """Limits of the content itself (characters, tags, entities) are checked with the other rules of a write.

    `no_diff` stores without comparing; `dry_run` compares without storing; `allow_secret` keeps what looks like a key
    or a password as it is. Without it such a thing is cut out of content, tags, entities and metadata, and refused in
    source, channel, conversation_id and the scope ids.

    `metadata` is an object of texts, numbers, true, false, null and lists of these, at most 4,096 bytes of JSON, by
    which recall, search and list can be narrowed. `dates` in it is taken: the dates a text speaks of.
    """

    content: str
    category: str = "general"
    importance: int = 3
    tags: Names = ()
    entities: Names = ()
    entity_mode: str = "merge"
    source: Name = "user"
    conversation_id: Name | None = None
    session_id: Name | None = None
    user_id: Name | None = None
    agent_id: Name | None = None
    created_at: str | None = None
    metadata: dict[str, object] | None = None
    no_diff: bool = False
    dry_run: bool = False
    allow_secret: bool = False
    channel: Name = "manual"
    op_id: OpId | None = None
    store: StoreName | None = None


class ScopeView(msgspec.Struct, frozen=True):
    """Whom a memory is for; null means everyone."""

    user_id: str | None
    session_id: str | None
    agent_id: str | None


class EdgesCreated(msgspec.Struct, frozen=True):
    """Logical links made by a write, by type."""

    temporal: int = 0
    entity: int = 0
    causal: int = 0
    semantic: int = 0


class SemanticCandidate(msgspec.Struct, frozen=True):
    """A memory that may be related in meaning, for somebody to judge. `cosine` is the embedder's own, null without
    vectors; `similarity` is that on the scale of the thresholds, the same for every embedder (unrelated .35, paraphrase
    .85), or without vectors the share of the words that both have."""

    id: str
    content: str
    category: str
    cosine: float | None
    similarity: float
    auto_linked: bool = False


LEAST_SHARED: Final = 0.15
"""Share of its words from which a recent memory with a causal cue is linked without asking (spec 8)."""


class CausalCandidate(msgspec.Struct, frozen=True):
    """A memory that may be a cause or an effect. `suggested_direction`: `from_candidate` means it is the cause."""

    id: str
    content: str
    hop: int
    via_edge: str
    causal_signal: str | None
    suggested_sub_type: str
    suggested_direction: Literal["from_candidate", "to_candidate"]
    overlap: float

    @property
    def is_likely(self) -> bool:
        """Whether more speaks for a cause than being near in the graph; the others are left to programs."""
        return self.causal_signal is not None and self.overlap >= LEAST_SHARED


class QualityDetail(msgspec.Struct, frozen=True):
    """Something about the text its writer may want to reconsider; `offset` in characters."""

    code: str
    label: str
    match: str
    offset: int


class RedundancyView(msgspec.Struct, frozen=True):
    """How much the memory repeats the nearest one, and the pair it became half of."""

    score: float
    redundant: bool
    paired_with: str | None
    boost_days: float


class SubstanceView(msgspec.Struct, frozen=True):
    """Whether the text says enough to be kept. Enforced on the channels hook, batch and extract alone."""

    score: float
    decision: Literal["keep", "discard"]


class ConflictView(msgspec.Struct, frozen=True):
    """A memory that the new one repeats, corrects or contradicts, left as it is for review."""

    id: str
    suggestion: Suggestion
    similarity: float
    reason: str


class RememberResult(Result, frozen=True, kw_only=True):
    """What became of a memory. Every key is always present; null and empty mean "not found" or "not looked for".

    `id` is the row that holds the memory now: a new one, or for `skipped` the one that says it already; null when it
    was discarded, and when a dry run would have made it.
    """

    id: str | None
    action: Literal["added", "replaced", "skipped", "discarded", "merged"]
    diff_suggestion: Suggestion
    replaced_id: str | None
    duplicate_of: str | None
    similarity: float | None
    matched_id: str | None
    reason: str
    edges_created: EdgesCreated
    semantic_candidates: list[SemanticCandidate]
    causal_candidates: list[CausalCandidate]
    quality_warnings: list[str]
    quality_details: list[QualityDetail]
    redacted: list[str]
    embedded: bool
    embed_error: str | None
    effective_importance: float
    auto_pruned: int
    redundancy: RedundancyView | None
    substance: SubstanceView | None
    trigger_type: str | None
    hypothetical_queries: list[str]
    conflicts: list[ConflictView]
    scope: ScopeView
    store: str
    op_id: str
    dry_run: bool
    replayed: bool


class DiffParams(Params, frozen=True, kw_only=True):
    """A text that might be remembered, and for whom."""

    content: str
    category: str = "general"
    entities: Names = ()
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    store: StoreName | None = None


class DiffMatch(msgspec.Struct, frozen=True):
    """One stored memory beside the text. `similarity` is the one of the two that decides; `novelty` is the share of
    the text's words the memory lacks."""

    id: str
    content: str
    token_similarity: float
    cosine_similarity: float | None
    similarity: float
    novelty: float
    polarity_flip: bool
    number_change: bool
    suggestion: Suggestion
    reason: str


class DiffThresholds(msgspec.Struct, frozen=True):
    """What the similarities were compared with. `cosine_override` is on the embedder's own scale; null when its
    cosines are never heard."""

    update: float
    duplicate: float
    novelty: float
    cosine_override: float | None


class DiffResult(Result, frozen=True, kw_only=True):
    """What remember would do with the text, and beside which memories."""

    suggestion: Suggestion
    matches: list[DiffMatch]
    thresholds: DiffThresholds
