"""`mnemonctl receipt`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, day, lines, plural
from mnemond.commands.options import add_globals, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.audit import ReceiptEvent, ReceiptResult

SHORT_HASH = 12
"""Characters of a hash that people are shown."""


def _parser() -> Parser:
    parser = Parser("receipt")
    parser.add_argument("--limit", "-n", type=whole_number, metavar="N", help="events; default 20")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    arguments.nothing("receipt")
    return Request("receipt", arguments.options)


def _render(result: ReceiptResult, style: Style) -> str:
    events = [_event(event) for event in result.events]
    if style.quiet:
        return lines(*events)
    head = f'{plural(result.count, "event")} of store "{one_line(result.store)}", {one_line(result.generated_at)}'
    return lines(style.strong(head), *events, "Ids and details are SHA-256 hashes; --json shows them whole.")


def _event(event: ReceiptEvent) -> str:
    when = f"{day(event.created_at)} {one_line(event.created_at)[11:19]}"
    hashes = (event.insight_id_hash, event.detail_hash)
    shown = "  ".join(f"{'-' if each is None else one_line(each)[:SHORT_HASH]:<{SHORT_HASH}}" for each in hashes)
    return f"{when}  {one_line(event.event_name):<20}  {shown}".rstrip()


COMMAND = Command(
    name="receipt",
    summary="Evidence of what was done, without what it was about.",
    words="",
    examples=("mnemonctl receipt --json > receipt.json", "mnemonctl receipt --limit 100 --json --pretty"),
    details=("Whoever knows the id of a memory can find it in a receipt by its hash; nobody else learns one from it.",),
    parser=_parser(),
    request=_request,
    render=_render,
)
