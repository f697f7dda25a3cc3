"""`mnemonctl related`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, fraction, lines, plural, short_id
from mnemond.commands.link import EDGE_TYPES
from mnemond.commands.options import add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.links import RelatedMemory


def _parser() -> Parser:
    parser = Parser("related")
    parser.add_argument("--edge", "-t", metavar="TYPE", help=f"only over links of this type: {EDGE_TYPES}")
    parser.add_argument("--depth", type=whole_number, metavar="N", help="at most so many links away, 1 to 5; default 2")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="at most so many memories; default 20")
    parser.add_argument("--all-sessions", action="store_true", help="also memories meant for other sessions")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("related", {**arguments.options, "id": arguments.identifier("related")})


def _render(result: list[RelatedMemory], style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.id) for each in result))
    if not result:
        return lines("nothing is linked to it")
    return lines(*(_memory(each, style) for each in result))


def _memory(each: RelatedMemory, style: Style) -> str:
    kind = f"{one_line(each.category)}/{each.importance}"
    way = f"{one_line(each.via_edge_type)} {fraction(each.weight)}"
    head = f"{style.strong(short_id(each.id))}  {kind}"
    evidence = style.faint(f"  {plural(each.depth, 'link')} away, over {way}")
    return f"{head}{evidence}\n{body(each.content, style)}"


COMMAND = Command(
    name="related",
    summary="The memories around one, nearest first.",
    words="ID",
    examples=("mnemonctl related 1a2b3c4d", "mnemonctl related 1a2b3c4d --edge causal --depth 3"),
    details=("Links are followed whichever way they lead. Memories you may not see are not passed through.",),
    parser=_parser(),
    request=_request,
    render=_render,
)
