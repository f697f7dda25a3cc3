"""An insight: one memory, as it stands in a store and in the index."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Category = Literal["preference", "decision", "fact", "insight", "context", "general"]
CATEGORIES: tuple[str, ...] = get_args(Category)

Retired = Literal["superseded", "merged", "forgotten", "pruned", "expired"]
"""States of an insight that recall does not see."""

Status = Literal["active"] | Retired
STATUSES: tuple[str, ...] = ("active", *get_args(Retired))

EntityMode = Literal["merge", "provided", "auto"]
ENTITY_MODES: tuple[str, ...] = get_args(EntityMode)


NO_METADATA = "{}"


class Scope(msgspec.Struct, frozen=True):
    """Whom a memory is for. None means "everyone"; a scope is a filter inside a store, never a security boundary."""

    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None


class Insight(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One memory. Times are RFC 3339 in UTC with microseconds; `importance` is 1…5.

    `effective_importance` is the stored value of chapter "effective importance" (not capped at 1). `metadata` is the
    text of a JSON object. `keywords` describe it beside the others of its store; `event_start` and `event_end` are
    the dates it speaks of; `expires_at` is when it leaves recall by itself; `intent` is that of the fact it was
    extracted as; no read shows what is `quarantined`. `gc=False`: an insight never refers back to itself, and the
    collector need not walk 100,000 of them.
    """

    id: str
    content: str
    created_at: str
    updated_at: str
    category: str = "general"
    importance: int = 3
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    access_count: int = 0
    last_accessed_at: str | None = None
    effective_importance: float = 0.5
    valid_from: str | None = None
    invalid_at: str | None = None
    status: Status = "active"
    superseded_by: str | None = None
    event_start: str | None = None
    event_end: str | None = None
    keywords: str = ""
    trigger: str | None = None
    trigger_type: str | None = None
    boost_days: float = 0.0
    last_boosted_at: str | None = None
    paired_with: str | None = None
    corroboration_count: int = 0
    last_corroborated_at: str | None = None
    pinned: bool = False
    metadata: str = NO_METADATA
    intent: str | None = None
    expires_at: str | None = None
    quarantined: bool = False
