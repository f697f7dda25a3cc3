"""`mnemonctl jobs list` and `mnemonctl jobs run`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, wrap
from mnemond.commands.operation_name import operation_name
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.status import duration
from mnemond.commands.terminal import one_line
from mnemond.protocol.jobs import JobsListResult, JobsRunResult, JobView

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
