"""`mnemonctl sync` and `share`."""

from __future__ import annotations

from typing import Annotated, Final

from mnemond.api.types_interchange import EXPORT_OPEN, ExportOpenResult
from mnemond.api.types_sync import (
    SYNC_OPEN,
    SYNC_STATUS,
    SyncOpenResult,
    SyncStatusResult,
    SyncTarget,
    SyncUniteResult,
)
from mnemond.cli.output import Style, lines, one_line, short_id
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.wire.params import StoreParams, about, plural


class SyncOptions(StoreParams, frozen=True, kw_only=True):
    pass


UNREACHABLE: Final = "the history of git, and copies that a sync service or a backup keeps, cannot be reached"
"""What a purge does not remove."""


def _request(arguments: Arguments) -> Request:
    arguments.single("a directory, a git remote, or status")
    store = {"store": arguments.options["store"]} if arguments.options.get("store") else {}
    return Request(SYNC_STATUS.name if arguments.words == ["status"] else SYNC_OPEN.name, store)


def _begun(result: SyncOpenResult, style: Style) -> str:
    """For a program that sends the files itself; `mnemonctl sync` reads and writes them."""
    if style.quiet:
        return lines(one_line(result.sync_id))
    return lines(f'Sync {one_line(result.sync_id)} of store "{one_line(result.store)}" as device {result.device}')


def united(result: SyncUniteResult, style: Style) -> str:
    """What a sync changed here, and what it wrote for the others."""
    if style.quiet:
        return lines(*map(one_line, result.conflicts))
    counts = {
        "added": result.added, "changed": result.changed, "out of recall": result.retired, "purged": result.purged,
    }  # fmt: skip
    changed = [f"{plural(count, 'memory')} {what}" for what, count in counts.items() if count]
    for count, what in ((result.links, "link"), (result.relations, "relation"), (result.names, "name")):
        changed += [f"{plural(count, what)} changed"] if count else []
    kept = result.conflicts_found
    return lines(
        f"From other devices: {', '.join(changed) or 'nothing new'}",
        f"To other devices: {plural(result.lines, 'record')}" if result.publish else "To other devices: nothing new",
        f"  {plural(kept, 'memory')} changed on two devices: both texts are kept, see: mnemonctl reviews"
        if kept
        else None,
        *(f"  {short_id(each)}" for each in result.conflicts),
        *(f"  left as it is: {short_id(each)}: a rule that is enforced; sync at a terminal" for each in result.held),
        *(f"  passed over: {one_line(each)}" for each in result.refused),
        f"  and {result.refused_found - len(result.refused):,} more"
        if result.refused_found > len(result.refused)
        else None,
        "  The files of this device were written anew;" if result.remove else None,
        f"  {UNREACHABLE}" if result.remove else None,
    )


def _target(it: SyncTarget) -> list[str]:
    when = "never" if it.synced_at is None else it.synced_at[:16].replace("T", " ")
    waiting = f"; {plural(it.waiting, 'change')} wait" if it.waiting else ""
    files = [f"    device {each}: {plural(count, 'file')}" for each, count in sorted(it.devices.items())]
    return [f"  {one_line(it.label)}: {when}{waiting}", *files]


def _status(result: SyncStatusResult, style: Style) -> str:
    if style.quiet:
        return lines(*(one_line(each.label) for each in result.targets))
    if result.device is None or not result.targets:
        return lines(f'Store "{one_line(result.store)}" is synced with nothing: mnemonctl sync DIR')
    head = f'Store "{one_line(result.store)}" is device {result.device}; synced with'
    return lines(head, *(line for each in result.targets for line in _target(each)))


SYNC = Command(
    "sync",
    Group.STORES,
    (
        "mnemonctl sync ~/Sync/memory",
        "mnemonctl sync git@example.com:me/memory.git",
        "mnemonctl sync status",
    ),
    summary="Share memories with your other devices through a directory or a git remote.",
    words=Words("DIR | GIT-REMOTE | status"),
    details=(
        "Each device writes files of its own only, so that no sync service finds a conflict. Run it on each of them.",
        "What was changed last holds. A text that was changed on two devices is kept twice, and a review asks.",
        "Relations and names that you decided travel as well, and uses. Conversations, vectors, and what is derived",
        "from texts stay with each device.",
        "A purge travels: each device writes its files anew without the text. The history of git, and copies that a",
        "sync service or a backup keeps, cannot be reached.",
        "A program with write access to the directory can change and purge memories; the files are not encrypted.",
    ),
    options=SyncOptions,
    request=_request,
    render=by_type({SyncOpenResult: _begun, SyncStatusResult: _status, SyncUniteResult: united}),
)


# share.


class ShareOptions(StoreParams, frozen=True, kw_only=True):
    project: Annotated[str | None, about("the project: a name, an id, or a directory in it", metavar="NAME")] = None
    file: Annotated[
        str | None, about("the repository; this directory unless given", "-o", option="--output", metavar="DIR")
    ] = None
    dry_run: Annotated[bool, about("write nothing; show what would be written")] = False
    yes: Annotated[bool, about("yes, write it, without a question")] = False


def _share_request(arguments: Arguments) -> Request:
    arguments.nothing()
    options = arguments.options
    if not options.get("project"):
        raise UsageError("share needs a project", "Name it: --project NAME")
    if options.get("dry_run") and options.get("yes"):
        raise UsageError("--dry-run and --yes exclude each other", "See: mnemonctl share --help")
    return Request(EXPORT_OPEN.name, {name: options[name] for name in ("store", "project") if options.get(name)})


def _share_begun(result: ExportOpenResult, style: Style) -> str:
    """For a program that reads the export itself; `mnemonctl share` writes what it reads."""
    return lines(one_line(result.export))


SHARE = Command(
    "share",
    Group.STORES,
    ("mnemonctl share --project shop -o ~/src/shop", "mnemonctl share --project shop --dry-run"),
    summary="Write the memories of a project into its repository, as markdown.",
    details=(
        "One file a memory in .mnemond/memory, and an index: what a team reads in git. At a terminal you look through",
        "what is new first. If one has a key or a password, nothing is written.",
        "Memories of a user, a session or an agent, and those of no project, are left out.",
    ),
    options=ShareOptions,
    request=_share_request,
    render=by_type({ExportOpenResult: _share_begun}),
)
