"""`mnemonctl cues`."""

from __future__ import annotations

from typing import Annotated

from mnemond.api.types_changes import CuesMissingResult
from mnemond.cli.output import Style, lines, one_line, short_id, shorten, undo_hint
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, by_type
from mnemond.model.outcomes import CuesApplied
from mnemond.wire.params import Limit, ScopedWriteParams, about, plural


class CuesOptions(ScopedWriteParams, frozen=True, kw_only=True):
    """One of these two."""

    missing: Annotated[bool, about("memories without cues, the most important first")] = False
    limit: Annotated[Limit | None, about("at most so many of them (50 unless given)", "-n")] = None
    file: Annotated[
        str | None,
        about("what --missing --json printed, with cues; - for standard input", option="--apply", metavar="FILE|-"),
    ] = None
    allow_secret: Annotated[bool, about("store keys and passwords as they are")] = False


def _request(arguments: Arguments) -> Request:
    arguments.nothing()
    options = {name: value for name, value in arguments.options.items() if value is not None}
    if "file" in options and ("missing" in options or "limit" in options):
        raise UsageError("cues does one thing at a time: --missing or --apply", "See: mnemonctl cues --help")
    if "file" not in options:
        return Request("cues.missing", options)
    return Request("cues.apply", options)


def _missing(result: CuesMissingResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result.memories))
    if not result.memories:
        return lines(f'Every memory in store "{one_line(result.store)}" has cues')
    return lines(
        f'{plural(len(result.memories) + result.left, "memory")} without cues in store "{one_line(result.store)}"',
        *(f"{short_id(each.id)}  {shorten(each.content, max(style.columns - 10, 24))}" for each in result.memories),
        f"and {result.left:,} more" if result.left else None,
    )


def _applied(result: CuesApplied, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each) for each in result.changed))
    return lines(
        f"Gave cues to {plural(len(result.changed), 'memory')}",
        f"  as before: {', '.join(map(short_id, result.unchanged))}" if result.unchanged else None,
        f"  not there: {', '.join(map(one_line, result.unknown))}" if result.unknown else None,
        f"  redacted: {', '.join(result.redacted)} (--allow-secret keeps it)" if result.redacted else None,
        undo_hint(result.op_id, style) if result.changed and not result.replayed else None,
    )


CUES = Command(
    "cues",
    Group.REMEMBER,
    (
        "mnemonctl cues --missing",
        "mnemonctl cues --missing --json > cues.json",
        "mnemonctl cues --apply cues.json",
        "mnemonctl cues --apply - < cues.json",
    ),
    summary="Show which memories have no cues, and give them some.",
    details=(
        "A cue is a question, a task or a symptom in which a memory should come to mind, in the words used then.",
        'Good: "can I just commit this to main", "checkout times out". Bad: the text again, or "about git".',
        "--missing --json prints memories with empty lists of cues, for an agent to fill in: three to six each.",
        "--apply reads the same document; a memory whose list is empty keeps the cues it has.",
    ),
    options=CuesOptions,
    request=_request,
    render=by_type({CuesMissingResult: _missing, CuesApplied: _applied}),
)
