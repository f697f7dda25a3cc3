"""Results of the methods about background jobs, and what people read of them."""

from __future__ import annotations

from mnemond.api.types_jobs import JobsListResult, JobsRunResult, JobView

QUESTION = (
    "it would prune 300 of 1,000 memories, and does no more than 50 at once unasked; "
    "if that is right: mnemonctl jobs run prune --yes"
)

DECAY = JobView(
    name="decay_refresh", summary="stored importance follows the time", every_s=3600.0, running=False,
    last_run="2026-02-18T09:30:12.000000Z", outcome="done", changed=1234, detail=None, seconds=0.25, op_id=None,
    next_run="2026-02-18T10:30:12.250000Z", skipped=None, error=None,
)  # fmt: skip

PRUNE = JobView(
    name="prune", summary="what is too much goes", every_s=3600.0, running=False,
    last_run="2026-02-18T09:30:12.000000Z", outcome="stopped", changed=300, detail=QUESTION, seconds=0.01, op_id=None,
    next_run="2026-02-18T10:30:12.000000Z", skipped="the store is in use", error=None,
)  # fmt: skip

NEVER = JobView(
    name="backup", summary="a copy of the store", every_s=86400.0, running=True, last_run=None, outcome=None,
    changed=None, detail=None, seconds=None, op_id=None, next_run=None, skipped=None, error="the disk is full",
)  # fmt: skip

RAN = JobsRunResult(
    store="default", name="prune", outcome="done", changed=300, detail="", op_id="0b6f2d0e-1111-4000-8000-000000000001",
    dry_run=False,
)  # fmt: skip

JOB_RESULTS: dict[str, object] = {
    "jobs.list": JobsListResult(store="default", jobs=[DECAY, PRUNE, NEVER]),
    "jobs.run": RAN,
}

JOB_TRANSCRIPTS = {
    "jobs.list": """\
decay_refresh: stored importance follows the time
  every 1 h, last 2026-02-18 09:30 (done 1,234 in 0.25 s), next 2026-02-18 10:30
prune: what is too much goes
  every 1 h, last 2026-02-18 09:30 (stopped in 0.01 s), next 2026-02-18 10:30
  asks: it would prune 300 of 1,000 memories, and does no more than 50
    at once unasked; if that is right: mnemonctl jobs run prune --yes
  waits: the store is in use
backup: a copy of the store
  every 1 d, last never, running
  failed: the disk is full
""",
    "jobs.run": """\
prune changed 300
To take it back: mnemonctl undo 0b6f2d0e
""",
}
