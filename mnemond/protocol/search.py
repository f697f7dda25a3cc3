"""Parameters and results of search."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.protocol.types import Limit, Name, Params, StoreName


class SearchParams(Params, frozen=True, kw_only=True):
    """The words of `query` alone count, not its meaning. The filters are those of recall."""

    query: Annotated[str, msgspec.Meta(max_length=8000)]
    limit: Limit = 10
    category: str | None = None
    source: Name | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    all_sessions: bool = False
    store: StoreName | None = None


class SearchHit(msgspec.Struct, frozen=True, gc=False):
    """A memory that has a word of the query. `score` is BM25 as a part of what no memory can reach, below 1."""

    id: str
    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    score: float
