"""What an operation came to. Expected outcomes are values; exceptions mean that something is broken."""

from __future__ import annotations

from typing import Literal

import msgspec

Action = Literal["added", "replaced", "skipped", "discarded", "merged"]
Suggestion = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]


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
