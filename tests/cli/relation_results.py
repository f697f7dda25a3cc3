"""Results of the methods about relations, and what people read of them."""

from __future__ import annotations

import msgspec

from mnemond.api.types_relations import RelationsListResult, TimelineEvent, TimelineResult
from mnemond.model.outcomes import RelationResult
from mnemond.model.relations import EvidenceView, RelationshipView, TogetherView

MEMORY = "1a2b3c4d-0000-4000-8000-000000000001"
WORKS = "5e5e5e5e-0000-4000-8000-000000000005"
WORKED = "6f6f6f6f-0000-4000-8000-000000000006"
AT = "2026-02-01T10:00:00.000000Z"
MARCH = "2024-03-01T00:00:00.000000Z"

CURRENT = RelationshipView(
    id=WORKS, first_id=WORKS, source="Ana", type="works_at", target="Acme", literal=False, strength=1.0,
    valid_from=MARCH, granularity="month", invalid_at=None, end_granularity="exact", invalidated_by=None,
    created_at=AT, expired_at=None,
    evidence=[
        EvidenceView(memory_id=MEMORY, quote="Ana works at Acme", origin="host", kind="seen", at=AT, created_at=AT),
        EvidenceView(memory_id=None, quote="", origin="user", kind="start", at=MARCH, created_at=AT),
    ],
)  # fmt: skip

PAST = msgspec.structs.replace(
    CURRENT, id=WORKED, first_id=WORKED, target="Initech", valid_from=None, invalid_at=MARCH, end_granularity="month",
    invalidated_by=WORKS, status="past", evidence=[],
)  # fmt: skip

RELATION_RESULTS: dict[str, object] = {
    "relations.list": RelationsListResult(
        relations=[PAST, CURRENT],
        total=3,
        as_of=None,
        known_at=None,
        together=[TogetherView("Bob", 0.625, 2, [MEMORY, WORKS])],
    ),
    "relations.add": RelationResult(
        status="added", source="Ana", type="works_at", target="Acme", relations=[CURRENT], op_id="op-9", replayed=False
    ),
    "relations.close": RelationResult(
        status="closed", source="Ana", type="works_at", target="Initech", relations=[PAST], op_id="op-9", replayed=True
    ),
    "timeline": TimelineResult(
        name="Ana",
        events=[
            TimelineEvent(None, "exact", "began", WORKED, "Ana works_at Initech"),
            TimelineEvent(MARCH, "month", "ended", WORKED, "Ana works_at Initech"),
            TimelineEvent(AT, "exact", "memory", MEMORY, "Ana works at Acme"),
        ],
        total=4,
    ),
}

RELATION_TRANSCRIPTS = {
    "relations.list": """\
6f6f6f6f  Ana works_at Initech  until 2024-03  (past)
5e5e5e5e  Ana works_at Acme  since 2024-03
  said 2026-02-01 in 1a2b3c4d: Ana works at Acme
  given by user
1 more: -n 3
together with Bob  in 2 memories: 1a2b3c4d, 5e5e5e5e
""",
    "relations.add": """\
Noted: Ana works_at Acme
  5e5e5e5e  Ana works_at Acme  since 2024-03
  undo: mnemonctl undo op-9
""",
    "relations.close": """\
Closed: Ana works_at Initech (done before, with the same op_id)
  6f6f6f6f  Ana works_at Initech  until 2024-03  (past)
  undo: mnemonctl undo op-9
""",
    "timeline": """\
Ana
1 earlier event: -n 4
before      began: Ana works_at Initech
2024-03     ended: Ana works_at Initech
2026-02-01  1a2b3c4d  Ana works at Acme
""",
}
