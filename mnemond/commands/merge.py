"""`mnemonctl merge`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, body, lines, plural, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser
from mnemond.commands.revision import DONE_BEFORE, new_links, remarks
from mnemond.commands.terminal import one_line
from mnemond.protocol.revising import MergeResult


def _parser() -> Parser:
    parser = Parser("merge")
    parser.add_argument("--into", metavar="ID", help="which of the two keeps its id; default the older")
    parser.add_argument("--content", metavar="TEXT", help='what both say, in your words; "-" reads standard input')
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password as it is")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    one, other = arguments.two_identifiers("merge")
    options = dict(arguments.options)
    if options.get("content") == "-":
        options["content"] = Arguments(["-"], {}, arguments.stdin).text("merge", "the common text")
    return Request("merge", {**options, "id": one, "other_id": other})


def _render(result: MergeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    moved = f", {plural(result.edges_moved, 'link')} moved" if result.edges_moved else ""
    before = DONE_BEFORE if result.replayed else ""
    merged = f"Merged {style.strong(short_id(result.merged_id))} into {style.strong(short_id(result.id))}"
    return lines(
        f"{merged}{moved}{new_links(result.edges_created)}{before}",
        body(result.content, style, "  "),
        *remarks(result.embed_error, result.redacted, result.quality_warnings),
        undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="merge",
    summary="Make one memory of two.",
    words="ID OTHER",
    examples=(
        "mnemonctl merge 1a2b3c4d 9f8e7d6c",
        'mnemonctl merge 1a2b3c4d 9f8e7d6c --content "SQLite, one file a store"',
    ),
    details=(
        "Without --content the newer text is kept; of the older one, a clause is appended only when more than half",
        "of its words are new. The older text stays in history: `mnemonctl history ID`.",
        "The importance is the larger one, the tags are those of both.",
        "The other memory leaves recall; its row and history stay.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
