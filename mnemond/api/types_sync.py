"""Sync: parameters and results of the methods by which the client takes files of records to and from other devices
(docs/sync.md)."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mnemond.api.types_interchange import MAX_PORTION, Digest
from mnemond.model.outcomes import Result
from mnemond.wire.params import Access, Name, Params, StoreParams, about, method

MAX_FILES: Final = 5_000
"""Files of all devices in one directory."""

DeviceId = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
FileName = Annotated[str, Meta(pattern="^[0-9]{8}\\.jsonl$")]
Code = Annotated[str, Meta(min_length=1, max_length=100)]
SyncId = Annotated[Name, about("the sync, as `sync.open` named it")]


class SyncFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a device. `digest`: the SHA-256 of its content."""

    device: DeviceId
    name: FileName
    digest: Digest


class SyncOpenParams(StoreParams, frozen=True, kw_only=True):
    """`target` identifies the directory or remote, by a hash of its name; `label` is shown for it and never opened.
    `files`: those of all devices there."""

    target: Annotated[Digest, about("SHA-256 of the name of the directory or remote")]
    label: Annotated[str, Meta(min_length=1, max_length=1_000), about("what to call it")]
    files: Annotated[tuple[SyncFile, ...], Meta(max_length=MAX_FILES)] = ()
    tty: Annotated[bool, about("the output of the client is a terminal", by_client=True)] = False
    allow_purges: Annotated[bool, about("purge what other devices purged, however much it is")] = False
    join: Annotated[Code | None, about("the code of another device, whose files are read from then on")] = None
    show_code: Annotated[bool, about("show the code that other devices need to read and write files with this one")] = (
        False
    )
    restamp: Annotated[
        bool, about("give changes of a clock that was ahead the time of now; for a device whose clock is right again")
    ] = False


class SyncOpenResult(Result, frozen=True, kw_only=True):
    """A sync that was begun. `device`: this store among the devices. `wanted`: the positions of files that were not
    read yet."""

    sync_id: str
    store: str
    device: str
    wanted: list[int]


SYNC_OPEN = method("sync.open", SyncOpenParams, SyncOpenResult, Access.WRITE, "Begin to sync a store.")


class SyncSendParams(Params, frozen=True, kw_only=True):
    """A part of a file, in its order; one may be cut anywhere. `file`: its position."""

    sync_id: SyncId
    file: Annotated[int, Meta(ge=0, lt=MAX_FILES)]
    text: Annotated[str, Meta(max_length=MAX_PORTION)]


class SyncSendResult(Result, frozen=True, kw_only=True):
    """The number of characters received so far."""

    received: int


SYNC_SEND = method("sync.send", SyncSendParams, SyncSendResult, Access.WRITE, "Send a file of another device.")


class SyncUniteParams(Params, frozen=True, kw_only=True):
    sync_id: SyncId


class SyncUniteResult(Result, frozen=True, kw_only=True):
    """What other devices changed here: memories `added`, `changed`, `retired` and `purged`, `links` made or removed.
    `conflicts`: the first of `conflicts_found` memories whose other text was kept as a memory of its own, about which a
    review asks. `held`: memories with rules that only a person at a terminal takes in. `held_purges`: the first of
    `held_purges_found` memories that other devices purged, and that stay here until a person allows it. `refused`: the
    first of `refused_found` lines that cannot be used, and why. `op_id`: what an undo takes this back by, but for the
    purges; None if there is nothing to take back. `ahead`: memories and links here with stamps more than a day ahead of
    the clock, which other devices refuse; `restamped`: those that had such and have stamps of now. `strangers`: devices
    with files that are signed with another code, of which nothing was read. `code`: that of this store, if a person
    asks for it, or begins to sync it.

    `publish`: the name of the next file of this device, None if nothing is new; `lines`: about how many it will have.
    `remove`: its files that are to be removed once the next is there."""

    added: int
    changed: int
    retired: int
    purged: int
    links: int
    conflicts: list[str]
    conflicts_found: int
    held: list[str]
    held_purges: list[str]
    held_purges_found: int
    refused: list[str]
    refused_found: int
    op_id: str | None
    ahead: int
    restamped: int
    strangers: list[str]
    code: str | None
    publish: str | None
    lines: int
    remove: list[str]


SYNC_UNITE = method("sync.unite", SyncUniteParams, SyncUniteResult, Access.WRITE, "Take in what other devices changed.")


class SyncReadParams(Params, frozen=True, kw_only=True):
    """`portion` counts from 0; the last one that was read may be read again."""

    sync_id: SyncId
    portion: Annotated[int, Meta(ge=0), about("which portion")]


class SyncReadResult(Result, frozen=True, kw_only=True):
    """Whole lines of the next file of this device. After the last portion the text is empty."""

    text: str


SYNC_READ = method("sync.read", SyncReadParams, SyncReadResult, Access.WRITE, "Read the next file of this device.")


class SyncFinishParams(Params, frozen=True, kw_only=True):
    sync_id: SyncId


class SyncFinishResult(Result, frozen=True, kw_only=True):
    """The sync is complete: its files are there."""

    store: str


SYNC_FINISH = method("sync.finish", SyncFinishParams, SyncFinishResult, Access.WRITE, "Complete a sync.")


class SyncStatusParams(StoreParams, frozen=True, kw_only=True):
    compare: Annotated[bool, about("look for what changed since, too", by_client=True)] = True


class SyncTarget(msgspec.Struct, frozen=True):
    """A directory or remote. `waiting`: memories and links that changed here since. `devices`: how many files of each
    device were read or written there."""

    label: str
    synced_at: str | None
    waiting: int
    devices: dict[str, int]


class SyncStatusResult(Result, frozen=True, kw_only=True):
    """What is where. `device` None: the store was never synced."""

    store: str
    device: str | None
    targets: list[SyncTarget]


SYNC_STATUS = method(
    "sync.status", SyncStatusParams, SyncStatusResult, Access.READ, "Show where a store is synced to, and what waits."
)
