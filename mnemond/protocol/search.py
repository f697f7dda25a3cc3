"""Parameters and results of search."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.protocol.types import FilterParams, Limit, StoreName


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
