"""`mnemonctl gc`."""

from __future__ import annotations

import argparse
import math

from mnemond.api.types_admin import JobsListResult, JobsRunResult, JobView
from mnemond.cli.admin import duration
from mnemond.cli.output import Style, body, lines, one_line, operation_name, short_id, shorten, wrap
from mnemond.cli.parser import (
    MIN_PREFIX,
    Arguments,
    Command,
    Parser,
    Request,
    UsageError,
    add_globals,
    add_op_id,
    whole_number,
)
from mnemond.model.answers import GcCandidate, GcFlagged, GcResult, GcReview
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.wire.params import plural

LEAST = 20
"""Cells of the content that are shown even where the terminal is too narrow for them."""


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a number, not {text[:40]!r}")
    return value


def _parser() -> Parser:
    parser = Parser("gc")
    parser.add_argument(
        "--threshold", type=_number, metavar="X", help="memories of less effective importance; default 0.5"
    )
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many; default 20")
    parser.add_argument("--keep", metavar="ID", help="leave one memory alone from now on")
    parser.add_argument("--review", action="store_true", help="list texts that may have to be written again")
    parser.add_argument("--apply", action="store_true", help="take what is listed out of recall; needs --yes")
    parser.add_argument(
        "--purge-deleted", type=whole_number, metavar="DAYS",
        help="remove for good what left recall more than DAYS days ago; needs --yes",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="yes, do it")
    add_op_id(parser)
    add_globals(parser)
    return parser


_GRAVE = {
    "apply": ("takes memories out of recall", "See which first: mnemonctl gc"),
    "purge_deleted": (
        "removes memories for good", "See what left recall, and when, first: mnemonctl list --retired"
    ),
}  # fmt: skip
"""What is done only where it was meant: what it does, and how to look first."""


def _request(arguments: Arguments) -> Request:
    arguments.nothing("gc")
    options = {name: value for name, value in arguments.options.items() if name != "yes"}
    sure = arguments.options.get("yes") is True
    for name, (what, first) in _GRAVE.items():
        if name in options and not sure:
            raise UsageError(f"--{name.replace('_', '-')} {what}; it needs --yes", first)
    keep = options.get("keep")
    if isinstance(keep, str) and len(keep) < MIN_PREFIX:
        raise UsageError(f"the id has {plural(len(keep), 'character')}; it needs {MIN_PREFIX}")
    return Request("gc", options)


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


COMMAND = Command(
    name="gc",
    summary="What matters least: list it, keep it, let go of it.",
    words="",
    examples=(
        "mnemonctl gc --threshold 0.3",
        "mnemonctl gc --keep 1a2b3c4d",
        "mnemonctl gc --review",
        "mnemonctl gc --apply --yes",
        "mnemonctl gc --purge-deleted 90 --yes",
    ),
    details=(
        "Importance fades with time and grows with use and links.",
        "What matters much, is used often or is pinned is never listed, nor is the older of a pair.",
        "--apply can be taken back with `mnemonctl undo`, --purge-deleted cannot.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)


# `mnemonctl jobs list` and `mnemonctl jobs run`.


MINUTE = len("2026-02-18T09:30")
"""Characters of a timestamp as far as its minute."""


MARGIN = 4
"""Cells before the second line of a sentence."""


def _list_parser() -> Parser:
    parser = Parser("jobs list")
    add_globals(parser)
    return parser


def _run_parser() -> Parser:
    parser = Parser("jobs run")
    parser.add_argument("--dry-run", action="store_true", help="say what it would come to, and change nothing")
    parser.add_argument("--yes", action="store_true", help="let it change as much as there is to change")
    add_globals(parser)
    return parser


def _list_request(arguments: Arguments) -> Request:
    arguments.nothing("jobs list")
    return Request("jobs.list", arguments.options)


def _run_request(arguments: Arguments) -> Request:
    return Request("jobs.run", {**arguments.options, "name": arguments.single("jobs run", "the name of a job")})


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


LIST = Command(
    name="jobs list",
    summary="What is done to a store in the background, when, and how it went.",
    words="",
    examples=("mnemonctl jobs list", "mnemonctl jobs list --store work --json"),
    details=("Jobs run one at a time while a store is not used, or ten minutes late.",),
    parser=_list_parser(),
    request=_list_request,
    render=_list_render,
)

RUN = Command(
    name="jobs run",
    summary="Run one background job now.",
    words="NAME",
    examples=(
        "mnemonctl jobs run prune --dry-run",
        "mnemonctl jobs run prune --yes",
        "mnemonctl jobs run decay_refresh",
    ),
    details=(
        "prune takes no more than a twentieth of a store without --yes.",
        "What prune and expire did can be taken back with `mnemonctl undo`, by the name they give.",
    ),
    parser=_run_parser(),
    request=_run_request,
    render=_run_render,
)
