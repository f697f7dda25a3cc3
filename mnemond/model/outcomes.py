"""Outcomes of operations: what memory code returns, the store keeps for repeats of a request, and clients receive.

Expected outcomes are values; exceptions mean that something is broken.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.model.memory import MAX_ENTITY, MAX_NAMES, Scope, Trigger
from mnemond.model.relations import RelationshipView
from mnemond.model.reviews import Action, Resolution

Suggestion = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every object result: while a store is degraded, the result says so."""

    degraded: bool | UnsetType = UNSET
    degraded_reason: str | UnsetType = UNSET


class WriteResult(Result, frozen=True, kw_only=True):
    """Base of the result of a write. `op_id` names it for history and undo; `replayed`: it was done before, by another
    request with this op_id. `seq`: of a store that daemons share, the number of an operation; a daemon that has it
    has this write (`min_seq`)."""

    op_id: str
    replayed: bool
    seq: int | UnsetType = UNSET


# Parts of several outcomes.


class ImportConflict(msgspec.Struct, frozen=True):
    """What is not imported as it is, and why. `id`: the memory, or the place in the file."""

    id: str
    why: str


class ImportContradiction(msgspec.Struct, frozen=True):
    """The beginning of a memory to import, and of the memory `id` here that it contradicts or corrects. Both stay."""

    id: str
    content: str
    imported: str


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


class Conflict(msgspec.Struct, frozen=True):
    """A memory that the new one repeats, corrects or contradicts, left unchanged for review. `content` is empty where
    the memory has left recall since, and after an undo or a restore. `several`: that text holds more than one thing, so
    replacing it by the new one would lose the others; `update` or `merge` keeps them."""

    id: str
    suggestion: Suggestion
    similarity: float
    reason: str
    content: str = ""
    several: bool = False


class EmbeddedResult(WriteResult, frozen=True, kw_only=True):
    """Base of the result of a write that may give a memory a text. `embed_error`: why it has no vector."""

    embedded: bool = False
    embed_error: str | None = None


class LinkedResult(EmbeddedResult, frozen=True, kw_only=True):
    """Base of one that links it. `edges_created` counts links that it did not have before."""

    edges_created: EdgesCreated


class TextResult(LinkedResult, frozen=True, kw_only=True):
    """Base of one whose text was read. `redacted` are the kinds of secrets that were cut out."""

    redacted: list[str] = []
    quality_warnings: list[str] = []
    quality_details: list[QualityDetail] = []


# remember.


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
        """Return True if there is a causal cue and enough common words, not only proximity in the graph."""
        return self.causal_signal is not None and self.overlap >= MIN_SHARED


class Redundancy(msgspec.Struct, frozen=True):
    """Redundancy of the memory with the nearest one, and the other half of the pair they form. `retired`: the wording
    of the same that was in the pair before and left recall."""

    score: float
    redundant: bool
    paired_with: str | None
    boost_days: float
    retired: str | None = None


Refusal = Literal["courtesy", "question", "short", "weak"]
"""The reason for a discard: only a greeting or thanks, only questions, too few words, or no cue of anything lasting."""


class Substance(msgspec.Struct, frozen=True):
    """Score of the information in the text; enforced only on the channels hook, batch and extract. `reason` of a
    discard; the key is left out if the text is kept."""

    score: float
    decision: Literal["keep", "discard"]
    reason: Refusal | UnsetType = UNSET


class United(msgspec.Struct, frozen=True):
    """The additions of a repetition to the memory that says it already. `importance` is set, with the value before, if
    it was raised; `omitted`: the reason for what was not added, null if everything was."""

    tags: list[str] = []
    entities: list[str] = []
    importance_before: int | None = None
    importance: int | None = None
    omitted: str | None = None
    cues: list[str] = []
    when: list[str] = []

    @property
    def is_some(self) -> bool:
        """Return True if anything was added."""
        return bool(self.tags or self.entities or self.cues or self.when or self.importance is not None)

    def sentences(self, verb: str = "added") -> list[str]:
        """Return "added tags x, y; importance 3 -> 4", and what was not added. Names come as they are stored."""
        lists = (("tags", self.tags), ("entities", self.entities), ("cues", self.cues), ("triggers", self.when))
        parts = [f"{verb} {name} {', '.join(values)}" for name, values in lists if values]
        if self.importance is not None:
            parts.append(f"importance {self.importance_before} -> {self.importance}")
        return ["; ".join(parts)] * bool(parts) + ([f"not added: {self.omitted}"] if self.omitted else [])


class RememberResult(TextResult, frozen=True, kw_only=True):
    """The memory and what was done with it. Every key is always present; null and empty mean "not found" or "not looked
    for".

    `id` is the row that holds the memory now: a new one, or for `skipped` the one that says it already; null when it
    was discarded, and when a dry run would have made it. `category`, `importance`, `tags` and `entities` are those of
    that row as it is stored; null and empty for a discarded text, and after a purge. `pruned_ids`: the `auto_pruned`
    memories that left a full store for it. `united`: what was added to the memory that says it already, null if nothing
    was to be added. `no_longer`: the statement of the replaced memory that is no longer held, null if it was only
    refined. `cues`: how many the memory has.
    """

    id: str | None = None
    action: Literal["added", "replaced", "skipped", "discarded", "merged"] = "added"
    diff_suggestion: Suggestion = "ADD"
    replaced_id: str | None = None
    duplicate_of: str | None = None
    similarity: float | None = None
    matched_id: str | None = None
    reason: str = ""
    semantic_candidates: list[SemanticCandidate] = []
    causal_candidates: list[CausalCandidate] = []
    effective_importance: float = 0.0
    auto_pruned: int = 0
    redundancy: Redundancy | None = None
    substance: Substance | None = None
    trigger_type: str | None = None
    hypothetical_queries: list[str] = []
    conflicts: list[Conflict] = []
    scope: Scope
    store: str
    dry_run: bool = False
    pruned_ids: tuple[str, ...] = ()
    united: United | None = None
    no_longer: str | None = None
    category: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    cues: int = 0


# Other changes of memories and links.


class UpdateResult(TextResult, frozen=True):
    """The fields that changed; with `unchanged` none did and nothing was written. `same_text`: another
    active memory for the same readers that has the new text, apart from case, spaces and the punctuation around it."""

    id: str
    status: Literal["updated", "unchanged"]
    changed: list[str]
    effective_importance: float
    same_text: str | None = None


class MergeResult(TextResult, frozen=True):
    """`id` has the text `content` now; `merged_id` left recall. `dropped`: the clauses of both that have a word which
    is not in the text, as with a given text. With `dry_run` nothing was written."""

    id: str
    status: Literal["merged"]
    message: str
    merged_id: str
    content: str
    edges_moved: int
    dropped: list[str] = []
    dry_run: bool = False


def merge_message(merged_id: str, says: str = "") -> str:
    """`message` of a MergeResult; `says`: how its text relates to the two, if known."""
    return f"{merged_id} is out of recall; {says}" if says else f"{merged_id} is out of recall"


class SummarizeResult(EmbeddedResult, frozen=True):
    """The memory `id`, a summary, was made of `derived_from`. It leaves recall when one of these does or changes, and a
    job makes a new one."""

    id: str
    content: str
    derived_from: list[str]


class SupersedeResult(WriteResult, frozen=True):
    """`id` left recall; its links are with `superseded_by` now. `instead_of`: the memory that was named, if `id` had
    taken its place before."""

    id: str
    status: Literal["superseded"]
    message: str
    superseded_by: str
    instead_of: str | None
    edges_moved: int


def supersede_message(successor: str, instead_of: str | None) -> str:
    """`message` of a SupersedeResult."""
    if instead_of is None:
        return f"{successor} stands in its place"
    return f"it had taken the place of {instead_of}; now {successor} stands there"


class RestoreResult(LinkedResult, frozen=True):
    """The memory is active again. `superseded_by`: its successor, still active, because of `force`. `conflicts`: other
    memories that it repeats or contradicts, left unchanged for review."""

    id: str
    status: Literal["restored"]
    superseded_by: str | None
    conflicts: list[Conflict]


class ForgetResult(WriteResult, frozen=True):
    """The memory, or the passage of a session, that left recall.

    Of a purged one: `merged_into` is the memory that took over its text, and keeps it; `backups` are names of copies of
    the store's file, beside it, that still hold it; `decisions_removed` counts decisions about names that no other
    memory and no statement has, which went with it.
    """

    id: str
    status: Literal["deleted", "purged"]
    message: str
    edges_removed: int
    merged_into: str | None = None
    backups: tuple[str, ...] = ()
    decisions_removed: int = 0
    kind: Literal["memory", "passage"] = "memory"


def decisions_gone(number: int) -> str:
    """The part of a `message` about decisions on names that went with a memory."""
    one = number == 1
    return f"{number} decision{'' if one else 's'} about names that nothing else has went with it"


def forget_message(heir: str | None, *, purged: bool) -> str:
    """`message` of a ForgetResult; `heir` is its `merged_into`."""
    if not purged:
        return "out of recall; its row and its history stay in the store"
    kept = "" if heir is None else f"; {heir} took over what it said and keeps it"
    return f"nothing of it is left in the store's files{kept}"


class PinResult(WriteResult, frozen=True):
    """The state of the pin; `changed` is false if it was the same before."""

    id: str
    status: Literal["pinned", "unpinned"]
    message: str
    changed: bool


class FeedbackResult(WriteResult, frozen=True):
    """A judgement was counted: how often the memory was `useful` and how often it `misled`, this time included.
    `learned`: its prompt is a cue of the memory now."""

    id: str
    verdict: Literal["useful", "misled"]
    useful: int
    misled: int
    learned: bool = False


class RuleResult(WriteResult, frozen=True):
    """A rule's triggers as they are now; without `id` the switch of all rules of the store, as it is now in `on`."""

    id: str | None
    when: tuple[Trigger, ...]
    changed: bool
    on: bool | None = None


class RelationResult(WriteResult, frozen=True):
    """A statement about a relation. `relations`: the intervals that are new or other than before; empty if nothing
    changed but the evidence, or if there was nothing that could end."""

    status: Literal["added", "closed"]
    source: str
    type: str
    target: str
    relations: list[RelationshipView] = []


class CoreResult(WriteResult, frozen=True):
    """A version of a core summary. `status`: it was `made` of memories, or `set` to a text; `unchanged`: nothing was
    written, as the current version says the same. `user`: "default" without a user id. `memories`: how many it rests
    on. `generator`: "rules", "user" or the model's name; `reason`: why the rules made it although a model is
    configured."""

    status: Literal["made", "set", "unchanged"]
    user: str
    version: int
    words: int
    memories: int
    generator: str
    reason: str = ""


class EntityResult(WriteResult, frozen=True):
    """A decision about the names of things. `status`: what was decided; `unchanged` if it was so already; `proposed`: a
    merge that waits as the review `review`, null if it is new, so that nothing changed yet. `entity` is the name that
    it goes by now, or the first of the two; `memories` and `relations` count those of the names that changed their
    place. `changed`: intervals that are new or other than before; with `dry_run` all as it would be, and nothing was
    written."""

    status: Literal["merged", "split", "not-same", "alias", "proposed", "unchanged"]
    entity: str
    other: str
    review: int | None = None
    memories: int = 0
    relations: int = 0
    dry_run: bool = False
    changed: list[RelationshipView] = []


PIN_MESSAGES: Final = {
    (True, True): "kept until it is unpinned: never pruned, never replaced by a new memory",
    (True, False): "it was pinned already",
    (False, True): "an ordinary memory again",
    (False, False): "it was not pinned",
}
"""`message` of a PinResult, by whether the memory is pinned now, and `changed`."""


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
    """Number and types of the removed links. `cause_other_way`: a causal one from target to source is left."""

    status: Literal["unlinked"]
    source_id: str
    target_id: str
    edges_removed: int
    edge_types: list[str]
    cause_other_way: bool


class UndoneMemory(msgspec.Struct, frozen=True):
    """The effect on one memory: active again, with its former value, out of recall, or linked as before. `conflicts`:
    memories that it repeats or contradicts now, left unchanged for review. `words`: its first words, looked up for this
    answer; null of a `purged` one."""

    id: str
    became: Literal["restored", "revised", "retired", "relinked"]
    conflicts: list[Conflict]
    words: str | None = None
    purged: bool = False


class UndoResult(WriteResult, frozen=True):
    """The operation `undone` was taken back, a call of `method` (null if that is no longer known); `op_id` takes this
    back in turn.

    Links are counted. `edges_missing` could not be put back: the memory at their other end is out of recall.
    `embed_error`: why a memory that has its former text again has no vector. `relations`: statements, and decisions
    about names, that it took back or put back; `passages`: exchanges of sessions.
    """

    status: Literal["undone"]
    undone: str
    method: str | None
    memories: list[UndoneMemory]
    edges_restored: int
    edges_removed: int
    edges_missing: int
    embed_error: str | None
    relations: int = 0
    passages: int = 0


class GcKept(WriteResult, frozen=True):
    """A memory that is exempt from pruning from now on."""

    status: Literal["retained"]
    id: str
    content: str
    new_access: int
    effective_importance: float
    immune: bool


class CuesApplied(WriteResult, frozen=True):
    """Ids of the memories that were given cues, that had these already, and that are not there; kinds of the secrets
    that were cut out."""

    changed: list[str]
    unchanged: list[str]
    unknown: list[str]
    redacted: list[str]


class GcDone(WriteResult, frozen=True):
    """Memories that were taken out of recall, or removed for good. `left`: how many more there are; `backups`: names of
    copies of the store's file, beside it, that still hold some of what was removed."""

    status: Literal["retired", "purged"]
    count: int
    ids: list[str]
    left: int
    backups: tuple[str, ...] = ()


class ResolveResult(EmbeddedResult, frozen=True, kw_only=True):
    """A review was decided. `action`: DELETE (the newer memory left recall), UPDATE (the newer one is in the place of
    the older), MERGE or NONE; `id` is the memory that is left of the two, null if both stay. Of a merge: its text
    `content`, and in `dropped` the clauses of both that have a word which is not in it. `names`: the two, if it was
    about names. Of a text that was no memory `older_id` and `newer_id` are null; `id` is the memory that it is now,
    CREATE if it is a new one."""

    review: int
    resolution: Resolution
    action: Action
    older_id: str | None
    newer_id: str | None
    id: str | None
    message: str
    content: str | None = None
    dropped: list[str] = []
    redacted: list[str] = []
    embedded: bool = True
    names: list[str] = []


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


SWITCHING: Final = "the present vectors serve until all new ones are there; links between memories stay as they are"
EMBEDDER_KEPT: Final = "the store keeps the embedder it has"
"""`message` of an EmbedSwitchResult, by its status."""


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


# Internal operations, not visible to clients.


class Used(WriteResult, frozen=True, kw_only=True):
    """Recalled memories were counted."""

    replayed: bool = False


class Queued(WriteResult, frozen=True, kw_only=True):
    """An exchange was kept, and queued for extraction if that is switched on. `kept` is false if it was known already;
    `redacted` are the kinds of secrets that were cut out."""

    kept: bool
    redacted: list[str] = []
    replayed: bool = False


class Maintained(WriteResult, frozen=True, kw_only=True):
    """A background job changed so many memories."""

    changed: int = 0
    replayed: bool = False


Outcome = (
    RememberResult
    | ForgetResult
    | LinkResult
    | UnlinkResult
    | PinResult
    | FeedbackResult
    | RuleResult
    | RelationResult
    | EntityResult
    | CoreResult
    | UpdateResult
    | SupersedeResult
    | MergeResult
    | SummarizeResult
    | RestoreResult
    | UndoResult
    | CuesApplied
    | ResolveResult
    | GcDone
    | GcKept
    | EmbedRunResult
    | EmbedSwitchResult
    | EmbedCalibrateResult
    | Used
    | Queued
    | Maintained
)


FactAction = Action | Literal["FAILED"]


class Fate(msgspec.Struct, frozen=True):
    """The result for a fact. `memory_id` holds it now, None if discarded; `previous_id` was replaced by it, and its
    statement `no_longer` is not held; `united`: what the fact added to a memory that says it already."""

    action: FactAction
    resolution: Resolution | None
    memory_id: str | None
    previous_id: str | None
    reason: str
    united: United | None = None
    no_longer: str | None = None


# Facts of a conversation.


Intent = Literal["preference", "fact", "event", "relationship"]
Speaker = Literal["user", "assistant"]

MAX_SAID: Final = 500_000
"""Characters of one message; a message of the wire has more bytes only where its limit was raised."""

MAX_MESSAGES: Final = 1_000
"""Messages of one request."""


class FactEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name in a fact, and the kind of thing it refers to."""

    text: str
    type: str = "concept"


class HostFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A fact that the caller found: one sentence that can be understood alone. Absent fields are filled in by the
    rules. `event_time` is when it was said or happened, RFC 3339."""

    content: Annotated[str, Meta(max_length=MAX_SAID)]
    importance: Annotated[int, Meta(ge=1, le=10)] | None = None
    intent: Intent | None = None
    category: str | None = None
    entities: Annotated[tuple[str | FactEntity, ...], Meta(max_length=50)] = ()
    cues: Annotated[tuple[str, ...], Meta(max_length=MAX_NAMES)] = ()
    confidence: Annotated[float, Meta(ge=0, le=1)] = 1.0
    attributed_to: Speaker = "user"
    event_time: str | None = None
    message_ids: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=MAX_ENTITY)], ...], Meta(max_length=MAX_MESSAGES)
    ] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names in it."""
        return tuple(each if isinstance(each, str) else each.text for each in self.entities)
