"""The tools of MCP and their schemas, and the texts that models read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mnemond.api.types_changes import DEFAULT_DEPTH, DEFAULT_WEIGHT, Depth, Weight
from mnemond.api.types_knowledge import MAX_SUMMED
from mnemond.model.memory import MAX_CONTENT, MAX_CUES, MAX_ENTITIES, MAX_TAG, MAX_TAGS, Category, EdgeType
from mnemond.model.outcomes import MAX_MESSAGES
from mnemond.model.reviews import Resolution
from mnemond.text.resources import on_first_use
from mnemond.wire.params import MAX_DIRECTORY, IdOrPrefix, Name, Params, StoreName, about, fields_of

# The arguments of each tool. Limits and choices are those of the methods, or narrower; the texts are for models.


MAX_RECALLED = 5
"""Results of a recall. Of questions about sessions of the day before more than nine in ten are answered by the first
three, and each result costs a model's context some hundred tokens."""

MAX_LISTED = 30
"""Memories any other call may return: more than that fills a model's context with unrelated memories."""

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT)]
Tags: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=MAX_TAG)], ...], Meta(max_length=MAX_TAGS)
]
Entities: TypeAlias = Annotated[tuple[Name, ...], Meta(max_length=MAX_ENTITIES)]
Cues: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=MAX_CUES)]
Importance: TypeAlias = Annotated[int, Meta(ge=1, le=5)]
Project: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_DIRECTORY)]
Identifier: TypeAlias = Annotated[IdOrPrefix, about("As recall shows it.")]
Moment: TypeAlias = Annotated[str, Meta(max_length=40)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_LISTED)]


class StoreArguments(Params, frozen=True, kw_only=True):
    store: StoreName | UnsetType = UNSET


class RecallArguments(StoreArguments, frozen=True, kw_only=True):
    query: Annotated[Text, about("A question or statement with the names in it.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_RECALLED)] = MAX_RECALLED
    category: Category | UnsetType = UNSET
    since: Annotated[Moment | UnsetType, about("A day (2026-11-22) or RFC 3339 time.")] = UNSET
    until: Moment | UnsetType = UNSET
    entity: Annotated[Name | UnsetType, about("Only what names this.")] = UNSET
    project: Annotated[Project | UnsetType, about("Your project's name or directory: it comes first.")] = UNSET


class RememberArguments(StoreArguments, frozen=True, kw_only=True):
    content: Annotated[Text, about("One thought in one or two sentences: names, absolute dates, the reason.")]
    category: Category | UnsetType = UNSET
    importance: Annotated[Importance | UnsetType, about("5 must stay, 3 usual, 1 detail.")] = UNSET
    tags: Tags | UnsetType = UNSET
    entities: Entities | UnsetType = UNSET
    cues: Annotated[Cues | UnsetType, about('3-6 prompts that need it: "can I just push?"; not "git"')] = UNSET
    when: Annotated[tuple[str, ...] | UnsetType, about("A rule's calls: Bash:git push*, Edit:src/**.")] = UNSET
    relations: Annotated[tuple[str, ...] | UnsetType, about('"Ana leads billing"')] = UNSET
    source: Annotated[Name | UnsetType, about("Who said so: user, agent, or where you read it.")] = UNSET
    project: Annotated[
        Project | UnsetType, about("Name or directory of the one project it is about; none: it holds in all.")
    ] = UNSET


class RelatedArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier
    edge: EdgeType | UnsetType = UNSET
    depth: Annotated[Depth, about("Links away, at most.")] = DEFAULT_DEPTH
    limit: Count = 10


class LinkArguments(StoreArguments, frozen=True, kw_only=True):
    source_id: Annotated[IdOrPrefix, about("Of a causal link the cause.")]
    target_id: Annotated[IdOrPrefix, about("Of a causal link the effect.")]
    type: EdgeType
    weight: Annotated[Weight | UnsetType, about(f"{str(DEFAULT_WEIGHT).lstrip('0')} unless given.")] = UNSET


class ForgetArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier


class UpdateArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier
    content: Annotated[Text | UnsetType, about("The whole new text.")] = UNSET
    category: str | UnsetType = UNSET  # one of those of `remember`; naming them again costs every session 30 tokens
    importance: Importance | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    entities: Entities | UnsetType = UNSET
    cues: Cues | UnsetType = UNSET


class StatusArguments(StoreArguments, frozen=True, kw_only=True):
    pass


# Beyond the core.


class TurnArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One turn of a conversation."""

    content: Text
    role: Name = "user"


class ExtractArguments(StoreArguments, frozen=True, kw_only=True):
    messages: Annotated[
        Annotated[tuple[TurnArguments, ...], Meta(min_length=1, max_length=MAX_MESSAGES)],
        about("A conversation, oldest first. The last exchange is read."),
    ]
    user_id: Name | UnsetType = UNSET
    session_id: Annotated[Name | UnsetType, about("Only this session will see it.")] = UNSET
    agent_id: Name | UnsetType = UNSET
    auto_resolve_conflicts: Annotated[bool | UnsetType, about("Let facts replace what they contradict.")] = UNSET


class SearchArguments(StoreArguments, frozen=True, kw_only=True):
    query: Annotated[Text, about("Words as they were written.")]
    limit: Count = 10


class GetArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier


class ListArguments(StoreArguments, frozen=True, kw_only=True):
    limit: Count = 20
    category: Category | UnsetType = UNSET
    entity: Name | UnsetType = UNSET
    tags: Annotated[Tags | UnsetType, about("With all of these.")] = UNSET
    before: Annotated[IdOrPrefix | UnsetType, about("Go on after this one.")] = UNSET


class RestoreArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier


class EntityArguments(StoreArguments, frozen=True, kw_only=True):
    name: Annotated[Name, about("Any name of it.")]
    as_of: Annotated[Moment | UnsetType, about("As it was on a day.")] = UNSET
    limit: Count = 10


class EntitiesArguments(StoreArguments, frozen=True, kw_only=True):
    query: Annotated[Name | UnsetType, about("Part of a name.")] = UNSET
    limit: Count = 20


class RelationsArguments(StoreArguments, frozen=True, kw_only=True):
    of: Annotated[Name | UnsetType, about("Of which person or thing.")] = UNSET
    as_of: Annotated[Moment | UnsetType, about("What held on a day.")] = UNSET
    history: Annotated[bool | UnsetType, about("Of all times.")] = UNSET
    limit: Count = 20


class ReviewsArguments(StoreArguments, frozen=True, kw_only=True):
    limit: Count = 10


class CommunitiesArguments(StoreArguments, frozen=True, kw_only=True):
    limit: Count = 10


class ConsolidateArguments(StoreArguments, frozen=True, kw_only=True):
    limit: Count = 10


class SummarizeArguments(StoreArguments, frozen=True, kw_only=True):
    ids: Annotated[tuple[IdOrPrefix, ...], Meta(min_length=2, max_length=MAX_SUMMED)]


class ResolveArguments(StoreArguments, frozen=True, kw_only=True):
    id: Annotated[int, about("As reviews shows it.")]
    resolution: Annotated[Resolution, about("SUPERSEDE: the newer holds.")]
    content: Annotated[Text | UnsetType, about("Of a MERGE.")] = UNSET


class FeedbackArguments(StoreArguments, frozen=True, kw_only=True):
    id: Identifier
    verdict: Annotated[Literal["useful", "misled"], about("misled: it was wrong or beside the point.")]
    prompt: Annotated[Text | UnsetType, about("That it was useful for; it becomes a cue.")] = UNSET


class PromptArguments(StoreArguments, frozen=True, kw_only=True):
    """Arguments of the prompts: texts alone (MCP, prompts/get)."""


ToolSet: TypeAlias = Literal["core", "full"]


class Annotations(msgspec.Struct, frozen=True, rename="camel"):
    """Hints for hosts. All are given: an absent one counts as dangerous. Memory is closed to the world (the example of
    MCP, ToolAnnotations)."""

    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool = False


class Tool(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One declaration."""

    name: str
    description: str
    input_schema: Mapping[str, object]
    annotations: Annotations
    meta: Mapping[str, object] | None = msgspec.field(default=None, name="_meta")


class StatusView(msgspec.Struct, frozen=True):
    """Result of `status`: a store in short."""

    store: str
    memories: int
    links: int
    embedded: int
    questions: int
    healthy: bool
    trouble: str
    version: str


ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}
"""Claude Code hides tools behind a search unless they say that."""


LIMITS: Final = frozenset(("minLength", "maxLength", "maxItems", "minItems"))
"""Keywords that no schema shows, nor that there are no other parameters: every session would pay for them, and a call
beyond them is refused with the reason."""


def schema_of(kind: type[msgspec.Struct]) -> dict[str, object]:
    """The JSON schema (2020-12) of a type without references, which not every host follows."""
    definitions: dict[str, dict[str, Any]] = msgspec.json.schema(kind)["$defs"]
    found = definitions[kind.__name__]
    return _object([field.name for field in fields_of(kind)], found, definitions)


def _object(names: list[str], schema: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> dict[str, object]:
    properties = {name: _shown(schema["properties"][name], definitions) for name in names}
    required = {"required": schema["required"]} if schema["required"] else {}
    return {"type": "object", "properties": properties, **required}


def _shown(schema: dict[str, Any], definitions: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Resolve references, leave out limits, and add the type to a choice, as some hosts require."""
    if "$ref" in schema:
        referred = definitions[schema["$ref"].rpartition("/")[2]]
        return _object(list(referred["properties"]), referred, definitions)
    found = {"type": "string", **schema} if "enum" in schema else schema
    found = {name: value for name, value in found.items() if name not in LIMITS}
    return {**found, "items": _shown(found["items"], definitions)} if "items" in found else found


def _tool(
    kind: type[Params], name: str, description: str, *, writes: str = "", again: bool = True, meta: bool = False
) -> Tool:
    """`writes`: nothing, "adds" or "changes". `again`: a repeated call changes nothing more."""
    hints = Annotations(not writes, writes == "changes", again)
    return Tool(name, description, schema_of(kind), hints, ALWAYS_LOADED if meta else None)


CORE: Final = ("recall", "remember", "related", "link", "forget", "update", "status")
"""The tools of every session; the others are for `mcp.tools = "full"`."""


def tools(which: ToolSet = "core") -> Mapping[str, Tool]:
    """The tools of a set by name, in the order of the list."""
    return _every() if which == "full" else {name: _every()[name] for name in CORE}


@on_first_use
def _every() -> Mapping[str, Tool]:
    """Their schemas take 5 ms to build."""
    every = (
        _tool(
            RecallArguments, "recall",
            "Find what earlier sessions left in memory: decisions and their reasons, preferences, facts, lessons.",
            meta=True,
        ),
        _tool(
            RememberArguments, "remember",
            "Keep one thing for later sessions. What is known is not stored twice; what it corrects, it replaces.",
            writes="adds", meta=True,
        ),
        _tool(RelatedArguments, "related", "The memories around one: causes, effects, the same people or things."),
        _tool(LinkArguments, "link", "Say that two memories belong together.", writes="adds"),
        _tool(ForgetArguments, "forget", "Take a memory out of recall; the user can restore it.", writes="changes"),
        _tool(UpdateArguments, "update", "Change a memory; lists whole; its history keeps the old.", writes="changes"),
        _tool(StatusArguments, "status", "How much is in memory, and whether it is well."),
        _tool(
            ExtractArguments, "memory_extract", "Keep what is worth it of a conversation, fact by fact.", writes="adds"
        ),
        _tool(SearchArguments, "search", "Find memories by their words alone."),
        _tool(GetArguments, "get", "All of one memory, with its links."),
        _tool(ListArguments, "list", "Memories, newest first."),
        _tool(RestoreArguments, "restore", "Bring a memory back that left recall.", writes="adds"),
        _tool(EntityArguments, "entity", "All that is known of a person or a thing, with its relations in time."),
        _tool(EntitiesArguments, "entities", "The people and things that memories name."),
        _tool(RelationsArguments, "relations", "What people and things are related to, now or on a day."),
        _tool(ReviewsArguments, "reviews", "Pairs of memories that may not both hold."),
        _tool(CommunitiesArguments, "communities", "Groups of memories that belong together."),
        _tool(ConsolidateArguments, "consolidate", "Ask about memories that say nearly the same.", writes="adds"),
        _tool(
            SummarizeArguments, "summarize", "Keep what several memories say as one more.", writes="adds", again=False
        ),
        _tool(ResolveArguments, "resolve", "Decide about a pair, as the user says.", writes="changes"),
        _tool(
            FeedbackArguments, "feedback", "Say that a memory helped you, or that it misled you.", writes="adds",
            again=False,
        ),
    )  # fmt: skip
    return {tool.name: tool for tool in every}
