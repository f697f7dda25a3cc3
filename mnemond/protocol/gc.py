"""Parameters and results of gc, which has one result for each thing it does."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName

MAX_DAYS = 36_500


class GcParams(Params, frozen=True, kw_only=True):
    """List what matters least, or do one thing about it.

    `threshold` and `limit` say which memories: those of less effective importance, so many at most. `keep` makes one
    memory immune; `review` lists texts that may have to be written again; `apply` takes what is listed out of recall;
    `purge_deleted` removes for good what left recall more than so many days ago, the longest ago first.
    """

    threshold: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0.5
    limit: Limit = 20
    keep: IdOrPrefix | None = None
    review: bool = False
    apply: bool = False
    purge_deleted: Annotated[int, msgspec.Meta(ge=0, le=MAX_DAYS)] | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class GcCandidate(msgspec.Struct, frozen=True):
    """A memory that matters little. `effective_importance` is that of now; `edge_count` counts links."""

    id: str
    content: str
    category: str
    importance: int
    access_count: int
    effective_importance: float
    days_since_access: float
    edge_count: int
    immune: bool


class GcResult(Result, frozen=True, kw_only=True):
    """What matters least, least first. `candidates_found` counts those beyond `limit` too; `actions` are command lines
    by what they do."""

    total_insights: int
    threshold: float
    candidates_found: int
    candidates: list[GcCandidate]
    max_insights: int
    actions: dict[str, str]


class GcKept(Result, frozen=True, kw_only=True):
    """A memory that is left alone from now on."""

    status: Literal["retained"]
    id: str
    content: str
    new_access: int
    effective_importance: float
    immune: bool
    op_id: str
    replayed: bool


class GcFlagged(msgspec.Struct, frozen=True):
    """A memory whose text may have to be written again. What looks like a secret is taken out of `content`."""

    id: str
    content: str
    importance: int
    quality_warnings: list[str]


class GcReview(Result, frozen=True, kw_only=True):
    """Those with the most warnings first; `total_flagged` counts those beyond `limit` too."""

    review_results: list[GcFlagged]
    total_flagged: int
    actions: dict[str, str]


class GcDone(Result, frozen=True, kw_only=True):
    """What was taken out of recall, or removed for good. `left`: how many more there are; `backups`: names of copies of
    the store's file, beside it, that still hold some of what was removed."""

    status: Literal["retired", "purged"]
    count: int
    ids: list[str]
    left: int
    backups: tuple[str, ...] = ()
    op_id: str
    replayed: bool
