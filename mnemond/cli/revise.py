"""`mnemonctl update`."""

from __future__ import annotations

from mnemond.cli.output import (
    DONE_BEFORE,
    Style,
    body,
    conflicts_of,
    lines,
    new_links,
    one_line,
    remarks,
    short_id,
    undo_hint,
)
from mnemond.cli.parser import (
    CATEGORIES,
    Arguments,
    Command,
    Metadata,
    Parser,
    Request,
    Split,
    UsageError,
    add_globals,
    add_op_id,
    whole_number,
)
from mnemond.model.outcomes import ForgetResult, MergeResult, PinResult, RestoreResult, SupersedeResult, UpdateResult
from mnemond.wire.params import plural


def _parser_update() -> Parser:
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


def _request_update(arguments: Arguments) -> Request:
    options = dict(arguments.options)
    if options.get("content") == "-":
        options["content"] = Arguments(["-"], {}, arguments.stdin).text("update", "the new text")
    return Request("update", {**options, "id": arguments.identifier("update")})


def _render_update(result: UpdateResult, style: Style) -> str:
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


UPDATE_COMMAND = Command(
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
    parser=_parser_update(),
    request=_request_update,
    render=_render_update,
)


# `mnemonctl forget`.


def _parser_forget() -> Parser:
    parser = Parser("forget")
    parser.add_argument("--purge", action="store_true", help="remove it from the store's files; cannot be undone")
    parser.add_argument("--yes", action="store_true", help="yes, --purge is meant")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_forget(arguments: Arguments) -> Request:
    identifier = arguments.identifier("forget")
    options = dict(arguments.options)
    sure = options.pop("yes", False)
    if options.get("purge") and not sure:
        raise UsageError(
            "forget --purge removes the memory, its history and its links for good; nothing was done",
            f"If that is meant: mnemonctl forget {one_line(identifier)} --purge --yes",
        )
    return Request("forget", {**options, "id": identifier})


def _render_forget(result: ForgetResult, style: Style) -> str:
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


FORGET_COMMAND = Command(
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
    parser=_parser_forget(),
    request=_request_forget,
    render=_render_forget,
)


# `mnemonctl merge`.


def _parser_merge() -> Parser:
    parser = Parser("merge")
    parser.add_argument("--into", metavar="ID", help="which of the two keeps its id; default the older")
    parser.add_argument("--content", metavar="TEXT", help='what both say, in your words; "-" reads standard input')
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password as it is")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_merge(arguments: Arguments) -> Request:
    one, other = arguments.two_identifiers("merge")
    options = dict(arguments.options)
    if options.get("content") == "-":
        options["content"] = Arguments(["-"], {}, arguments.stdin).text("merge", "the common text")
    return Request("merge", {**options, "id": one, "other_id": other})


def _render_merge(result: MergeResult, style: Style) -> str:
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


MERGE_COMMAND = Command(
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
    parser=_parser_merge(),
    request=_request_merge,
    render=_render_merge,
)


# `mnemonctl pin`.


def _parser_pin() -> Parser:
    parser = Parser("pin")
    parser.add_argument("--unpin", action="store_true", help="let it be pruned and replaced again")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_pin(arguments: Arguments) -> Request:
    return Request("pin", {**arguments.options, "id": arguments.identifier("pin")})


def _render_pin(result: PinResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    head = f"{one_line(result.status).capitalize()} {style.strong(short_id(result.id))}"
    return lines(
        f"{head}: {one_line(result.message)}",
        undo_hint(result.op_id, style) if result.changed else None,
    )


PIN_COMMAND = Command(
    name="pin",
    summary="Keep one memory from being pruned or replaced.",
    words="ID",
    examples=("mnemonctl pin 1a2b3c4d", "mnemonctl pin 1a2b3c4d --unpin"),
    details=("A pinned memory can still be updated, merged or forgotten by hand.",),
    parser=_parser_pin(),
    request=_request_pin,
    render=_render_pin,
)


# `mnemonctl restore`.


def _parser_restore() -> Parser:
    parser = Parser("restore")
    parser.add_argument("--force", action="store_true", help="even though another memory stands in its place")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_restore(arguments: Arguments) -> Request:
    return Request("restore", {**arguments.options, "id": arguments.identifier("restore")})


def _render_restore(result: RestoreResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    before = DONE_BEFORE if result.replayed else ""
    return lines(
        f"Restored {style.strong(short_id(result.id))}{new_links(result.edges_created)}{before}",
        f"  {short_id(result.superseded_by)} had taken its place and stays" if result.superseded_by else None,
        *remarks(result.embed_error),
        *conflicts_of(result.id, result.conflicts, style),
        undo_hint(result.op_id, style),
    )


RESTORE_COMMAND = Command(
    name="restore",
    summary="Bring a retired memory back into recall.",
    words="ID",
    examples=("mnemonctl restore 1a2b3c4d", "mnemonctl restore 1a2b3c4d --force"),
    details=(
        "For what was forgotten, superseded, merged, pruned or has expired.",
        "Its automatic links are made anew.",
        "While the memory in its place is active, only --force restores it beside that one.",
    ),
    parser=_parser_restore(),
    request=_request_restore,
    render=_render_restore,
)


# `mnemonctl supersede`.


def _parser_supersede() -> Parser:
    parser = Parser("supersede")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request_supersede(arguments: Arguments) -> Request:
    old, new = arguments.two_identifiers("supersede")
    return Request("supersede", {**arguments.options, "old_id": old, "new_id": new})


def _render_supersede(result: SupersedeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    links = f", {plural(result.edges_moved, 'link')} moved" if result.edges_moved else ""
    before = DONE_BEFORE if result.replayed else ""
    taken = f"{style.strong(short_id(result.superseded_by))} takes the place of {style.strong(short_id(result.id))}"
    return lines(
        f"{taken}{links}{before}",
        f"  which had taken the place of {short_id(result.instead_of)} before" if result.instead_of else None,
        undo_hint(result.op_id, style),
    )


SUPERSEDE_COMMAND = Command(
    name="supersede",
    summary="Let one memory take the place of another.",
    words="OLD NEW",
    examples=("mnemonctl supersede 1a2b3c4d 9f8e7d6c",),
    details=(
        "The old one leaves recall and its links move to the new one; its row and history stay.",
        "Where the old one was superseded before, the one in its place is meant.",
    ),
    parser=_parser_supersede(),
    request=_request_supersede,
    render=_render_supersede,
)
