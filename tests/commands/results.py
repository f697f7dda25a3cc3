"""Results of every method, as the handlers would return them."""

from __future__ import annotations

import msgspec

from mnemond.protocol.daemon import EntityCount, StatusResult, StoreCreateResult, StoreEntry, StoreListResult
from mnemond.protocol.memories import (
    EdgesCreated,
    ForgetResult,
    GetResult,
    InsightDetail,
    InsightView,
    ListResult,
    RecallHit,
    RecallMeta,
    RecallResult,
    RememberResult,
    RerankMeta,
    ScopeView,
    SignalsView,
)

ID = "1a2b3c4d-0000-4000-8000-000000000001"

INSIGHT = InsightView(
    id=ID,
    content="We chose SQLite because the team lacks Redis experience",
    category="decision",
    importance=4,
    tags=("db", "architecture"),
    entities=("SQLite", "Redis"),
    source="user",
    access_count=1,
    effective_importance=0.7,
    created_at="2026-02-17T09:30:00.000000Z",
    updated_at="2026-02-17T09:30:00.000000Z",
    valid_from=None,
    invalid_at=None,
)

DETAIL = InsightDetail(
    **{name: getattr(INSIGHT, name) for name in INSIGHT.__struct_fields__},
    channel="manual",
    conversation_id="c1",
    user_id=None,
    session_id=None,
    agent_id=None,
    status="active",
    metadata={"ticket": 7},
)

REMEMBERED = RememberResult(
    id=ID, action="added", diff_suggestion="ADD", replaced_id=None, duplicate_of=None, similarity=None, matched_id=None,
    reason="no comparison", edges_created=EdgesCreated(temporal=1, entity=2), semantic_candidates=[],
    causal_candidates=[], quality_warnings=[], quality_details=[], embedded=True, embed_error=None,
    effective_importance=0.7, auto_pruned=0, redundancy=None, substance=None, trigger_type=None,
    hypothetical_queries=[], conflicts=[], scope=ScopeView(None, None, None), store="default", op_id="op-1",
    dry_run=False, replayed=False,
)  # fmt: skip

HIT = RecallHit(
    insight=INSIGHT, score=0.731, intent="GENERAL", via="hybrid", via_all=("keyword", "vector"), confidence="high",
    signals=SignalsView(keyword=0.85, entity=0.0, similarity=0.72, graph=0.0),
)  # fmt: skip

RECALLED = RecallResult(
    results=[
        HIT,
        msgspec.structs.replace(
            HIT,
            insight=msgspec.structs.replace(
                INSIGHT,
                id="9f8e7d6c-0000-4000-8000-000000000002",
                content="The import job writes one row per message.\n"
                "It runs at night and keeps a log of what it skipped, with the reason.",
                category="fact",
                importance=3,
                tags=(),
            ),
            score=0.4,
            via="vector",
            via_all=("vector",),
            confidence="low",
        ),
    ],
    meta=RecallMeta(
        intent="GENERAL", intent_source="auto", anchor_count=2, traversed=0, mode="none",
        weights=(0.45, 0.0, 0.55, 0.0),
        embedding="minilm_static_256_int8", window=None, hint=None, rerank=RerankMeta(),
        stages_ms={"embed": 0.31, "search": 0.12}, took_ms=0.52, store="default",
    ),
)  # fmt: skip

LISTED = ListResult(insights=[INSIGHT], next=ID)

GOT = GetResult(insight=DETAIL)

FORGOTTEN = ForgetResult(id=ID, status="deleted", message="deleted", edges_removed=2, op_id="op-2", replayed=False)

STATUS = StatusResult(
    store="default", total_insights=1234, deleted_insights=3, by_category={"fact": 1000, "decision": 234},
    by_status={"active": 1234}, edge_count=12, edges_by_type={"temporal": 12}, top_entities=[EntityCount("SQLite", 9)],
    oplog_count=1300, db_path="/home/ana/.mnemon/data/default/mnemon.db", db_size_bytes=1536, embedding="minilm",
    embedded=1230, over_capacity=False, max_insights=100000, pending_jobs=0, pending_reviews=0, version="0.1.0",
    pid=42, uptime_s=7200.5, connections=1,
)  # fmt: skip

STORES = StoreListResult(
    stores=[StoreEntry("default", True), StoreEntry("work", False)], active="default", source="default"
)

CREATED = StoreCreateResult(name="work", path="/home/ana/.mnemon/data/work", created=True)

BY_METHOD: dict[str, object] = {
    "remember": REMEMBERED,
    "recall": RECALLED,
    "get": GOT,
    "list": LISTED,
    "forget": FORGOTTEN,
    "status": STATUS,
    "store.list": STORES,
    "store.create": CREATED,
}
