"""Results of the methods about core summaries, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_core import (
    CoreDiffResult,
    CoreHistoryResult,
    CoreLineView,
    CoreShowResult,
    CoreVersionView,
)
from mnemond.model.core import CoreScore
from mnemond.model.outcomes import CoreResult

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"
AT = "2026-02-01T10:00:00.000000Z"

TABS = CoreLineView("Ana prefers tabs", "Preferences", [ID])
PORT = CoreLineView("The API runs on port 8080", "Facts", [OTHER])

SHOWN = CoreShowResult(
    store="default", user="default", version=3, text="Preferences:\n- Ana prefers tabs", words=4, lines=[TABS],
    left_out=1, generator="rules", reason="no answer within 60 s",
    scores=[CoreScore(ID, 0.6, 0.75, 0.5, 0.7, 0.6, 2, "cluster")], op_id="op-3", created_at=AT, taken_back_at=None,
    current=True,
)  # fmt: skip

CORE_RESULTS: dict[str, object] = {
    "core.show": SHOWN,
    "core.update": CoreResult(
        status="made", user="ana", version=3, words=214, memories=41, generator="rules", reason="no answer within 60 s",
        op_id="op-3", replayed=False,
    ),
    "core.set": CoreResult(
        status="set", user="default", version=4, words=9, memories=1, generator="user", op_id="op-4", replayed=True
    ),
    "core.history": CoreHistoryResult(
        store="default", user="default",
        versions=[
            CoreVersionView(3, AT, "qwen2.5:3b", "", 214, 41, "op-3", current=False, taken_back_at=AT),
            CoreVersionView(2, AT, "rules", "", 200, 40, "op-2", current=True, taken_back_at=None),
        ],
    ),
    "core.diff": CoreDiffResult(
        store="default", user="default", older=2, newer=3, added=[TABS], removed=[PORT], same=39
    ),
}  # fmt: skip

CORE_TRANSCRIPTS = {
    "core.show": """\
Core summary  version 3, 4 words, by the rules, 2026-02-01 10:00:00
Preferences:
- Ana prefers tabs
not by the model: no answer within 60 s
1 line left out: a memory changed
""",
    "core.update": """\
Core summary by the rules: version 3 of ana, 214 words, 41 memories
not by the model: no answer within 60 s
to read it: mnemonctl core show
  undo: mnemonctl undo op-3
""",
    "core.set": """\
Core summary as it was set: version 4, 9 words, 1 memory (done before, with the same op_id)
to read it: mnemonctl core show
  undo: mnemonctl undo op-4
""",
    "core.history": """\
   3  2026-02-01 10:00:00  214 words, 41 memories, by qwen2.5:3b  op-3  taken back
   2  2026-02-01 10:00:00  200 words, 40 memories, by the rules  op-2  current
""",
    "core.diff": """\
version 2 to 3  39 lines in both
- The API runs on port 8080  (9f8e7d6c)
+ Ana prefers tabs  (1a2b3c4d)
""",
}
