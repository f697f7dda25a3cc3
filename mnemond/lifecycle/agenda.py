"""When each job of a store is due, how it ran last, and why it does not run just now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mnemond.lifecycle.job import Done, Job
from mnemond.model.job_record import JobRecord
from mnemond.model.timestamp import parse_rfc3339

FIRST_PAUSE_S: Final = 60.0
"""Seconds before a job that failed is tried again, doubled each time."""

ATTEMPTS: Final = 5
"""Attempts in a row (spec 13); then it waits for its interval."""


class Entry:
    """One job of one store. Times are seconds of trio's clock, which never jumps: the machine's is asked once, when the
    store is opened, how long ago the job ran last."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.record: JobRecord | None = None
        self.due = 0.0
        self.skipped: str | None = None
        self.error: str | None = None
        self.failures = 0
        self._hurried = False

    @property
    def question(self) -> str | None:
        """What it asks before it goes on."""
        stopped = self.record is not None and self.record.outcome == "stopped"
        return self.record.detail if stopped and self.record is not None else None

    def remember(self, record: JobRecord | None, wall_us: int, now: float) -> None:
        """How it ran last, by what was written down. Longer ago than its interval: it is due. A clock that was put
        back since counts as no time."""
        self.record = record
        if record is None:
            self.due = now + min(self.job.first_s, self.job.interval_s)
            return
        elapsed_s = max(0.0, (wall_us - parse_rfc3339(record.ran_at)) / 1e6)
        self.due = now + max(0.0, self.job.interval_s - elapsed_s)

    def hurry(self, now: float) -> None:
        """There is something for it to do: it is due now, or, where it runs, once more behind that. One that failed
        keeps its pause."""
        self._hurried = True
        if self.error is None:
            self.due = min(self.due, now)

    def begun(self) -> None:
        """It runs now: what there is to do it finds."""
        self._hurried = False

    def finished(self, record: JobRecord, now: float, *, again: bool = False) -> None:
        """It ran; the next time is an interval from now, or, where something came meanwhile, now. What is left was due
        when it began: it has waited long enough as well."""
        self.record, self.error, self.skipped, self.failures = record, None, None, 0
        if again:
            self.due = min(self.due, now)
        else:
            self.due = now if self._hurried else now + self.job.interval_s

    def failed(self, why: str, now: float) -> None:
        """It did not; it is tried again after a pause."""
        self.failures = self.failures % ATTEMPTS + 1
        pause_s = FIRST_PAUSE_S * 2.0 ** (self.failures - 1)
        self.error, self.skipped = why, None
        self.due = now + (self.job.interval_s if self.failures == ATTEMPTS else min(pause_s, self.job.interval_s))


class Agenda:
    """Every job of one store."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.entries = tuple(Entry(job) for job in jobs)
        self.by_name = {entry.job.name: entry for entry in self.entries}

    def remember(self, records: Mapping[str, JobRecord], wall_us: int, now: float) -> None:
        """What was written down by an earlier daemon."""
        for entry in self.entries:
            entry.remember(records.get(entry.job.name), wall_us, now)

    def next(self) -> Entry:
        """The job whose turn is first; of several the one that stands first."""
        return min(self.entries, key=lambda entry: entry.due)

    def skip(self, now: float, why: str) -> None:
        """What is due does not run now."""
        for entry in self.entries:
            if entry.due <= now:
                entry.skipped = why


def record_of(done: Done, ran_at: str, aged_us: int, seconds: float) -> JobRecord:
    """What a run came to, as it is kept."""
    return JobRecord(ran_at, aged_us, done.outcome, done.changed, done.detail, round(seconds, 3), done.op_id)
