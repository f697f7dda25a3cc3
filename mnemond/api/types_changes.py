"""Methods that change, link and take back memories, and those that show what was done: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.api.types_memories import (
    METADATA,
    AllowSecret,
    Category,
    ConflictView,
    Conversation,
    EdgesCreated,
    Entities,
    EntityMode,
    Id,
    InsightDetail,
    Names,
    QualityDetail,
)
from mnemond.model.memory import EDGE_TYPES, EdgeType
from mnemond.wire.params import (
    MAX_NAME,
    Access,
    IdOrPrefix,
    Limit,
    Name,
    Result,
    ScopedWriteParams,
    ScopeParams,
    StoreParams,
    Time,
    WriteParams,
    about,
    method,
)

# update, supersede, merge and restore.


class UpdateParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Fields that are absent keep their values; at least one of content, category, importance, tags, entities, source,
    conversation_id, created_at and metadata must be given.

    Metadata replace all but the dates of the text and the relations that were extracted from it; null removes metadata
    and conversation_id. Without given entities those that were provided before stay. The scope ids select the memory:
    they do not change its scope. Without `allow_secret` secrets are refused in source and conversation_id.
    """

    id: Id
    content: Annotated[str | UnsetType, about("the new text", stdin=True)] = UNSET
    category: Annotated[Category | UnsetType, about("another kind", "--cat")] = UNSET
    importance: Annotated[int | UnsetType, about("1 (trifle) to 5 (never forget)")] = UNSET
    tags: Annotated[Names | UnsetType, about("all tags, instead of those before", item="--tag")] = UNSET
    entities: Annotated[Entities | UnsetType, about("all names, instead of those before")] = UNSET
    entity_mode: EntityMode | UnsetType = UNSET
    source: Annotated[Name | UnsetType, about("who said it")] = UNSET
    conversation_id: Conversation | UnsetType = UNSET
    created_at: Annotated[Time | UnsetType, about("when it happened, RFC 3339")] = UNSET
    metadata: Annotated[
        dict[str, object] | UnsetType | None,
        about(
            f"all that is noted: {METADATA}",
            "--meta",
            cli="all that is noted: a JSON object, or NAME=VALUE; {} for nothing",
        ),
    ] = UNSET
    allow_secret: AllowSecret = False


class UpdateResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    replayed: bool


UPDATE = method(
    "update", UpdateParams, UpdateResult, Access.WRITE,
    "Give one memory another text or other fields.", positional=("id",),
)  # fmt: skip


class SupersedeParams(ScopedWriteParams, frozen=True, kw_only=True):
    old_id: Annotated[IdOrPrefix, about("the memory to replace; if it was superseded before, its successor")]
    new_id: Annotated[IdOrPrefix, about("the memory that takes its place")]


class SupersedeResult(Result, frozen=True, kw_only=True):
    """`id` left recall; its links are with `superseded_by` now. `instead_of`: the memory that was named, if `id` had
    taken its place before."""

    id: str
    status: Literal["superseded"]
    message: str
    superseded_by: str
    instead_of: str | None
    edges_moved: int
    op_id: str
    replayed: bool


SUPERSEDE = method(
    "supersede", SupersedeParams, SupersedeResult, Access.WRITE,
    "Let one memory take the place of another.", positional=("old_id", "new_id"),
)  # fmt: skip


class MergeParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Without `content` the newer text is kept, and clauses of the older one of which more than half of the words are
    new are appended; its history keeps all of it."""

    id: Id
    other_id: Id
    into: Annotated[IdOrPrefix | None, about("which of the two keeps its id; the older unless given")] = None
    content: Annotated[str | None, about("what both say, in your words", stdin=True)] = None
    allow_secret: AllowSecret = False


class MergeResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    replayed: bool


MERGE = method(
    "merge", MergeParams, MergeResult, Access.WRITE, "Make one memory of two.", positional=("id", "other_id")
)


class RestoreParams(ScopedWriteParams, frozen=True, kw_only=True):
    """For a memory that was forgotten, superseded, merged, pruned or has expired."""

    id: Id
    force: Annotated[bool, about("even though another memory is in its place")] = False


class RestoreResult(Result, frozen=True, kw_only=True):
    """The memory is active again. `superseded_by`: its successor, still active, because of `force`. `conflicts`: other
    memories that it repeats or contradicts, left unchanged for review."""

    id: str
    status: Literal["restored"]
    superseded_by: str | None
    embedded: bool
    embed_error: str | None
    edges_created: EdgesCreated
    conflicts: list[ConflictView]
    op_id: str
    replayed: bool


RESTORE = method(
    "restore", RestoreParams, RestoreResult, Access.WRITE,
    "Bring a retired memory back into recall.", positional=("id",),
)  # fmt: skip


# link, unlink and related.


EdgeKind = Annotated[EdgeType, Meta(extra={"choices": EDGE_TYPES, "metavar": "TYPE"})]

DEFAULT_WEIGHT: Final = 0.5
"""The middle, which is also the least weight of a pair: the link is known, not how close it is. Of a link that exists
the larger weight counts, so the default never weakens one."""

MAX_DEPTH: Final = 5
DEFAULT_DEPTH: Final = 2

Weight = Annotated[float, Meta(ge=0, le=1, extra={"metavar": "W"})]
Depth = Annotated[int, Meta(ge=1, le=MAX_DEPTH)]


class LinkParams(ScopedWriteParams, frozen=True, kw_only=True):
    """A causal link leads from the cause `source_id` to the effect `target_id`; any other type leads both ways."""

    source_id: Id
    target_id: Id
    type: Annotated[EdgeKind, about("type of link; causal leads from cause to effect", "-t")]
    weight: Annotated[Weight, about("how close they are", "-w")] = DEFAULT_WEIGHT
    metadata: Annotated[
        dict[str, object] | None,
        about(f"what else to note: {METADATA}", "--meta", cli="what else to note: a JSON object, or NAME=VALUE",
              example='{"sub_type": "enables"}'),
    ] = None  # fmt: skip
    sub_type: Annotated[Name | None, about("kind of such a link, as in causes, enables, contradicts")] = None
    bidirectional: Annotated[
        bool, about("a causal link both ways; needs allow_cycle", cli="a causal link both ways (with --allow-cycle)")
    ] = False
    allow_cycle: Annotated[bool, about("even if it closes a circle of causes")] = False
    created_by: Annotated[
        Literal["host", "user"] | None, about("host (an agent) or user; user unless given", metavar="WHO")
    ] = None
    allow_secret: AllowSecret = False


class LinkResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    replayed: bool


LINK = method(
    "link", LinkParams, LinkResult, Access.WRITE,
    "Say that two memories belong together, and how.", positional=("source_id", "target_id", "type"),
)  # fmt: skip


class UnlinkParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Of causal links, only the one from `source_id` to `target_id` is removed."""

    source_id: Id
    target_id: Id
    type: Annotated[EdgeKind | None, about("only links of this type", "-t")] = None


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


UNLINK = method(
    "unlink", UnlinkParams, UnlinkResult, Access.WRITE,
    "Remove the links between two memories, made by hand or not.", positional=("source_id", "target_id", "type"),
)  # fmt: skip


class RelatedParams(ScopeParams, frozen=True, kw_only=True):
    """Breadth first. Links are followed whichever way they lead, and never through a memory outside the scope."""

    id: Id
    edge: Annotated[EdgeKind | None, about("only over links of this type", "-t")] = None
    depth: Annotated[Depth, about("at most so many links away")] = DEFAULT_DEPTH
    limit: Annotated[Limit, about("at most so many memories", "-n")] = 20
    all_sessions: Annotated[bool, about("also memories of other sessions")] = False


class RelatedMemory(msgspec.Struct, frozen=True, gc=False):
    """A memory and how it is reached: over how many links, the last of which type and weight."""

    id: str
    content: str
    category: str
    importance: int
    depth: int
    via_edge_type: str
    weight: float


RELATED = method(
    "related", RelatedParams, list[RelatedMemory], Access.READ,
    "List the memories around one, nearest first.", positional=("id",),
)  # fmt: skip


# history and undo.


class HistoryParams(ScopeParams, frozen=True, kw_only=True):
    """A memory in any state, also a purged one."""

    id: Id
    limit: Annotated[Limit, about("the newest N operations", "-n")] = 100


class ChainLink(msgspec.Struct, frozen=True):
    """One memory of a chain in which each took the place of the one before."""

    id: str
    status: str


class EdgeState(msgspec.Struct, frozen=True):
    """A link as it was. A causal one leads from source to target; any other leads both ways and is listed once, from
    the memory itself if it is an end of it."""

    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: dict[str, object]
    created_by: str


class MemoryState(InsightDetail, frozen=True):
    """A memory before or after an operation, with the edges that the operation changed.

    `corroboration_count`: how often it was said again.
    """

    superseded_by: str | None = None
    corroboration_count: int = 0
    edges: tuple[EdgeState, ...] = ()


class MemoryOperation(msgspec.Struct, frozen=True):
    """The effect of one operation on one memory.

    `before_state` is null if it made the memory; both states are null if the memory, or one merged with it whose text
    it had, was purged since. `triggered_by`: user, host:TOOL, system:JOB, or the id of a conversation (conversation:ID
    where it would read as one of the former, conversation alone where a memory of the operation was purged since).
    `op_id` is what undo takes; `undoes` the operation that this one took back.
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
    """The past of a memory. `chain` leads from what it replaced to what replaced it; `operations` are in the order they
    happened, `total_operations` of them in all."""

    id: str
    chain: list[ChainLink]
    operations: list[MemoryOperation]
    total_operations: int


HISTORY = method(
    "history", HistoryParams, HistoryResult, Access.READ,
    "Show what became of one memory, and which operations did it.", positional=("id",),
)  # fmt: skip


class UndoParams(WriteParams, frozen=True, kw_only=True):
    operation: Annotated[
        Annotated[str, Meta(min_length=1, max_length=MAX_NAME)] | None,
        about("the id of one operation, or a unique beginning of it; the newest that can be undone unless given"),
    ] = None


class UndoneView(msgspec.Struct, frozen=True):
    """The effect on one memory: active again, with its former value, out of recall, or linked as before. `conflicts`:
    memories that it repeats or contradicts now, left unchanged for review."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: list[ConflictView]


class UndoResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    replayed: bool


UNDO = method(
    "undo", UndoParams, UndoResult, Access.WRITE,
    "Take one whole operation back, as a new operation.", positional=("operation",),
)  # fmt: skip


# log and receipt: what was done, and what an auditor may be shown of it.


class LogParams(StoreParams, frozen=True, kw_only=True):
    limit: Annotated[Limit, about("the newest N lines", "-n")] = 20


class LogLine(msgspec.Struct, frozen=True):
    """One operation; `detail` never holds a memory's text. `op_id` is what undo takes; null if no memory and no link
    was changed, or if it is unknown."""

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str
    op_id: str | None


LOG = method("log", LogParams, list[LogLine], Access.READ, "List what was done, newest first.", positional=("limit",))


class ReceiptParams(LogParams, frozen=True, kw_only=True):
    """Those of `log`."""


class ReceiptPrivacy(msgspec.Struct, frozen=True):
    """What a receipt discloses."""

    raw_detail_included: bool = False
    hash_algorithm: Literal["sha256"] = "sha256"


class ReceiptEvent(msgspec.Struct, frozen=True):
    """One line of the log without its subject: lower-case hexadecimal hashes of the UTF-8 text, null if there was
    none."""

    event_name: str
    operation: str
    created_at: str
    insight_id_hash: str | None
    detail_hash: str | None
    detail_present: bool


class ReceiptResult(Result, frozen=True, kw_only=True):
    """Evidence of what was done, newest first, that can be handed on: an id that is known can be found in it, and no
    other can be learned from it."""

    schema: Literal["mnemond.receipt.v1"]
    generated_at: str
    store: str
    limit: int
    count: int
    privacy: ReceiptPrivacy
    events: list[ReceiptEvent]


RECEIPT = method(
    "receipt", ReceiptParams, ReceiptResult, Access.READ,
    "Show evidence of what was done, without what it was about.", positional=("limit",),
)  # fmt: skip
