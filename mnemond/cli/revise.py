"""`mnemonctl forget`, `update`, `restore`, `supersede`, `merge` and `pin`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.api import types_changes, types_memories
from mnemond.cli.output import (
    Style,
    affected,
    body,
    conflicts_of,
    lines,
    new_links,
    note,
    one_line,
    remarks,
    repeated,
    short_id,
    undo_hint,
)
from mnemond.cli.parser import ID, Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.outcomes import ForgetResult, MergeResult, PinResult, RestoreResult, SupersedeResult, UpdateResult
from mnemond.wire.params import about


class ForgetOptions(msgspec.Struct, frozen=True):
    yes: Annotated[bool, about("yes, --purge is meant")] = False


def _forget_request(arguments: Arguments) -> Request:
    request = arguments.request()
    if request.params.get("purge") and not request.params.get("yes"):
        raise UsageError(
            "forget --purge removes the memory, its history and its links for good; nothing was done",
            f"If that is meant: mnemonctl forget {one_line(str(request.params['id']))} --purge --yes",
        )
    return request


def _forget(result: ForgetResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    verb = "Purged" if result.status == "purged" else "Forgot"
    links = affected(result.edges_removed, "removed")
    return lines(
        f"{verb} {style.strong(short_id(result.id))}{links}{repeated(result)}",
        f"  {one_line(result.message)}" if result.backups or result.merged_into or result.decisions_removed else None,
        None if result.status == "purged" else undo_hint(result.op_id, style),
    )


FORGET = Command(
    "forget",
    Group.EVERYDAY,
    ("mnemonctl forget 1a2b3c4d", "mnemonctl forget 1a2b3c4d --purge --yes"),
    method=types_memories.FORGET,
    words=ID,
    details=(
        "The memory is marked as deleted, not erased: `mnemonctl restore ID` brings it back, `undo` a passage.",
        "Any unique beginning of the id will do, from six characters.",
        "With --purge nothing of it stays in the store's files: text, names, vector, links, history.",
        "It takes retired memories as well. Copies of the store beside it that still hold it are named.",
        "Copies elsewhere, snapshots of the file system and freed blocks of a disk are beyond its reach.",
    ),
    options=ForgetOptions,
    request=_forget_request,
    render=_forget,
)


def _update(result: UpdateResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    shown = style.strong(short_id(result.id))
    if result.status == "unchanged":
        return lines(f"{shown} is like that already; nothing was written{repeated(result)}")
    changed = one_line(", ".join(result.changed)).replace("_", " ")
    return lines(
        f"Updated {shown}: {changed}{new_links(result.edges_created)}{repeated(result)}",
        *remarks(result.embed_error, result.redacted, result.quality_warnings),
        *_same_text(result, style),
        undo_hint(result.op_id, style),
    )


def _same_text(result: UpdateResult, style: Style) -> list[str]:
    """Name another memory of the same text, with the command that makes one of the two."""
    if result.same_text is None:
        return []
    this, other = short_id(result.id), short_id(result.same_text)
    return [note(f"{other} says the same; to make one of the two:", style), f"    mnemonctl merge {this} {other}"]


UPDATE = Command(
    "update",
    Group.CHANGE,
    (
        "mnemonctl update 1a2b3c4d --importance 5",
        'mnemonctl update 1a2b3c4d --content "We chose SQLite 3.51"',
        "mnemonctl update 1a2b3c4d --tags db,architecture",
    ),
    method=types_changes.UPDATE,
    words=ID,
    details=(
        "What is not given stays as it is; lists replace the ones before.",
        "A new text is read, embedded and linked as if it were new.",
        "Where another memory has the new text, the reply offers `merge`.",
        "The former values stay in the history: `mnemonctl undo` takes an update back.",
    ),
    render=_update,
)


def _restore(result: RestoreResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    return lines(
        f"Restored {style.strong(short_id(result.id))}{new_links(result.edges_created)}{repeated(result)}",
        f"  {short_id(result.superseded_by)} had taken its place and stays" if result.superseded_by else None,
        *remarks(result.embed_error),
        *conflicts_of(result.id, result.conflicts, style),
        undo_hint(result.op_id, style),
    )


RESTORE = Command(
    "restore",
    Group.CHANGE,
    ("mnemonctl restore 1a2b3c4d", "mnemonctl restore 1a2b3c4d --force"),
    method=types_changes.RESTORE,
    words=ID,
    details=(
        "For what was forgotten, superseded, merged, pruned or has expired.",
        "Its automatic links are made anew.",
        "While the memory in its place is active, only --force restores it beside that one.",
    ),
    render=_restore,
)


def _supersede(result: SupersedeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    taken = f"{style.strong(short_id(result.superseded_by))} takes the place of {style.strong(short_id(result.id))}"
    return lines(
        f"{taken}{affected(result.edges_moved, 'moved')}{repeated(result)}",
        f"  which had taken the place of {short_id(result.instead_of)} before" if result.instead_of else None,
        undo_hint(result.op_id, style),
    )


SUPERSEDE = Command(
    "supersede",
    Group.CHANGE,
    ("mnemonctl supersede 1a2b3c4d 9f8e7d6c",),
    method=types_changes.SUPERSEDE,
    words=Words("OLD NEW", ("old_id", "new_id")),
    details=(
        "The old one leaves recall and its links move to the new one; its row and history stay.",
        "If the old one was superseded before, its successor is meant.",
    ),
    render=_supersede,
)


def _merge(result: MergeResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    pair = f"{style.strong(short_id(result.merged_id))} into {style.strong(short_id(result.id))}"
    links = f"{affected(result.edges_moved, 'moved')}{new_links(result.edges_created)}"
    merged = f"Would merge {pair}; nothing was written" if result.dry_run else f"Merged {pair}{links}{repeated(result)}"
    return lines(
        merged,
        body(result.content, style, "  "),
        *(f"  not in it: {one_line(clause)}" for clause in result.dropped),
        *remarks(result.embed_error, result.redacted, result.quality_warnings),
        None if result.dry_run else undo_hint(result.op_id, style),
    )


MERGE = Command(
    "merge",
    Group.CHANGE,
    (
        "mnemonctl merge 1a2b3c4d 9f8e7d6c",
        "mnemonctl merge 1a2b3c4d 9f8e7d6c --dry-run",
        'mnemonctl merge 1a2b3c4d 9f8e7d6c --content "SQLite, one file a store"',
    ),
    method=types_changes.MERGE,
    words=Words("ID OTHER", ("id", "other_id")),
    details=(
        "Without --content the text is the newer one with every clause of the older that it does not repeat.",
        "Clauses that contradict each other stop it; then give the text that holds with --content.",
        "The older text stays in history: `mnemonctl history ID`.",
        "The importance is the larger one, the tags are those of both.",
        "The other memory leaves recall; its row and history stay.",
    ),
    render=_merge,
)


def _pin(result: PinResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    return lines(
        f"{one_line(result.status).capitalize()} {style.strong(short_id(result.id))}: {one_line(result.message)}",
        undo_hint(result.op_id, style) if result.changed else None,
    )


PIN = Command(
    "pin",
    Group.CHANGE,
    ("mnemonctl pin 1a2b3c4d", "mnemonctl pin 1a2b3c4d --unpin"),
    method=types_memories.PIN,
    words=ID,
    details=("A pinned memory can still be updated, merged or forgotten by hand.",),
    render=_pin,
)
