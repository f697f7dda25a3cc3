"""Field types that several messages share."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_NAME = 200
"""Characters of a source, conversation, session, user or agent id (the same bound as an entity's name, chapter 07)."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
OpId = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
StoreName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
IdOrPrefix = Annotated[str, msgspec.Meta(min_length=6, max_length=64)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every method's parameters: unknown fields are refused."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every object result: while a store is degraded, the result says so."""

    degraded: bool | msgspec.UnsetType = msgspec.UNSET
    degraded_reason: str | msgspec.UnsetType = msgspec.UNSET


MAX_TAGS = 50
"""Tags that one filter asks for: more than any memory has."""

Tags = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TAGS)]


class FilterParams(Params, frozen=True, kw_only=True):
    """Base of what looks for memories, and how that can be narrowed; what is not given does not narrow.

    A scope id that is given admits its own memories and those of nobody in particular, with `strict_scope` its own
    alone; those of a session are left out unless it or `all_sessions` is given.

    `tags`: with all of these; `any_tags`: with one of these; case does not matter. `entity`: naming it, under any of
    its spellings and known aliases. `stated_intent`: that of the fact a memory was extracted as. `since` and `until`:
    when a memory was made; `event_since` and `event_until`: what it speaks of overlaps that. Times are RFC 3339
    timestamps, or days (YYYY-MM-DD, UTC); what begins at `until` is outside, but a day given as `until` is inside.

    `metadata`: `{"project": "apollo"}`, `{"build": {"gte": 3}}`, `{"ticket": "*"}`; operators eq ne in nin gt gte lt
    lte contains icontains; `AND`, `OR` and `NOT` take lists of such objects.

    What is valid is told at `now` (default: the clock): nothing that has ended or expired, or begins later. `as_of`
    tells what was valid then, also of what left recall since; `include_invalid` minds no validity; `status` names one
    state: active, superseded, merged, forgotten, pruned, expired. What was forgotten is found by its status alone.
    """

    category: str | None = None
    source: Name | None = None
    channel: Name | None = None
    tags: Tags = ()
    any_tags: Tags = ()
    entity: Name | None = None
    stated_intent: Name | None = None
    min_importance: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    since: str | None = None
    until: str | None = None
    event_since: str | None = None
    event_until: str | None = None
    status: str | None = None
    metadata: dict[str, object] | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    strict_scope: bool = False
    all_sessions: bool = False
    as_of: str | None = None
    include_invalid: bool = False
    now: str | None = None
