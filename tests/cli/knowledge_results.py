"""Results of the methods about what memories have in common, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_knowledge import (
    ClusterMember,
    CommunitiesResult,
    Community,
    CommunityMemory,
    ConsolidateResult,
    MemoryCluster,
)
from mnemond.model.outcomes import SummarizeResult

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"
THIRD = "7c7c7c7c-0000-4000-8000-000000000004"
AT = "2026-02-01T10:00:00.000000Z"

CLUSTER = MemoryCluster(
    id=ID, content="The index is rebuilt every night", category="fact", project=None, created_at=AT,
    members=[
        ClusterMember(OTHER, "The index is rebuilt each night", AT, 0.95, 0.8, "DUPLICATE", 3, apart=False),
        ClusterMember(THIRD, "The index is never rebuilt", AT, None, 0.81, "MERGE", None, apart=True),
    ],
    preview="The index is rebuilt every night",
)  # fmt: skip

CONSOLIDATED = ConsolidateResult(
    store="default", clusters=[CLUSTER], found=2, pairs=3, proposed=1, refused=1, apart=4, dry_run=False
)

GROUPED = CommunitiesResult(
    store="default", total=3, outside=1,
    communities=[
        Community(2, 12, [CommunityMemory(ID, "Redis holds the sessions")]),
        Community(1, 2, []),
    ],
)  # fmt: skip

SUMMED = SummarizeResult(
    id=THIRD, content="The index is rebuilt every night", derived_from=[ID, OTHER], embedded=False,
    embed_error="no model", op_id="op-8", replayed=False,
)  # fmt: skip

KNOWLEDGE_RESULTS: dict[str, object] = {"consolidate": CONSOLIDATED, "communities": GROUPED, "summarize": SUMMED}

KNOWLEDGE_TRANSCRIPTS = {
    "summarize": """\
Summary 7c7c7c7c of 1a2b3c4d, 9f8e7d6c
  The index is rebuilt every night
  not embedded: no model
  undo: mnemonctl undo op-8
""",
    "communities": """\
3 communities in store "default"; 1 memory in none
2  12 memories
  1a2b3c4d  Redis holds the sessions
1  2 memories
and 1 more, see --limit
their memories: mnemonctl list --community N
""",
    "consolidate": """\
2 clusters in store "default", 3 pairs; asked about 1 pair
1a2b3c4d  The index is rebuilt every night
  9f8e7d6c  95%  review 3  The index is rebuilt each night
  7c7c7c7c  81%, would stay apart  The index is never rebuilt
  merged  The index is rebuilt every night
and 1 more, see --limit
1 pair left apart before
decide: mnemonctl reviews, then mnemonctl resolve N --as MERGE | DUPLICATE | COEXIST
""",
}
