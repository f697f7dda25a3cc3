"""Parameters and results of history, log and receipt: what was done, and what an auditor may be shown of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from mnemond.protocol.memories import InsightDetail
from mnemond.protocol.types import IdOrPrefix, Limit, Name, Params, Result, StoreName


class HistoryParams(Params, frozen=True, kw_only=True):
    """`id` may be that of a memory in any state, a purged one included, or any unique beginning of one from six
    characters on. Of a long history the newest `limit` operations are told."""

    id: IdOrPrefix
    limit: Limit = 100
    user_id: Name | None = None
    session_id: Name | None = None
    agent_id: Name | None = None
    store: StoreName | None = None


class ChainLink(msgspec.Struct, frozen=True):
    """One memory of a chain in which each took the place of the one before."""

    id: str
    status: str


class EdgeState(msgspec.Struct, frozen=True):
    """A link as it was. A causal one leads from source to target; any other leads both ways and is told once, from the
    memory itself if it is an end of it."""

    source_id: str
    target_id: str
    edge_type: str
    weight: float
    metadata: dict[str, object]
    created_by: str


class MemoryState(InsightDetail, frozen=True):
    """A memory as it was before or after an operation, with the edges that the operation changed.

    `corroboration_count`: how often it was said again.
    """

    superseded_by: str | None = None
    corroboration_count: int = 0
    edges: tuple[EdgeState, ...] = ()


class MemoryOperation(msgspec.Struct, frozen=True):
    """What one operation did to one memory.

    `before_state` is null where it made the memory, both states are null where it, or what it said while it was merged
    with another memory, was purged since. `triggered_by`: user, host:TOOL, system:JOB, or the id of a conversation
    (conversation:ID where it would read as one of the former, conversation alone where a memory of the operation was
    purged since). `op_id` is what undo takes; `undoes` the operation that this one took back.
    """

    id: int
    operation_type: str
    before_state: MemoryState | None
    after_state: MemoryState | None
    triggered_by: str
    op_id: str
    created_at: str
    undoes: str | None


class HistoryResult(Result, frozen=True, kw_only=True):
    """A memory's past. `chain` leads from what it replaced to what replaced it; `operations` are in the order they
    happened, `total_operations` of them in all."""

    id: str
    chain: list[ChainLink]
    operations: list[MemoryOperation]
    total_operations: int


class LogParams(Params, frozen=True, kw_only=True):
    """The newest `limit` lines."""

    limit: Limit = 20
    store: StoreName | None = None


class LogLine(msgspec.Struct, frozen=True):
    """One thing that was done; `detail` never holds a memory's text. `op_id` is what undo takes; null where no memory
    and no link was changed, or where it cannot be told."""

    id: int
    operation: str
    insight_id: str | None
    detail: str
    created_at: str
    op_id: str | None


class ReceiptParams(Params, frozen=True, kw_only=True):
    """The newest `limit` lines of the log."""

    limit: Limit = 20
    store: StoreName | None = None


class ReceiptPrivacy(msgspec.Struct, frozen=True):
    """What a receipt gives away."""

    raw_detail_included: bool = False
    hash_algorithm: Literal["sha256"] = "sha256"


class ReceiptEvent(msgspec.Struct, frozen=True):
    """One line of the log without what it was about: lower-case hexadecimal hashes of the UTF-8 text, null where there
    was none."""

    event_name: str
    operation: str
    created_at: str
    insight_id_hash: str | None
    detail_hash: str | None
    detail_present: bool


class ReceiptResult(Result, frozen=True, kw_only=True):
    """Evidence of what was done, newest first, that can be handed on: whoever knows an id can find it in here, and
    nobody else learns one."""

    schema: Literal["mnemond.receipt.v1"]
    generated_at: str
    store: str
    limit: int
    count: int
    privacy: ReceiptPrivacy
    events: list[ReceiptEvent]
