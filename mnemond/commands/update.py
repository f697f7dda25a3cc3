"""`mnemonctl update`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import CATEGORIES, Metadata, Split, add_globals, add_op_id, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.revision import DONE_BEFORE, new_links, remarks
from mnemond.commands.terminal import one_line
from mnemond.protocol.revising import UpdateResult


def _parser() -> Parser:
    parser = Parser("update")
    parser.add_argument("--content", metavar="TEXT", help='the new text; "-" reads standard input')
    parser.add_argument("--category", "--cat", metavar="NAME", help=CATEGORIES)
    parser.add_argument("--importance", type=whole_number, metavar="N", help="1 (trifle) to 5 (never forget)")
    parser.add_argument("--tag", action="append", dest="tags", metavar="TAG", help="a tag; may be repeated")
    parser.add_argument("--tags", action=Split, dest="tags", metavar="A,B", help='several tags; "" for none')
    parser.add_argument(
        "--entity", action="append", dest="entities", metavar="NAME", help="a name in it; may be repeated"
    )
    parser.add_argument("--entities", action=Split, dest="entities", metavar="A,B", help='several names; "" for none')
    parser.add_argument(
        "--entity-mode",
        metavar="MODE",
        help="merge (yours and found ones), provided (only yours), auto (only found ones)",
    )
    parser.add_argument("--source", metavar="NAME", help="who said it")
    parser.add_argument("--conversation-id", "--conversation", metavar="ID", help="the conversation it comes from")
    parser.add_argument("--created-at", metavar="TIME", help="when it happened, RFC 3339")
    parser.add_argument(
        "--metadata", "--meta", action=Metadata, metavar="JSON",
        help="what else is noted, all of it: a JSON object, or NAME=VALUE; {} for nothing",
    )  # fmt: skip
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password as it is")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    options = dict(arguments.options)
    if options.get("content") == "-":
        options["content"] = Arguments(["-"], {}, arguments.stdin).text("update", "the new text")
    return Request("update", {**options, "id": arguments.identifier("update")})


def _render(result: UpdateResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    shown = style.strong(short_id(result.id))
    before = DONE_BEFORE if result.replayed else ""
    if result.status == "unchanged":
        return lines(f"{shown} is like that already; nothing was written{before}")
    changed = one_line(", ".join(result.changed)).replace("_", " ")
    return lines(
        f"Updated {shown}: {changed}{new_links(result.edges_created)}{before}",
        *remarks(result.embed_error, result.redacted, result.quality_warnings),
        undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="update",
    summary="Give one memory another text or other fields.",
    words="ID",
    examples=(
        "mnemonctl update 1a2b3c4d --importance 5",
        'mnemonctl update 1a2b3c4d --content "We chose SQLite 3.51"',
        "mnemonctl update 1a2b3c4d --tags db,architecture",
    ),
    details=(
        "What is not given stays as it is; lists replace the ones before.",
        "A new text is read, embedded and linked as if it were new.",
        "The former values stay in the history: `mnemonctl undo` takes an update back.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
