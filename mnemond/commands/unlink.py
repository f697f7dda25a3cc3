"""`mnemonctl unlink`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.link import EDGE_TYPES
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.links import UnlinkResult


def _parser() -> Parser:
    parser = Parser("unlink")
    parser.add_argument("--type", "-t", metavar="TYPE", help=f"only links of this type: {EDGE_TYPES}")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    source, target = arguments.two_identifiers("unlink")
    return Request("unlink", {**arguments.options, "source_id": source, "target_id": target})


def _render(result: UnlinkResult, style: Style) -> str:
    if style.quiet:
        return lines(str(result.edges_removed))
    one, other = short_id(result.source_id), short_id(result.target_id)
    types = ", ".join(one_line(each) for each in result.edge_types)
    before = " (done before, with the same op_id)" if result.replayed else ""
    left = f"  a causal link from {other} to {one} is left: mnemonctl unlink {other} {one} --type causal"
    return lines(
        f"Unlinked {style.strong(one)} and {style.strong(other)}: {plural(result.edges_removed, 'link')} removed"
        f" ({types}){before}",
        left if result.cause_other_way else None,
        undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="unlink",
    summary="Remove what links two memories, whoever made it.",
    words="ID ID",
    examples=("mnemonctl unlink 1a2b3c4d 9f8e7d6c", "mnemonctl unlink 1a2b3c4d 9f8e7d6c --type semantic"),
    details=("Of causal links, only the one from the first memory to the second is removed.",),
    parser=_parser(),
    request=_request,
    render=_render,
)
