"""Parameters and results of update, supersede, merge and restore, which give a memory another value or place."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET

from mnemond.api.types_memories import ConflictView, EdgesCreated, InsightDetail, Names, QualityDetail
from mnemond.wire.params import MAX_NAME, IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName


class UpdateParams(Params, frozen=True, kw_only=True):
    """Fields that are absent stay as they are; at least one of content, category, importance, tags, entities, source,
    conversation_id, created_at and metadata must be there. Lists replace the ones before, and metadata all that was
    noted but the dates of the text and the relations that were extracted from it. A null conversation_id removes it,
    and so do null metadata.

    `entity_mode` says how given entities go together with those of the text; without given ones, those that somebody
    had provided stay. `allow_secret` keeps what looks like a key or a password as it is; without it such a thing is
    refused in source and conversation_id. The scope ids say who asks: they do not change whom the memory is for.
    """

    id: IdOrPrefix
    content: str | msgspec.UnsetType = UNSET
    category: str | msgspec.UnsetType = UNSET
    importance: int | msgspec.UnsetType = UNSET
    tags: Names | msgspec.UnsetType = UNSET
    entities: Names | msgspec.UnsetType = UNSET
    entity_mode: str | msgspec.UnsetType = UNSET
    source: Name | msgspec.UnsetType = UNSET
    conversation_id: Name | msgspec.UnsetType | None = UNSET
    created_at: str | msgspec.UnsetType = UNSET
    metadata: dict[str, object] | msgspec.UnsetType | None = UNSET
    allow_secret: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class UpdateResult(Result, frozen=True, kw_only=True):
    """What differs now. With `unchanged` nothing did and nothing was written. `edges_created` counts links the memory
    did not have before; `redacted` are the kinds of secrets that were taken out."""

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
    op_id: str
    replayed: bool


class SupersedeParams(Params, frozen=True, kw_only=True):
    """`new_id` takes the place of `old_id`. Of an old one that was superseded before, the one in its place is meant."""

    old_id: IdOrPrefix
    new_id: IdOrPrefix
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class SupersedeResult(Result, frozen=True, kw_only=True):
    """`id` left recall; its links are with `superseded_by` now. `instead_of`: the memory that was named, where `id`
    stood in its place."""

    id: str
    status: Literal["superseded"]
    message: str
    superseded_by: str
    instead_of: str | None
    edges_moved: int
    op_id: str
    replayed: bool


class MergeParams(Params, frozen=True, kw_only=True):
    """The older of the two keeps its id, unless `into` names the other. Without `content` the newer text is kept, and
    clauses of the older one of which more than half of the words are new are appended; its history keeps all of it."""

    id: IdOrPrefix
    other_id: IdOrPrefix
    into: IdOrPrefix | None = None
    content: str | None = None
    allow_secret: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class MergeResult(Result, frozen=True, kw_only=True):
    """`id` says `content` now; `merged_id` left recall."""

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
    op_id: str
    replayed: bool


class RestoreParams(Params, frozen=True, kw_only=True):
    """`id` is that of a memory that was forgotten, superseded, merged, pruned or has expired. `force` restores it even
    though another stands in its place."""

    id: IdOrPrefix
    force: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class RestoreResult(Result, frozen=True, kw_only=True):
    """The memory is active again. `superseded_by`: what stands in its place nevertheless, because of `force`.
    `conflicts`: other memories that it repeats or contradicts, left as they are for review."""

    id: str
    status: Literal["restored"]
    superseded_by: str | None
    embedded: bool
    embed_error: str | None
    edges_created: EdgesCreated
    conflicts: list[ConflictView]
    op_id: str
    replayed: bool


# Parameters and results of history, log and receipt: what was done, and what an auditor may be shown of it.


class HistoryParams(Params, frozen=True, kw_only=True):
    """`id` may be that of a memory in any state, a purged one included, or any unique beginning of one from six
    characters on. Of a long history the newest `limit` operations are told."""

    id: IdOrPrefix
    limit: Limit = 100
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    store: StoreName | None = None


class ChainLink(msgspec.Struct, frozen=True):
    """One memory of a chain in which each took the place of the one before."""

    id: str
    status: str


class EdgeState(msgspec.Struct, frozen=True):
    """A link as it was. A causal one leads from source to target; any other leads both ways and is told once, from the
    memory itself if it is an end of it."""

    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: dict[str, object]
    created_by: str


class MemoryState(InsightDetail, frozen=True):
    """A memory as it was before or after an operation, with the edges that the operation changed.

    `corroboration_count`: how often it was said again.
    """

    superseded_by: str | None = None
    corroboration_count: int = 0
    edges: tuple[EdgeState, ...] = ()


class MemoryOperation(msgspec.Struct, frozen=True):
    """What one operation did to one memory.

    `before_state` is null where it made the memory, both states are null where it, or what it said while it was merged
    with another memory, was purged since. `triggered_by`: user, host:TOOL, system:JOB, or the id of a conversation
    (conversation:ID where it would read as one of the former, conversation alone where a memory of the operation was
    purged since). `op_id` is what undo takes; `undoes` the operation that this one took back.
    """

    id: int
    operation_type: str
    before_state: MemoryState | None
    after_state: MemoryState | None
    triggered_by: str
    op_id: str
    created_at: str
    undoes: str | None


class HistoryResult(Result, frozen=True, kw_only=True):
    """A memory's past. `chain` leads from what it replaced to what replaced it; `operations` are in the order they
    happened, `total_operations` of them in all."""

    id: str
    chain: list[ChainLink]
    operations: list[MemoryOperation]
    total_operations: int


class LogParams(Params, frozen=True, kw_only=True):
    """The newest `limit` lines."""

    limit: Limit = 20
    store: StoreName | None = None


class LogLine(msgspec.Struct, frozen=True):
    """One thing that was done; `detail` never holds a memory's text. `op_id` is what undo takes; null where no memory
    and no link was changed, or where it cannot be told."""

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str
    op_id: str | None


class ReceiptParams(Params, frozen=True, kw_only=True):
    """The newest `limit` lines of the log."""

    limit: Limit = 20
    store: StoreName | None = None


class ReceiptPrivacy(msgspec.Struct, frozen=True):
    """What a receipt gives away."""

    raw_detail_included: bool = False
    hash_algorithm: Literal["sha256"] = "sha256"


class ReceiptEvent(msgspec.Struct, frozen=True):
    """One line of the log without what it was about: lower-case hexadecimal hashes of the UTF-8 text, null where there
    was none."""

    event_name: str
    operation: str
    created_at: str
    insight_id_hash: str | None
    detail_hash: str | None
    detail_present: bool


class ReceiptResult(Result, frozen=True, kw_only=True):
    """Evidence of what was done, newest first, that can be handed on: whoever knows an id can find it in here, and
    nobody else learns one."""

    schema: Literal["mnemond.receipt.v1"]
    generated_at: str
    store: str
    limit: int
    count: int
    privacy: ReceiptPrivacy
    events: list[ReceiptEvent]


# Parameters and results of link, unlink and related.


EdgeKind = Literal["temporal", "semantic", "causal", "entity"]

DEFAULT_WEIGHT = 0.5
"""The middle, which is also the least weight of a pair (spec 8): that two memories belong together was said, not how
closely. Of a link that is there the larger weight counts, so it never weakens one."""

MAX_DEPTH = 5
"""Links between a memory and what is still related to it, at most."""

Weight = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LinkParams(Params, frozen=True, kw_only=True):
    """A causal link leads from the cause `source_id` to the effect `target_id`; any other type leads both ways.

    `metadata` is an object of texts, numbers, true, false, null and lists of these, at most 4,096 bytes of JSON;
    `sub_type` is short for metadata.sub_type. `bidirectional` is for causal links, and needs `allow_cycle` there.
    `created_by` is "user" unless given. `allow_secret` keeps what looks like a key or a password as it is.
    """

    source_id: IdOrPrefix
    target_id: IdOrPrefix
    type: EdgeKind
    weight: Weight = DEFAULT_WEIGHT
    metadata: dict[str, object] | None = None
    sub_type: Name | None = None
    bidirectional: bool = False
    allow_cycle: bool = False
    created_by: Literal["host", "user"] | None = None
    allow_secret: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class LinkResult(Result, frozen=True, kw_only=True):
    """The link as it stands now: of one that was there, the larger weight and both metadata count.

    `created` and `updated` are both false when it stood exactly like that before. `redacted` are the kinds of secrets
    that were taken out of the metadata.
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
    op_id: str
    replayed: bool


class UnlinkParams(Params, frozen=True, kw_only=True):
    """Links of one `type`, or of all of them. A causal link goes only from `source_id` to `target_id`."""

    source_id: IdOrPrefix
    target_id: IdOrPrefix
    type: EdgeKind | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class UnlinkResult(Result, frozen=True, kw_only=True):
    """How many links are gone, of which types. `cause_other_way`: a causal one from target to source is left."""

    status: Literal["unlinked"]
    source_id: str
    target_id: str
    edges_removed: int
    edge_types: list[str]
    cause_other_way: bool
    op_id: str
    replayed: bool


class RelatedParams(Params, frozen=True, kw_only=True):
    """Breadth first from one memory, over links of the type `edge` or of all types, at most `depth` links away.

    Links are followed whichever way they lead, and never through a memory that the reader may not see.
    """

    id: IdOrPrefix
    edge: EdgeKind | None = None
    depth: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEPTH)] = 2
    limit: Limit = 20
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    all_sessions: bool = False
    store: StoreName | None = None


class RelatedMemory(msgspec.Struct, frozen=True, gc=False):
    """A memory and how it is reached: over how many links, the last of which type and weight."""

    id: str
    content: str
    category: str
    importance: int
    depth: int
    via_edge_type: str
    weight: float


# Parameters and result of undo.


class UndoParams(Params, frozen=True, kw_only=True):
    """`operation` is the op_id of what is to be taken back, or any unique beginning of it from six characters on;
    without it, the newest operation that can be taken back and is no undo itself. `op_id` names this write."""

    operation: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)] | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class UndoneView(msgspec.Struct, frozen=True):
    """What became of one memory: active again, with its former value, out of recall, or linked as before. `conflicts`:
    memories that it repeats or contradicts now, left as they are for review."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: list[ConflictView]


class UndoResult(Result, frozen=True, kw_only=True):
    """The operation `undone` was taken back, a call of `method` (null where that is no longer known); `op_id` takes
    this back in turn.

    Links are counted. `edges_missing` could not be put back: the memory at their other end is out of recall.
    `embed_error` says why a memory that has its former text again has no vector.
    """

    status: Literal["undone"]
    undone: str
    method: str | None
    memories: list[UndoneView]
    edges_restored: int
    edges_removed: int
    edges_missing: int
    embed_error: str | None
    op_id: str
    replayed: bool
