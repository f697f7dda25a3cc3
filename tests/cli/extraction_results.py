"""What extract returns, and what people read of it."""

from __future__ import annotations

from mnemond.api.types_extract import ExtractCounts, ExtractResult, FactView, SourceContext
from mnemond.model.answers import Dropped
from mnemond.model.outcomes import FactEntity

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OLD = "9f8e7d6c-0000-4000-8000-000000000002"

_ANA = FactView(
    content="Ana works at Acme", importance=7, importance5=4, band="important", intent="relationship", category="fact",
    confidence=0.9, attributed_to="user", said_at="2026-02-18T10:00:00.000000Z",
    entities=[FactEntity("Ana", "person"), FactEntity("Acme", "organization")],
    source_context=SourceContext("c1", ("m1",)), action="UPDATE",
    resolution="SUPERSEDE", memory_id=ID, previous_id=OLD, reason="it gives another value of what can have only one",
    redacted=["password"], op_id="op-1",
)  # fmt: skip

EXTRACTED = ExtractResult(
    facts=[_ANA],
    dropped=[Dropped("why?", "question"), Dropped("go on?", "question"), Dropped("import os", "code")],
    engine="rules",
    counts=ExtractCounts(update=1),
    retried=False,
    summary_updated=False,
    dry_run=False,
    store="default",
    pruned_ids=(OLD, ID),
)

EXTRACT_TRANSCRIPT = """\
1 fact for store "default": 1 replaced
1a2b3c4d  replaced  fact/7  Ana, Acme
  Ana works at Acme
  in place of 9f8e7d6c: it gives another value of what can have only one
  redacted: password
left out: 2 question, 1 code (--json shows which)
pruned 2 memories for it: 9f8e7d6c, 1a2b3c4d
  undo: mnemonctl undo op-1
"""
