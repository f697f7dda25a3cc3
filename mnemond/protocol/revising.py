"""Parameters and results of update, supersede, merge and restore, which give a memory another value or place."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET

from mnemond.protocol.remembering import ConflictView, EdgesCreated, Names, QualityDetail
from mnemond.protocol.types import IdOrPrefix, Name, OpId, Params, Result, StoreName


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
