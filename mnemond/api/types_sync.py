"""Sync: parameters and results of the methods by which the client takes files of records to and from other devices
(docs/sync.md)."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api.types_interchange import Digest
from mnemond.api.types_stores import Recipient
from mnemond.model.outcomes import Result
from mnemond.model.sync import Failure
from mnemond.wire.params import Access, Name, Params, SpoolName, StoreParams, Tty, about, method

MAX_FILES: Final = 5_000
"""Files of all devices in one directory."""

MAX_UNREAD: Final = 20
"""Encrypted files that a result names."""

DeviceId = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
FileName = Annotated[str, Meta(pattern="^[0-9]{8}\\.jsonl(\\.age)?$")]
Recipients = Annotated[tuple[Recipient, ...], Meta(max_length=64)]  # as many as `mnemond.encryption` takes
DeviceName = Annotated[str, Meta(pattern="^\\w[\\w .@+-]{0,39}$")]
"""A name is what another program wrote: letters, digits and few signs, so that nothing can be laid out with it."""

Code = Annotated[str, Meta(min_length=1, max_length=100)]
SyncId = Annotated[Name, about("the sync, as `sync.open` named it")]


class SyncFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a device. `digest`: the SHA-256 of its content."""

    device: DeviceId
    name: FileName
    digest: Digest


class SyncDevice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device as it describes itself. `wrote_at`: when it last wrote a file, RFC 3339; "" if that is unknown."""

    device: DeviceId
    name: DeviceName | None = None
    wrote_at: Annotated[str, Meta(pattern="^([0-9T:.Z-]{20,30})?$")] = ""


class SyncOpenParams(StoreParams, frozen=True, kw_only=True):
    """`target` identifies the directory or remote, by a hash of its name; `label` is shown for it and never opened.
    `files`: those of all devices there.

    `recipients` are the public keys for which this device's files are encrypted from now on; with none those that were
    named last hold, and with `plain` the files are not encrypted any more. A client that leaves `recipients` out cannot
    encrypt, and is refused where that is needed.

    `devices`: what the devices there say of themselves. `name`: what this one is called from now on; `host` is its name
    until one was given."""

    target: Annotated[Digest, about("SHA-256 of the name of the directory or remote")]
    label: Annotated[str, Meta(min_length=1, max_length=1_000), about("what to call it")]
    files: Annotated[tuple[SyncFile, ...], Meta(max_length=MAX_FILES)] = ()
    tty: Tty = False
    allow_purges: Annotated[bool, about("purge what other devices purged, however much it is")] = False
    join: Annotated[Code | None, about("the code of another device, whose files are read from then on")] = None
    show_code: Annotated[bool, about("show the code that other devices need to read and write files with this one")] = (
        False
    )
    restamp: Annotated[
        bool, about("give changes of a clock that was ahead the time of now; for a device whose clock is right again")
    ] = False
    recipients: Annotated[Recipients | None, about("encrypt for these public keys")] = None
    plain: Annotated[bool, about("do not encrypt any more")] = False
    devices: Annotated[tuple[SyncDevice, ...], Meta(max_length=MAX_FILES)] = ()
    name: Annotated[DeviceName | None, about("what this device is called")] = None
    host: Annotated[DeviceName | None, about("the name of the machine")] = None


class SyncOpenResult(Result, frozen=True, kw_only=True):
    """A sync that was begun. `device`: this store among the devices. `wanted`: the positions of files that were not
    read yet. `recipients`: for whom the client has to encrypt what it writes; none: not at all. `name`: what this
    device is called, "" if nothing is known; `renamed`: it is not what was said there."""

    sync_id: str
    store: str
    device: str
    wanted: list[int]
    recipients: tuple[str, ...] = ()
    name: str = ""
    renamed: bool = False


SYNC_OPEN = method("sync.open", SyncOpenParams, SyncOpenResult, Access.WRITE, "Begin to sync a store.")


class SyncSent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file that a client hands over. `file`: its position among those that `sync.open` named; `size`: bytes."""

    file: Annotated[int, Meta(ge=0, lt=MAX_FILES)]
    size: Annotated[int, Meta(ge=0)]


class SyncUniteParams(Params, frozen=True, kw_only=True):
    """The file `spool` has the content of the files that are `sent`, one after the other. The next file of this device
    is written in place of it."""

    sync_id: SyncId
    spool: SpoolName
    sent: Annotated[tuple[SyncSent, ...], Meta(max_length=MAX_FILES)] = ()


class SyncUniteResult(Result, frozen=True, kw_only=True):
    """Changes by other devices here: memories `added`, `changed`, `retired` and `purged`, `links` made or removed,
    `relations` and `names`: statements about relations and decisions about names that were noted or taken back.
    `passages`: exchanges of sessions that came, went or came back.
    `conflicts`: the first of `conflicts_found` memories whose other text was kept as a memory of its own, about which a
    review asks. `held`: memories with rules that only a person at a terminal takes in. `held_purges`: the first of
    `held_purges_found` memories that other devices purged, and that stay here until a person allows it,
    and `held_passages` the number of such exchanges. `withheld`: exchanges here that are never written for others, of
    sessions of which some was not to be kept; `too_old`: those of others that were said before all that is kept here.
    `refused`: the
    first of `refused_found` lines that cannot be used, and why. `op_id`: what an undo takes changes of memories and
    links back by, but for the purges; `knowledge_op_id`: that of relations and names. None if there is nothing to take
    back. Uses are not taken back. `ahead`: records here with stamps more than a day ahead of the clock, which other
    devices refuse; `restamped`: those that had such and have stamps of now. `strangers`: devices
    with files that are signed with another code, of which nothing was read. `code`: that of this store, if a person
    asks for it, or begins to sync it.

    `publish`: the name of the next file of this device, None if nothing is new; `lines`: about how many it has.
    `remove`: its files that are to be removed once the next is there.

    `mnemonctl sync` adds, as the daemon sees neither files nor keys: `unread`, the first of `unread_found` encrypted
    files that it could not decrypt, with why and what to do; and `encrypted`, the number of recipients of what it
    wrote."""

    added: int
    changed: int
    retired: int
    purged: int
    links: int
    relations: int
    names: int
    passages: int = 0
    conflicts: list[str]
    conflicts_found: int
    held: list[str]
    held_purges: list[str]
    held_purges_found: int
    held_passages: int = 0
    withheld: int = 0
    too_old: int = 0
    refused: list[str]
    refused_found: int
    op_id: str | None
    knowledge_op_id: str | None
    ahead: int
    restamped: int
    strangers: list[str]
    code: str | None
    publish: str | None
    lines: int
    remove: list[str]
    unread: tuple[str, ...] = ()
    unread_found: int = 0
    encrypted: int = 0


SYNC_UNITE = method("sync.unite", SyncUniteParams, SyncUniteResult, Access.WRITE, "Take in what other devices changed.")


class SyncFinishParams(Params, frozen=True, kw_only=True):
    """`digest`: the SHA-256 of the file that was written, of one that is encrypted."""

    sync_id: SyncId
    digest: Annotated[Digest | None, about("SHA-256 of the file as it was written, if it is encrypted")] = None


class SyncFinishResult(Result, frozen=True, kw_only=True):
    """The sync is complete: its files are there."""

    store: str


SYNC_FINISH = method("sync.finish", SyncFinishParams, SyncFinishResult, Access.WRITE, "Complete a sync.")


class SyncFailedParams(StoreParams, frozen=True, kw_only=True):
    """A sync that the client could not complete. It is noted of a target that was synced before, or that a program
    syncs in the `background`."""

    target: Annotated[Digest, about("SHA-256 of the name of the directory or remote")]
    label: Annotated[str, Meta(min_length=1, max_length=1_000), about("what to call it")]
    why: Annotated[str, Meta(min_length=1, max_length=1_000), about("why it failed")]
    background: Annotated[bool, about("no person sees the error")] = False


class SyncFailedResult(Result, frozen=True, kw_only=True):
    """`count`: syncs with this target that failed in a row; 0 if it is not noted."""

    store: str
    count: int


SYNC_FAILED = method(
    "sync.failed", SyncFailedParams, SyncFailedResult, Access.WRITE, "Note that a sync failed, for `sync status`."
)


class SyncStatusParams(StoreParams, frozen=True, kw_only=True):
    """With `target`, `label`, `files` and `devices` as for `sync.open` the status is of that directory or remote as it
    is now; nothing of it is noted."""

    compare: Annotated[bool, about("look for what changed since, too", by_client=True)] = True
    target: Annotated[Digest | None, about("the directory or remote that was looked at", by_client=True)] = None
    label: Annotated[str, Meta(max_length=1_000), about("what to call it", by_client=True)] = ""
    files: Annotated[tuple[SyncFile, ...], Meta(max_length=MAX_FILES), about("its files", by_client=True)] = ()
    devices: Annotated[tuple[SyncDevice, ...], Meta(max_length=MAX_FILES), about("its devices", by_client=True)] = ()


class SyncDeviceView(msgspec.Struct, frozen=True):
    """A device of a directory or remote. `own`: it is this store. `files`: how many of it were read, or written;
    `unread`: how many were not. `wrote_at`: when it last wrote, as it says. `encrypted`: its files are."""

    id: str
    name: str | None
    own: bool
    files: int
    unread: int
    wrote_at: str | None
    encrypted: bool


class SyncTarget(msgspec.Struct, frozen=True):
    """A directory or remote. `waiting`: records of what changed here since. `recipients`: the number of public
    keys for which this store's files are encrypted. `looked_at`: the devices are as they are now, not as at the last
    sync."""

    label: str
    synced_at: str | None
    waiting: int
    recipients: int
    looked_at: bool
    devices: list[SyncDeviceView]
    failed: Failure | None = None


class SyncStatusResult(Result, frozen=True, kw_only=True):
    """The targets of a store. `device` None: it was never synced; `name`: what it is called there."""

    store: str
    device: str | None
    targets: list[SyncTarget]
    name: str | None = None


SYNC_STATUS = method(
    "sync.status", SyncStatusParams, SyncStatusResult, Access.READ, "Show where a store is synced to, and what waits."
)
