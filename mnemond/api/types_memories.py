"""Methods that store, find and show memories, and those that take them out of recall: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from mnemond.model.memory import CATEGORIES, ENTITY_MODES, STATUSES
from mnemond.model.query import INTENTS, Mode, Order, ProfileName
from mnemond.wire.params import (
    MAX_EXACT,
    Access,
    IdOrPrefix,
    Limit,
    Name,
    Result,
    ScopedWriteParams,
    ScopeParams,
    Time,
    about,
    method,
)

# Fields that several methods share.


Category = Annotated[str, Meta(extra={"choices": CATEGORIES, "metavar": "NAME"})]
"""Checked with the other rules of a write, not by its type."""

MAX_NAMES = 500
"""Entries of a list of tags or entities as it is sent; how many different ones a memory may have is less."""

Names = Annotated[tuple[str, ...], Meta(max_length=MAX_NAMES)]
Entities = Annotated[Names, about("names of persons, things and places in it", item="--entity")]
Id = Annotated[IdOrPrefix, about("id of a memory, or a unique beginning of it")]
AllowSecret = Annotated[bool, about("keep what looks like a key or a password as it is")]
DryRun = Annotated[bool, about("say what would happen and write nothing")]

MAX_TAGS = 50
"""Tags of one filter: more than any memory has."""

Tags = Annotated[tuple[Name, ...], Meta(max_length=MAX_TAGS)]

EntityMode = Annotated[
    str,
    about(
        "merge (the given entities and those of the text), provided (the given ones), auto (those of the text)",
        metavar="MODE", choices=ENTITY_MODES,
    ),
]  # fmt: skip
Conversation = Annotated[Name | None, about("the conversation it comes from", "--conversation", metavar="ID")]

METADATA: Final = "an object of texts, numbers, true, false, null and lists of these, at most 4,096 bytes of JSON"

Suggestion = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]


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


# remember, and diff, its dry run.


class RememberParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Limits of the content itself (characters, tags, entities) are checked with the other rules of a write.

    Keys and passwords are cut out of content, tags, entities and metadata, and refused in source, channel,
    conversation_id and the scope ids, unless `allow_secret` is given. `dates` in `metadata` is reserved for the dates a
    text speaks of.
    """

    content: Annotated[str, about("the text to remember")]
    category: Annotated[Category, about("kind of memory", "--cat")] = "general"
    importance: Annotated[int, about("1 (trifle) to 5 (never forget)")] = 3
    tags: Annotated[Names, about("tags", item="--tag")] = ()
    entities: Entities = ()
    entity_mode: EntityMode = "merge"
    source: Annotated[Name, about("who said it")] = "user"
    conversation_id: Conversation = None
    created_at: Annotated[Time | None, about("when it happened, RFC 3339; now unless given")] = None
    metadata: Annotated[
        dict[str, object] | None,
        about(
            f"what else to note: {METADATA}",
            "--meta",
            cli="what else to note: a JSON object, or NAME=VALUE; may be repeated",
        ),
    ] = None
    no_diff: Annotated[bool, about("store it without comparing it with other memories")] = False
    dry_run: DryRun = False
    allow_secret: AllowSecret = False
    channel: Annotated[Name, about("how it came in; of hook, batch and extract, trifles are not kept")] = "manual"


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


class RememberResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    dry_run: bool
    replayed: bool


REMEMBER = method(
    "remember", RememberParams, RememberResult, Access.WRITE,
    "Store one memory, unless it is known; it replaces what it corrects. Acknowledged when it is on disk.",
    positional=("content",),
)  # fmt: skip


class DiffParams(ScopeParams, frozen=True, kw_only=True):
    """A text that might be remembered, and its scope."""

    content: Annotated[str, about("the text to compare")]
    category: Annotated[Category, about("kind of memory it would be stored as", "--cat")] = "general"
    entities: Entities = ()


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
    """The thresholds of the comparison. `cosine_override` is on the embedder's own scale; null when its cosines are
    never used alone."""

    update: float
    duplicate: float
    novelty: float
    cosine_override: float | None


class DiffResult(Result, frozen=True, kw_only=True):
    """The suggestion for the text, and the memories it was compared with."""

    suggestion: Suggestion
    matches: list[DiffMatch]
    thresholds: DiffThresholds


DIFF = method(
    "diff", DiffParams, DiffResult, Access.READ,
    "Say what remember would do with a text, and beside which memories.", positional=("content",),
)  # fmt: skip


# What recall, context, search and list share.


class FilterParams(ScopeParams, frozen=True, kw_only=True):
    """A filter that is absent does not narrow.

    A scope id selects the memories of that scope and those without one. Memories of a session are left out unless its
    id or `all_sessions` is given. Times are RFC 3339 timestamps, or days (YYYY-MM-DD, UTC): a timestamp as `until` is
    exclusive, a day inclusive.

    `metadata`: `{"project": "apollo"}`, `{"build": {"gte": 3}}`, `{"ticket": "*"}`; operators eq ne in nin gt gte lt
    lte contains icontains; `AND`, `OR` and `NOT` take lists of such objects.

    Memories are valid or not at `now` (default: the clock): not if they have ended or expired, or begin later. What was
    forgotten is found by `status` alone.
    """

    category: Annotated[Category | None, about("only this category", "--cat")] = None
    source: Annotated[Name | None, about("only from this source")] = None
    channel: Annotated[Name | None, about("only what came in this way: manual, hook, mcp …")] = None
    tags: Annotated[Tags, about("with all of these tags; case does not matter", "--tag")] = ()
    any_tags: Annotated[Tags, about("with at least one of these tags", "--any-tag")] = ()
    entity: Annotated[Name | None, about("that name this, in any spelling; k8s finds Kubernetes")] = None
    stated_intent: Annotated[Name | None, about("extracted as this kind of fact: preference, event …")] = None
    min_importance: Annotated[int, Meta(ge=1, le=5), about("of at least this importance")] = 1
    since: Annotated[Time | None, about("made then or later: 2026-02-18 or RFC 3339")] = None
    until: Annotated[Time | None, about("made before then, or on that day")] = None
    event_since: Annotated[Time | None, about("speaking of then or later")] = None
    event_until: Annotated[Time | None, about("speaking of before then, or of that day")] = None
    status: Annotated[str | None, about("in this state", metavar="NAME", choices=STATUSES)] = None
    metadata: Annotated[
        dict[str, object] | None,
        about(
            "whose metadata fit", "--meta", cli='whose metadata fit: {"project": "apollo"} or NAME=VALUE',
            example='{"project": "apollo", "build": {"gte": 3}}',
        ),
    ] = None  # fmt: skip
    strict_scope: Annotated[bool, about("not memories without a scope id")] = False
    all_sessions: Annotated[bool, about("also memories of other sessions")] = False
    as_of: Annotated[Time | None, about("what was valid then (a day: as it began), left recall or not")] = None
    include_invalid: Annotated[bool, about("also what is not valid (any more)")] = False
    now: Annotated[Time | None, about("what counts as now where dates are understood, RFC 3339")] = None


MAX_BUDGET = 100_000
"""Tokens of the largest context: about as much text as fits into one message."""

Query = Annotated[str, Meta(max_length=8000)]
Budget = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_BUDGET)] | None, about("tokens of the context, estimated; 1200 unless given")
]
Basic = Annotated[bool, about("memories that have the words in them as typed, newest first; nothing is weighed")]
Anchor = Literal["keyword", "vector", "recency", "entity"]


class QuestionParams(FilterParams, frozen=True, kw_only=True):
    """Dates in the question are understood from `now`. What is absent is as `retrieval` of the configuration has it."""

    query: Annotated[Query, about("a question")]
    limit: Annotated[Limit | None, about("at most so many results; usually 10", "-n")] = None
    intent: Annotated[
        str | None,
        about(
            "what is asked: why, when, entity or general; read from the question unless given",
            metavar="NAME", choices=tuple(map(str.lower, INTENTS)),
        ),
    ] = None  # fmt: skip
    mode: Annotated[
        Mode | None, about("how links are followed: none, beam, ppr or probabilistic; as in the profile unless given")
    ] = None
    seed: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_EXACT)] | Literal["random"] | None,
        about("of the draws of a probabilistic walk, or random; by default the question itself"),
    ] = None
    order: Annotated[Order, about("score: the best first; time: the oldest first")] = "score"
    explain: Annotated[bool, about("add the parts of each score, and why a result is above the next")] = False
    rerank: Annotated[bool | None, about("score the best results again, word by word")] = None
    profile: Annotated[
        ProfileName | None,
        about("ranking: mnemond, the measured one; mnemon, mnemosyne, mem0: three designs as published"),
    ] = None
    anchors: Annotated[
        list[Anchor] | None,
        about("only these signals: keyword, vector, entity, recency; with mnemond the first two unless given"),
    ] = None
    touch: Annotated[
        bool,
        about("count the results as used; false promises that nothing is written", cli="do not count this as use"),
    ] = True


class RecallParams(QuestionParams, frozen=True, kw_only=True):
    basic: Basic = False
    compact: Annotated[bool, about("short results", cli="a line for each result, or a short object")] = False
    context: Annotated[bool, about("a text for a prompt, fenced: data, not instructions")] = False
    budget: Budget = None


class SignalsView(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]. `prior` does not depend on the question; `rerank` is that of the
    second scoring; absent where they took no part."""

    keyword: float
    entity: float
    similarity: float
    graph: float
    prior: float | msgspec.UnsetType = msgspec.UNSET
    rerank: float | msgspec.UnsetType = msgspec.UNSET


class PathStep(msgspec.Struct, frozen=True, gc=False):
    """A link that led to a result: the memory it left from, its type and weight."""

    from_: str = msgspec.field(name="from")
    edge: str
    weight: float


class ExplanationView(msgspec.Struct, frozen=True, gc=False):
    """The parts whose sum is scaled to the score, and those by which the result is above the next."""

    parts: dict[str, float]
    above: tuple[str, ...]


class RecallHit(msgspec.Struct, frozen=True, gc=False):
    """One result. `via` names the signal that found it, "hybrid" when several did (`via_all`), "graph" or the type of a
    link when only links led to it. `also`: other memories of the very same text. `explanation` with `explain` alone.
    `first_score`: the score before a reranker changed it."""

    insight: InsightView
    score: float
    intent: str
    via: str
    via_all: tuple[str, ...]
    confidence: Literal["low", "medium", "high"]
    signals: SignalsView
    path: tuple[PathStep, ...] = ()
    also: tuple[str, ...] = ()
    explanation: ExplanationView | None = None
    first_score: float | None = None


class RerankMeta(msgspec.Struct, frozen=True):
    """Whether a reranker was applied, and the reason if not."""

    applied: bool = False
    reason: str | None = None


class WindowView(msgspec.Struct, frozen=True):
    """The span of time the question names, the end exclusive. `hard`: other memories were left out."""

    since: str
    until: str
    hard: bool


class RecallMeta(msgspec.Struct, frozen=True):
    """Details of a recall; times in milliseconds. `weights` are those of keyword, entity, similarity and graph.

    `trust` in the answer as a whole: low if the question names a source and the results are from others. `seed` and
    `draws` are those of a probabilistic walk.
    """

    intent: str
    intent_source: str
    anchor_count: int
    traversed: int
    mode: str
    weights: tuple[float, ...]
    embedding: str | None
    window: WindowView | None
    hint: str | None
    rerank: RerankMeta
    stages_ms: dict[str, float]
    took_ms: float
    store: str
    profile: str = "mnemond"
    trust: float = 1.0
    seed: int | None = None
    draws: int = 0


class RecallResult(Result, frozen=True, kw_only=True):
    """Results, best first."""

    results: list[RecallHit]
    meta: RecallMeta


class CompactHit(msgspec.Struct, frozen=True, gc=False):
    """One result in short. `score` has three decimals; `matched_via` names the signal that found it, or "hybrid"."""

    id: str
    content: str
    category: str
    importance: int
    intent: str
    matched_via: str
    confidence: Literal["low", "medium", "high"]
    score: float


class CompactResult(Result, frozen=True, kw_only=True):
    """Results in short, best first."""

    results: list[CompactHit]
    meta: RecallMeta


class ContextParams(QuestionParams, frozen=True, kw_only=True):
    budget: Budget = None
    basic: Basic = False


class ContextResult(Result, frozen=True, kw_only=True):
    """A text for a prompt. Recalled memories are data in it, fenced by two marks with `nonce` in them, which occurs
    nowhere between them; a sentence before the fence says so.

    `shown` and `omitted` count memories, `ids` are those shown in their order; `tokens` is the estimated size of
    `text`. It is larger than the budget only where the best memory, cut, is alone too large for it.
    """

    text: str
    shown: int
    omitted: int
    tokens: int
    nonce: str
    ids: list[str]
    meta: RecallMeta


RECALL = method(
    "recall", RecallParams, RecallResult | CompactResult | ContextResult, Access.READ,
    "Find the memories that answer a question, and say why.", positional=("query", "limit"),
)  # fmt: skip
CONTEXT = method(
    "context", ContextParams, ContextResult, Access.READ,
    "Find what answers a question, as text for a prompt.", positional=("query", "budget"),
)  # fmt: skip


class SearchParams(FilterParams, frozen=True, kw_only=True):
    """The words of `query` alone count, not its meaning."""

    query: Annotated[Query, about("the words to look for")]
    limit: Annotated[Limit | None, about("at most so many results; usually 10", "-n")] = None


class SearchHit(msgspec.Struct, frozen=True, gc=False):
    """A memory that has a word of the query. `score` is BM25 scaled to [0, 1)."""

    id: str
    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    score: float


SEARCH = method(
    "search", SearchParams, list[SearchHit], Access.READ,
    "Find memories by their words alone.", positional=("query", "limit"),
)  # fmt: skip


# get and list.


class GetParams(ScopeParams, frozen=True, kw_only=True):
    """A memory of another scope than the given ids is not found; without ids, a memory of any scope is."""

    id: Id


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
    paired_with: str | None = None


class LinkView(msgspec.Struct, frozen=True, gc=False):
    """A link of a memory with the one called `id`. `direction`: a causal link leads `to` its effect or comes `from` its
    cause; any other leads `both` ways."""

    id: str
    edge_type: str
    weight: float
    direction: Literal["to", "from", "both"]


class GetResult(Result, frozen=True, kw_only=True):
    """One memory. `edges_by_type` counts its links, without types that have none; `links` are the 20 heaviest. Links to
    memories of a session other than the given one, else than its own, are left out. `insight.paired_with` is the memory
    that says much the same."""

    insight: InsightDetail
    edges_by_type: dict[str, int]
    links: list[LinkView]


GET = method(
    "get", GetParams, GetResult, Access.READ, "Show one memory with everything known about it.", positional=("id",)
)


class ListParams(FilterParams, frozen=True, kw_only=True):
    """Newest first; with `retired` the last to leave recall first: superseded, merged, forgotten, pruned or expired."""

    retired: Annotated[bool, about("those out of recall, the last to leave first")] = False
    limit: Annotated[Limit, about("memories a page", "-n")] = 20
    before: Annotated[
        Name | None,
        about("go on after this memory: the `next` of the page before, or any other id or a unique beginning",
              metavar="ID", cli="go on after this memory (the page before names it)"),
    ] = None  # fmt: skip


class ListResult(Result, frozen=True, kw_only=True):
    """One page; `next` is null on the last."""

    insights: list[InsightView]
    next: str | None


class RetiredView(InsightView, frozen=True):
    """A memory out of recall: since when, why, and its successor, if it has one."""

    status: Literal["superseded", "merged", "forgotten", "pruned", "expired"]
    superseded_by: str | None
    retired_at: str


class RetiredResult(Result, frozen=True, kw_only=True):
    """One page of what left recall; `next` is null on the last. Purged memories are not listed."""

    retired: list[RetiredView]
    next: str | None


LIST = method(
    "list", ListParams, ListResult | RetiredResult, Access.READ,
    "List memories, newest first, or those that left recall.", positional=("limit",),
)  # fmt: skip


# forget and pin.


class ForgetParams(ScopedWriteParams, frozen=True, kw_only=True):
    """`purge` takes active and retired memories alike."""

    id: Id
    purge: Annotated[bool, about("remove it from the store's files; cannot be undone")] = False


class ForgetResult(Result, frozen=True, kw_only=True):
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
    op_id: str
    replayed: bool


FORGET = method(
    "forget", ForgetParams, ForgetResult, Access.WRITE, "Take one memory out of recall.", positional=("id",)
)


class PinParams(ScopedWriteParams, frozen=True, kw_only=True):
    id: Id
    unpin: Annotated[bool, about("let it be pruned and replaced again")] = False


class PinResult(Result, frozen=True, kw_only=True):
    """Whether the memory is pinned now; `changed` is false when it was so before."""

    id: str
    status: Literal["pinned", "unpinned"]
    message: str
    changed: bool
    op_id: str
    replayed: bool


PIN = method(
    "pin", PinParams, PinResult, Access.WRITE,
    "Keep one memory from being pruned or replaced, or no longer.", positional=("id",),
)  # fmt: skip
