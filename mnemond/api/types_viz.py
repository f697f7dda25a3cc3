"""The method that draws a store: parameters."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from mnemond.api.types_memories import FilterParams
from mnemond.model.graph import Graph
from mnemond.wire.params import MAX_EXACT, Access, IdOrPrefix, about, method

MAX_NODES: Final = 5_000
"""Memories of a picture: what a page draws without stuttering."""

MAX_DEPTH: Final = 6
"""Links from the memory that a picture is around; six lead to most of a store."""


class VizParams(FilterParams, frozen=True, kw_only=True):
    """The filters are those of `list`. Without `around` the newest memories are in the picture."""

    around: Annotated[IdOrPrefix | None, about("this memory and what is linked to it, an id or its beginning")] = None
    depth: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_DEPTH)], about("links from that memory to the farthest, with around")
    ] = 2
    community: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_EXACT)] | None,
        about("those of a community alone; `mnemonctl communities` shows their numbers", metavar="N"),
    ] = None
    redact: Annotated[bool, about("no texts: ids in place of memories, numbers in place of names and tags")] = False
    limit: Annotated[Annotated[int, Meta(ge=1, le=MAX_NODES)], about("at most so many memories", "-n")] = MAX_NODES


VIZ = method("viz", VizParams, Graph, Access.READ, "Draw memories and their links.")
