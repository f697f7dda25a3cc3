"""A store as a picture: memories, the links between them, and what they are grouped by."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.model.answers import MemoryText
from mnemond.model.memory import EdgeType
from mnemond.model.outcomes import Result
from mnemond.model.relations import StatedRelation

MADE_BY: Final = "mnemonctl viz"
"""In the head of every file that `viz` writes; a file that has it may be replaced by a newer one."""


class GraphNode(MemoryText, frozen=True, kw_only=True):
    """A memory. `degree` is the number of memories in the picture that it is linked to, `community` the number of its
    group, null if it is in none."""

    community: int | None
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    project: str | None
    created_at: str
    event_start: str | None
    event_end: str | None
    pinned: bool
    degree: int


class GraphEdge(msgspec.Struct, frozen=True):
    """The links of two memories, by their ids: of which `types`, and the greatest `weight` of them. If one is causal,
    it leads from `source`, the cause, to `target`; the others have no direction."""

    source: str
    target: str
    types: list[EdgeType]
    weight: float


class GraphCommunity(msgspec.Struct, frozen=True):
    """A group of memories that are linked among each other more than to others; `memories` of it are in the picture."""

    number: int
    memories: int


class Graph(Result, frozen=True, kw_only=True):
    """`total`: memories that fit the filters, of which the newest `limit` are in `nodes`, or with `around` the nearest
    ones. `total_edges`: pairs of these that are linked; `edges` has the strongest of each memory, these first.
    `cut_at`: characters at which longer texts were cut, null if all are whole."""

    made_by: str = MADE_BY
    store: str
    generated_at: str
    redacted: bool
    total: int
    limit: Annotated[int, Meta(ge=1)]
    total_edges: int
    cut_at: int | None
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    communities: list[GraphCommunity]
    relations: list[StatedRelation]
