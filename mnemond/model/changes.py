"""Writes as values: what a pipeline asks for, and what the index must be told once it is committed.

A `ChangeSet` travels from a pipeline to the store's writer, which turns it into one savepoint of one transaction and,
after COMMIT, hands the same value to the index.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.model.edge import Edge
from mnemond.model.insight import Insight, Retired
from mnemond.model.outcomes import Outcome

Vector = npt.NDArray[np.float32]
"""A pre-normalised embedding, shape (dimension,), dtype float32, C-contiguous."""


class AddInsight(msgspec.Struct, frozen=True, tag=True):
    """Insert a new active insight; `vector` is None when it could not be embedded."""

    insight: Insight
    vector: Any = None  # Vector | None; msgspec has no schema for numpy arrays


class RetireInsight(msgspec.Struct, frozen=True, tag=True):
    """Take an active insight out of recall, keeping its row. Refused when it is not active any more."""

    id: str
    status: Retired


class AddEdge(msgspec.Struct, frozen=True, tag=True):
    """Insert an edge, or raise the weight of the edge with the same endpoints and type."""

    edge: Edge


class RemoveEdge(msgspec.Struct, frozen=True, tag=True):
    """Delete the edge with these endpoints and type, if there is one."""

    source_id: str
    target_id: str
    edge_type: str


Change = AddInsight | RetireInsight | AddEdge | RemoveEdge


class ChangeSet(msgspec.Struct, frozen=True):
    """One operation: everything that must become true together, or not at all.

    `now` is the one time of the whole operation (RFC 3339). `op_id` names it for undo and history; it is also the
    idempotency key when `client_op_id` is true, that is, when the caller chose it and may therefore repeat it.
    `outcome` is what a caller is told; it is stored with the operation so that a repeat gets the same answer.
    `request_digest` tells a repeat from another request under the same op_id.
    """

    op_id: str
    client_op_id: bool
    method: str
    now: str
    changes: tuple[Change, ...]
    outcome: Outcome
    request_digest: str = ""
    triggered_by: str = "user"
    detail: str = ""
