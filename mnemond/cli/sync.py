"""`mnemonctl sync` and `share`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from mnemond.api.types_interchange import EXPORT
from mnemond.api.types_sync import (
    SYNC_OPEN,
    SYNC_STATUS,
    SyncDeviceView,
    SyncStatusResult,
    SyncTarget,
    SyncUniteResult,
)
from mnemond.cli.keys import EncryptTo, IdentityFile
from mnemond.cli.output import Style, and_more, lines, one_line, short_id
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words, by_type
from mnemond.config.sections import seconds
from mnemond.model.sync import Failure
from mnemond.wire.params import StoreParams, about, plural


class SyncOptions(StoreParams, frozen=True, kw_only=True):
    allow_purges: Annotated[bool, about("purge what other devices purged, however much it is")] = False
    join: Annotated[bool, about("read the files of a device with another code, which is asked for")] = False
    show_code: Annotated[bool, about("show the code that your other devices need, once each")] = False
    restamp: Annotated[
        bool, about("the clock of this device was ahead and is right again: give what it changed the time of now")
    ] = False
    encrypt_to: EncryptTo = None
    identity: IdentityFile = None
    every: Annotated[
        str | None, about("go on, and sync so often: 10m, 2h; for a service of yours", metavar="DURATION")
    ] = None
    name: Annotated[
        str | None, about("what this device is called; the name of the machine unless given", metavar="NAME")
    ] = None


UNREACHABLE: Final = "the history of git, and copies that a sync service or a backup keeps, cannot be reached"
"""What a purge does not remove."""


def _request(arguments: Arguments) -> Request:
    words, options = arguments.words, arguments.options
    store = {"store": options["store"]} if options.get("store") else {}
    if words[:1] != ["status"]:
        arguments.single("a directory, a git remote, or status")
        if options.get("every"):
            _check_every(options)
        return Request(SYNC_OPEN.name, {name: options[name] for name in OF_DAEMON if options.get(name)})
    if len(words) > 2:
        raise UsageError("sync status takes one directory or git remote", "See: mnemonctl sync --help")
    given = {name for name in SyncOptions.__struct_fields__ if options.get(name)}
    if more := sorted(given - {"store", *(("identity",) if len(words) == 2 else ())}):
        option = f"--{more[0].replace('_', '-')}"
        raise UsageError(f"{option} is for a sync, not for its status", "See: mnemonctl sync --help")
    return Request(SYNC_STATUS.name, store)


OF_DAEMON: Final = ("store", "name", "allow_purges", "join", "show_code", "restamp")
"""Options of a sync that are sent to the daemon."""

IN_BACKGROUND: Final = frozenset({"store", "encrypt_to", "identity", "name", "every"})
"""Options of a sync that no person sees; every other one is for a person."""

MIN_EVERY_S: Final = 60.0
_EVERY: Final = re.compile(r"[0-9]{1,6}[smhd]")


def _check_every(options: Mapping[str, Any]) -> None:
    if not _EVERY.fullmatch(str(options["every"])) or seconds(str(options["every"])) < MIN_EVERY_S:
        raise UsageError("--every is a duration of at least a minute", "For instance: --every 10m")
    for name in sorted(name for name, value in options.items() if value and name not in IN_BACKGROUND):
        raise UsageError(f"--{name.replace('_', '-')} is for a person, not for --every", "See: mnemonctl sync --help")
    if options.get("identity") == "-":
        raise UsageError("--every reads the secret key from a file each time", "Name a file: --identity FILE")


def united(result: SyncUniteResult, style: Style) -> str:
    """What a sync changed here, and what it wrote for the others."""
    if style.quiet:
        return lines(*map(one_line, result.conflicts))
    counts = {
        "added": result.added, "changed": result.changed, "out of recall": result.retired, "purged": result.purged,
    }  # fmt: skip
    changed = [f"{plural(count, 'memory')} {what}" for what, count in counts.items() if count]
    others = {"link": result.links, "relation": result.relations, "name": result.names, "exchange": result.passages}
    changed += [f"{plural(count, what)} changed" for what, count in others.items() if count]
    secret = f", encrypted for {plural(result.encrypted, 'recipient')}" if result.encrypted else ""
    kept = result.conflicts_found
    return lines(
        f"From other devices: {', '.join(changed) or 'nothing new'}",
        f"To other devices: {plural(result.lines, 'record')}{secret}"
        if result.publish
        else "To other devices: nothing new",
        f"  {plural(kept, 'memory')} changed on two devices: both texts are kept, see: mnemonctl reviews"
        if kept
        else None,
        *(f"  {short_id(each)}" for each in result.conflicts),
        *(f"  left as it is: {short_id(each)}: a rule that is enforced; sync at a terminal" for each in result.held),
        *_held_purges(result),
        f"  not written for others: {plural(result.withheld, 'exchange')} of sessions that were paused or have a"
        " private part"
        if result.withheld
        else None,
        f"  not taken in: {plural(result.too_old, 'exchange')} said longer ago than this device keeps exchanges"
        " (sessions.keep_days)"
        if result.too_old
        else None,
        *(f"  passed over: {one_line(each)}" for each in result.refused),
        and_more(result.refused_found, result.refused),
        *(f"  not read: {one_line(each)}" for each in result.unread),
        and_more(result.unread_found, result.unread),
        *_of_code(result),
        f"  to take it back: mnemonctl undo {one_line(result.op_id)}" if result.op_id else None,
        f"  to take back the relations and names: mnemonctl undo {one_line(result.knowledge_op_id)}"
        if result.knowledge_op_id
        else None,
        f"  {plural(result.restamped, 'record')} got the time of now" if result.restamped else None,
        f"  more than a day ahead of this clock: {plural(result.ahead, 'record')}, which other devices refuse. If the"
        " clock is right now, repeat with --restamp"
        if result.ahead
        else None,
        "  The files of this device were written anew;" if result.remove else None,
        f"  {UNREACHABLE}" if result.remove else None,
    )


def _held_purges(result: SyncUniteResult) -> Iterator[str]:
    """Yield what is not purged, and how it would be."""
    found = {"memory": result.held_purges_found, "exchange": result.held_passages}
    if not any(found.values()):
        return
    yield (
        f"  not purged: {' and '.join(plural(count, what) for what, count in found.items() if count)} that other"
        " devices purged for good, which is more than a sync removes unasked. If that is meant, run it at a terminal"
        " with --allow-purges"
    )
    yield from (f"  {short_id(each)}" for each in result.held_purges)
    if more := and_more(result.held_purges_found, result.held_purges):
        yield more


def _of_code(result: SyncUniteResult) -> Iterator[str]:
    """Yield what has another code, and the code of this store."""
    for each in result.strangers:
        yield (
            f"  passed over: device {one_line(each)}, whose files have another code. There: --show-code, then here:"
            " --join"
        )
    if result.code is not None:
        yield f"  Code for your other devices, which ask for it at --join: {one_line(result.code)}"


def _minute(time: str) -> str:
    return one_line(time[:16].replace("T", " "))


def _target(it: SyncTarget) -> list[str]:
    facts = ["never" if it.synced_at is None else _minute(it.synced_at)]
    facts += [f"encrypted for {plural(it.recipients, 'recipient')}"] if it.recipients else []
    facts += [f"{plural(it.waiting, 'change')} wait"] if it.waiting else []
    failed = [] if it.failed is None else [_failed(it.failed)]
    return [f"  {one_line(it.label)}: {'; '.join(facts)}", *failed, *map(_device, it.devices)]


def _failed(it: Failure) -> str:
    often = f" ({plural(it.count, 'time')}, last {_minute(it.at)})" if it.count > 1 else ""
    return f"    fails since {_minute(it.since)}{often}: {one_line(it.why)}"


def _device(it: SyncDeviceView) -> str:
    named = f"{one_line(it.name)} ({it.id})" if it.name else f"device {it.id}"
    facts = [plural(it.files, "file")]
    facts += [f"{it.unread:,} not read"] if it.unread else []
    facts += ["encrypted"] if it.encrypted else []
    facts += [f"last wrote {_minute(it.wrote_at)}"] if it.wrote_at else []
    return f"    {named}{', this one' if it.own else ''}: {', '.join(facts)}"


def status(result: SyncStatusResult, style: Style) -> str:
    """Where a store is synced to, which devices write there, and what waits."""
    if style.quiet:
        return lines(*(one_line(each.label) for each in result.targets))
    if not result.targets:
        return lines(f'Store "{one_line(result.store)}" is synced with nothing: mnemonctl sync DIR')
    if result.device is None:
        head = f'Store "{one_line(result.store)}" was never synced; there is'
    else:
        named = f"{one_line(result.name)} ({result.device})" if result.name else f"device {result.device}"
        head = f'Store "{one_line(result.store)}" is {named}; synced with'
    return lines(head, *(line for each in result.targets for line in _target(each)))


SYNC = Command(
    "sync",
    Group.STORES,
    (
        "mnemonctl sync ~/Sync/memory",
        "mnemonctl sync git@example.com:me/memory.git",
        "mnemonctl sync ~/Sync/memory --encrypt-to @recipients.txt --identity ~/key.age",
        "mnemonctl sync ~/Sync/memory --every 10m",
        "mnemonctl sync ~/Sync/memory --join",
        "mnemonctl sync status",
        "mnemonctl sync status ~/Sync/memory",
    ),
    summary="Share memories with your other devices through a directory or a git remote.",
    words=Words("DIR | GIT-REMOTE | status [DIR | GIT-REMOTE]"),
    details=(
        "Each device writes files of its own only, so that no sync service finds a conflict. Run it on each of them.",
        "The first one shows a code, which the others ask for once. Files with another code are not read.",
        "What was changed last holds. A text that was changed on two devices is kept twice, and a review asks.",
        "Relations and names that you decided travel as well, and uses. Conversations, vectors, and what is derived",
        "from texts stay with each device.",
        "A purge travels: each device writes its files anew without the text. The history of git, and copies that a",
        "sync service or a backup keeps, cannot be reached.",
        "Purges of many memories wait for --allow-purges. One undo takes back what else a sync changed of memories and",
        "links, another one relations and names.",
        "status says which devices there are, when each last wrote, and what waits; with a directory as it is now.",
        "--every goes on until it is stopped: after a failure it waits a minute, then twice as long each time, at most",
        "an hour or the duration. status and doctor say what fails. It confirms nothing that a person has to.",
        "--encrypt-to encrypts the files of this device, from now on (`none` ends that); --identity names the secret",
        "key that reads those of the others. Without it a program with access to the directory reads them.",
    ),
    options=SyncOptions,
    request=_request,
    render=by_type({SyncStatusResult: status, SyncUniteResult: united}),
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
    chosen = {name: options[name] for name in ("store", "project") if options.get(name)}
    return Request(EXPORT.name, {**chosen, "share": True})


SHARE = Command(
    "share",
    Group.STORES,
    ("mnemonctl share --project shop -o ~/src/shop", "mnemonctl share --project shop --dry-run"),
    summary="Write the memories of a project into its repository, as markdown.",
    details=(
        "One file a memory in .mnemond/memory, and an index: what a team reads in git. At a terminal you look through",
        "what is new first. If one has a key or a password, nothing is written.",
        "Memories of a user, a session or an agent, and those of no project, are left out.",
        "Pages that another store or another project wrote, or that a person changed, are left as they are.",
    ),
    options=ShareOptions,
    request=_share_request,
)
