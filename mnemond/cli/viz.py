"""`mnemonctl viz`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.api import types_viz
from mnemond.cli.output import Style, lines, one_line
from mnemond.cli.parser import Command, Group, by_type
from mnemond.model.graph import Graph
from mnemond.model.outcomes import Result
from mnemond.wire.params import about, plural

Format = Literal["html", "dot", "json"]


class VizOptions(msgspec.Struct, frozen=True):
    """What the client makes of the picture."""

    format: Annotated[
        Format | None,
        about("html: a page that needs no network; dot: for Graphviz; json. As the file's name ends, else html"),
    ] = None
    file: Annotated[
        str | None, about("write FILE, readable by you alone", "-o", option="--output", metavar="FILE")
    ] = None  # fmt: skip


class Drawn(Result, frozen=True, kw_only=True):
    """A file that was written, and what is in it: `memories` of `total` that fit the filters, `links` of those that
    these have among each other."""

    file: str
    format: Format
    bytes: int
    memories: int
    total: int
    links: int
    total_links: int


def _drawn(result: Drawn, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.file))
    return lines(
        f"Drew {_of(result.memories, result.total, 'memory')}, {_of(result.links, result.total_links, 'link')}:"
        f" {one_line(result.file)} ({result.bytes:,} bytes)",
        "  open it in a browser; it asks for nothing" if result.format == "html" else None,
    )


def _of(shown: int, total: int, noun: str) -> str:
    return plural(shown, noun) if shown == total else f"{shown:,} of {plural(total, noun)}"


def _summary(result: Graph, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(it.id) for it in result.nodes))
    names = {name for it in result.nodes for name in it.entities}
    return lines(
        style.strong(f'Store "{one_line(result.store)}"'),
        f"  {_of(len(result.nodes), result.total, 'memory')}, {_of(len(result.edges), result.total_edges, 'link')},"
        f" {plural(len(result.communities), 'community')}, {plural(len(names), 'name')}",
        "to look at it: mnemonctl viz -o graph.html",
    )


VIZ = Command(
    "viz",
    Group.LOOK,
    (
        "mnemonctl viz -o graph.html",
        "mnemonctl viz --around 1a2b3c4d --depth 2 -o near.html",
        "mnemonctl viz --entity Redis --format dot | sfdp -Tsvg > graph.svg",
        "mnemonctl viz --redact -o shape.html",
    ),
    method=types_viz.VIZ,
    summary="Draw memories and their links: a page, a file for Graphviz, or JSON.",
    details=(
        "The page is one file without a network: search, filters, a list, colours by community, texts on a click.",
        "It shows the newest 5,000 memories at most, and the strongest 20,000 links of these.",
        "A file is replaced if viz wrote it, and no other. Without -o and --format, figures alone are shown.",
        "--redact leaves out every text: a memory is called by its id.",
    ),
    options=VizOptions,
    render=by_type({Graph: _summary, Drawn: _drawn}),
)
