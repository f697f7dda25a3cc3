"""`mnemonctl remember`."""

from __future__ import annotations

from mnemond.commands.candidates import candidates, conflicts, note
from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines, plural, short_id
from mnemond.commands.operation_name import undo_hint
from mnemond.commands.options import CATEGORIES, Metadata, Split, add_globals, add_op_id, whole_number
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.remembering import EdgesCreated, RememberResult


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
        help="merge (yours and found ones; default), provided (only yours), auto (only found ones)",
    )
    parser.add_argument("--source", metavar="NAME", help="who said it; default user")
    parser.add_argument("--conversation-id", "--conversation", metavar="ID", help="the conversation it comes from")
    parser.add_argument("--created-at", metavar="TIME", help="when it happened, RFC 3339; default now")
    parser.add_argument(
        "--metadata", "--meta", action=Metadata, metavar="JSON",
        help="what else to note: a JSON object, or NAME=VALUE; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--channel", metavar="NAME", help="how it came in; default manual. hook, batch, extract: trifles are not kept"
    )
    parser.add_argument("--no-diff", action="store_true", help="store it whatever is known already")
    parser.add_argument("--dry-run", action="store_true", help="say what would happen and write nothing")
    parser.add_argument("--allow-secret", action="store_true", help="keep what looks like a key or a password as it is")
    add_op_id(parser)
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    return Request("remember", {**arguments.options, "content": arguments.text("remember", "the text to remember")})


def _render(result: RememberResult, style: Style) -> str:
    if style.quiet:
        return lines(_held_by(result))
    return lines(
        _headline(result, style),
        *_about(result, style),
        undo_hint(result.op_id, style) if _is_written(result) else None,
        *conflicts(result, style),
        *candidates(result, style),
    )


def _is_written(result: RememberResult) -> bool:
    return not (result.dry_run or result.replayed or result.action == "discarded")


def _held_by(result: RememberResult) -> str | None:
    """The id of the row that holds the memory; None when there is none to name."""
    return None if result.id is None else one_line(result.id)


def _headline(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    if result.dry_run:
        return f"{_would(result, style)}; nothing was written"
    shown = style.strong(short_id(result.id or ""))
    if result.replayed:
        again = f"(op_id {one_line(result.op_id)}); nothing was written again"
        return f"Remembered before as {shown} in {store} {again}" if result.id else f"Discarded before {again}"
    match result.action:
        case "discarded":
            return f"Not stored in {store}: {one_line(result.reason)}"
        case "skipped":
            return f"Known already as {shown} in {store}; nothing was added"
        case "replaced":
            return f"Remembered {shown} in place of {short_id(result.replaced_id or '')} in {store}{_links(result)}"
        case _:
            return f"Remembered {shown} in {store}{_links(result)}"


def _would(result: RememberResult, style: Style) -> str:
    store = f'store "{one_line(result.store)}"'
    match result.action:
        case "discarded":
            return f"Would not store it in {store}: {one_line(result.reason)}"
        case "skipped":
            return f"Known already as {style.strong(short_id(result.id or ''))} in {store}"
        case "replaced":
            return f"Would remember it in place of {short_id(result.replaced_id or '')} in {store}{_links(result)}"
        case _:
            return f"Would remember it in {store}{_links(result)}"


def _links(result: RememberResult) -> str:
    """ ", 3 links (1 temporal, 2 entity)", or nothing."""
    made = {name: getattr(result.edges_created, name) for name in EdgesCreated.__struct_fields__}
    count = sum(made.values())
    kinds = ", ".join(f"{number} {name}" for name, number in made.items() if number)
    return f", {plural(count, 'link')} ({kinds})" if count else ""


def _about(result: RememberResult, style: Style) -> list[str]:
    """What the writer may want to know, a line each."""
    paired = result.redundancy.paired_with if result.redundancy else None
    return [
        note(sentence, style)
        for sentence in (
            _why(result),
            f"redacted: {', '.join(result.redacted)} (--allow-secret keeps it)" if result.redacted else None,
            *result.quality_warnings,
            f"says much of what {short_id(paired)} says; the two are a pair now" if paired else None,
            f"not embedded: {result.embed_error}" if result.embed_error else None,
            f"{plural(result.auto_pruned, 'memory')} pruned for being least important: the store was full"
            if result.auto_pruned
            else None,
        )
        if sentence
    ]


def _why(result: RememberResult) -> str | None:
    """Which memory decided, how similar it is and why; None when none was like it."""
    if result.matched_id is None or any(result.matched_id == each.id for each in result.conflicts):
        return None  # a conflict is told below, with the same reason
    nearest = f"nearest {short_id(result.matched_id)}:" if result.action == "added" else "because"
    return f"{nearest} {result.reason}"


COMMAND = Command(
    name="remember",
    summary="Store one memory, unless it is known; it replaces what it corrects.",
    words="TEXT… | -",
    examples=(
        'mnemonctl remember "We chose SQLite" --cat decision --importance 4',
        'mnemonctl remember "Ana prefers tabs" --cat preference --entity Ana',
        "git log -1 --format=%B | mnemonctl remember - --source git",
        'mnemonctl remember "Build 7 is out" --metadata project=apollo',
        'mnemonctl remember --dry-run "Deploys on Friday are not allowed"',
    ),
    details=(
        'Words are joined by spaces; "-" reads the text from standard input; after "--" everything is text.',
        "A text that is known already is not stored again. One that corrects or refines a memory takes its place;",
        "`mnemonctl undo` takes that back, and `mnemonctl diff` tells it beforehand.",
        "Keys and passwords are cut out before anything is written.",
    ),
    parser=_parser(),
    request=_request,
    render=_render,
)
