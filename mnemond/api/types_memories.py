"""Parameters and results of the methods that look at memories, and of forget."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from mnemond.wire.params import FilterParams, IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName

Anchor = Literal["keyword", "vector", "recency", "entity"]
TraversalMode = Literal["none", "beam", "ppr", "probabilistic"]
ResultOrder = Literal["score", "time"]
RankingProfile = Literal["mnemond", "mnemon", "mnemosyne", "mem0"]
MAX_SEED = 2**53 - 1
"""The largest number that every reader of JSON holds exactly (RFC 8259, 6)."""


class QuestionParams(FilterParams, frozen=True, kw_only=True):
    """`intent` is WHY, WHEN, ENTITY or GENERAL, whatever the question says. Dates in the question are told from `now`.

    `mode`: how links are followed from what was found; the profile's own way unless given. `seed` is that of a
    probabilistic walk (by default the question itself, or `random`). `order`: the best or the oldest first. `explain`:
    what each score is made of. `rerank`: a second look at the best results, word by word. `profile`: the ranking;
    `mnemond` is the measured one, `mnemon`, `mnemosyne` and `mem0` are those of three designs as published. `anchors`:
    the signals that take part; in `mnemond` those are keyword and vector unless others are asked for. `touch: false`
    promises that nothing is written: no use is counted. What is not given is as `retrieval` of the configuration has
    it.
    """

    query: Annotated[str, msgspec.Meta(max_length=8000)]
    limit: Limit | None = None
    intent: str | None = None
    mode: TraversalMode | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=MAX_SEED)] | Literal["random"] | None = None
    order: ResultOrder = "score"
    explain: bool = False
    rerank: bool | None = None
    profile: RankingProfile | None = None
    anchors: list[Anchor] | None = None
    touch: bool = True
    store: StoreName | None = None


MAX_BUDGET = 100_000
"""Tokens of the largest context: about as much text as fits into one message."""

Budget = Annotated[int, msgspec.Meta(ge=1, le=MAX_BUDGET)]


class RecallParams(QuestionParams, frozen=True, kw_only=True):
    """`basic`: memories with the question in them, letter for letter but for case, newest first; nothing is weighed.
    `compact`: short results. `context`: a text for a prompt instead of results, of `budget` tokens at most (default
    1200)."""

    basic: bool = False
    compact: bool = False
    context: bool = False
    budget: Budget | None = None


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


class SignalsView(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]. `prior`: what speaks for a memory whatever is asked; `rerank`: what a
    second look says; absent where they had no say."""

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
    """The parts a score is the sum of, before it is brought to 0…1, and by which the result stands above the next."""

    parts: dict[str, float]
    above: tuple[str, ...]


class RecallHit(msgspec.Struct, frozen=True, gc=False):
    """One result. `via` names the signal that found it, "hybrid" when several did (`via_all`), "graph" or the type of a
    link when only links led to it. `also`: other memories of the very same text. `explanation` where one was asked for.
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
    """Whether a reranker had a say, and why it had none."""

    applied: bool = False
    reason: str | None = None


class WindowView(msgspec.Struct, frozen=True):
    """The span of time the question names, the end exclusive. `hard`: nothing else was looked at."""

    since: str
    until: str
    hard: bool


class RecallMeta(msgspec.Struct, frozen=True):
    """How a recall came about; times in milliseconds. `weights` are those of keyword, entity, similarity and graph.

    `trust` in the answer as a whole: low where who the question asks about is not whom the results are from. `seed`
    and `draws` are those of a probabilistic walk.
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


class GetParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters. A memory that is not meant for the scope
    ids given is not found; without any, whoever names one may see it."""

    id: IdOrPrefix
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    store: StoreName | None = None


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
    """One memory. `edges_by_type` counts its links, types without any left out; `links` are the 20 heaviest. Those with
    memories of another session than the one given, else than its own, are not told.
    `insight.paired_with` is the memory that says much the same."""

    insight: InsightDetail
    edges_by_type: dict[str, int]
    links: list[LinkView]


class ListParams(FilterParams, frozen=True, kw_only=True):
    """Newest first. `before` is the `next` of the page before: the whole id of its last memory, or of any other,
    retired ones included; a unique beginning of it from six characters on will do.

    With `retired` those that left recall, the last to leave first: superseded, merged, forgotten, pruned or expired.
    """

    retired: bool = False
    limit: Limit = 20
    before: Name | None = None
    store: StoreName | None = None


class ListResult(Result, frozen=True, kw_only=True):
    """One page; `next` is null on the last."""

    insights: list[InsightView]
    next: str | None


class RetiredView(InsightView, frozen=True):
    """A memory out of recall, since when, why, and which one stands in its place, if one does."""

    status: Literal["superseded", "merged", "forgotten", "pruned", "expired"]
    superseded_by: str | None
    retired_at: str


class RetiredResult(Result, frozen=True, kw_only=True):
    """One page of what left recall; `next` is null on the last. What was purged is nowhere."""

    retired: list[RetiredView]
    next: str | None


class ForgetParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters. `purge` removes the memory from the
    store's files as well, whether it is active or retired; that cannot be undone."""

    id: IdOrPrefix
    purge: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class ForgetResult(Result, frozen=True, kw_only=True):
    """What was taken out of recall.

    Of a purged one: `merged_into` is the memory that took over what it said, and keeps it; `backups` are names of
    copies of the store's file, beside it, that still hold it.
    """

    id: str
    status: Literal["deleted", "purged"]
    message: str
    edges_removed: int
    merged_into: str | None = None
    backups: tuple[str, ...] = ()
    op_id: str
    replayed: bool


# Results of a recall in other shapes: short, or as text for a prompt.


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
    """`budget`: tokens, estimated, that the text takes at most (default 1200). `basic` as in recall."""

    budget: Budget | None = None
    basic: bool = False


class ContextResult(Result, frozen=True, kw_only=True):
    """A text for a prompt. What was recalled stands in it as data, fenced by two marks with `nonce` in them, which
    occurs nowhere between them; a sentence before the fence says so.

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


# Parameters and result of pin.


class PinParams(Params, frozen=True, kw_only=True):
    """`id` may be shortened to any unique prefix of at least six characters; `unpin` takes the pin out again."""

    id: IdOrPrefix
    unpin: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class PinResult(Result, frozen=True, kw_only=True):
    """Whether the memory is pinned now; `changed` is false when it was so before."""

    id: str
    status: Literal["pinned", "unpinned"]
    message: str
    changed: bool
    op_id: str
    replayed: bool


# Parameters and results of remember and of diff, its dry run.


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


MIN_SHARED: Final = 0.15
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
        return self.causal_signal is not None and self.overlap >= MIN_SHARED


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


# Parameters and results of search.


class SearchParams(FilterParams, frozen=True, kw_only=True):
    """The words of `query` alone count, not its meaning. The filters are those of recall, and so is the limit."""

    query: Annotated[str, msgspec.Meta(max_length=8000)]
    limit: Limit | None = None
    store: StoreName | None = None


class SearchHit(msgspec.Struct, frozen=True, gc=False):
    """A memory that has a word of the query. `score` is BM25 as a part of what no memory can reach, below 1."""

    id: str
    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    score: float
