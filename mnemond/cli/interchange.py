"""`mnemonctl export` and `import`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.api import types_interchange
from mnemond.api.types_interchange import ImportAcceptResult, ImportResult
from mnemond.cli.keys import EncryptTo, IdentityFile
from mnemond.cli.output import MIN_CONTENT, Style, and_more, lines, one_line, short_id, shorten, undo_line
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.interchange import sessions
from mnemond.interchange.recognise import KINDS
from mnemond.model.outcomes import ImportContradiction
from mnemond.store.imports import OWN
from mnemond.wire.params import StoreParams, about, plural

ExportFormat = Literal["jsonl", "markdown"]


class ExportOptions(msgspec.Struct, frozen=True):
    file: Annotated[
        str | None,
        about("write this file (0600) instead of standard output; of markdown the directory", "-o", option="--output",
              metavar="FILE"),
    ] = None  # fmt: skip
    format: Annotated[
        ExportFormat | None, about("jsonl, which restores everything, or markdown, one file a memory", metavar="NAME")
    ] = None
    encrypt_to: EncryptTo = None


def _request(arguments: Arguments) -> Request:
    arguments.nothing()
    options = dict(arguments.options)
    file, form = options.pop("file", None), options.pop("format", None)
    if form == "markdown" and file is None:
        raise UsageError("markdown is one file for each memory and needs a directory", "Name it: -o DIR")
    if options.pop("encrypt_to", None) is not None and form == "markdown":
        raise UsageError("--encrypt-to is for jsonl: markdown is a directory of files", "Leave out --format markdown")
    return Request(types_interchange.EXPORT.name, options)


EXPORT = Command(
    "export",
    Group.STORES,
    (
        "mnemonctl export > memories.jsonl",
        "mnemonctl export -o memories.jsonl",
        "mnemonctl export -o notes --format markdown",
        "mnemonctl export --since 2026-01-01 --cat decision --redact",
        "mnemonctl export -o memories.jsonl.age --encrypt-to @recipients.txt",
    ),
    method=types_interchange.EXPORT,
    summary="Write a store as lines of text, or as markdown.",
    details=(
        "JSONL has one object a line, in a fixed order: the same store gives the same bytes. Vectors are left out.",
        "Without a filter it is everything: history, links, what is out of recall. With one, the memories it admits.",
        "Markdown opens in Obsidian and reads in git; a second export into the directory replaces what changed.",
        "--encrypt-to writes a file of age (age-encryption.org), which your key decrypts: `import` or `age -d`.",
    ),
    options=ExportOptions,
    request=_request,
)


# import.


class ImportOptions(StoreParams, frozen=True, kw_only=True):
    kind: Annotated[
        str | None, about("what it is, if that is not recognised", option="--from", metavar="KIND", choices=KINDS)
    ] = None
    dry_run: Annotated[bool, about("write nothing; show what would be imported")] = False
    yes: Annotated[bool, about("yes, import it, without a question")] = False
    raise_cap: Annotated[bool, about("raise the store's maximum of memories if it is too low")] = False
    no_diff: Annotated[bool, about("import also what a memory here says already, in these or other words")] = False
    identity: IdentityFile = None


def _import_request(arguments: Arguments) -> Request:
    words, options = arguments.words, arguments.options
    store = {"store": options["store"]} if options.get("store") else {}
    if words[:1] == ["accept"]:
        if len(words) > 2:
            raise UsageError("import accept takes one op_id", "See: mnemonctl log")
        return Request(
            types_interchange.IMPORT_ACCEPT.name, store | ({"operation": words[1]} if len(words) == 2 else {})
        )
    if words or options.get("kind") not in sessions.KINDS:
        arguments.single("a file or a directory")
    if options.get("dry_run") and options.get("yes"):
        raise UsageError("--dry-run and --yes exclude each other", "See: mnemonctl import --help")
    chosen = {name: options[name] for name in ("dry_run", "raise_cap", "no_diff") if options.get(name)}
    return Request(types_interchange.IMPORT.name, store | chosen)


def _accepted(result: ImportAcceptResult, style: Style) -> str:
    if style.quiet:
        return lines(*map(one_line, result.accepted))
    if not result.accepted:
        return lines("no import waits")
    return lines(f"Accepted {plural(result.memories, 'memory')}: sessions may begin with them now")


def _at_odds(each: ImportContradiction, style: Style) -> list[str]:
    width = max(style.columns - 4, MIN_CONTENT)
    here = f"{short_id(each.id)}: {each.content}"
    return ["  at odds, and both stay:", f"    {shorten(each.imported, width)}", f"    {shorten(here, width)}"]


def imported(result: ImportResult, style: Style) -> str:
    """What was imported, or would be."""
    if style.quiet:
        return lines(one_line(result.op_id))
    verb = "Would import" if result.dry_run else "Imported"
    is_done, of_sessions = not result.dry_run, result.kind in sessions.KINDS
    added = {name: count for name, count in result.added.items() if name != "memory"}
    what = [plural(result.memories, "memory")] if result.memories or not of_sessions else []
    said = next((name for name in ("session", "conversation") if name in added), None)
    if said is not None:
        part = f"{plural(added.pop('exchange'), 'exchange')} of {plural(added.pop(said), said)}"
        what = [*what, part] if result.memories else [part]
    unread = "that could not be read" if of_sessions else "of a later version"
    counted = ("memory",) if result.kind == OWN else ("memory", "exchange")
    known = sum(result.known.get(name, 0) for name in counted)
    retired = result.added.get("memory", 0) - result.memories
    if not result.added and not result.conflicts_found:
        return lines(f'Nothing is new: store "{one_line(result.store)}" has all of it')
    return lines(
        f'{verb} {" and ".join(what) or "nothing"} into store "{one_line(result.store)}"',
        "  kept as they were said; they are read for memories in the background" if said and is_done else None,
        f"  out of recall: {retired:,}" if retired > 0 else None,
        f"  with {', '.join(f'{plural(count, one_line(name))}' for name, count in added.items())}" if added else None,
        f"  known already: {known:,}" if known else None,
        f"  with a key or password: {result.secrets:,}" if result.secrets else None,
        *(f"  left as it is: {short_id(each.id)}: {one_line(each.why)}" for each in result.conflicts),
        and_more(result.conflicts_found, result.conflicts),
        *(line for each in result.contradictions for line in _at_odds(each, style)),
        and_more(result.contradictions_found, result.contradictions, " at odds with memories here"),
        f"  lines {unread}, passed over: {result.ignored:,}" if result.ignored else None,
        *(f"  {shorten(each, max(style.columns - 2, MIN_CONTENT))}" for each in result.samples),
        f"  {plural(result.over_cap, 'memory')} more than the store's maximum: --raise-cap raises it"
        if result.over_cap
        else None,
        f"  the store's maximum is {result.raised_cap:,} memories now" if result.raised_cap else None,
        f"  not at the beginning of sessions before {one_line(result.waits_until[:16])}, or: mnemonctl import accept"
        if result.waits_until
        else None,
        undo_line(result.op_id) if is_done and (result.added.get("memory") or said) else None,
    )


IMPORT = Command(
    "import",
    Group.STORES,
    (
        "mnemonctl import memories.jsonl --dry-run",
        "mnemonctl import memories.jsonl --yes",
        "mnemonctl import ~/.claude/projects/-home-me-shop/memory",
        "mnemonctl import CLAUDE.md --raise-cap",
        "mnemonctl import memories.jsonl.age --identity key.txt",
        "mnemonctl import --from claude-code-sessions --dry-run",
        "mnemonctl import accept",
    ),
    summary="Take in memories: an export of mnemond's, or what another program keeps.",
    words=Words("FILE | DIR | accept [OP]"),
    details=(
        "An export restores memories as they were: with their history, links, times and counts.",
        "Other kinds: Claude Code's memory folder, CLAUDE.md, notes of Obsidian and basic-memory, mem0, server-memory,",
        "mcp-memory-service, claude-mem, databases of mnemon and memman, drafts of mnemon. Of exports of ChatGPT and",
        "Claude.ai what they remember, and each exchange of their conversations as it was said, with its date. A zip",
        "file is read as it was downloaded, and a file of age with --identity.",
        "--from claude-code-sessions, codex-sessions or gemini-sessions reads what these agents keep, at its place",
        "unless one is named: each exchange is kept with its date and project, as if a hook had brought it.",
        "What is known stays as it is. One operation: `mnemonctl undo` takes all of it back.",
        "Sessions do not begin with imported memories for a day, or until `import accept`; recall finds them at once.",
    ),
    options=ImportOptions,
    request=_import_request,
    render=by_type({ImportAcceptResult: _accepted, ImportResult: imported}),
)
