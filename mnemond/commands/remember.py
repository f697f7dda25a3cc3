"""`mnemonctl remember`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.options import CATEGORIES, NO_EFFECT, Split, add_globals, add_op_id, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import RememberResult


def _parser() -> Parser:
    parser = Parser("remember", takes_text=True)
    parser.add_argument("--category", "--cat", metavar="NAME", help=f"{CATEGORIES}; default general")
    parser.add_argument(
        "--importance", type=whole_number, metavar="N", help="1 (trifle) to 5 (never forget); default 3"
    )
    parser.add_argument("--tag", action="append", dest="tags", metavar="TAG", help="a tag; may be repeated")
    parser.add_argument("--tags", action=Split, dest="tags", metavar="A,B", help="several tags")
    parser.add_argument(
        "--entity", action="append", dest="entities", metavar="NAME", help="a name in it; may be repeated"
    )
    parser.add_argument("--entities", action=Split, dest="entities", metavar="A,B", help="several names")
    parser.add_argument(
        "--entity-mode",
        metavar="MODE",
        help=f"merge (yours and found ones), provided (only yours), auto (only found ones) {NO_EFFECT}",
    )
    parser.add_argument("--source", metavar="NAME", help="who said it; default user")
    parser.add_argument("--conversation-id", "--conversation", metavar="ID", help="the conversation it comes from")
    parser.add_argument("--created-at", metavar="TIME", help="when it happened, RFC 3339; default now")
    parser.add_argument("--channel", metavar="NAME", help="how it came in; default manual")
    parser.add_argument("--no-diff", action="store_true", help=f"do not look for duplicates {NO_EFFECT}")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("remember", {**arguments.options, "content": arguments.text("remember", "the text to remember")})


def _render(result: RememberResult, style: Style) -> str:
    identifier = one_line(result.id or "")
    if style.quiet:
        return lines(identifier)
    return lines(
        _headline(result, style),
        *(f"  {one_line(warning)}" for warning in result.quality_warnings),
        f"  not embedded: {one_line(result.embed_error)}" if result.embed_error else None,
    )


def _headline(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    if result.dry_run:
        return f"Would remember it in {store}; nothing was written"
    shown = style.strong(short_id(result.id or ""))
    if result.replayed:
        return f"Remembered before as {shown} in {store} (op_id {one_line(result.op_id)}); nothing was written again"
    edges = result.edges_created
    count = edges.temporal + edges.entity + edges.causal + edges.semantic
    links = f", {plural(count, 'link')}" if count else ""
    return f"Remembered {shown} in {store}{links}"


COMMAND = Command(
    name="remember",
    summary="Store one memory.",
    words="TEXT… | -",
    examples=(
        'mnemonctl remember "We chose SQLite" --cat decision --importance 4',
        'mnemonctl remember "Ana prefers tabs" --cat preference --entity Ana',
        "git log -1 --format=%B | mnemonctl remember - --source git",
    ),
    details=('Words are joined by spaces; "-" reads the text from standard input; after "--" everything is text.',),
    parser=_parser(),
    request=_request,
    render=_render,
)
