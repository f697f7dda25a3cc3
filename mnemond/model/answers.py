"""Results of reads: memories and links, recall, diff, history and gc."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from mnemond.model.changes import HistoryEntry
from mnemond.model.memory import Cue, EdgeKey, Insight, Trigger, is_same_project, project_parts
from mnemond.model.outcomes import Result, Suggestion

# Memories, links and pages.


class MemoryLine(msgspec.Struct, frozen=True, gc=False):
    """The fields of a memory that every answer shows."""

    id: str
    content: str
    category: str


class DatedMemory(MemoryLine, frozen=True, gc=False):
    """A memory and when it was made."""

    created_at: str


class NamingMemory(DatedMemory, frozen=True, gc=False):
    """A memory that names a thing, and how it came in."""

    channel: str | None


class MemoryText(MemoryLine, frozen=True, gc=False):
    """A memory and how important it is."""

    importance: int


class MemoryInProject(MemoryText, frozen=True, gc=False, kw_only=True):
    """A memory, and the name and the id of its project, null for a general one. `other_project`: that of the request is
    another, or it has none."""

    project: str | None = None
    project_id: str | None = None
    other_project: bool = False


class InsightView(MemoryInProject, frozen=True, gc=False):
    """A memory as it is shown in results."""

    tags: tuple[str, ...]
    entities: tuple[str, ...]
    source: str
    access_count: int
    effective_importance: float
    created_at: str
    updated_at: str
    valid_from: str | None
    invalid_at: str | None


class InsightDetail(InsightView, frozen=True):
    """A memory with everything known about it. `useful` and `misled`: how often it was judged so (`feedback`)."""

    channel: str
    conversation_id: str | None
    user_id: str | None
    session_id: str | None
    agent_id: str | None
    status: str
    metadata: dict[str, object]
    pinned: bool = False
    paired_with: str | None = None
    useful: int = 0
    misled: int = 0
    cues: tuple[Cue, ...] = ()
    when: tuple[Trigger, ...] = ()


D = TypeVar("D", bound=InsightDetail)


class ProjectFields(TypedDict):
    """The fields of `MemoryInProject`."""

    project: str | None
    project_id: str | None
    other_project: bool


def project_fields(it: Insight, here: str | None) -> ProjectFields:
    """Return the project of a memory for a request from the project `here`; none for "" and None."""
    project = it.scope.project
    if project is None:
        return _GENERAL
    return {
        "project": project_parts(project)[0],
        "project_id": project,
        "other_project": not (here and is_same_project(project, here)),
    }


_GENERAL: Final[ProjectFields] = {"project": None, "project_id": None, "other_project": False}


def insight_view(it: Insight, here: str | None = None) -> InsightView:
    """Convert an insight for lists and recalls, with `here` as for `project_fields`."""
    return InsightView(
        it.id, it.content, it.category, it.importance, it.tags, it.entities, it.source, it.access_count,
        it.effective_importance, it.created_at, it.updated_at, it.valid_from, it.invalid_at,
        **project_fields(it, here),
    )  # fmt: skip


def insight_detail(it: Insight, kind: type[D], **more: object) -> D:
    """Convert an insight to a `kind` of detail, with its `more` fields."""
    same = {name: getattr(it, name) for name in InsightDetail.__struct_fields__ if name in Insight.__struct_fields__}
    scope = msgspec.structs.asdict(it.scope) | project_fields(it, None)
    return kind(**(same | scope | {"metadata": msgspec.json.decode(it.metadata)} | more))


class RetiredView(InsightView, frozen=True):
    """A memory out of recall: since when, why, and its successor, if it has one."""

    status: Literal["superseded", "merged", "forgotten", "pruned", "expired"]
    superseded_by: str | None
    retired_at: str


class LinkView(msgspec.Struct, frozen=True, gc=False):
    """A link of a memory with the one called `id`. `direction`: a causal link leads `to` its effect or comes `from` its
    cause; any other leads `both` ways. `sub_type`: backbone or proximity of a temporal link; causes, enables or
    prevents of a causal one; or what a host noted. Null if there is none, or the database did not answer in time."""

    id: str
    edge_type: str
    weight: float
    direction: Literal["to", "from", "both"]
    sub_type: str | None = None


class Retirement(msgspec.Struct, frozen=True):
    """How a memory left recall: when (RFC 3339), by which operation if that is known, and what took its place.
    `successor` is the active memory at the end of the chain of `superseded_by`, `words` are its first words. `next`
    names the command that brings the memory back."""

    status: Literal["superseded", "merged", "forgotten", "pruned", "expired"]
    at: str
    op_id: str | None
    superseded_by: str | None
    successor: str | None
    words: str | None
    next: str


class ExchangeView(msgspec.Struct, frozen=True):
    """An exchange of a session: where it is from, what was said, and the ids of the exchanges before and after it."""

    session: str
    prompt: str
    answer: str
    before: str | None
    after: str | None


class GetResult(Result, frozen=True, kw_only=True):
    """One memory. `edges_by_type` counts its links, without types that have none; `links` are the 20 heaviest. Links to
    memories of a session other than the given one, else than its own, are left out. `insight.paired_with` is the memory
    that says much the same. `retired` says what became of a memory that is out of recall; null for an active one.
    `exchange`: of a passage what was said, which is the content of `insight` as well."""

    insight: InsightDetail
    edges_by_type: dict[str, int]
    links: list[LinkView]
    retired: Retirement | None = None
    exchange: ExchangeView | None = None


class ListResult(Result, frozen=True, kw_only=True):
    """One page; `next` is null on the last."""

    insights: list[InsightView]
    next: str | None


class RetiredResult(Result, frozen=True, kw_only=True):
    """One page of what left recall; `next` is null on the last. Purged memories are not listed."""

    retired: list[RetiredView]
    next: str | None


class RelatedMemory(MemoryInProject, frozen=True, gc=False):
    """A memory and how it is reached: over how many links, the last of which type and weight."""

    depth: int
    via_edge_type: str
    weight: float


# recall: full results, compact ones, or a context.

_SCALE = 1e6


def six(value: float) -> float:
    """Round to the six decimals of scores and signals on the wire.

    Equals `round(value, 6)`, in a third of its time: the product of a float32 and the scale is exact.
    """
    return round(value * _SCALE) / _SCALE


class Signals(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]. `prior` does not depend on the question; `rerank` is that of the
    second scoring; absent where they took no part."""

    keyword: float
    entity: float
    similarity: float
    graph: float
    prior: float | UnsetType = UNSET
    rerank: float | UnsetType = UNSET


class PathStep(msgspec.Struct, frozen=True, gc=False):
    """A link that led to a result: the memory it left from, its type and weight."""

    from_: str = msgspec.field(name="from")
    edge: str
    weight: float


class Unasked(msgspec.Struct, frozen=True, gc=False):
    """The `probability`, in [0, 1], that a prompt of the question's words needs the memory; `reasons`: by trait, of
    those that count most, what it adds to the logarithm of the odds."""

    probability: float
    reasons: dict[str, float]


def traits_text(judgement: Unasked) -> str:
    """Return the traits that count most, as "passage +1.20 · rare ahead +0.80"."""
    return " · ".join(f"{name.replace('_', ' ')} {by:+.2f}" for name, by in judgement.reasons.items())


class Explanation(msgspec.Struct, frozen=True, gc=False):
    """The parts whose sum is scaled to the score, and those by which the result is above the next. `cue`: the cue of
    the memory that has more of the question's words than its text; absent if there is none. `unasked`: if a prompt of
    these words needs the memory; of the best results of the default ranking alone."""

    parts: dict[str, float]
    above: tuple[str, ...]
    cue: str | UnsetType = UNSET
    unasked: Unasked | UnsetType = UNSET


class FormerState(msgspec.Struct, frozen=True, gc=False):
    """What a result of a question how something was is: it held `until` then (RFC 3339), and the memory
    `superseded_by`, a result below it, holds now."""

    until: str
    superseded_by: str


class RecallHit(msgspec.Struct, frozen=True, gc=False):
    """One result. `via` names the signal that found it, "hybrid" when several did (`via_all`), "graph" or the type of a
    link when only links led to it. `also`: other memories of the very same text, or of another of the `wordings` of
    this statement. `explanation` with `explain` alone. `first_score`: the score before a reranker changed it.
    `contradicts`: other results that this one may contradict; the newer one comes first. `former`: it holds no longer,
    and is a result because the question asks how something was. `kind`: of a "passage", which is what was said in a
    session, `session` is where it is from, and the content the parts of it that answer."""

    insight: InsightView
    score: float
    intent: str
    via: str
    via_all: tuple[str, ...]
    confidence: Literal["low", "medium", "high"]
    signals: Signals
    path: tuple[PathStep, ...] = ()
    also: tuple[str, ...] = ()
    explanation: Explanation | None = None
    first_score: float | None = None
    wordings: int = 1
    contradicts: tuple[str, ...] = ()
    former: FormerState | None = None
    kind: Literal["memory", "passage"] = "memory"
    session: str = ""


class RerankMeta(msgspec.Struct, frozen=True):
    """Use of a reranker, with the reason if it was not applied."""

    applied: bool = False
    reason: str | None = None


class WindowView(msgspec.Struct, frozen=True):
    """The span of time the question names, the end exclusive. `hard`: other memories were left out."""

    since: str
    until: str
    hard: bool


class RecallMeta(msgspec.Struct, frozen=True):
    """Details of a recall; times in milliseconds. `weights` are those of keyword, entity, similarity and graph.

    `nothing_fits`: no result is of more than low confidence, so that nothing known surely fits. `left_out` counts
    results that `min_confidence` left out. `missing`: what the question asks for and the first result of the ranking
    lacks, so that its confidence is low: names, "a time", "a number", "a person".

    `known_share`: of the question in letters that the embedder knows, by which its cosines count; the rest is ranked by
    words alone. `trust` in the answer as a whole: low if the question names a source and the results are from others.
    `seed` and `draws` are those of a probabilistic walk.
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
    nothing_fits: bool = False
    left_out: int = 0
    missing: tuple[str, ...] = ()
    known_share: float = 1.0


class RecallResult(Result, frozen=True, kw_only=True):
    """Results, best first."""

    results: list[RecallHit]
    meta: RecallMeta


class CompactHit(MemoryInProject, frozen=True, gc=False):
    """One result in short. `score` has three decimals; `matched_via` names the signal that found it, or "hybrid".
    `wordings`: how many memories of different texts say this. `former`, `kind` and `session` as in a RecallHit."""

    intent: str
    matched_via: str
    confidence: Literal["low", "medium", "high"]
    score: float
    wordings: int = 1
    former: FormerState | None = None
    kind: Literal["memory", "passage"] = "memory"
    session: str = ""


class CompactResult(Result, frozen=True, kw_only=True):
    """Results in short, best first."""

    results: list[CompactHit]
    meta: RecallMeta


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


# diff.


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


# history and log.


class ChainLink(msgspec.Struct, frozen=True):
    """One memory of a chain in which each took the place of the one before."""

    id: str
    status: str


class EdgeState(EdgeKey, frozen=True, gc=True):
    """A link as it was. A causal one leads from source to target; any other leads both ways and is listed once, from
    the memory itself if it is an end of it."""

    metadata: dict[str, object]
    created_by: str


class MemoryState(InsightDetail, frozen=True):
    """A memory before or after an operation, with the edges that the operation changed.

    `corroboration_count`: how often it was said again.
    """

    superseded_by: str | None = None
    corroboration_count: int = 0
    edges: tuple[EdgeState, ...] = ()


class MemoryOperation(HistoryEntry, frozen=True, kw_only=True):
    """The effect of one operation on one memory.

    `before_state` is null if it made the memory; both states are null if the memory, or one merged with it whose text
    it had, was purged since. `triggered_by`: user, host:TOOL, system:JOB, or the id of a conversation (conversation:ID
    where it would read as one of the former, conversation alone where a memory of the operation was purged since).
    `op_id` is what undo takes; `undoes` the operation that this one took back.
    """

    before_state: MemoryState | None
    after_state: MemoryState | None


class HistoryResult(Result, frozen=True, kw_only=True):
    """The past of a memory. `chain` leads from what it replaced to what replaced it; `operations` are in the order they
    happened, `total_operations` of them in all."""

    id: str
    chain: list[ChainLink]
    operations: list[MemoryOperation]
    total_operations: int


class LogLine(msgspec.Struct, frozen=True):
    """One operation, or one recall, whose `insight_id` is that of its best result; `id` counts either apart. `detail`
    never holds a memory's text or a question. `op_id` is what undo takes; null if nothing was changed that it takes
    back.

    `words`: the first words of the memory as it is now, looked up for this answer; null if there is none, and of a
    `purged` one.
    """

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str
    op_id: str | None = None
    words: str | None = None
    purged: bool = False


# gc: listing and review.


class GcCandidate(MemoryText, frozen=True, gc=False):
    """A memory that matters little. `effective_importance` is the present one; `edge_count` counts links."""

    access_count: int
    effective_importance: float
    days_since_access: float
    edge_count: int
    immune: bool


class GcResult(Result, frozen=True, kw_only=True):
    """Memories of the least effective importance, least first. `candidates_found` counts those beyond `limit` too;
    `actions` are command lines by purpose."""

    total_insights: int
    threshold: float
    candidates_found: int
    candidates: list[GcCandidate]
    max_insights: int
    actions: dict[str, str]


class GcFlagged(msgspec.Struct, frozen=True):
    """A memory whose text may need a revision. Likely secrets are cut out of `content`."""

    id: str
    content: str
    importance: int
    quality_warnings: list[str]


class GcReview(Result, frozen=True, kw_only=True):
    """Memories with the most warnings first; `total_flagged` counts those beyond `limit` too."""

    review_results: list[GcFlagged]
    total_flagged: int
    actions: dict[str, str]


# extract.


class Dropped(msgspec.Struct, frozen=True):
    """A part of the conversation that was not kept, and the reason. `omitted`: the words of it that `text` does not
    show."""

    text: str
    reason: str
    omitted: int = 0


Visibility = Literal["private", "project", "team"]
"""Roles that see a shared store: the one that made it, members of the one that has its name, or all that may use the
tables."""


class LogStanding(msgspec.Struct, frozen=True):
    """A shared store as `status` shows it. `store`: its name in the log. `seq`: the last line that is applied here;
    `behind`: known lines that are not, and for how long (seconds). `connected`: the last contact did not fail, else
    `error` says why. `visibility`: who sees it, as of the last connect; null before the first."""

    backend: str
    store: str
    seq: int
    behind: int
    behind_s: float
    connected: bool
    error: str | None = None
    visibility: Visibility | None = None


class Backup(msgspec.Struct, frozen=True):
    """One backup: SQLite's own file format, or that of age if it is `encrypted`; readable by its owner only.

    `kind`: `asked` for, `scheduled`, or made because the store was about to be `replaced` or `removed`. `memories` and
    `retired` are those in recall and out of it; with `sha256` they are null if their record is lost. Of
    one that is encrypted, `sha256` is that of the plaintext.
    """

    name: str
    store: str
    kind: Literal["asked", "scheduled", "replaced", "removed"]
    created_at: str
    path: str
    bytes: int
    memories: int | None
    retired: int | None
    sha256: str | None
    encrypted: bool = False

    @property
    def file(self) -> Path:
        """The file at `path`."""
        return Path(self.path)


class SalvagedTable(msgspec.Struct, frozen=True):
    """A salvaged table: rows kept, of those the ones from damaged pages (their text is the one that was stored, other
    fields may not be) and the ones with a column that could not be used and is empty now (mended), rows that were left
    out, and places where nothing could be read."""

    table: str
    kept: int
    doubtful: int
    left_out: int
    gaps: int
    mended: int = 0
