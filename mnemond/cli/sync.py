"""`mnemonctl sync`."""

from __future__ import annotations

from typing import Final

from mnemond.api.types_sync import (
    SYNC_OPEN,
    SYNC_STATUS,
    SyncOpenResult,
    SyncStatusResult,
    SyncTarget,
    SyncUniteResult,
)
from mnemond.cli.output import Style, lines, one_line, short_id
from mnemond.cli.parser import Arguments, Command, Group, Request, Words, by_type
from mnemond.wire.params import StoreParams, plural


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
    changed += [f"{plural(result.links, 'link')} changed"] if result.links else []
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
        "Uses, conversations, vectors, derived links and relations stay with each device.",
        "A purge travels: each device writes its files anew without the text. The history of git, and copies that a",
        "sync service or a backup keeps, cannot be reached.",
        "Whoever can write into the directory can write memories; the files are not encrypted.",
    ),
    options=SyncOptions,
    request=_request,
    render=by_type({SyncOpenResult: _begun, SyncStatusResult: _status, SyncUniteResult: united}),
)
