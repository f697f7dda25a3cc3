"""Outcomes of operations: what memory code returns, the store keeps for repeats of a request, and clients receive.

Expected outcomes are values; exceptions mean that something is broken.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

Suggestion = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every object result: while a store is degraded, the result says so."""

    degraded: bool | UnsetType = UNSET
    degraded_reason: str | UnsetType = UNSET


class WriteResult(Result, frozen=True, kw_only=True):
    """Base of the result of a write. `op_id` names it for history and undo; `replayed`: it was done before, by another
    request with this op_id."""

    op_id: str
    replayed: bool


# Parts of several outcomes.


class EdgesCreated(msgspec.Struct, frozen=True):
    """Logical links made by a write, by type."""

    temporal: int = 0
    entity: int = 0
    causal: int = 0
    semantic: int = 0


class QualityDetail(msgspec.Struct, frozen=True):
    """A remark about the text; `offset` in characters."""

    code: str
    label: str
    match: str
    offset: int


class ConflictView(msgspec.Struct, frozen=True):
    """A memory that the new one repeats, corrects or contradicts, left unchanged for review."""

    id: str
    suggestion: Suggestion
    similarity: float
    reason: str


# remember.


class ScopeView(msgspec.Struct, frozen=True):
    """The scope of a memory; null means everyone."""

    user_id: str | None
    session_id: str | None
    agent_id: str | None


class SemanticCandidate(msgspec.Struct, frozen=True):
    """A memory that may be related in meaning. `cosine` is the embedder's own, null without vectors; `similarity` is
    that on the scale of the thresholds, the same for every embedder (unrelated .35, paraphrase .85), or without vectors
    the share of common words."""

    id: str
    content: str
    category: str
    cosine: float | None
    similarity: float
    auto_linked: bool = False


MIN_SHARED: Final = 0.15
"""Share of its words from which a recent memory with a causal cue is linked automatically."""


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
        return self.causal_signal is not None and self.overlap >= MIN_SHARED


class RedundancyView(msgspec.Struct, frozen=True):
    """How much the memory repeats the nearest one, and the other half of the pair they became."""

    score: float
    redundant: bool
    paired_with: str | None
    boost_days: float


class SubstanceView(msgspec.Struct, frozen=True):
    """Whether the text says enough to be kept; enforced on the channels hook, batch and extract alone."""

    score: float
    decision: Literal["keep", "discard"]


class RememberResult(WriteResult, frozen=True):
    """The memory and what was done with it. Every key is always present; null and empty mean "not found" or "not looked
    for".

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
    dry_run: bool


# Other changes of memories and links.


class UpdateResult(WriteResult, frozen=True):
    """The fields that changed; with `unchanged` none did and nothing was written. `edges_created` counts links the
    memory did not have before; `redacted` are the kinds of secrets that were cut out."""

    id: str
    status: Literal["updated", "unchanged"]
    changed: list[str]
    embedded: bool
    embed_error: str | None
    edges_created: EdgesCreated
    effective_importance: float
    redacted: list[str]
    quality_warnings: list[str]
    quality_details: list[QualityDetail]


class MergeResult(WriteResult, frozen=True):
    """`id` has the text `content` now; `merged_id` left recall."""

    id: str
    status: Literal["merged"]
    message: str
    merged_id: str
    content: str
    embedded: bool
    embed_error: str | None
    edges_moved: int
    edges_created: EdgesCreated
    redacted: list[str]
    quality_warnings: list[str]
    quality_details: list[QualityDetail]


class SupersedeResult(WriteResult, frozen=True):
    """`id` left recall; its links are with `superseded_by` now. `instead_of`: the memory that was named, if `id` had
    taken its place before."""

    id: str
    status: Literal["superseded"]
    message: str
    superseded_by: str
    instead_of: str | None
    edges_moved: int


class RestoreResult(WriteResult, frozen=True):
    """The memory is active again. `superseded_by`: its successor, still active, because of `force`. `conflicts`: other
    memories that it repeats or contradicts, left unchanged for review."""

    id: str
    status: Literal["restored"]
    superseded_by: str | None
    embedded: bool
    embed_error: str | None
    edges_created: EdgesCreated
    conflicts: list[ConflictView]


class ForgetResult(WriteResult, frozen=True):
    """The memory that left recall.

    Of a purged one: `merged_into` is the memory that took over its text, and keeps it; `backups` are names of copies of
    the store's file, beside it, that still hold it.
    """

    id: str
    status: Literal["deleted", "purged"]
    message: str
    edges_removed: int
    merged_into: str | None = None
    backups: tuple[str, ...] = ()


class PinResult(WriteResult, frozen=True):
    """Whether the memory is pinned now; `changed` is false when it was so before."""

    id: str
    status: Literal["pinned", "unpinned"]
    message: str
    changed: bool


class LinkResult(WriteResult, frozen=True):
    """The link as it is now: of an existing one, the larger weight and both metadata count.

    `created` and `updated` are both false when it was exactly like that before. `redacted` are the kinds of secrets
    that were cut out of the metadata.
    """

    status: Literal["linked"]
    created: bool
    updated: bool
    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: dict[str, object]
    bidirectional: bool
    redacted: list[str]


class UnlinkResult(WriteResult, frozen=True):
    """How many links are gone, of which types. `cause_other_way`: a causal one from target to source is left."""

    status: Literal["unlinked"]
    source_id: str
    target_id: str
    edges_removed: int
    edge_types: list[str]
    cause_other_way: bool


class UndoneView(msgspec.Struct, frozen=True):
    """The effect on one memory: active again, with its former value, out of recall, or linked as before. `conflicts`:
    memories that it repeats or contradicts now, left unchanged for review."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: list[ConflictView]


class UndoResult(WriteResult, frozen=True):
    """The operation `undone` was taken back, a call of `method` (null if that is no longer known); `op_id` takes this
    back in turn.

    Links are counted. `edges_missing` could not be put back: the memory at their other end is out of recall.
    `embed_error`: why a memory that has its former text again has no vector.
    """

    status: Literal["undone"]
    undone: str
    method: str | None
    memories: list[UndoneView]
    edges_restored: int
    edges_removed: int
    edges_missing: int
    embed_error: str | None


class GcKept(WriteResult, frozen=True):
    """A memory that is exempt from pruning from now on."""

    status: Literal["retained"]
    id: str
    content: str
    new_access: int
    effective_importance: float
    immune: bool


class GcDone(WriteResult, frozen=True):
    """Memories that were taken out of recall, or removed for good. `left`: how many more there are; `backups`: names of
    copies of the store's file, beside it, that still hold some of what was removed."""

    status: Literal["retired", "purged"]
    count: int
    ids: list[str]
    left: int
    backups: tuple[str, ...] = ()


# Vectors.


class EmbedRunResult(WriteResult, frozen=True):
    """`embedded`: the one memory of the request. `backfill_complete`: how many have a vector now, and how many still
    lack one. `complete`: there was nothing to do, and why."""

    status: Literal["embedded", "backfill_complete", "complete"]
    model: str
    dimension: int
    id: str | UnsetType = UNSET
    succeeded: int | UnsetType = UNSET
    failed: int | UnsetType = UNSET
    message: str | UnsetType = UNSET


class EmbedSwitchResult(WriteResult, frozen=True):
    """`switching`: it has begun, for `total` memories; `embed.status` shows the progress. `aborted`: `dropped` vectors
    were thrown away."""

    status: Literal["switching", "aborted"]
    model: str
    message: str
    provider: str | UnsetType = UNSET
    dimension: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    dropped: int | UnsetType = UNSET


class ThresholdsView(msgspec.Struct, frozen=True):
    """Cosines on the scale of the store's embedder; `override` is null where no cosine decides alone."""

    update: float
    duplicate: float
    override: float | None
    link: float
    review: float


class EmbedCalibrateResult(WriteResult, frozen=True):
    """The measured cosines, used from now on, and the thresholds that follow from them."""

    status: Literal["calibrated"]
    model: str
    unrelated: float
    paraphrase: float
    pairs: int
    paraphrases: int
    thresholds: ThresholdsView


Action = Literal["added", "replaced", "skipped", "discarded", "merged"]


class Note(msgspec.Struct, frozen=True, gc=False):
    """Something about a text its writer may want to reconsider, and where: `offset` in characters."""

    code: str
    label: str
    match: str
    offset: int


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A memory that may be related in meaning; `cosine` is None without vectors."""

    id: str
    cosine: float | None
    similarity: float


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """Another memory that a new one repeats, corrects or contradicts, left as it is for somebody to review."""

    id: str
    suggestion: Suggestion
    similarity: float
    reason: str


class Redundancy(msgspec.Struct, frozen=True, gc=False):
    """How much a memory repeats the nearest one (spec 7.4), and what it was paired with."""

    score: float
    redundant: bool
    paired_with: str | None = None
    boost_days: float = 0.0


class SubstanceNote(msgspec.Struct, frozen=True, gc=False):
    """Whether a text says enough to be kept (spec 6.8)."""

    score: float
    decision: Literal["keep", "discard"]


class EdgesMade(msgspec.Struct, frozen=True, gc=False):
    """Logical links made by a write, by type."""

    temporal: int = 0
    entity: int = 0
    causal: int = 0
    semantic: int = 0


class Remembered(msgspec.Struct, frozen=True, tag=True, omit_defaults=True):
    """What became of a memory. `id` is the row that holds it now; None when it was discarded, or when it would have
    been added by a dry run."""

    id: str | None
    op_id: str
    store: str
    embedded: bool
    effective_importance: float
    action: Action = "added"
    suggestion: Suggestion = "ADD"
    replaced_id: str | None = None
    duplicate_of: str | None = None
    similarity: float | None = None
    matched_id: str | None = None
    reason: str = ""
    edges_created: EdgesMade = EdgesMade()
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[Note, ...] = ()
    redacted: tuple[str, ...] = ()
    auto_pruned: int = 0
    redundancy: Redundancy | None = None
    substance: SubstanceNote | None = None
    trigger_type: str | None = None
    queries: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    embed_error: str | None = None
    dry_run: bool = False
    replayed: bool = False
    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None


class Forgotten(msgspec.Struct, frozen=True, tag=True):
    """An insight was taken out of recall; `edges_removed` counts logical links. `purged`: its row is gone as well;
    `merged_into`: the memory that took over what it said, and still says it."""

    id: str
    op_id: str
    edges_removed: int = 0
    purged: bool = False
    merged_into: str | None = None
    replayed: bool = False


class Linked(msgspec.Struct, frozen=True, tag=True):
    """Two insights are linked. `created`: an edge is new; `updated`: none is, but one says something else than before.

    `weight` and `metadata` are those of the edge from source to target as it is now.
    """

    op_id: str
    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: str
    created: bool
    updated: bool = False
    bidirectional: bool = False
    redacted: tuple[str, ...] = ()
    replayed: bool = False


class Unlinked(msgspec.Struct, frozen=True, tag=True):
    """Links between two insights were removed: how many logical ones, of which types.

    `cause_other_way`: a causal link from target to source is left.
    """

    op_id: str
    source_id: str
    target_id: str
    edges_removed: int
    edge_types: tuple[str, ...] = ()
    cause_other_way: bool = False
    replayed: bool = False


class Pinned(msgspec.Struct, frozen=True, tag=True):
    """Whether an insight is pinned now, and whether it was not so before."""

    id: str
    op_id: str
    pinned: bool
    changed: bool
    replayed: bool = False


class Revised(msgspec.Struct, frozen=True, tag=True):
    """An insight has a new value. `changed` names the fields; `embedded` says whether it has a vector."""

    id: str
    op_id: str
    changed: tuple[str, ...]
    embedded: bool
    edges_created: EdgesMade = EdgesMade()
    effective_importance: float = 0.0
    redacted: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    embed_error: str | None = None
    replayed: bool = False


class Superseded(msgspec.Struct, frozen=True, tag=True):
    """`id` took the place of `superseded_id`, which left recall. `instead_of`: the memory that was named, where that
    had been superseded before by the one that left now."""

    id: str
    op_id: str
    superseded_id: str
    instead_of: str | None = None
    edges_moved: int = 0
    replayed: bool = False


class Merged(msgspec.Struct, frozen=True, tag=True):
    """`id` holds what it and `merged_id` said; the latter left recall."""

    id: str
    op_id: str
    merged_id: str
    content: str
    embedded: bool
    edges_moved: int = 0
    edges_created: EdgesMade = EdgesMade()
    redacted: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    embed_error: str | None = None
    replayed: bool = False


class Restored(msgspec.Struct, frozen=True, tag=True):
    """A retired insight is active again. `superseded_by`: what stands in its place nevertheless, because that was
    forced; `conflicts`: other memories that it repeats or contradicts."""

    id: str
    op_id: str
    superseded_by: str | None
    embedded: bool = False
    edges_created: EdgesMade = EdgesMade()
    embed_error: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    replayed: bool = False


class UndoneMemory(msgspec.Struct, frozen=True, gc=False):
    """What became of one memory of an operation that was taken back. `conflicts`: memories that it repeats or
    contradicts, now that it says again what it did."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: tuple[Conflict, ...] = ()


class Undone(msgspec.Struct, frozen=True, tag=True):
    """The operation `undone`, which `method` had made, was taken back. Edges are counted as logical links;
    `edges_missing` could not be put back because a memory at their other end is out of recall."""

    op_id: str
    undone: str
    memories: tuple[UndoneMemory, ...]
    method: str | None = None
    edges_restored: int = 0
    edges_removed: int = 0
    edges_missing: int = 0
    embed_error: str | None = None
    replayed: bool = False


class Collected(msgspec.Struct, frozen=True, tag=True):
    """gc took these memories out of recall, or removed their rows (`purged`). `left`: how many more it would take."""

    op_id: str
    ids: tuple[str, ...]
    purged: bool = False
    left: int = 0
    replayed: bool = False


class Retained(msgspec.Struct, frozen=True, tag=True):
    """A memory that gc leaves alone from now on."""

    id: str
    op_id: str
    content: str
    access_count: int
    effective_importance: float = 0.0
    immune: bool = True
    replayed: bool = False


class Used(msgspec.Struct, frozen=True, tag=True):
    """Recalls were counted; nobody asked for it, so nobody is told."""

    op_id: str
    replayed: bool = False


class Queued(msgspec.Struct, frozen=True, tag=True):
    """What was said in a turn waits to be read. Not `kept`: it was told before, or nobody reads conversations here.
    `redacted`: kinds of secrets that were taken out."""

    op_id: str
    kept: bool
    redacted: tuple[str, ...] = ()
    replayed: bool = False


class Maintained(msgspec.Struct, frozen=True, tag=True):
    """A job of the daemon's own changed so many memories; nobody asked for it, so nobody is told."""

    op_id: str
    changed: int = 0
    replayed: bool = False


class Embedded(msgspec.Struct, frozen=True, tag=True):
    """Memories were embedded by `model`: the one called `id`, or all that lacked a vector. `failed` lack one still."""

    op_id: str
    model: str
    dimension: int
    id: str | None = None
    succeeded: int = 0
    failed: int = 0
    message: str | None = None
    replayed: bool = False


class SwitchStarted(msgspec.Struct, frozen=True, tag=True):
    """The store's vectors are made anew by `model`; `total` memories, and those that come meanwhile."""

    op_id: str
    provider: str
    model: str
    dimension: int
    total: int
    started_at: str
    replayed: bool = False


class SwitchDropped(msgspec.Struct, frozen=True, tag=True):
    """The switch to `model` was given up, and with it `dropped` vectors that were made for it."""

    op_id: str
    model: str
    dropped: int
    replayed: bool = False


class Calibrated(msgspec.Struct, frozen=True, tag=True):
    """Median cosines of `model` on this store: of `pairs` pairs of memories, and of `paraphrases` with themselves."""

    op_id: str
    model: str
    unrelated: float
    paraphrase: float
    pairs: int
    paraphrases: int
    replayed: bool = False


Outcome = (
    Remembered
    | Forgotten
    | Linked
    | Unlinked
    | Pinned
    | Revised
    | Superseded
    | Merged
    | Restored
    | Undone
    | Collected
    | Retained
    | Used
    | Queued
    | Maintained
    | Embedded
    | SwitchStarted
    | SwitchDropped
    | Calibrated
)
