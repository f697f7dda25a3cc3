"""The directories and remotes of a store, the devices that write there, and what waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from mnemond.api.types_sync import (
    SyncDevice,
    SyncDeviceView,
    SyncFailedParams,
    SyncFile,
    SyncStatusParams,
    SyncTarget,
)
from mnemond.encryption import SUFFIX
from mnemond.model.memory import format_us
from mnemond.model.sync import Failure
from mnemond.store import sync_notes, sync_state
from mnemond.store.connection import Connection
from mnemond.store.sync_notes import DeviceNote
from mnemond.store.sync_state import Target
from mnemond.wire.params import plural

MAX_UNKNOWN: Final = 20
"""Targets that were never synced of which it is noted that they fail."""

Read = Mapping[tuple[str, str], str]
"""Hashes of the files that were read or written, by device and name."""


def devices_after(
    known: Mapping[str, DeviceNote], own: str, read: Read, files: Iterable[SyncFile], devices: Iterable[SyncDevice]
) -> dict[str, DeviceNote]:
    """Return what is known of the devices whose files are there. What a device says of itself holds where it could be
    read, else what was known before."""
    said = {each.device: each for each in devices}
    unread, encrypted = Counter[str](), dict[str, bool]()
    for each in files:
        encrypted[each.device] = encrypted.get(each.device, False) or each.name.endswith(SUFFIX)
        unread[each.device] += each.device != own and read.get((each.device, each.name)) != each.digest
    found = {}
    for device, is_encrypted in encrypted.items():
        before, now = known.get(device, DeviceNote()), said.get(device, SyncDevice(device))
        found[device] = DeviceNote(
            now.name or before.name, now.wrote_at or before.wrote_at, unread[device], is_encrypted
        )
    return found


def targets_of(connection: Connection, params: SyncStatusParams, now_us: int) -> list[SyncTarget]:
    """Return the targets of a store, or the one that was looked at."""
    known = sync_state.device(connection)
    own = "" if known is None else known.id
    if params.target is None:
        found = list(sync_state.targets(connection))
        names = {each.target for each in found}
        failing = sync_notes.failing(connection, now_us)
        found += [Target(name, each.label) for name, each in failing.items() if name not in names]
        return [_view(connection, each, own, None, failing.get(each.target)) for each in found]
    target = sync_state.target(connection, params.target) or Target(params.target, params.label, published=-1)
    return [_view(connection, target, own, params, sync_notes.failing(connection, now_us).get(target.target))]


def _view(
    connection: Connection, it: Target, own: str, looked: SyncStatusParams | None, failure: Failure | None
) -> SyncTarget:
    note, read = sync_notes.read(connection, it.target), sync_state.files(connection, it.target)
    devices = note.devices
    if looked is not None:
        devices = devices_after(devices, own, read, looked.files, looked.devices)
    count = Counter(device for device, _ in read)
    return SyncTarget(
        label=it.label, synced_at=it.synced_at, waiting=sync_state.count_after(connection, it.published),
        recipients=len(note.recipients), looked_at=looked is not None, failed=failure,
        devices=[_device(each, own, count[each], devices.get(each)) for each in sorted(devices.keys() | count.keys())],
    )  # fmt: skip


def failures(connection: Connection, now_us: int) -> list[str]:
    """Return a sentence for each target whose last sync failed."""
    return [
        f"{each.label} fails since {each.since[:16].replace('T', ' ')} ({plural(each.count, 'time')}): {each.why}"
        for each in sync_notes.failing(connection, now_us).values()
    ]


def note_failure(connection: Connection, params: SyncFailedParams, now_us: int) -> int:
    """Note that a sync failed; return how many did in a row. What a person typed wrong is not noted: a target has to be
    known, or be synced in the background."""
    at, note = format_us(now_us), sync_notes.read(connection, params.target)
    if note.failure is None and sync_state.target(connection, params.target) is None:
        unknown = len(
            sync_notes.failing(connection, 0).keys() - {each.target for each in sync_state.targets(connection)}
        )
        if not params.background or unknown >= MAX_UNKNOWN:
            return 0
    before = note.failure or Failure(params.label, "", 0, at, at)
    failure = Failure(params.label, params.why, before.count + 1, before.since, at)
    sync_notes.put(connection, params.target, msgspec.structs.replace(note, failure=failure))
    return failure.count


def _device(device: str, own: str, files: int, it: DeviceNote | None) -> SyncDeviceView:
    it = it or DeviceNote()
    return SyncDeviceView(
        id=device, name=it.name or None, own=device == own, files=files, unread=it.unread,
        wrote_at=it.wrote_at or None, encrypted=it.encrypted,
    )  # fmt: skip


def note_devices(
    connection: Connection, target: str, own: SyncDevice, files: Iterable[SyncFile], devices: Iterable[SyncDevice]
) -> None:
    """Note the devices of a target at the end of a sync, which did not fail. `own` is this one, `files` those that are
    there."""
    note, read = sync_notes.read(connection, target), sync_state.files(connection, target)
    others = [each for each in devices if each.device != own.device]
    found = devices_after(note.devices, own.device, read, files, [*others, own])
    sync_notes.put(connection, target, msgspec.structs.replace(note, devices=found, failure=None))
