"""Results of `mnemonctl cues`, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_changes import CuedMemory, CuesMissingResult
from mnemond.model.outcomes import CuesApplied

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"

MISSING = CuesMissingResult(
    memories=[
        CuedMemory(ID, "Every change to main goes through a merge request", "decision", []),
        CuedMemory(OTHER, "The staging database listens on 5433 " * 3, "fact", []),
    ],
    left=1_200,
    store="default",
)
APPLIED = CuesApplied(
    changed=[ID], unchanged=[OTHER], unknown=["zzzzzz"], redacted=["github"], op_id="op-7", replayed=False
)

CUES_TRANSCRIPT = """\
1,202 memories without cues in store "default"
1a2b3c4d  Every change to main goes through a merge request
9f8e7d6c  The staging database listens on 5433 The staging database lis…
and 1,200 more
"""
APPLIED_TRANSCRIPT = """\
Gave cues to 1 memory
  as before: 9f8e7d6c
  not there: zzzzzz
  redacted: github (--allow-secret keeps it)
  undo: mnemonctl undo op-7
"""
