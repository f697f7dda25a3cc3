"""`mnemonctl forget`."""

from __future__ import annotations

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import add_globals, add_op_id
from mnemond.commands.parser import Parser, UsageError
from mnemond.commands.terminal import one_line
from mnemond.protocol.memories import ForgetResult


def _parser() -> Parser:
    parser = Parser("forget")
    parser.add_argument("--purge", action="store_true", help="remove it from the store's files; cannot be undone")
    parser.add_argument("--yes", action="store_true", help="yes, --purge is meant")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    identifier = arguments.identifier("forget")
    options = dict(arguments.options)
    sure = options.pop("yes", False)
    if options.get("purge") and not sure:
        raise UsageError(
            "forget --purge removes the memory, its history and its links for good; nothing was done",
            f"If that is meant: mnemonctl forget {one_line(identifier)} --purge --yes",
        )
    return Request("forget", {**options, "id": identifier})


def _render(result: ForgetResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    links = f", {plural(result.edges_removed, 'link')} removed" if result.edges_removed else ""
    before = " (done before, with the same op_id)" if result.replayed else ""
    purged = result.status == "purged"
    return lines(
        f"{'Purged' if purged else 'Forgot'} {style.strong(short_id(result.id))}{links}{before}",
        f"  {one_line(result.message)}" if result.backups or result.merged_into else None,
        None if purged else undo_hint(result.op_id, style),
    )


COMMAND = Command(
    name="forget",
    summary="Take one memory out of recall.",
    words="ID",
    examples=("mnemonctl forget 1a2b3c4d", "mnemonctl forget 1a2b3c4d --purge --yes"),
    details=(
        "The memory is marked as deleted, not erased: `mnemonctl restore ID` brings it back.",
        "Any unique beginning of the id will do, from six characters.",
        "With --purge nothing of it stays in the store's files: text, names, vector, links, history.",
        "It takes retired memories as well. Copies of the store beside it that still hold it are named.",
        "Copies elsewhere, snapshots of the file system and freed blocks of a disk are beyond its reach.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
