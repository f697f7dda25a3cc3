"""Results of update, supersede, merge and restore, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_changes import ReviewedMemory, ReviewsResult, ReviewView
from mnemond.model.outcomes import (
    Conflict,
    EdgesCreated,
    MergeResult,
    QualityDetail,
    ResolveResult,
    RestoreResult,
    SupersedeResult,
    UpdateResult,
)

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"
THIRD = "7c7c7c7c-0000-4000-8000-000000000004"

UPDATED = UpdateResult(
    id=ID, status="updated", changed=["content", "conversation_id"], embedded=True, embed_error=None,
    edges_created=EdgesCreated(temporal=0, entity=2, causal=1, semantic=0), effective_importance=0.7,
    redacted=["password"], quality_warnings=["very short"],
    quality_details=[QualityDetail("short", "very short", "x", 0)], op_id="op-3", replayed=False,
)  # fmt: skip

SUPERSEDED = SupersedeResult(
    id=ID, status="superseded", message="it stands there", superseded_by=OTHER,
    instead_of="5e5e5e5e-0000-4000-8000-000000000003", edges_moved=2, op_id="op-4", replayed=False,
)  # fmt: skip

MERGED = MergeResult(
    id=ID, status="merged", message="it says both", merged_id=OTHER, content="tea at four; coffee at noon",
    embedded=False, embed_error="no model", edges_moved=1, edges_created=EdgesCreated(entity=1), redacted=[],
    quality_warnings=[], quality_details=[], op_id="op-5", replayed=True,
)  # fmt: skip

RESTORED = RestoreResult(
    id=ID, status="restored", superseded_by=OTHER, embedded=True, embed_error=None,
    edges_created=EdgesCreated(temporal=3), op_id="op-6", replayed=False,
    conflicts=[Conflict(THIRD, "DUPLICATE", 1.0, "identical after normalisation")],
)  # fmt: skip

_OLDER = ReviewedMemory(
    ID,
    "The office is in Berlin",
    "fact",
    "2026-02-01T10:00:00.000000Z",
    "user",
    "chat-1",
    pinned=False,
    status="active",
)
_NEWER = ReviewedMemory(
    OTHER, "The office is in Munich", "fact", "2026-02-03T10:00:00.000000Z", "user", None, pinned=False,
    status="active",
)  # fmt: skip

WAITING = ReviewView(
    id=3, kind="conflict", suggestion="SUPERSEDE", similarity=0.7, reason="they give different values, so both stay",
    created_at="2026-02-03T10:00:00.000000Z", expires_at="2026-02-17T10:00:00.000000Z", older=_OLDER, newer=_NEWER,
    resolved_at=None, resolution=None, by=None,
)  # fmt: skip

REVIEWS = ReviewsResult(reviews=[WAITING], total=1, store="default")

RESOLVED = ResolveResult(
    review=3, resolution="MERGE", action="MERGE", older_id=ID, newer_id=OTHER, id=ID, message="they are one memory now",
    content="Berlin, then Munich", dropped=["The office is in Berlin"], redacted=[], embedded=True, op_id="op-7",
    replayed=False,
)  # fmt: skip

REVISION_RESULTS: dict[str, object] = {
    "update": UPDATED,
    "supersede": SUPERSEDED,
    "merge": MERGED,
    "restore": RESTORED,
    "reviews": REVIEWS,
    "resolve": RESOLVED,
}

REVISION_TRANSCRIPTS = {
    "reviews": """\
1 review in store "default"; both stay meanwhile
3  SUPERSEDE?  until 2026-02-17
  older  1a2b3c4d  2026-02-01  The office is in Berlin
  newer  9f8e7d6c  2026-02-03  The office is in Munich
  they give different values, so both stay
decide: mnemonctl resolve N --as SUPERSEDE | MERGE | DUPLICATE | COEXIST
""",
    "resolve": """\
Review 3, MERGE: 1a2b3c4d and 9f8e7d6c, they are one memory now
  Berlin, then Munich
  not in it: The office is in Berlin
  undo: mnemonctl undo op-7
""",
    "update": """\
Updated 1a2b3c4d: content, conversation id, 3 new links
  redacted: password (--allow-secret keeps it)
  very short
  undo: mnemonctl undo op-3
""",
    "supersede": """\
9f8e7d6c takes the place of 1a2b3c4d, 2 links moved
  which had taken the place of 5e5e5e5e before
  undo: mnemonctl undo op-4
""",
    "merge": """\
Merged 9f8e7d6c into 1a2b3c4d, 1 link moved, 1 new link (done before, with the same op_id)
  tea at four; coffee at noon
  not embedded: no model
  undo: mnemonctl undo op-5
""",
    "restore": """\
Restored 1a2b3c4d, 3 new links
  9f8e7d6c had taken its place and stays
To review, beside 1a2b3c4d:
  7c7c7c7c (DUPLICATE, similarity 1.0): identical after normalisation
    what is back holds: mnemonctl supersede 7c7c7c7c 1a2b3c4d
    the other holds:    mnemonctl supersede 1a2b3c4d 7c7c7c7c
  undo: mnemonctl undo op-6
""",
}
