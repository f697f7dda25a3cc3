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
    """What other devices changed here: memories `added`, `changed`, `retired` and `purged`, `links` made or removed,
    `relations` and `names`: statements about relations and decisions about names that were noted or taken back.
    `conflicts`: the first of `conflicts_found` memories whose other text was kept as a memory of its own, about which a
    review asks. `held`: memories with rules that only a person at a terminal takes in. `refused`: the first of
    `refused_found` lines that cannot be used, and why.

    `publish`: the name of the next file of this device, None if nothing is new; `lines`: about how many it will have.
    `remove`: its files that are to be removed once the next is there."""

    added: int
    changed: int
    retired: int
    purged: int
    links: int
    relations: int
    names: int
    conflicts: list[str]
    conflicts_found: int
    held: list[str]
    refused: list[str]
    refused_found: int
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
