"""Results of `mnemonctl export` and `import`, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_interchange import ImportResult
from mnemond.api.types_sync import SyncUniteResult
from mnemond.model.outcomes import ImportConflict, ImportContradiction

INTERCHANGE_RESULTS: dict[str, object] = {
    "import": ImportResult(
        op_id="1a2b3c4d-0000-4000-8000-000000000001",
        replayed=False,
        kind="mnemond",
        store="default",
        dry_run=True,
        memories=1_198,
        added={"memory": 1_200, "edge": 2_400, "operation": 1},
        known={"memory": 2},
        ignored=1,
        conflicts=[ImportConflict("9f8e7d6c-0000-4000-8000-000000000002", "it has another text here")],
        conflicts_found=3,
        secrets=1,
        samples=["Every change to main goes through a merge request"],
        over_cap=198,
        contradictions=[
            ImportContradiction(
                "8e7d6c5b-0000-4000-8000-000000000003", "The port is 8080\x1b[2J", "The port is 9090 since May"
            ),
        ],
        contradictions_found=2,
    ),
    "sync": SyncUniteResult(
        added=3, changed=1, retired=0, purged=1, links=2, relations=0, names=1,
        conflicts=["1a2b3c4d-0000-4000-8000-000000000001"], conflicts_found=1,
        held=["9f8e7d6c-0000-4000-8000-000000000002"],
        held_purges=["7d6c5b4a-0000-4000-8000-000000000003"], held_purges_found=30,
        held_passages=7, withheld=2, too_old=1,
        refused=["00112233445566aa/00000001.jsonl, line 7: it is no record: it was cut"], refused_found=3,
        op_id="operation-1", knowledge_op_id="operation-2", ahead=2, restamped=1, strangers=["00112233445566bb"],
        code="AAAA-BBBB", publish="00000002.jsonl", lines=4, remove=["00000001.jsonl"],
    ),
}  # fmt: skip

INTERCHANGE_TRANSCRIPTS = {
    "import": """\
Would import 1,198 memories into store "default"
  out of recall: 2
  with 2,400 edges, 1 operation
  known already: 2
  with a key or password: 1
  left as it is: 9f8e7d6c: it has another text here
  and 2 more
  at odds, and both stay:
    The port is 9090 since May
    8e7d6c5b: The port is 8080\\x1b[2J
  and 1 more at odds with memories here
  lines of a later version, passed over: 1
  Every change to main goes through a merge request
  198 memories more than the store's maximum: --raise-cap raises it
""",
    "sync": """\
From other devices: 3 memories added, 1 memory changed, 1 memory purged, 2 links changed, 1 name changed
To other devices: 4 records
  1 memory changed on two devices: both texts are kept, see: mnemonctl reviews
  1a2b3c4d
  left as it is: 9f8e7d6c: a rule that is enforced; sync at a terminal
  not purged: 30 memories and 7 exchanges that other devices purged for good, which is more than a sync removes \
unasked. If that is meant, run it at a terminal with --allow-purges
  7d6c5b4a
  and 29 more
  not written for others: 2 exchanges of sessions that were paused or have a private part
  not taken in: 1 exchange said longer ago than this device keeps exchanges (sessions.keep_days)
  passed over: 00112233445566aa/00000001.jsonl, line 7: it is no record: it was cut
  and 2 more
  passed over: device 00112233445566bb, whose files have another code. There: --show-code, then here: --join
  Code for your other devices, which ask for it at --join: AAAA-BBBB
  to take it back: mnemonctl undo operation-1
  to take back the relations and names: mnemonctl undo operation-2
  1 record got the time of now
  more than a day ahead of this clock: 2 records, which other devices refuse. If the clock is right now, repeat with \
--restamp
  The files of this device were written anew;
  the history of git, and copies that a sync service or a backup keeps, cannot be reached
""",
}
