"""`mnemonctl update`, `forget`, `merge`, `pin`, `restore` and `supersede`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.api import types_changes as changes
from mnemond.api import types_memories as memories
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
from mnemond.cli.parser import ID, Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.outcomes import ForgetResult, MergeResult, PinResult, RestoreResult, SupersedeResult, UpdateResult
from mnemond.wire.params import about, plural


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


UPDATE = Command(
    "update",
    Group.CHANGE,
    (
        "mnemonctl update 1a2b3c4d --importance 5",
        'mnemonctl update 1a2b3c4d --content "We chose SQLite 3.51"',
        "mnemonctl update 1a2b3c4d --tags db,architecture",
    ),
    method=changes.UPDATE,
    words=ID,
    details=(
        "What is not given stays as it is; lists replace the ones before.",
        "A new text is read, embedded and linked as if it were new.",
        "The former values stay in the history: `mnemonctl undo` takes an update back.",
    ),
    render=_render_update,
)


# `mnemonctl forget`.


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


FORGET = Command(
    "forget",
    Group.EVERYDAY,
    ("mnemonctl forget 1a2b3c4d", "mnemonctl forget 1a2b3c4d --purge --yes"),
    method=memories.FORGET,
    words=ID,
    details=(
        "The memory is marked as deleted, not erased: `mnemonctl restore ID` brings it back.",
        "Any unique beginning of the id will do, from six characters.",
        "With --purge nothing of it stays in the store's files: text, names, vector, links, history.",
        "It takes retired memories as well. Copies of the store beside it that still hold it are named.",
        "Copies elsewhere, snapshots of the file system and freed blocks of a disk are beyond its reach.",
    ),
    options=ForgetOptions,
    request=_forget_request,
    render=_render_forget,
)


# `mnemonctl merge`.


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


MERGE = Command(
    "merge",
    Group.CHANGE,
    (
        "mnemonctl merge 1a2b3c4d 9f8e7d6c",
        'mnemonctl merge 1a2b3c4d 9f8e7d6c --content "SQLite, one file a store"',
    ),
    method=changes.MERGE,
    words=Words("ID OTHER", ("id", "other_id")),
    details=(
        "Without --content the newer text is kept; of the older one, a clause is appended only when more than half",
        "of its words are new. The older text stays in history: `mnemonctl history ID`.",
        "The importance is the larger one, the tags are those of both.",
        "The other memory leaves recall; its row and history stay.",
    ),
    render=_render_merge,
)


# `mnemonctl pin`.


def _render_pin(result: PinResult, style: Style) -> str:
    if style.quiet:
        return lines(one_line(result.id))
    head = f"{one_line(result.status).capitalize()} {style.strong(short_id(result.id))}"
    return lines(
        f"{head}: {one_line(result.message)}",
        undo_hint(result.op_id, style) if result.changed else None,
    )


PIN = Command(
    "pin",
    Group.CHANGE,
    ("mnemonctl pin 1a2b3c4d", "mnemonctl pin 1a2b3c4d --unpin"),
    method=memories.PIN,
    words=ID,
    details=("A pinned memory can still be updated, merged or forgotten by hand.",),
    render=_render_pin,
)


# `mnemonctl restore`.


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


RESTORE = Command(
    "restore",
    Group.CHANGE,
    ("mnemonctl restore 1a2b3c4d", "mnemonctl restore 1a2b3c4d --force"),
    method=changes.RESTORE,
    words=ID,
    details=(
        "For what was forgotten, superseded, merged, pruned or has expired.",
        "Its automatic links are made anew.",
        "While the memory in its place is active, only --force restores it beside that one.",
    ),
    render=_render_restore,
)


# `mnemonctl supersede`.


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


SUPERSEDE = Command(
    "supersede",
    Group.CHANGE,
    ("mnemonctl supersede 1a2b3c4d 9f8e7d6c",),
    method=changes.SUPERSEDE,
    words=Words("OLD NEW", ("old_id", "new_id")),
    details=(
        "The old one leaves recall and its links move to the new one; its row and history stay.",
        "Where the old one was superseded before, the one in its place is meant.",
    ),
    render=_render_supersede,
)
