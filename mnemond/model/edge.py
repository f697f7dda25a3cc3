"""An edge: one directed, typed, weighted relation between two insights."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

EdgeType = Literal["temporal", "semantic", "causal", "entity"]
EDGE_TYPES: tuple[str, ...] = get_args(EdgeType)


class Edge(msgspec.Struct, frozen=True, gc=False):
    """`source_id` → `target_id`; `weight` lies in [0, 1]. Undirected relations are stored as two edges."""

    source_id: str
    target_id: str
    edge_type: EdgeType
    weight: float
