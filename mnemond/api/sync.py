"""Methods that sync a store: sync.open, sync.send, sync.unite, sync.read, sync.finish and sync.status.

The client reads and writes the files, as for an import and an export: no path ever comes from a client. What it sends
may be of anybody who can write into the directory, so every line is checked before it changes anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import trio

from mnemond.api.requests import Identities, from_client, only_by_person, submit
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.sync_spool import Part, SyncSpool
from mnemond.api.sync_status import note_devices, note_failure, targets_of
from mnemond.api.transfers import Transfers
from mnemond.api.types_sync import (
    SyncDevice,
    SyncFailedParams,
    SyncFailedResult,
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
    SyncUniteParams,
    SyncUniteResult,
)
from mnemond.encryption import SUFFIX
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, FieldProblem, MnemonError, invalid, rejected
from mnemond.memory.draft import WriteContext
from mnemond.memory.sync import guard, kinds, knowledge, memories, passages, uses
from mnemond.memory.sync.code import code_of, secret_from, secret_of, signed, verified
from mnemond.memory.sync.kinds import KNOWLEDGE, LINKS, MEMORIES, PASSAGES, REPAIRS, STEPS
from mnemond.memory.sync.records import decode, encode
from mnemond.memory.sync.union import MAX_NAMED, Report
from mnemond.model.memory import DAY_US, format_us
from mnemond.model.sync import FOR_GOOD, Kind, Record
from mnemond.store import sync_notes, sync_state
from mnemond.store.connection import Connection
from mnemond.store.registry import StoreRegistry
from mnemond.store.sync_notes import TargetNote
from mnemond.store.sync_state import Device, Target
from mnemond.wire.dispatch import Call, handles

MAX_CHARACTERS: Final = 1 << 30
"""Characters of all files of one sync: they wait on the disk until all are there."""

MAX_OWN_FILES: Final = 50
"""Files of this device, after which it writes one in the place of all."""

ROWS_AT_ONCE: Final = 50
"""Memories of a portion: with texts of the greatest length about 1 MB."""


class _Syncing(SyncSpool):
    """One sync between two of its messages; what was taken in until it ends stays."""

    def __init__(
        self,
        warm: OpenStore,
        client: int,
        params: SyncOpenParams,
        context: WriteContext,
        target: Target,
        device: Device,
    ) -> None:
        super().__init__(warm.store.name, client, warm.store.path.parent)
        self.params = params
        self.context = context
        self.knowledge_op_id = ""
        """The operation on relations and names, which is undone by itself: an undo takes back one of that kind or one
        on memories."""
        self.target = target
        self.device = device.id
        self.secret = bytes.fromhex(device.secret)
        self.shows_code = self.is_united = False
        self.recipients: tuple[str, ...] = ()
        self.called = ""
        self.rows: list[tuple[Kind, str]] = []
        self.seq = 0
        self.name: str | None = None
        self.rewrites = False
        self.number = -1
        self.text = ""
        self.digest = hashlib.sha256()
        self.ahead = self.restamped = 0


def _gone() -> MnemonError:
    return MnemonError(
        NOT_FOUND, "there is no such sync any more: its client was silent for a minute, or the daemon was restarted",
        hint="begin again: mnemonctl sync", outcome="rejected",
    )  # fmt: skip


class SyncHandlers:
    """The methods of sync. `run` ends syncs that are left."""

    def __init__(
        self, registry: StoreRegistry, open_stores: OpenStores, identities: Identities,
        received: Callable[[str], None] = lambda _: None, is_partial: Callable[[str], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        """`received` is called with the name of a store that got memories. `is_partial` returns True for a session, by
        the host's id of it, of which some was not to be kept."""
        self._received = received
        self._is_partial = is_partial
        self._open_stores = open_stores
        self._identities = identities
        self._syncs: Transfers[_Syncing] = Transfers(_gone)
        self.run = self._syncs.run
        registry.on_closed.append(self._syncs.end_of)

    @handles("sync.open", in_task=True)
    async def open(self, call: Call, params: SyncOpenParams) -> SyncOpenResult:
        """Begin a sync: note what changed here, and say which files are to be sent. Raises MnemonError: BUSY,
        NOT_FOUND, STORAGE, INVALID_PARAMS for what only a person may ask for, or a store that several daemons share."""
        call = from_client(call, tty=params.tty)
        for name in ("allow_purges", "join", "show_code"):
            if getattr(params, name):
                only_by_person(call, name, f"mnemonctl sync DIR --{name.replace('_', '-')}")
        joined = None if params.join is None else _secret_from(params.join)
        warm = await self._open_stores.use(params.store)
        if warm.store.shared is not None:  # each daemon would be a device, with the same memories as the others
            raise rejected(
                INVALID_PARAMS,
                f'the store "{warm.store.name}" is shared by several daemons, so it is not synced through files',
                "every daemon that shares it has all of it; `mnemonctl export` and `mnemonctl import` take memories"
                " into another store",
            )
        self._syncs.end_left()
        if any(each.store == warm.store.name for each in self._syncs):
            raise rejected(BUSY, "this store is being synced already", "repeat when that has ended, or in a minute")
        context = self._identities.of(warm, params, call=call)
        fresh = self._identities.nonce()
        random = "".join(self._identities.nonce() for _ in range(3))
        passages = warm.config.sync.passages
        begin = partial(_begun, params=params, fresh=fresh, joined=joined, random=random, passages=passages)
        begun: _Begun = await warm.store.rewrite(begin)
        device = begun.device.id
        name = self._identities.nonce()
        it = _Syncing(warm, call.peer_pid, params, context, begun.target, begun.device)
        it.shows_code = params.show_code or (begun.is_new and context.by_person)
        it.recipients, it.called = begun.recipients, begun.name
        self._syncs.begin(name, it)
        try:
            if params.restamp:
                it.restamped = await self._restamp(warm, device)
            it.ahead = await self._scan(warm, device)
            read = await warm.store.read(partial(sync_state.files, name=params.target))
        except BaseException:
            self._syncs.end(name)
            raise
        wanted = [
            at
            for at, each in enumerate(params.files)
            if each.device != device and read.get((each.device, each.name)) != each.digest
        ]
        result = SyncOpenResult(
            sync_id=name, store=warm.store.name, device=device, wanted=wanted, recipients=begun.recipients,
            name=begun.name, renamed=begun.renamed,
        )  # fmt: skip
        return warm.marked(result)

    async def _scan(self, warm: OpenStore, device: str) -> int:
        """Note what changed here; return how many records have stamps ahead of the clock."""
        now_us = self._identities.now_us()
        after: str | None = ""
        while after is not None:
            after = await warm.store.rewrite(partial(memories.scan, after=after, now_us=now_us, device=device))
        for scan in (memories.scan_gone, knowledge.scan, uses.scan):
            await warm.store.rewrite(partial(scan, now_us=now_us, device=device))
        scan_passages = partial(passages.scan, now_us=now_us, device=device, is_partial=self._is_partial)
        while warm.config.sync.passages and await warm.store.rewrite(scan_passages):
            pass
        count: int = await warm.store.read(partial(kinds.count_ahead, now_us=now_us, device=device))
        return count

    async def _restamp(self, warm: OpenStore, device: str) -> int:
        """Take stamps ahead of the clock back to now; return how many records had such."""
        count, restamp = 0, partial(kinds.restamp, now_us=self._identities.now_us(), device=device)
        while found := await warm.store.rewrite(restamp):
            count += found
        return count

    @handles("sync.send", in_task=True)
    async def send(self, call: Call, params: SyncSendParams) -> SyncSendResult:
        """Take the next part of a file. Raises MnemonError: NOT_FOUND, INVALID_PARAMS, TOO_LARGE."""
        it = self._syncs.of(params.sync_id)
        async with it.lock:
            if params.file >= len(it.params.files):
                raise invalid([FieldProblem("file", f"file {params.file} is none of those that were named")])
            if it.is_united:
                raise invalid([FieldProblem("file", "the files were read already")])
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
            it.is_united = True
            await trio.to_thread.run_sync(it.look, partial(_decoded, it.secret, now_us))
            report, held = await self._unite(warm, it, now_us)
            read = [_key_of(it.params.files[at]) for at in sorted(it.good)]
            there = {(each.device, each.name) for each in it.params.files}

            def note(connection: Connection) -> None:
                noted = sync_state.files(connection, it.params.target)
                gone = [key for key in noted if key[0] != it.device and key not in there]
                sync_state.drop_files(connection, it.params.target, gone)
                sync_state.put_files(connection, it.params.target, read)

            await warm.store.rewrite(note)
            withheld = await warm.store.read(sync_state.count_withheld) if warm.config.sync.passages else 0
            if report.added or report.changed:
                self._received(it.store)
            if (report.added or report.changed or report.passages) and warm.on_missing_vector is not None:
                warm.on_missing_vector(it.store)
            remove = await self._plan(warm, it)
            it.heard_at = trio.current_time()
        return SyncUniteResult(
            **msgspec.structs.asdict(report),
            held_purges=held["memory"][:MAX_NAMED], held_purges_found=len(held["memory"]),
            held_passages=len(held["passage"]), withheld=withheld, refused=_sentences(it),
            refused_found=it.refused_found,
            op_id=it.context.op_id if report.undoable else None,
            knowledge_op_id=it.knowledge_op_id if report.relations or report.names else None, ahead=it.ahead,
            restamped=it.restamped, strangers=sorted({it.params.files[at].device for at in it.strangers}),
            code=code_of(it.secret) if it.shows_code else None, publish=it.name, lines=len(it.rows), remove=remove,
        )  # fmt: skip

    @staticmethod
    async def _held(warm: OpenStore, it: _Syncing, kind: Kind, now_us: int) -> list[str]:
        """Return the memories or exchanges that are not purged now, though other devices purged them: a person has to
        allow it."""
        keys = {state: it.purges[kind, state] for state in FOR_GOOD if (kind, state) in it.purges}
        if not keys:
            return []
        if it.params.allow_purges:
            await warm.store.rewrite(partial(guard.allow_purges, now_us=now_us))
            return []
        return await warm.store.read(partial(guard.held_purges, kind=kind, keys=keys, now_us=now_us))

    async def _unite(self, warm: OpenStore, it: _Syncing, now_us: int) -> tuple[Report, dict[Kind, list[str]]]:
        """Take in what was sent; return what changed, and which purges of memories and exchanges wait."""
        total = Report()
        held: dict[Kind, list[str]] = {"memory": await self._held(warm, it, "memory", now_us)}
        parts = it.parts(partial(_decoded, it.secret, now_us), frozenset(held["memory"]))

        async def next_part() -> Part | None:
            return await trio.to_thread.run_sync(next, parts, None)

        part = await next_part()
        is_any = part is not None
        it.knowledge_op_id = self._identities.own(it.store, sync_state.BY).op_id
        op_ids = dict.fromkeys((MEMORIES, LINKS, REPAIRS), it.context.op_id) | {KNOWLEDGE: it.knowledge_op_id}
        for number, step in STEPS.items():
            if number == PASSAGES:
                held["passage"] = await self._held(warm, it, "passage", now_us)
            is_due = step.is_due and (is_any or number != REPAIRS)
            while is_due or (part is not None and part.step == number):
                records: list[Record[Any]] = []
                files: list[int] = []
                if part is not None and part.step == number:
                    (_, records, files), part = part, await next_part()
                if number == PASSAGES:
                    records = it.without_purges(records, files, held["passage"], exchanged=warm.config.sync.passages)
                report = await self._write(warm, it, total, number, records, op_ids.get(number))
                if report.held:
                    it.wait_for(records, files, report.held)
                is_due = False
        return total, held

    async def _write(
        self, warm: OpenStore, it: _Syncing, total: Report, step: int, records: list[Record[Any]], op_id: str | None
    ) -> Report:
        """Write one part of a sync, as part of an operation or (None) as one of its own."""
        own = self._identities.own(warm.store.name, sync_state.BY)
        identity = msgspec.structs.replace(own, by_person=it.context.by_person, op_id=op_id or own.op_id)
        days = warm.config.sessions.keep_days
        since = format_us(int(self._identities.now_us() - days * DAY_US)) if days else ""
        reports: list[Report] = []
        await submit(warm, kinds.propose(step, records, identity, it.device, reports, since))
        report = reports[-1]
        total.add(report)
        if (report.purged or report.passages) and warm.on_purged is not None:
            warm.on_purged()
        it.heard_at = trio.current_time()
        return report

    async def _plan(self, warm: OpenStore, it: _Syncing) -> list[str]:
        """Decide what the next file of this device has; return the names of the files whose place it takes."""
        target = it.target

        def plan(connection: Connection) -> tuple[list[tuple[Kind, str]], int, bool, list[str], int]:
            device = sync_state.device(connection)
            purges = 0 if device is None else device.purges
            noted = sync_state.files(connection, target.target)
            own = {name: digest for (of, name), digest in noted.items() if of == it.device}
            there = {each.name: each.digest for each in it.params.files if each.device == it.device}
            rewrites = purges != target.purges or len(own) >= MAX_OWN_FILES or own != there
            behind = target.nothing_published if rewrites else target.published
            rows = sync_state.keys_after(connection, behind)
            return rows, sync_state.last_seq(connection), rewrites, sorted(there), purges

        it.rows, it.seq, it.rewrites, there, purges = await warm.store.read(plan)
        it.target = target = target._replace(purges=purges)
        if it.rows:
            it.target = target._replace(files=target.files + 1)
            it.name = f"{target.files + 1:08}.jsonl{SUFFIX if it.recipients else ''}"
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
                found = await warm.store.rewrite(
                    partial(kinds.records_of, things=part, now_us=self._identities.now_us(), device=it.device)
                )
                it.text = "".join(f"{signed(encode(each), it.secret).decode()}\n" for each in found)
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
            digest = params.digest or it.digest.hexdigest()
            own = [] if it.name is None else [(it.device, it.name, digest)]

            def note(connection: Connection) -> None:
                sync_state.put_files(connection, it.params.target, own, of=it.device if it.rewrites else None)
                sync_state.put_target(connection, done)
                files = [each for each in it.params.files if each.device != it.device or not it.rewrites]
                files += [SyncFile(*each) for each in own]
                wrote = (done.synced_at or "") if own else ""
                me = SyncDevice(it.device, it.called or None, wrote)
                note_devices(connection, it.params.target, me, files, it.params.devices)

            await warm.store.rewrite(note)
            self._syncs.end(params.sync_id)
        return warm.marked(SyncFinishResult(store=warm.store.name))

    @handles("sync.failed", in_task=True)
    async def failed(self, call: Call, params: SyncFailedParams) -> SyncFailedResult:
        """Note that a sync failed. Raises MnemonError: NOT_FOUND, STORAGE."""
        warm = await self._open_stores.use(params.store)
        count = await warm.store.rewrite(partial(note_failure, params=params, now_us=self._identities.now_us()))
        return warm.marked(SyncFailedResult(store=warm.store.name, count=count))

    @handles("sync.status", in_task=True)
    async def status(self, call: Call, params: SyncStatusParams) -> SyncStatusResult:
        """Say what is where. Raises MnemonError: NOT_FOUND, STORAGE."""
        warm = await self._open_stores.use(params.store)
        device = await warm.store.read(sync_state.device)
        if device is not None and params.compare:
            await self._scan(warm, device.id)
        found = await warm.store.read(partial(targets_of, params=params, now_us=self._identities.now_us()))
        of = (None, None) if device is None else (device.id, device.name or None)
        return warm.marked(SyncStatusResult(store=warm.store.name, device=of[0], name=of[1], targets=found))


def _key_of(file: SyncFile) -> tuple[str, str, str]:
    return file.device, file.name, file.digest


def _secret_from(code: str) -> str:
    try:
        return secret_from(code).hex()
    except ValueError as error:
        hint = "it is shown on the other device: mnemonctl sync DIR --show-code"
        raise invalid([FieldProblem("join", f"this is no code: {error}")], hint=hint) from None


def _decoded(secret: bytes, now_us: int, line: bytes) -> Record[Any]:
    return decode(verified(line, secret), now_us)


class _Begun(NamedTuple):
    """`is_new`: the code of the device was made now. `name`: what this device is called; `renamed`: it is not what was
    said at the target."""

    target: Target
    device: Device
    recipients: tuple[str, ...]
    name: str
    renamed: bool
    is_new: bool


def _begun(
    connection: Connection, params: SyncOpenParams, fresh: str, joined: str | None, random: str, *, passages: bool
) -> _Begun:
    """Return the target and the id of this device, and for whom its files are encrypted. If there is a file of this
    device that it did not write, the store is a copy of another one, or was restored: it becomes a device of its own.
    Raises MnemonError, and then nothing was noted."""
    note = _encryption(sync_notes.read(connection, params.target), params)
    known = sync_state.device(connection)
    target = sync_state.target(connection, params.target)
    if known is not None:
        noted = {name for (of, name) in sync_state.files(connection, params.target) if of == known.id}
        if any(each.device == known.id and each.name not in noted for each in params.files):
            known, target = msgspec.structs.replace(known, id=fresh), None
            sync_state.put_files(connection, params.target, [], of=known.id)
    whole = int(sync_state.count_after(connection, -1) > 0)
    if known is None:
        known = Device(fresh)
    secret = joined or known.secret or secret_of(random).hex()
    is_new = secret != known.secret and joined is None
    if secret != known.secret:  # its files have to be signed with it
        known = msgspec.structs.replace(known, secret=secret, purges=known.purges + 1)
    known = sync_state.exchange_passages(connection, known, wanted=passages)
    sync_state.note_device(connection, known)
    if target is None:
        target = Target(params.target, params.label, -1 if whole else 0, known.purges, 0, whole)
    target = target._replace(label=params.label)
    if note.recipients != sync_notes.read(connection, params.target).recipients:
        target = target._replace(purges=-1)  # so that all files are written anew, however often it is interrupted
    sync_state.put_target(connection, target)
    sync_notes.put(connection, params.target, note)
    if params.name:
        known = msgspec.structs.replace(known, name=params.name)
        sync_state.note_device(connection, known)
    name = known.name or params.host or ""
    there = note.devices.get(known.id)
    return _Begun(target, known, note.recipients, name, renamed=there is None or there.name != name, is_new=is_new)


def _encryption(note: TargetNote, params: SyncOpenParams) -> TargetNote:
    """Return for whom this device encrypts its files from now on. Raises MnemonError(INVALID_PARAMS) where they would
    be written as plain text without a person having said so."""
    if params.plain and params.recipients:
        raise invalid([FieldProblem("plain", "recipients are named, and that nothing is to be encrypted")])
    if params.plain:
        return msgspec.structs.replace(note, recipients=(), plain=True)
    if params.recipients:
        note = msgspec.structs.replace(note, recipients=tuple(sorted(set(params.recipients))), plain=False)
    if note.recipients and params.recipients is None:
        raise rejected(
            INVALID_PARAMS, "the files of this store there are encrypted, and this client cannot encrypt",
            "use the mnemonctl of this daemon",
        )  # fmt: skip
    if not note.recipients and not note.plain and any(each.name.endswith(SUFFIX) for each in params.files):
        raise rejected(
            INVALID_PARAMS, "files there are encrypted, and it is not known for whom to encrypt those of this store",
            "name the public keys: --encrypt-to RECIPIENT; for plain text nevertheless: --encrypt-to none",
        )  # fmt: skip
    return note


def _sentences(it: _Syncing) -> list[str]:
    """Return why the first lines that cannot be used are refused."""
    named = ((it.params.files[file], number, why) for file, number, why in it.refused)
    return [f"{of.device}/{of.name}, line {number:,}: {why}" for of, number, why in named]
