"""`mnemonctl gc`, `jobs list` and `jobs run`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.api import types_admin as admin
from mnemond.api.types_admin import JobsListResult, JobsRunResult, JobView
from mnemond.cli.admin import duration
from mnemond.cli.output import Style, body, lines, one_line, operation_name, short_id, shorten, wrap
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.answers import GcCandidate, GcFlagged, GcResult, GcReview
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.wire.params import about, plural

LEAST = 20
"""Cells of the content that are shown even where the terminal is too narrow for them."""


class GcOptions(msgspec.Struct, frozen=True):
    yes: Annotated[bool, about("yes, do it")] = False


_GRAVE = {
    "apply": ("takes memories out of recall", "See which first: mnemonctl gc"),
    "purge_deleted": (
        "removes memories for good", "See what left recall, and when, first: mnemonctl list --retired"
    ),
}  # fmt: skip
"""Options that need --yes: what they do, and how to look first."""


def _gc_request(arguments: Arguments) -> Request:
    for name, (what, first) in _GRAVE.items():
        if name in arguments.options and not arguments.options.get("yes"):
            raise UsageError(f"--{name.replace('_', '-')} {what}; it needs --yes", first)
    return arguments.request()


def _render(result: GcResult | GcKept | GcReview | GcDone, style: Style) -> str:
    match result:
        case GcResult():
            return _listed(result, style)
        case GcKept():
            return _kept(result, style)
        case GcReview():
            return _reviewed(result, style)
        case _:
            return _done(result, style)


def _listed(result: GcResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.candidates))
    cap = f" of {result.max_insights:,}" if result.max_insights else ""
    of = f"{result.total_insights:,}{cap}"
    if not result.candidates:
        return lines(f"nothing below {result.threshold:g} (memories: {of})")
    more = result.candidates_found - len(result.candidates)
    return lines(
        f"{result.candidates_found:,} below {result.threshold:g} (memories: {of})",
        *(_candidate(each, style) for each in result.candidates),
        f"and {more:,} more, see --limit" if more else None,
        "",
        *(f"{_ACTIONS.get(what, one_line(what))}: {one_line(how)}" for what, how in result.actions.items()),
    )


_ACTIONS = {"purge": "take these out of recall", "keep": "keep one of them"}
"""What the actions do, in words: what mnemon calls a purge can be taken back here."""


def _candidate(each: GcCandidate, style: Style) -> str:
    days = f"{each.days_since_access:.0f} d"
    head = f"{short_id(each.id)}  {each.effective_importance:.2f}  {days:>6}  {plural(each.edge_count, 'link'):>8}  "
    return style.faint(head) + shorten(each.content, max(style.columns - len(head), LEAST))


def _kept(result: GcKept, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    immune = ", no prune will take it" if result.immune else ""
    importance = f"effective importance {result.effective_importance:.2f}"
    return lines(
        f"Kept {style.strong(short_id(result.id))}: {importance}{immune}",
        f"To take it back: mnemonctl undo {operation_name(result.op_id)}",
    )


def _reviewed(result: GcReview, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.review_results))
    if not result.review_results:
        return lines("nothing to review")
    more = result.total_flagged - len(result.review_results)
    return lines(
        *(line for each in result.review_results for line in _flagged(each, style)),
        f"and {more:,} more, see --limit" if more else None,
        "",
        *(f"{one_line(what)}: {one_line(how)}" for what, how in result.actions.items()),
    )


def _flagged(each: GcFlagged, style: Style) -> list[str]:
    content = shorten(each.content, max(style.columns - 10, LEAST))
    warnings = [body(f"- {warning}", style) for warning in each.quality_warnings]
    return [f"{style.strong(short_id(each.id))}  {content}", *warnings]


def _done(result: GcDone, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each) for each in result.ids))
    many = plural(result.count, "memory")
    left = f"; {result.left:,} more to go" if result.left else ""
    before = " (done before, with the same op_id)" if result.replayed else ""
    if result.status == "purged":
        copies = ", ".join(map(one_line, result.backups))
        return lines(
            f"Removed {many} for good{left}{before}",
            f"  copies of the store that still hold some of it: {copies}" if copies else None,
        )
    return lines(
        f"Took {many} out of recall{left}{before}",
        f"To take it back: mnemonctl undo {operation_name(result.op_id)}" if result.count else None,
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
    method=admin.GC,
    details=(
        "Importance fades with time and grows with use and links.",
        "What matters much, is used often or is pinned is never listed, nor is the older of a pair.",
        "--apply can be taken back with `mnemonctl undo`, --purge-deleted cannot.",
    ),
    options=GcOptions,
    request=_gc_request,
    render=_render,
)


# `mnemonctl jobs list` and `mnemonctl jobs run`.


MINUTE = len("2026-02-18T09:30")
"""Characters of a timestamp as far as its minute."""


MARGIN = 4
"""Cells before the second line of a sentence."""


# ------------------------------------------------------------ text


def _list_render(result: JobsListResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(job.name) for job in result.jobs))
    return lines(*(line for job in result.jobs for line in _job(job, style)))


def _job(job: JobView, style: Style) -> list[str]:
    state = "running" if job.running else f"next {_minute(job.next_run)}"
    found = [
        f"{style.strong(one_line(job.name))}: {one_line(job.summary)}",
        f"  every {duration(job.every_s)}, last {_last(job)}, {state}",
    ]
    if job.outcome == "stopped" and job.detail is not None:
        found += _said("asks", job.detail, style)
    if job.error is not None:
        found += _said("failed", job.error, style)
    if job.skipped is not None:
        found += _said("waits", job.skipped, style)
    return found


def _said(what: str, sentence: str, style: Style) -> list[str]:
    first, *rest = wrap(f"{what}: {one_line(sentence)}", style.columns - MARGIN)
    return [f"  {first}", *(f"    {line}" for line in rest)]


def _last(job: JobView) -> str:
    if job.last_run is None:
        return "never"
    counted = f" {job.changed:,}" if job.outcome == "done" and job.changed is not None else ""
    taken = "" if job.seconds is None else f" in {job.seconds:.2f} s"
    return f"{_minute(job.last_run)} ({one_line(job.outcome or '')}{counted}{taken})"


def _minute(moment: str | None) -> str:
    return one_line(moment or "never")[:MINUTE].replace("T", " ")


def _run_render(result: JobsRunResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.changed))
    name = style.strong(one_line(result.name))
    detail = f": {one_line(result.detail)}" if result.detail else ""
    if result.outcome == "stopped":
        return lines(f"{name} stopped{detail}")
    if result.outcome == "nothing":
        return lines(f"{name}: nothing to do{detail}")
    return lines(
        f"{name} would change {result.changed:,}{detail}"
        if result.dry_run
        else f"{name} changed {result.changed:,}{detail}",
        None if result.op_id is None else f"To take it back: mnemonctl undo {operation_name(result.op_id)}",
    )


JOBS_LIST = Command(
    "jobs list",
    Group.STORES,
    ("mnemonctl jobs list", "mnemonctl jobs list --store work --json"),
    method=admin.JOBS_LIST,
    details=("Jobs run one at a time while a store is not used, or ten minutes late.",),
    render=_list_render,
)

JOBS_RUN = Command(
    "jobs run",
    Group.STORES,
    (
        "mnemonctl jobs run prune --dry-run",
        "mnemonctl jobs run prune --yes",
        "mnemonctl jobs run decay_refresh",
    ),
    method=admin.JOBS_RUN,
    words=Words("NAME", ("name",)),
    details=(
        "prune takes no more than a twentieth of a store without --yes.",
        "What prune and expire did can be taken back with `mnemonctl undo`, by the name they give.",
    ),
    render=_run_render,
)
