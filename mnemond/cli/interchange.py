"""`mnemonctl export`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.api.types_interchange import EXPORT_OPEN, ExportOpenResult
from mnemond.cli.output import Style, lines, one_line
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError
from mnemond.wire.params import about, plural

ExportFormat = Literal["jsonl", "markdown"]


class ExportOptions(msgspec.Struct, frozen=True):
    file: Annotated[
        str | None,
        about("write this file (0600) instead of standard output; of markdown the directory", "-o", option="--output",
              metavar="FILE"),
    ] = None  # fmt: skip
    format: Annotated[
        ExportFormat | None, about("jsonl, which restores everything, or markdown, one file a memory", metavar="NAME")
    ] = None


def _request(arguments: Arguments) -> Request:
    arguments.nothing()
    options = dict(arguments.options)
    file, form = options.pop("file", None), options.pop("format", None)
    if form == "markdown" and file is None:
        raise UsageError("markdown is one file for each memory and needs a directory", "Name it: -o DIR")
    return Request(EXPORT_OPEN.name, options)


def _begun(result: ExportOpenResult, style: Style) -> str:
    """For a program that reads the export itself; `mnemonctl export` writes what it reads."""
    if style.quiet:
        return lines(one_line(result.export))
    what = "all of it" if result.whole else "what the filter admits"
    name, store = one_line(result.export), one_line(result.store)
    return lines(f'Export {name} of store "{store}", {what}: about {plural(result.expected, "line")}')


EXPORT = Command(
    "export",
    Group.STORES,
    (
        "mnemonctl export > memories.jsonl",
        "mnemonctl export -o memories.jsonl",
        "mnemonctl export -o notes --format markdown",
        "mnemonctl export --since 2026-01-01 --cat decision --redact",
    ),
    method=EXPORT_OPEN,
    summary="Write a store as lines of text, or as markdown.",
    details=(
        "JSONL has one object a line, in a fixed order: the same store gives the same bytes. Vectors are left out.",
        "Without a filter it is everything: history, links, what is out of recall. With one, the memories it admits.",
        "Markdown opens in Obsidian and reads in git; a second export into the directory replaces what changed.",
    ),
    options=ExportOptions,
    request=_request,
    render=_begun,
)
