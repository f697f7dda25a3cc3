"""Parameters and results of link, unlink and related."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import IdOrPrefix, Limit, Name, OpId, Params, Result, StoreName

EdgeKind = Literal["temporal", "semantic", "causal", "entity"]

DEFAULT_WEIGHT = 0.5
"""The middle, which is also the least weight of a pair (spec 8): that two memories belong together was said, not how
closely. Of a link that is there the larger weight counts, so it never weakens one."""

MAX_DEPTH = 5
"""Links between a memory and what is still related to it, at most."""

Weight = Annotated[float, msgspec.Meta(ge=0, le=1)]


class LinkParams(Params, frozen=True, kw_only=True):
    """A causal link leads from the cause `source_id` to the effect `target_id`; any other type leads both ways.

    `metadata` is an object of texts, numbers, true, false, null and lists of these, at most 4,096 bytes of JSON;
    `sub_type` is short for metadata.sub_type. `bidirectional` is for causal links, and needs `allow_cycle` there.
    `created_by` is "user" unless given. `allow_secret` keeps what looks like a key or a password as it is.
    """

    source_id: IdOrPrefix
    target_id: IdOrPrefix
    type: EdgeKind
    weight: Weight = DEFAULT_WEIGHT
    metadata: dict[str, object] | None = None
    sub_type: Name | None = None
    bidirectional: bool = False
    allow_cycle: bool = False
    created_by: Literal["host", "user"] | None = None
    allow_secret: bool = False
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class LinkResult(Result, frozen=True, kw_only=True):
    """The link as it stands now: of one that was there, the larger weight and both metadata count.

    `created` and `updated` are both false when it stood exactly like that before. `redacted` are the kinds of secrets
    that were taken out of the metadata.
    """

    status: Literal["linked"]
    created: bool
    updated: bool
    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: dict[str, object]
    bidirectional: bool
    redacted: list[str]
    op_id: str
    replayed: bool


class UnlinkParams(Params, frozen=True, kw_only=True):
    """Links of one `type`, or of all of them. A causal link goes only from `source_id` to `target_id`."""

    source_id: IdOrPrefix
    target_id: IdOrPrefix
    type: EdgeKind | None = None
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class UnlinkResult(Result, frozen=True, kw_only=True):
    """How many links are gone, of which types. `cause_other_way`: a causal one from target to source is left."""

    status: Literal["unlinked"]
    source_id: str
    target_id: str
    edges_removed: int
    edge_types: list[str]
    cause_other_way: bool
    op_id: str
    replayed: bool


class RelatedParams(Params, frozen=True, kw_only=True):
    """Breadth first from one memory, over links of the type `edge` or of all types, at most `depth` links away.

    Links are followed whichever way they lead, and never through a memory that the reader may not see.
    """

    id: IdOrPrefix
    edge: EdgeKind | None = None
    depth: Annotated[int, msgspec.Meta(ge=1, le=MAX_DEPTH)] = 2
    limit: Limit = 20
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    all_sessions: bool = False
    store: StoreName | None = None


class RelatedMemory(msgspec.Struct, frozen=True, gc=False):
    """A memory and how it is reached: over how many links, the last of which type and weight."""

    id: str
    content: str
    category: str
    importance: int
    depth: int
    via_edge_type: str
    weight: float
