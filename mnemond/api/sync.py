"""Methods that sync a store: sync.open, sync.send, sync.unite, sync.read, sync.finish and sync.status.

The client reads and writes the files, as for an import and an export: no path ever comes from a client. What it sends
may be of anybody who can write into the directory, so every line is checked before it changes anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
import trio

from mnemond.api.requests import Identities, submit
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.transfers import Transfer, Transfers
from mnemond.api.types_sync import (
    SyncFile,
    SyncFinishParams,
    SyncFinishResult,
    SyncOpenParams,
    SyncOpenResult,
    SyncReadParams,
    SyncReadResult,
    SyncSendParams,
    SyncSendResult,
    SyncStatusParams,
    SyncStatusResult,
    SyncTarget,
    SyncUniteParams,
    SyncUniteResult,
)
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, FieldProblem, MnemonError, invalid, rejected
from mnemond.memory import syncing
from mnemond.memory.draft import WriteContext
from mnemond.memory.sync_records import MAX_LINE, EdgeRecord, Record, RecordError, decode, encode
from mnemond.memory.syncing import MAX_NAMED, Report
from mnemond.model.memory import format_us
from mnemond.store import sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal
from mnemond.store.registry import StoreRegistry
from mnemond.store.sync_state import Target
from mnemond.wire.dispatch import Call, handles

MAX_CHARACTERS: Final = 1 << 30
"""Characters of all files of one sync: they wait on the disk until all are there."""

MAX_OWN_FILES: Final = 50
"""Files of this device, after which it writes one in the place of all."""

MAX_REFUSED: Final = 1_000
"""Lines of one file that are refused, after which the rest of it is not looked at: it is no file of mnemond's."""

ROWS_AT_ONCE: Final = 50
"""Memories of a portion: with texts of the greatest length about 1 MB."""


_Propose = Callable[[WriteContext, str, list[Report]], Proposal]


class _Syncing(Transfer):
    """One sync between two of its messages; what was taken in until it ends stays."""

    def __init__(
        self, warm: OpenStore, params: SyncOpenParams, context: WriteContext, target: Target, device: str
    ) -> None:
        super().__init__(warm.store.name)
        self.params = params
        self.context = context
        self.target = target
        self.device = device
        self._directory = warm.store.path.parent
        self._parts: list[tuple[int, int]] = []
        """Of each part that was received, the position of its file and its length in bytes."""
        self.good: set[int] = set()
        """Positions of files of which every line could be used."""
        self.rows: list[tuple[str, str]] = []
        self.seq = 0
        self.name: str | None = None
        self.rewrites = False
        self.number = -1
        self.text = ""
        self.digest = hashlib.sha256()

    def take(self, file: int, text: str) -> None:
        """Append a part of a file (blocking)."""
        content = text.encode()
        self.append(content, self._directory)
        self._parts.append((file, len(content)))
        self.good.add(file)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are complete, each with the position of its file; a line that is too long as a part."""
        if self.spool is None:
            return
        self.spool.seek(0)
        last, rest = -1, b""
        for file, size in self._parts:
            if file != last:
                if rest:
                    yield last, rest
                last, rest = file, b""
            *whole, rest = (rest + self.spool.read(size)).split(b"\n")
            for line in whole:
                yield file, line
            if len(rest) > MAX_LINE:
                yield file, rest
                rest = b""
        if rest:
            yield last, rest


def _gone() -> MnemonError:
    return MnemonError(
        NOT_FOUND, "there is no such sync any more: its client was silent for a minute, or the daemon was restarted",
        hint="begin again: mnemonctl sync", outcome="rejected",
    )  # fmt: skip


class SyncHandlers:
    """The methods of sync. `run` ends syncs that are left."""

    def __init__(self, registry: StoreRegistry, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._syncs: Transfers[_Syncing] = Transfers(_gone)
        self.run = self._syncs.run
        registry.on_closed.append(self._syncs.end_of)

    @handles("sync.open", in_task=True)
    async def open(self, call: Call, params: SyncOpenParams) -> SyncOpenResult:
        """Begin a sync: note what changed here, and say which files are to be sent. Raises MnemonError: BUSY,
        NOT_FOUND, STORAGE, INVALID_PARAMS for a store that several daemons share."""
        warm = await self._open_stores.use(params.store)
        if warm.store.shared is not None:  # each daemon would be a device, with the same memories as the others
            raise rejected(
                INVALID_PARAMS,
                f'the store "{warm.store.name}" is shared by several daemons, so it is not synced through files',
                "every daemon that shares it has all of it; `mnemonctl export` and `mnemonctl import` take memories"
                " into another store",
            )
        if any(each.store == warm.store.name for each in self._syncs):
            raise rejected(BUSY, "this store is being synced already", "repeat when that has ended, or in a minute")
        context = self._identities.of(warm, params, call=call)
        fresh = self._identities.nonce()
        begun: tuple[Target, str] = await warm.store.rewrite(partial(_begun, params=params, fresh=fresh))
        target, device = begun
        name = self._identities.nonce()
        self._syncs.begin(name, _Syncing(warm, params, context, target, device))
        try:
            await self._scan(warm, device)
            read = await warm.store.read(partial(sync_state.files, name=params.target))
        except BaseException:
            self._syncs.end(name)
            raise
        wanted = [
            at
            for at, each in enumerate(params.files)
            if each.device != device and read.get((each.device, each.name)) != each.digest
        ]
        return warm.marked(SyncOpenResult(sync_id=name, store=warm.store.name, device=device, wanted=wanted))

    async def _scan(self, warm: OpenStore, device: str) -> None:
        after: str | None = ""
        while after is not None:
            after = await warm.store.rewrite(partial(syncing.scan_memories, after=after, device=device))
        await warm.store.rewrite(partial(syncing.scan_gone, now_us=self._identities.now_us(), device=device))

    @handles("sync.send", in_task=True)
    async def send(self, call: Call, params: SyncSendParams) -> SyncSendResult:
        """Take the next part of a file. Raises MnemonError: NOT_FOUND, INVALID_PARAMS, TOO_LARGE."""
        it = self._syncs.of(params.sync_id)
        async with it.lock:
            if params.file >= len(it.params.files):
                raise invalid([FieldProblem("file", f"file {params.file} is none of those that were named")])
            if it.received + len(params.text) > MAX_CHARACTERS:
                self._syncs.end(params.sync_id)
                raise MnemonError(
                    TOO_LARGE, f"a sync has at most {MAX_CHARACTERS:,} characters; nothing was taken in",
                    hint="sync with an empty directory", outcome="rejected",
                )  # fmt: skip
            it.received += len(params.text)
            await trio.to_thread.run_sync(it.take, params.file, params.text)
        return SyncSendResult(received=it.received)

    @handles("sync.unite", in_task=True)
    async def unite(self, call: Call, params: SyncUniteParams) -> SyncUniteResult:
        """Take in what was sent, and say what this device has to write. Raises MnemonError: NOT_FOUND, STORAGE."""
        it = self._syncs.of(params.sync_id)
        async with it.lock:
            warm = await self._open_stores.open(it.store)
            now_us = self._identities.now_us()
            records, refused, bad = await trio.to_thread.run_sync(_decoded, it, now_us)
            report = await self._unite(warm, it, records)
            it.good -= bad
            if report.held:
                it.good.clear()  # to be sent again, when a person asks
            read = [_key_of(it.params.files[at]) for at in sorted(it.good)]
            there = {(each.device, each.name) for each in it.params.files}

            def note(connection: Connection) -> None:
                noted = sync_state.files(connection, it.params.target)
                gone = [key for key in noted if key[0] != it.device and key not in there]
                sync_state.drop_files(connection, it.params.target, gone)
                sync_state.put_files(connection, it.params.target, read)

            await warm.store.rewrite(note)
            remove = await self._plan(warm, it)
            it.heard_at = trio.current_time()
        return SyncUniteResult(
            added=report.added, changed=report.changed, retired=report.retired, purged=report.purged,
            links=report.links, conflicts=report.conflicts, conflicts_found=report.conflicts_found, held=report.held,
            refused=refused[:MAX_NAMED], refused_found=len(refused), publish=it.name, lines=len(it.rows),
            remove=remove,
        )  # fmt: skip

    async def _unite(self, warm: OpenStore, it: _Syncing, records: list[Record | EdgeRecord]) -> Report:
        total = Report(conflicts=[], held=[])
        for part in syncing.in_parts(records):
            await self._write(warm, it, total, partial(syncing.propose_unite, part))
            it.heard_at = trio.current_time()
        if records:
            await self._write(warm, it, total, syncing.propose_open_circles)
            await self._write(warm, it, total, lambda by, _device, reports: syncing.propose_missing_links(by, reports))
        return total

    async def _write(self, warm: OpenStore, it: _Syncing, total: Report, propose: _Propose) -> None:
        own = self._identities.own(warm.store.name, syncing.BY)
        identity = msgspec.structs.replace(own, by_person=it.context.by_person)
        reports: list[Report] = []
        await submit(warm, propose(identity, it.device, reports))
        total.add(reports[-1])
        if reports[-1].purged and warm.on_purged is not None:
            warm.on_purged()

    async def _plan(self, warm: OpenStore, it: _Syncing) -> list[str]:
        """Decide what the next file of this device has; return the names of the files whose place it takes."""
        target = it.target

        def plan(connection: Connection) -> tuple[list[tuple[str, str]], int, bool, list[str], int]:
            device = sync_state.device(connection)
            purges = 0 if device is None else device.purges
            noted = sync_state.files(connection, target.target)
            own = {name: digest for (of, name), digest in noted.items() if of == it.device}
            there = {each.name: each.digest for each in it.params.files if each.device == it.device}
            rewrites = purges != target.purges or len(own) >= MAX_OWN_FILES or own != there
            behind = target.nothing_published if rewrites else target.published
            rows = sync_state.after(connection, behind)
            return rows, sync_state.last_seq(connection), rewrites, sorted(there), purges

        it.rows, it.seq, it.rewrites, there, purges = await warm.store.read(plan)
        it.target = target = target._replace(purges=purges)
        if it.rows:
            it.target = target._replace(files=target.files + 1)
            it.name = f"{target.files + 1:08}.jsonl"
        return there if it.rewrites else []

    @handles("sync.read", in_task=True)
    async def read(self, call: Call, params: SyncReadParams) -> SyncReadResult:
        """Return a portion of the next file. Raises MnemonError: NOT_FOUND, INVALID_PARAMS for one that is not the
        next, STORAGE."""
        it = self._syncs.of(params.sync_id)
        async with it.lock:
            if params.portion == it.number + 1:
                warm = await self._open_stores.open(it.store)
                part = it.rows[params.portion * ROWS_AT_ONCE : (params.portion + 1) * ROWS_AT_ONCE]
                found = await warm.store.rewrite(partial(syncing.records_of, rows=part, device=it.device))
                it.text = "".join(f"{encode(each).decode()}\n" for each in found)
                it.number = params.portion
                it.digest.update(it.text.encode())
                if not part and it.name is not None:
                    # Noted before it is written: a file of this device that is not noted is of another one.
                    own = (it.device, it.name, it.digest.hexdigest())
                    target = it.target

                    def note(connection: Connection) -> None:
                        sync_state.put_files(connection, it.params.target, [own])
                        sync_state.put_target(connection, target._replace(purges=-1 if it.rewrites else target.purges))

                    await warm.store.rewrite(note)
            elif params.portion != it.number:
                problem = f"portion {params.portion} is not the next: {it.number + 1}"
                raise invalid([FieldProblem("portion", problem)])
        return SyncReadResult(text=it.text)

    @handles("sync.finish", in_task=True)
    async def finish(self, call: Call, params: SyncFinishParams) -> SyncFinishResult:
        """Note that the files of this device are there. Raises MnemonError: NOT_FOUND, STORAGE."""
        it = self._syncs.of(params.sync_id)
        async with it.lock:
            warm = await self._open_stores.open(it.store)
            target = it.target
            done = target._replace(published=it.seq, synced_at=format_us(self._identities.now_us()))
            own = [] if it.name is None else [(it.device, it.name, it.digest.hexdigest())]

            def note(connection: Connection) -> None:
                sync_state.put_files(connection, it.params.target, own, of=it.device if it.rewrites else None)
                sync_state.put_target(connection, done)

            await warm.store.rewrite(note)
            self._syncs.end(params.sync_id)
        return warm.marked(SyncFinishResult(store=warm.store.name))

    @handles("sync.status", in_task=True)
    async def status(self, call: Call, params: SyncStatusParams) -> SyncStatusResult:
        """Say what is where. Raises MnemonError: NOT_FOUND, STORAGE."""
        warm = await self._open_stores.use(params.store)
        device = await warm.store.read(sync_state.device)
        if device is not None and params.compare:
            await self._scan(warm, device.id)
        found = await warm.store.read(_targets)
        return warm.marked(
            SyncStatusResult(store=warm.store.name, device=None if device is None else device.id, targets=found)
        )


def _key_of(file: SyncFile) -> tuple[str, str, str]:
    return file.device, file.name, file.digest


def _begun(connection: Connection, params: SyncOpenParams, fresh: str) -> tuple[Target, str]:
    """Return the target and the id of this device. If there is a file of this device that it did not write, the store
    is a copy of another one, or was restored: it becomes a device of its own."""
    known = sync_state.device(connection)
    target = sync_state.target(connection, params.target)
    if known is not None:
        noted = {name for (of, name) in sync_state.files(connection, params.target) if of == known.id}
        if any(each.device == known.id and each.name not in noted for each in params.files):
            known, target = msgspec.structs.replace(known, id=fresh), None
            sync_state.put_files(connection, params.target, [], of=known.id)
            sync_state.note_device(connection, known)
    whole = int(sync_state.count_after(connection, -1) > 0)
    if known is None:
        known = sync_state.Device(fresh)
        sync_state.note_device(connection, known)
    if target is None:
        target = Target(params.target, params.label, -1 if whole else 0, known.purges, 0, whole)
    target = target._replace(label=params.label)
    sync_state.put_target(connection, target)
    return target, known.id


def _decoded(it: _Syncing, now_us: int) -> tuple[list[Record | EdgeRecord], list[str], set[int]]:
    """Return the records that were sent, why others are refused, and the positions of files with such."""
    records: list[Record | EdgeRecord] = []
    refused: list[str] = []
    bad: dict[int, int] = {}
    for number, (file, line) in enumerate(it.lines(), 1):
        if bad.get(file, 0) >= MAX_REFUSED:
            continue
        try:
            records.append(decode(line, now_us))
        except RecordError as error:
            of = it.params.files[file]
            refused.append(f"{of.device}/{of.name}, line {number:,}: {error}")
            bad[file] = bad.get(file, 0) + 1
    return records, refused, set(bad)


def _targets(connection: Connection) -> list[SyncTarget]:
    found = []
    for each in sync_state.targets(connection):
        devices: dict[str, int] = {}
        for of, _ in sync_state.files(connection, each.target):
            devices[of] = devices.get(of, 0) + 1
        waiting = sync_state.count_after(connection, each.published)
        found.append(SyncTarget(each.label, each.synced_at, waiting, devices))
    return found
