"""Methods that store, find and show memories, and those that take them out of recall: parameters and results."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from mnemond.model.answers import (
    CompactResult,
    ContextResult,
    DiffResult,
    GetResult,
    ListResult,
    RecallResult,
    RetiredResult,
)
from mnemond.model.memory import CATEGORIES, ENTITY_MODES, MAX_CUES, MAX_NAMES, STATUSES
from mnemond.model.outcomes import ForgetResult, PinResult, RememberResult
from mnemond.model.query import INTENTS, Confidence, Mode, Order, ProfileName, ResultKind
from mnemond.model.relations import MAX_GIVEN, MAX_RELATION_TEXT, GivenRelation
from mnemond.wire.params import (
    MAX_DIRECTORY,
    MAX_EXACT,
    Access,
    IdOrPrefix,
    Limit,
    Name,
    ScopedWriteParams,
    ScopeParams,
    Time,
    about,
    method,
)

# Fields that several methods share.


Category = Annotated[str, Meta(extra={"choices": CATEGORIES, "metavar": "NAME"})]
"""Checked with the other rules of a write, not by its type."""

Names = Annotated[tuple[str, ...], Meta(max_length=MAX_NAMES)]
Entities = Annotated[Names, about("names of persons, things and places in it", item="--entity", completes="entity")]
Cues = Annotated[
    Names,
    about(
        f"questions, tasks and symptoms in which it should come to mind, up to {MAX_CUES}, best three to six;"
        " recall finds it by them as by its text",
        item="--cue",
    ),
]
When = Annotated[
    Names,
    about(
        "calls of tools before which it is shown as a rule: Bash:git push*, Edit:migrations/**, a tool's name, or"
        " words:drop table",
        option="--triggers",
        item="--when",
    ),
]
Id = Annotated[IdOrPrefix, about("id of a memory, or a unique beginning of it")]
AllowSecret = Annotated[bool, about("keep what looks like a key or a password as it is")]
DryRun = Annotated[bool, about("say what would happen and write nothing")]

MinSeq = Annotated[
    Annotated[int, Meta(ge=0, le=MAX_EXACT)] | None,
    about("answer from operation N of a shared store on, as a write on another daemon named it (seq)", metavar="N"),
]

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

ProjectName = Annotated[str, Meta(min_length=1, max_length=MAX_DIRECTORY)]
Directory = Annotated[
    ProjectName | None,
    about("where the request is made: a directory, or the name or id of its project", by_client=True),
]

ToldIn = Annotated[
    ProjectName | None,
    about(
        "the project it is told in: a name, an id, or a directory in it; none: in all. Unless given, that of"
        " `directory`, or none if the text says that it holds in all projects",
        metavar="NAME|none",
        cli="the project it is told in, or none: in all; that of this directory unless given",
    ),
]

METADATA: Final = "an object of texts, numbers, true, false, null and lists of these, at most 4,096 bytes of JSON"


# remember, and diff, its dry run.


RelationText = Annotated[str, Meta(min_length=1, max_length=MAX_RELATION_TEXT)]


class RememberParams(ScopedWriteParams, frozen=True, kw_only=True):
    """Limits of the content itself (characters, tags, entities, cues) are checked with the other rules of a write.

    Keys and passwords are cut out of content, tags, entities, cues and metadata, and refused in source, channel,
    conversation_id and the scope ids, unless `allow_secret` is given. `dates` in `metadata` is reserved for the dates a
    text speaks of.
    """

    content: Annotated[str, about("the text to remember")]
    category: Annotated[Category, about("kind of memory", "--cat")] = "general"
    importance: Annotated[int | UnsetType, about("1 (trifle) to 5 (never forget); 3 unless given", "--imp")] = UNSET
    tags: Annotated[Names, about("tags", item="--tag", completes="tag")] = ()
    entities: Entities = ()
    entity_mode: EntityMode = "merge"
    cues: Cues | UnsetType = UNSET  # so that requests without any have the digests of earlier versions
    when: When | UnsetType = UNSET
    relations: Annotated[
        Annotated[tuple[GivenRelation | RelationText, ...], Meta(max_length=MAX_GIVEN)] | UnsetType,
        about(
            'relations of people and things that it states, as objects or as "Ana leads billing"; "ended: Ana leads'
            ' billing" ends one',
            item="--relation",
            json=True,
            example='[{"subject": "Ana", "type": "leads", "object": "billing"}]',
        ),
    ] = UNSET
    enforce: Annotated[
        Literal["ask", "deny"] | UnsetType,
        about("let such a call wait for your consent, or refuse it; taken from a terminal only", metavar="HOW"),
    ] = UNSET
    source: Annotated[Name, about("who said it")] = "user"
    conversation_id: Conversation = None
    project: ToldIn = None
    directory: Directory = None
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
    project: Annotated[
        ProjectName | None,
        about("the project it would be stored in, or none", metavar="NAME|none"),
    ] = None
    directory: Directory = None


DIFF = method(
    "diff", DiffParams, DiffResult, Access.READ,
    "Say what remember would do with a text, and beside which memories.", positional=("content",),
)  # fmt: skip


# What recall, context, search and list share.


Now = Annotated[Time | None, about("what counts as now where dates are understood, RFC 3339")]


class FilterParams(ScopeParams, frozen=True, kw_only=True):
    """A filter that is absent does not narrow.

    A scope id selects the memories of that scope and those without one. Memories of a session are left out unless its
    id or `all_sessions` is given. Times are RFC 3339 timestamps, or days (YYYY-MM-DD, UTC): a timestamp as `until` is
    exclusive, a day inclusive. A phrase that names days stands for them: today, yesterday, "last week", "3 days ago",
    relative to `now`, in UTC.

    `metadata`: `{"project": "apollo"}`, `{"build": {"gte": 3}}`, `{"ticket": "*"}`; operators eq ne in nin gt gte lt
    lte contains icontains; `AND`, `OR` and `NOT` take lists of such objects.

    Memories of other projects than that of `directory` are found as well, marked `other_project`, and after others that
    are as good.

    Memories are valid or not at `now` (default: the clock): not if they have ended or expired, or begin later. What was
    forgotten is found by `status` alone.
    """

    category: Annotated[Category | None, about("only this category", "--cat")] = None
    source: Annotated[Name | None, about("only from this source")] = None
    channel: Annotated[Name | None, about("only what came in this way: manual, hook, mcp …")] = None
    project: Annotated[
        ProjectName | None,
        about(
            "of this project (a name, an id, or a directory in it), or of none; none: of no project. `list` has those"
            " of the project alone",
            metavar="NAME|none",
            cli="not of other projects than this one; none: of no project",
        ),
    ] = None
    directory: Directory = None
    tags: Annotated[Tags, about("with all of these tags; case does not matter", "--tag", completes="tag")] = ()
    any_tags: Annotated[Tags, about("with at least one of these tags", "--any-tag", completes="tag")] = ()
    entity: Annotated[
        Name | None, about("that name this, in any spelling; k8s finds Kubernetes", completes="entity")
    ] = None
    stated_intent: Annotated[Name | None, about("extracted as this kind of fact: preference, event …")] = None
    min_importance: Annotated[int, Meta(ge=1, le=5), about("of at least this importance")] = 1
    since: Annotated[Time | None, about('made then or later: 2026-02-18, yesterday, "last week" or RFC 3339')] = None
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
    known_at: Annotated[Time | None, about("that were known and in recall then, whatever was learned since")] = None
    include_invalid: Annotated[bool, about("also what is not valid (any more)")] = False
    now: Now = None


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
    min_confidence: Annotated[
        Confidence | None,
        about("leave out results of less confidence: low, medium or high; a context medium, else low"),
    ] = None
    sure: Annotated[
        bool,
        about(
            "what can be relied on: of low confidence only if there is nothing else, then two; of other projects only"
            " what is of high confidence",
        ),
    ] = False
    profile: Annotated[
        ProfileName | None,
        about("ranking: mnemond, the measured one; mnemon, mnemosyne, mem0: three designs as published"),
    ] = None
    anchors: Annotated[
        list[Anchor] | None,
        about("only these signals: keyword, vector, entity, recency; with mnemond the first two unless given"),
    ] = None
    sessions: Annotated[
        bool, about("with what was said in sessions, beside memories", cli="leave out what was said in sessions")
    ] = True
    kind: Annotated[ResultKind | None, about("only memories, or only passages of sessions")] = None
    touch: Annotated[
        bool,
        about("count the results as used; false promises that nothing is written", cli="do not count this as use"),
    ] = True


class RecallParams(QuestionParams, frozen=True, kw_only=True):
    basic: Basic = False
    compact: Annotated[bool, about("short results", cli="a line for each result, or a short object")] = False
    context: Annotated[bool, about("a text for a prompt, fenced: data, not instructions")] = False
    budget: Budget = None
    min_seq: MinSeq = None


class ContextParams(QuestionParams, frozen=True, kw_only=True):
    budget: Budget = None
    basic: Basic = False


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


SEARCH = method(
    "search", SearchParams, RecallResult, Access.READ,
    "Find memories by their words alone.", positional=("query", "limit"),
)  # fmt: skip


# get and list.


class GetParams(ScopeParams, frozen=True, kw_only=True):
    """Active or retired, but not purged. A memory of another scope than the given ids is not found; without ids, a
    memory of any scope is."""

    id: Id
    min_seq: MinSeq = None


GET = method(
    "get", GetParams, GetResult, Access.READ, "Show one memory with everything known about it.", positional=("id",)
)


class ListParams(FilterParams, frozen=True, kw_only=True):
    """Newest first; with `retired` the last to leave recall first: superseded, merged, forgotten, pruned or expired."""

    retired: Annotated[bool, about("those out of recall, the last to leave first")] = False
    community: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_EXACT)] | None,
        about("those of a community alone; `mnemonctl communities` shows their numbers", metavar="N"),
    ] = None
    limit: Annotated[Limit, about("memories a page", "-n")] = 20
    before: Annotated[
        Name | None,
        about("go on after this memory: the `next` of the page before, or any other id or a unique beginning",
              metavar="ID", shortened=True, completes="memory",
              cli="go on after this memory (the page before names it)"),
    ] = None  # fmt: skip
    min_seq: MinSeq = None


LIST = method(
    "list", ListParams, ListResult | RetiredResult, Access.READ,
    "List memories, newest first, or those that left recall.", positional=("limit",),
)  # fmt: skip


# forget and pin.


class ForgetParams(ScopedWriteParams, frozen=True, kw_only=True):
    """`purge` takes active and retired memories alike."""

    id: Id
    purge: Annotated[bool, about("remove it from the store's files; cannot be undone")] = False


FORGET = method(
    "forget", ForgetParams, ForgetResult, Access.WRITE, "Take one memory out of recall.", positional=("id",)
)


class PinParams(ScopedWriteParams, frozen=True, kw_only=True):
    id: Id
    unpin: Annotated[bool, about("let it be pruned and replaced again")] = False


PIN = method(
    "pin", PinParams, PinResult, Access.WRITE,
    "Keep one memory from being pruned or replaced, or no longer.", positional=("id",),
)  # fmt: skip
