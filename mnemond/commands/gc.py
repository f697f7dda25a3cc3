"""`mnemonctl gc`."""

from __future__ import annotations

import argparse
import math

from mnemond.commands.command import MIN_PREFIX, Arguments, Command, Request
from mnemond.commands.layout import Style, body, lines, plural, short_id, shorten
from mnemond.commands.operation_name import operation_name
from mnemond.commands.options import add_globals, add_op_id, whole_number
from mnemond.commands.parser import Parser, UsageError
from mnemond.commands.terminal import one_line
from mnemond.protocol.gc import GcCandidate, GcDone, GcFlagged, GcKept, GcResult, GcReview

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
