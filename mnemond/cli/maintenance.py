"""`mnemonctl gc`, `jobs list` and `jobs run`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.api import types_jobs
from mnemond.api.types_jobs import JobsListResult, JobsRunResult, JobView
from mnemond.cli.output import (
    MIN_CONTENT,
    Style,
    body,
    duration,
    hanging,
    ids,
    lines,
    one_line,
    repeated,
    row,
    short_id,
    shorten,
    undo_line,
)
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.model.answers import GcFlagged, GcResult, GcReview
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.wire.params import about, plural

# gc.


class GcOptions(msgspec.Struct, frozen=True):
    yes: Annotated[bool, about("yes, do it")] = False


_DESTRUCTIVE = {
    "apply": ("takes memories out of recall", "See which first: mnemonctl gc"),
    "purge_deleted": ("removes memories for good", "See what left recall, and when, first: mnemonctl list --retired"),
}
"""Options that need --yes: their effect, and how to look first."""


def _gc_request(arguments: Arguments) -> Request:
    for name, (effect, first) in _DESTRUCTIVE.items():
        if name in arguments.options and not arguments.options.get("yes"):
            raise UsageError(f"--{name.replace('_', '-')} {effect}; it needs --yes", first)
    return arguments.request()


def _candidates(result: GcResult, style: Style) -> str:
    if style.quiet:
        return ids(result.candidates)
    cap = f" of {result.max_insights:,}" if result.max_insights else ""
    memories = f"(memories: {result.total_insights:,}{cap})"
    if not result.candidates:
        return lines(f"nothing below {result.threshold:g} {memories}")
    unshown = result.candidates_found - len(result.candidates)
    return lines(
        f"{result.candidates_found:,} below {result.threshold:g} {memories}",
        *(
            row(
                f"{short_id(each.id)}  {each.effective_importance:.2f}  {each.days_since_access:4.0f} d  "
                f"{plural(each.edge_count, 'link'):>8}  ",
                each.content,
                style,
            )
            for each in result.candidates
        ),
        f"and {unshown:,} more, see --limit" if unshown else None,
        "",
        *(f"{_ACTIONS.get(name, one_line(name))}: {one_line(command)}" for name, command in result.actions.items()),
    )


_ACTIONS = {"purge": "take these out of recall", "keep": "keep one of them"}
"""The actions in words; what mnemon calls a purge can be taken back here."""


def _kept(result: GcKept, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    immune = ", no prune will take it" if result.immune else ""
    importance = f"effective importance {result.effective_importance:.2f}"
    return lines(f"Kept {style.strong(short_id(result.id))}: {importance}{immune}", undo_line(result.op_id))


def _review(result: GcReview, style: Style) -> str:
    if style.quiet:
        return ids(result.review_results)
    if not result.review_results:
        return lines("nothing to review")
    unshown = result.total_flagged - len(result.review_results)
    return lines(
        *(_flagged(each, style) for each in result.review_results),
        f"and {unshown:,} more, see --limit" if unshown else None,
        "",
        *(f"{one_line(name)}: {one_line(command)}" for name, command in result.actions.items()),
    )


def _flagged(each: GcFlagged, style: Style) -> str:
    content = shorten(each.content, max(style.columns - 10, MIN_CONTENT))
    warnings = (body(f"- {warning}", style) for warning in each.quality_warnings)
    return "\n".join([f"{style.strong(short_id(each.id))}  {content}", *warnings])


def _done(result: GcDone, style: Style) -> str:
    if style.quiet:
        return lines(*map(one_line, result.ids))
    many = plural(result.count, "memory")
    left = f"; {result.left:,} more to go" if result.left else ""
    if result.status == "purged":
        copies = ", ".join(map(one_line, result.backups))
        return lines(
            f"Removed {many} for good{left}{repeated(result)}",
            f"  files that may still hold some of it: {copies}" if copies else None,
        )
    return lines(
        f"Took {many} out of recall{left}{repeated(result)}", undo_line(result.op_id) if result.count else None
    )


GC = Command(
    "gc",
    Group.CHANGE,
    (
        "mnemonctl gc --threshold 0.3",
        "mnemonctl gc --keep 1a2b3c4d",
        "mnemonctl gc --review",
        "mnemonctl gc --apply --yes",
        "mnemonctl gc --purge-deleted 90 --yes",
    ),
    method=types_jobs.GC,
    details=(
        "Importance fades with time and grows with use and links.",
        "What matters much, is used often or is pinned is never listed, nor is the older of a pair.",
        "--apply can be taken back with `mnemonctl undo`, --purge-deleted cannot.",
    ),
    options=GcOptions,
    request=_gc_request,
    render=by_type({GcResult: _candidates, GcKept: _kept, GcReview: _review, GcDone: _done}),
)


# jobs.


def _jobs(result: JobsListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(job.name) for job in result.jobs))
    return lines(*(line for job in result.jobs for line in _job(job, style)))


def _job(job: JobView, style: Style) -> list[str]:
    last = "never"
    if job.last_run is not None:
        count = f" {job.changed:,}" if job.outcome == "done" and job.changed is not None else ""
        taken = "" if job.seconds is None else f" in {job.seconds:.2f} s"
        last = f"{_minute(job.last_run)} ({one_line(job.outcome or '')}{count}{taken})"
    state = "running" if job.running else f"next {_minute(job.next_run)}"
    remarks = {
        "asks": job.detail if job.outcome == "stopped" else None,
        "failed": job.error,
        "waits": job.skipped,
    }
    return [
        f"{style.strong(one_line(job.name))}: {one_line(job.summary)}",
        f"  every {duration(job.every_s)}, last {last}, {state}",
        *(
            line
            for label, sentence in remarks.items()
            if sentence is not None
            for line in hanging("  ", f"{label}: {one_line(sentence)}", style.columns - 4, 4)
        ),
    ]


def _minute(moment: str | None) -> str:
    return one_line(moment or "never")[: len("2026-02-18T09:30")].replace("T", " ")


JOBS_LIST = Command(
    "jobs list",
    Group.STORES,
    ("mnemonctl jobs list", "mnemonctl jobs list --store work --json"),
    method=types_jobs.JOBS_LIST,
    details=("Jobs run one at a time while a store is not used, or ten minutes late.",),
    render=_jobs,
)


def _run(result: JobsRunResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.changed))
    name = style.strong(one_line(result.name))
    detail = f": {one_line(result.detail)}" if result.detail else ""
    if result.outcome == "stopped":
        return lines(f"{name} stopped{detail}")
    if result.outcome == "nothing":
        return lines(f"{name}: nothing to do{detail}")
    changed = f"{'would change' if result.dry_run else 'changed'} {result.changed:,}"
    return lines(f"{name} {changed}{detail}", None if result.op_id is None else undo_line(result.op_id))


JOBS_RUN = Command(
    "jobs run",
    Group.STORES,
    ("mnemonctl jobs run prune --dry-run", "mnemonctl jobs run prune --yes", "mnemonctl jobs run decay_refresh"),
    method=types_jobs.JOBS_RUN,
    words=Words("NAME", ("name",)),
    details=(
        "prune takes no more than a twentieth of a store without --yes.",
        "What prune and expire did can be taken back with `mnemonctl undo`, by the name they give.",
    ),
    render=_run,
)
