"""What each tool takes. The schemas that models read are made of these."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from mnemond.protocol.links import MAX_DEPTH
from mnemond.protocol.types import MAX_NAME, Params

Category: TypeAlias = Literal["preference", "decision", "fact", "insight", "context", "general"]
LinkType: TypeAlias = Literal["causal", "semantic", "entity", "temporal"]

MAX_CONTENT = 8_000
"""Characters of a memory, and of a question (spec 8)."""

MOST_TAGS, MAX_TAG = 20, 100
MOST_ENTITIES = 50
"""Of one memory, and characters of a tag (spec 8): a model that keeps to the schema is not refused."""

MOST_RECALLED = 30
"""Memories one call may return: more than that fills a model's context with what it did not ask for."""

Store: TypeAlias = (
    Annotated[str, Meta(min_length=1, max_length=64, description="Named store; leave out for the active one.")]
    | UnsetType
)
Project: TypeAlias = (
    Annotated[
        str,
        Meta(
            min_length=1, max_length=4096,
            description="Name or directory of the project you work on: memories that name it come first.",
        ),
    ]
    | UnsetType
)  # fmt: skip
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
Tag: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TAG)]
Identifier: TypeAlias = Annotated[
    str, Meta(min_length=6, max_length=64, description="Id of the memory, or the first characters that recall shows.")
]
Moment: TypeAlias = Annotated[str, Meta(max_length=40, description="A day (2026-11-22) or an RFC 3339 time.")]


class RecallArguments(Params, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            min_length=1, max_length=MAX_CONTENT,
            description="What you want to know, as a question or statement with the names involved.",
        ),
    ]  # fmt: skip
    limit: Annotated[int, Meta(ge=1, le=MOST_RECALLED, description="At most so many memories.")] = 10
    category: Annotated[Category | UnsetType, Meta(description="Only memories of this kind.")] = UNSET
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    entity: Annotated[Name, Meta(description="Only memories that name this person, thing or place.")] | UnsetType = (
        UNSET
    )
    project: Project = UNSET
    store: Store = UNSET


class RememberArguments(Params, frozen=True, kw_only=True):
    content: Annotated[
        str,
        Meta(
            min_length=1, max_length=MAX_CONTENT,
            description="One or two sentences that a stranger would understand: names, absolute dates, the reason.",
        ),
    ]  # fmt: skip
    category: Annotated[Category | UnsetType, Meta(description="What kind of memory; general if none fits.")] = UNSET
    importance: (
        Annotated[int, Meta(ge=1, le=5, description="5 must never be lost, 3 is usual, 1 is a detail.")] | UnsetType
    ) = UNSET
    tags: (
        Annotated[tuple[Tag, ...], Meta(max_length=MOST_TAGS, description="Words to find it by that it does not say.")]
        | UnsetType
    ) = UNSET
    entities: (
        Annotated[tuple[Name, ...], Meta(max_length=MOST_ENTITIES, description="Whom and what it is about, by name.")]
        | UnsetType
    ) = UNSET
    source: Annotated[Name, Meta(description="Who said so: user, agent, or where you read it.")] | UnsetType = UNSET
    project: (
        Annotated[
            str,
            Meta(min_length=1, max_length=4096, description="Name or directory of the project it is about alone."),
        ]
        | UnsetType
    ) = UNSET
    store: Store = UNSET


class RelatedArguments(Params, frozen=True, kw_only=True):
    id: Identifier
    edge: Annotated[LinkType | UnsetType, Meta(description="Only over links of this type.")] = UNSET
    depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH, description="Links away, at most.")] = 2
    limit: Annotated[int, Meta(ge=1, le=MOST_RECALLED, description="At most so many memories.")] = 10
    store: Store = UNSET


class LinkArguments(Params, frozen=True, kw_only=True):
    source_id: Annotated[Identifier, Meta(description="Id of one memory; of a causal link the cause.")]
    target_id: Annotated[Identifier, Meta(description="Id of the other; of a causal link the effect.")]
    type: Annotated[LinkType, Meta(description="How they belong together.")]
    weight: Annotated[float, Meta(ge=0, le=1, description="How closely; .5 unless given.")] | UnsetType = UNSET
    store: Store = UNSET


class ForgetArguments(Params, frozen=True, kw_only=True):
    id: Identifier
    store: Store = UNSET


class UpdateArguments(Params, frozen=True, kw_only=True):
    id: Identifier
    content: (
        Annotated[str, Meta(min_length=1, max_length=MAX_CONTENT, description="The whole new text.")] | UnsetType
    ) = UNSET
    category: Annotated[Category | UnsetType, Meta(description="Another kind.")] = UNSET
    importance: Annotated[int, Meta(ge=1, le=5, description="Another importance.")] | UnsetType = UNSET
    tags: (
        Annotated[tuple[Tag, ...], Meta(max_length=MOST_TAGS, description="All tags, instead of those before.")]
        | UnsetType
    ) = UNSET
    entities: (
        Annotated[tuple[Name, ...], Meta(max_length=MOST_ENTITIES, description="All names, instead of those before.")]
        | UnsetType
    ) = UNSET
    store: Store = UNSET


class StatusArguments(Params, frozen=True, kw_only=True):
    store: Store = UNSET


class PromptArguments(Params, frozen=True, kw_only=True):
    """What the prompts take: texts alone (MCP, prompts/get)."""

    store: Store = UNSET
