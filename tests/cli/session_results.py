"""Results of today, hook --dry-run, useful and misled, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_sessions import (
    Figures,
    HookPreviewResult,
    KeptMemory,
    LeftOut,
    PreviewMemory,
    SessionPauseResult,
    SessionView,
    Shown,
    ShownMemory,
    TodayResult,
)
from mnemond.model.outcomes import FeedbackResult

ID = "1a2b3c4d-0000-4000-8000-000000000001"
OTHER = "9f8e7d6c-0000-4000-8000-000000000002"
PASSAGE = "5d5d5d5d-0000-4000-8000-000000000005"
GONE = "7c7c7c7c-0000-4000-8000-000000000004"

SESSION = SessionView(
    "3f2a91c0", "claude-code", 424,
    [
        Shown("2026-02-18T09:00:00.000000Z", "brief", "", 360, [
            ShownMemory(ID, "an instruction or a preference", "Never push to main without a review", False, 2, 1),
            ShownMemory(GONE, "", None, True, 0, 0),
        ]),
        Shown("2026-02-18T09:12:30.000000Z", "task", "agent-1", 64, [
            ShownMemory(OTHER, "probability 0.75 (passage +1.20), found by keyword and vector",
                        "The staging server runs on port 8443 behind Caddy", False, 0, 0),
        ]),
        Shown("2026-02-18T09:15:00.000000Z", "rule", "", 0, [
            ShownMemory(ID, "a call was held back", "Never push to main without a review", False, 2, 1),
        ]),
    ],
    project="shop#0123456789abcdef", began="2026-02-18T09:00:00.000000Z", ended="2026-02-18T09:40:00.000000Z",
    exchanges=7, kept=[KeptMemory(OTHER, "fact", "The staging server runs on port 8443 behind Caddy")],
    left_out=[LeftOut(PASSAGE, each, "left to the record") for each in ("Why is it slow?", "It swaps.")],
    left_out_count=3,
)  # fmt: skip

SESSION_RESULTS: dict[str, object] = {
    "today": TodayResult(
        figures=Figures(memories=3, tokens=424, sessions=1, rules=1, exchanges=7, kept=1, useful=2, misled=0),
        sessions=[SESSION],
    ),
    "session.pause": SessionPauseResult(id="3f2a91c0", paused=True),
    "hook": HookPreviewResult(
        text="mnemond remembers this.\n<recalled-data 12>\n<ref:9f8e7d6c> Port 8443\n</recalled-data 12>",
        tokens=64, budget=1_500, store="default",
        shown=[PreviewMemory(OTHER, "probability 0.75 (passage +1.20), found by keyword and vector", "Port 8443")],
        left_out=[PreviewMemory(f"{n}{ID[1:]}", f"probability 0.0{n}", "Tea") for n in range(9)],
    ),
    "useful": FeedbackResult(id=ID, verdict="useful", useful=1, misled=0, op_id="op-8", replayed=False),
    "misled": FeedbackResult(id=ID, verdict="misled", useful=1, misled=2, op_id="op-9", replayed=True),
}  # fmt: skip

SESSION_TRANSCRIPTS = {
    "today": """\
told 3 memories, 424 tokens, in 1 session; 1 rule held; 2 marked useful, 0 misleading; kept 7 exchanges, 1 memory

3f2a91c0  shop, claude-code, 2026-02-18 09:00 to 09:40
  2026-02-18 09:00:00  brief, 360 tokens
    1a2b3c4d  Never push to main without a review
              an instruction or a preference; judged useful 2, misled 1
    7c7c7c7c  purged
  2026-02-18 09:12:30  task of agent agent-1, 64 tokens
    9f8e7d6c  The staging server runs on port 8443 behind Caddy
              probability 0.75 (passage +1.20), found by keyword and vector
  2026-02-18 09:15:00  rule, 0 tokens
    1a2b3c4d  Never push to main without a review
              a call was held back; judged useful 2, misled 1
  kept:
    7 exchanges, verbatim
    9f8e7d6c  The staging server runs on port 8443 behind Caddy
  left out, and why:
    5d5d5d5d  Why is it slow?
    5d5d5d5d  It swaps.
              left to the record
    and 1 more
right: mnemonctl useful ID · wrong: mnemonctl update ID --content TEXT, forget ID
left out, and wanted: mnemonctl remember TEXT · keep nothing of it: mnemonctl forget ID
""",
    "session.pause": """\
3f2a91c0 is paused: nothing of it is kept
to go on: mnemonctl session pause --resume, or "back on the record" in a prompt
""",
    "hook": """\
mnemond remembers this.
<recalled-data 12>
<ref:9f8e7d6c> Port 8443
</recalled-data 12>

store "default", 64 of 1,500 tokens of a session
shown:
  9f8e7d6c  Port 8443
            probability 0.75 (passage +1.20), found by keyword and vector
not shown:
  0a2b3c4d  Tea
            probability 0.00
  1a2b3c4d  Tea
            probability 0.01
  2a2b3c4d  Tea
            probability 0.02
  3a2b3c4d  Tea
            probability 0.03
  4a2b3c4d  Tea
            probability 0.04
  5a2b3c4d  Tea
            probability 0.05
  6a2b3c4d  Tea
            probability 0.06
  7a2b3c4d  Tea
            probability 0.07
  and 1 more, see --json
""",
    "useful": """\
1a2b3c4d was judged useful 1 time, misleading 0 times
  undo: mnemonctl undo op-8
""",
    "misled": """\
1a2b3c4d was judged useful 1 time, misleading 2 times (done before, with the same op_id)
  undo: mnemonctl undo op-9
""",
}
