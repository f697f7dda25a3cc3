"""An edge: one directed, typed, weighted relation between two insights."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import msgspec

EdgeType = Literal["temporal", "semantic", "causal", "entity"]
EDGE_TYPES: tuple[str, ...] = get_args(EdgeType)

CreatedBy = Literal["auto", "host", "user", "import", "worker"]

NO_METADATA = "{}"


class Edge(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`source_id` → `target_id`; `weight` lies in [0, 1]. Undirected relations are stored as two edges.

    `metadata` is the text of a JSON object of scalars and lists, at most `MAX_METADATA` bytes.
    """

    source_id: str
    target_id: str
    edge_type: EdgeType
    weight: float
    metadata: str = NO_METADATA
    created_by: CreatedBy = "auto"
    boost_days: float = 0.0
    last_boosted_at: str | None = None


MAX_METADATA = 4096
"""Bytes of an edge's metadata (spec 4, rules)."""


class Relation(NamedTuple):
    """What a new memory has to do with another, made by a rule: one automatic edge, or one each way.

    A causal one goes one way. `there` is the metadata of the edge to `other`, `back` of the one from it; None where
    there is no such edge.
    """

    other: str
    kind: EdgeType
    weight: float
    there: str | None
    back: str | None
