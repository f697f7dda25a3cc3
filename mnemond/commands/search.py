"""`mnemonctl search`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, fraction, lines, short_id
from mnemond.commands.options import FILTERS, add_filters, add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import neutralise, one_line
from mnemond.protocol.search import SearchHit


def _parser() -> Parser:
    parser = Parser("search", takes_text=True)
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many results; default 10")
    add_filters(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("search", {**arguments.options, "query": arguments.text("search", "the words to look for")})


def _render(result: list[SearchHit], style: Style) -> str:
    if style.quiet:
        return lines(*(neutralise(hit.content) for hit in result))
    if not result:
        return lines("no memory has any of these words")
    return "\n".join(_hit(rank, hit, style) for rank, hit in enumerate(result, 1))


def _hit(rank: int, hit: SearchHit, style: Style) -> str:
    head = f"{rank}. {short_id(hit.id)}  {one_line(hit.category)}/{hit.importance}"
    tags = " ".join(f"#{one_line(tag)}" for tag in hit.tags)
    return lines(
        f"{style.strong(head)}{style.faint(f'  score {fraction(hit.score)}')}",
        body(hit.content, style),
        body(tags, style) if tags else None,
    )


COMMAND = Command(
    name="search",
    summary="Find memories by their words alone.",
    words="WORDS… | -",
    examples=(
        "mnemonctl search WAL checkpoint",
        "mnemonctl search --category decision sqlite -n 3",
        "mnemonctl search sqlite --entity k8s --since 2026-02-01",
    ),
    details=(
        "For a question in your own words use recall, which also goes by meaning.",
        "score: how well the words match, below 1; comparable within one answer only.",
        *FILTERS,
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
