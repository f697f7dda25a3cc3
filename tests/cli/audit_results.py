"""Results of history, log, receipt, undo and gc, as the handlers would return them."""

from __future__ import annotations

import msgspec

from mnemond.api.types_changes import ReceiptEvent, ReceiptPrivacy, ReceiptResult
from mnemond.model.answers import (
    ChainLink,
    EdgeState,
    GcCandidate,
    GcFlagged,
    GcResult,
    GcReview,
    HistoryResult,
    LogLine,
    MemoryOperation,
    MemoryState,
)
from mnemond.model.outcomes import GcDone, GcKept, UndoneMemory, UndoResult

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OLD = "9f8e7d6c-0000-4000-8000-000000000002"
AT = "2026-02-17T09:30:00.000000Z"

FIRST = MemoryState(
    id=ID, content="The cache expires after 10 minutes", category="fact", importance=3, tags=("cache",), entities=(),
    source="user", access_count=0, effective_importance=0.5, created_at=AT, updated_at=AT, valid_from=None,
    invalid_at=None, channel="manual", conversation_id=None, user_id=None, session_id=None, agent_id=None,
    status="active", metadata={},
)  # fmt: skip
CHANGED = msgspec.structs.replace(
    FIRST, content="The cache of the billing service expires after 20 minutes, and nobody knows why", tags=()
)
LINKED = msgspec.structs.replace(CHANGED, edges=(EdgeState(ID, OLD, "causal", 0.8, {}, "user"),))

HISTORY = HistoryResult(
    id=ID,
    chain=[ChainLink(OLD, "superseded"), ChainLink(ID, "active")],
    operations=[
        MemoryOperation(
            id=7,
            operation_type="CREATE",
            before_state=None,
            after_state=FIRST,
            triggered_by="user",
            op_id="op-1",
            created_at=AT,
            undoes=None,
        ),
        MemoryOperation(
            id=8,
            operation_type="UPDATE",
            before_state=FIRST,
            after_state=CHANGED,
            triggered_by="host:editor",
            op_id="op-2",
            created_at="2026-02-18T10:00:00.000000Z",
            undoes=None,
        ),
        MemoryOperation(
            id=9,
            operation_type="UPDATE",
            before_state=CHANGED,
            after_state=LINKED,
            triggered_by="user",
            op_id="op-3",
            created_at="2026-02-18T11:00:00.000000Z",
            undoes=None,
        ),
        MemoryOperation(
            id=12,
            operation_type="UPDATE",
            before_state=LINKED,
            after_state=CHANGED,
            triggered_by="user",
            op_id="op-4",
            created_at="2026-02-18T12:00:00.000000Z",
            undoes="op-3",
        ),
        MemoryOperation(
            id=13,
            operation_type="DELETE",
            before_state=None,
            after_state=None,
            triggered_by="user",
            op_id="op-5",
            created_at="2026-02-19T12:00:00.000000Z",
            undoes=None,
        ),
    ],
    total_operations=6,
)

LOG = [
    LogLine(12, "diff-replace", ID, "fact importance=3 channel=manual", AT, "9f8e7d6c-0000-4000-8000-00000000000a"),
    LogLine(11, "gc", None, "threshold=0.5 retired=0", AT, None),
]

RECEIPT = ReceiptResult(
    schema="mnemond.receipt.v1", generated_at=AT, store="default", limit=20, count=2, privacy=ReceiptPrivacy(),
    events=[
        ReceiptEvent("memory.remember", "remember", AT, "0123456789abcdef" * 4, "fedcba9876543210" * 4, True),
        ReceiptEvent("memory.gc", "gc", AT, None, None, False),
    ],
)  # fmt: skip

UNDONE = UndoResult(
    status="undone", undone="op-3", method="merge",
    memories=[UndoneMemory(ID, "restored", []), UndoneMemory(OLD, "retired", [])],
    edges_restored=2, edges_removed=1, edges_missing=0, embed_error=None, op_id="op-6", replayed=False,
)  # fmt: skip

COLLECTABLE = GcResult(
    total_insights=87, threshold=0.5, candidates_found=3,
    candidates=[GcCandidate(OLD, "It runs at night.", "fact", 2, 0, 0.21, 41.2, 1, False)],
    max_insights=1000, actions={"purge": "mnemonctl gc --apply --yes", "keep": "mnemonctl gc --keep ID"},
)  # fmt: skip

KEPT = GcKept(
    status="retained", id=ID, content="It runs at night.", new_access=4, effective_importance=0.9, immune=True,
    op_id="op-7", replayed=False,
)  # fmt: skip

REVIEWED = GcReview(
    review_results=[GcFlagged(ID, "It is now 3 files", 3, ["speaks of a moment", "counts what changes"])],
    total_flagged=2, actions={"forget": "mnemonctl forget ID"},
)  # fmt: skip

COLLECTED = GcDone(status="retired", count=2, ids=[ID, OLD], left=0, op_id="op-8", replayed=False)

AUDIT_RESULTS: dict[str, object] = {
    "history": HISTORY,
    "undo": UNDONE,
    "gc": COLLECTABLE,
    "log": LOG,
    "receipt": RECEIPT,
}

AUDIT_TRANSCRIPTS = {
    "history": """\
1a2b3c4d-0000-4000-8000-000000000001
  9f8e7d6c (superseded) → 1a2b3c4d (active)
  … 1 earlier operation, see --limit
  2026-02-17 09:30:00  remembered  operation op-1
    The cache expires after 10 minutes
  2026-02-18 10:00:00  changed by host:editor  operation op-2
    content: The cache expires after 10 … → The cache of the billing se…
    tags: cache → none
  2026-02-18 11:00:00  changed  operation op-3
    + causal link 1a2b3c4d → 9f8e7d6c, weight 0.80
  2026-02-18 12:00:00  changed  operation op-4, which took back op-3
    - causal link 1a2b3c4d → 9f8e7d6c, weight 0.80
  2026-02-19 12:00:00  purged: nothing of it is kept  operation op-5
""",
    "undo": """\
Took back: merge, operation op-3
  1a2b3c4d  back in recall
  9f8e7d6c  out of recall
  2 links put back, 1 link removed
To have it again: mnemonctl undo op-6
""",
    "gc": """\
3 below 0.5 (memories: 87 of 1,000)
9f8e7d6c  0.21    41 d    1 link  It runs at night.
and 2 more, see --limit

take these out of recall: mnemonctl gc --apply --yes
keep one of them: mnemonctl gc --keep ID
""",
    "log": """\
2026-02-17 09:30:00  diff-replace   1a2b3c4d  9f8e7d6c  fact importance…
2026-02-17 09:30:00  gc                                 threshold=0.5 r…
""",
    "receipt": """\
2 events of store "default", 2026-02-17T09:30:00.000000Z
2026-02-17 09:30:00  memory.remember       0123456789ab  fedcba987654
2026-02-17 09:30:00  memory.gc             -             -
Ids and details are SHA-256 hashes; --json shows them whole.
""",
}
