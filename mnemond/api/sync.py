"""Methods that sync a store: sync.open, sync.unite, sync.finish, sync.failed and sync.status.

The client reads and writes the files, as for an import and an export: no path ever comes from a client. What it sends
may be of anybody who can write into the directory, so every line is checked before it changes anything.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec
import numpy as np
import trio

from mnemond.api import requests
from mnemond.api.requests import Identities, from_client, only_by_person, submit
from mnemond.api.spool import taken
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.sync_status import note_devices, note_failure, targets_of
from mnemond.api.types_sync import (
    SyncDevice,
    SyncFailedParams,
    SyncFailedResult,
    SyncFile,
    SyncFinishParams,
    SyncFinishResult,
    SyncOpenParams,
    SyncOpenResult,
    SyncSent,
    SyncStatusParams,
    SyncStatusResult,
    SyncUniteParams,
    SyncUniteResult,
)
from mnemond.encryption import SUFFIX
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, STORAGE, FieldProblem, MnemonError, invalid, rejected
from mnemond.memory.sync import guard, kinds, knowledge, memories, passages, uses
from mnemond.memory.sync.code import StrangerError, code_of, secret_from, secret_of, signed, verified
from mnemond.memory.sync.groups import RecordError
from mnemond.memory.sync.kinds import KNOWLEDGE, LINKS, MEMORIES, PASSAGES, PURGES, REPAIRS, STEPS, is_purge, step_of
from mnemond.memory.sync.records import MAX_LINE, UnknownKindError, decode, encode
from mnemond.memory.sync.union import MAX_NAMED, Report
from mnemond.memory.write import WriteContext
from mnemond.model.memory import DAY_US, format_us
from mnemond.model.sync import FOR_GOOD, Kind, Record, State
from mnemond.store import sync_notes, sync_state
from mnemond.store.connection import Connection
from mnemond.store.registry import StoreRegistry
from mnemond.store.sync_notes import TargetNote
from mnemond.store.sync_state import Device, Target
from mnemond.wire.dispatch import Call, handles

MAX_BYTES: Final = 1 << 30
"""Bytes of all files of one sync."""

IDLE_S: Final = 60.0
"""Seconds without a call after which another sync of the store may begin."""

MAX_OWN_FILES: Final = 50
"""Files of this device, after which it writes one in the place of all."""

ROWS_AT_ONCE: Final = 50
"""Memories that are written at once: with texts of the greatest length about 1 MB."""


class _Syncing:
    """One sync between two of its calls; what was taken in until it ends stays. `client`: the process that began it, 0
    if unknown."""

    def __init__(
        self, store: str, client: int, params: SyncOpenParams, context: WriteContext, begun: _Begun
    ) -> None:  # fmt: skip
        self.store = store
        self.client = client
        self.params = params
        self.context = context
        self.knowledge_op_id = ""
        """The operation on relations and names, which can be taken back alone."""
        self.lock = trio.Lock()
        self.heard_at = trio.current_time()
        self.begun = begun
        self.target = begun.target
        self.device = begun.device.id
        self.secret = bytes.fromhex(begun.device.secret)
        self.seq = 0
        self.name: str | None = None
        self.rewrites = False
        self.digest = ""
        self.ahead = self.restamped = 0

    @property
    def is_left(self) -> bool:
        """Return True if its client has ended, or was silent."""
        late = trio.current_time() - self.heard_at > IDLE_S
        return not self.lock.locked() and (late or has_ended(self.client))


def has_ended(pid: int) -> bool:
    """Return True for a process that has ended, also while its parent does not know it. 0 is none that is known. A
    process may have the number of one that ended before: the answer is False then."""
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
        found = (requests.PROCESSES / str(pid) / "stat").read_text("utf-8", "replace")
        return found.rpartition(")")[2].split()[0] in "ZX"
    except ProcessLookupError:
        return True
    except (OSError, IndexError):
        return False


class SyncHandlers:
    """The methods of sync."""

    def __init__(
        self, data_dir: Path, registry: StoreRegistry, open_stores: OpenStores, identities: Identities,
        received: Callable[[str], None] = lambda _: None, is_partial: Callable[[str], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        """`received` is called with the name of a store that got memories. `is_partial` returns True for a session, by
        the host's id of it, of which some was not to be kept."""
        self._received = received
        self._is_partial = is_partial
        self._open_stores = open_stores
        self._identities = identities
        self._data_dir = data_dir
        self._syncs: dict[str, _Syncing] = {}
        registry.on_exclusive.append(self._end_of)

    def _end_of(self, store: str) -> None:
        self._syncs = {name: each for name, each in self._syncs.items() if each.store != store}

    def _of(self, name: str) -> _Syncing:
        """Return a sync of which a call came. Raises MnemonError(NOT_FOUND) if it has ended."""
        it = self._syncs.get(name)
        if it is None:
            sentence = "there is no such sync any more: another one began, or the daemon was restarted"
            raise rejected(NOT_FOUND, sentence, "begin again: mnemonctl sync")
        it.heard_at = trio.current_time()
        return it

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
        if any(each.store == warm.store.name and not each.is_left for each in self._syncs.values()):
            raise rejected(BUSY, "this store is being synced already", "repeat when that has ended, or in a minute")
        self._end_of(warm.store.name)
        context = self._identities.of(warm, params, call=call)
        fresh = self._identities.nonce()
        random = "".join(self._identities.nonce() for _ in range(3))
        passages = warm.config.sync.passages
        begin = partial(_begun, params=params, fresh=fresh, joined=joined, random=random, passages=passages)
        begun: _Begun = await warm.store.rewrite(begin)
        device = begun.device.id
        name = self._identities.nonce()
        it = self._syncs[name] = _Syncing(warm.store.name, call.peer_pid, params, context, begun)
        try:
            if params.restamp:
                it.restamped = await self._restamp(warm, device)
            it.ahead = await self._scan(warm, device)
            read = await warm.store.read(partial(sync_state.files, name=params.target))
        except BaseException:
            self._syncs.pop(name, None)
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

    @handles("sync.unite", in_task=True)
    async def unite(self, call: Call, params: SyncUniteParams) -> SyncUniteResult:
        """Take in what was sent, and write what this device has to publish. Raises MnemonError: NOT_FOUND,
        INVALID_PARAMS, TOO_LARGE, STORAGE."""
        it = self._of(params.sync_id)
        try:
            with await trio.to_thread.run_sync(taken, self._data_dir, params.spool, MAX_BYTES) as file:
                size = os.fstat(file.fileno()).st_size
                named = all(each.file < len(it.params.files) for each in params.sent)
                if not named or size != sum(each.size for each in params.sent):
                    problem = f"{size:,} bytes are there, and not those of files that were named"
                    raise invalid([FieldProblem("sent", problem)])
                async with it.lock:
                    return await self._united(it, SyncSpool(file, params.sent), file)
        except OSError as error:
            raise MnemonError(STORAGE, f"the files of the sync cannot be handed over: {error.strerror}") from error

    async def _united(self, it: _Syncing, sent: SyncSpool, file: IO[bytes]) -> SyncUniteResult:
        warm = await self._open_stores.open(it.store)
        now_us = self._identities.now_us()
        await trio.to_thread.run_sync(sent.look, partial(_decoded, it.secret, now_us))
        report, held = await self._unite(warm, it, sent, now_us)
        read = [_key_of(it.params.files[at]) for at in sorted(sent.good)]
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
        rows, remove = await self._plan(warm, it)
        await self._publish(warm, it, rows, file)
        it.heard_at = trio.current_time()
        shows_code = it.params.show_code or (it.begun.is_new and it.context.by_person)
        return SyncUniteResult(
            **msgspec.structs.asdict(report),
            held_purges=held["memory"][:MAX_NAMED], held_purges_found=len(held["memory"]),
            held_passages=len(held["passage"]), withheld=withheld, refused=_sentences(it, sent),
            refused_found=sent.refused_found,
            op_id=it.context.op_id if report.undoable else None,
            knowledge_op_id=it.knowledge_op_id if report.relations or report.names else None, ahead=it.ahead,
            restamped=it.restamped, strangers=sorted({it.params.files[at].device for at in sent.strangers}),
            code=code_of(it.secret) if shows_code else None, publish=it.name, lines=len(rows), remove=remove,
        )  # fmt: skip

    @staticmethod
    async def _held(warm: OpenStore, it: _Syncing, sent: SyncSpool, kind: Kind, now_us: int) -> list[str]:
        """Return the memories or exchanges that are not purged now, though other devices purged them: a person has to
        allow it."""
        keys = {state: sent.purges[kind, state] for state in FOR_GOOD if (kind, state) in sent.purges}
        if not keys:
            return []
        if it.params.allow_purges:
            await warm.store.rewrite(partial(guard.allow_purges, now_us=now_us))
            return []
        return await warm.store.read(partial(guard.held_purges, kind=kind, keys=keys, now_us=now_us))

    async def _unite(
        self, warm: OpenStore, it: _Syncing, sent: SyncSpool, now_us: int
    ) -> tuple[Report, dict[Kind, list[str]]]:
        """Take in what was sent; return what changed, and which purges of memories and exchanges wait."""
        total = Report()
        held: dict[Kind, list[str]] = {"memory": await self._held(warm, it, sent, "memory", now_us)}
        parts = sent.parts(partial(_decoded, it.secret, now_us), frozenset(held["memory"]))

        async def next_part() -> Part | None:
            return await trio.to_thread.run_sync(next, parts, None)

        part = await next_part()
        is_any = part is not None
        it.knowledge_op_id = self._identities.own(it.store, sync_state.BY).op_id
        op_ids = dict.fromkeys((MEMORIES, LINKS, REPAIRS), it.context.op_id) | {KNOWLEDGE: it.knowledge_op_id}
        for number, step in STEPS.items():
            if number == PASSAGES:
                held["passage"] = await self._held(warm, it, sent, "passage", now_us)
            is_due = step.is_due and (is_any or number != REPAIRS)
            while is_due or (part is not None and part.step == number):
                records: list[Record[Any]] = []
                files: list[int] = []
                if part is not None and part.step == number:
                    (_, records, files), part = part, await next_part()
                if number == PASSAGES:
                    records = sent.without_purges(records, files, held["passage"], exchanged=warm.config.sync.passages)
                report = await self._write(warm, it, total, number, records, op_ids.get(number))
                if report.held:
                    sent.wait_for(records, files, report.held)
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

    async def _plan(self, warm: OpenStore, it: _Syncing) -> tuple[list[tuple[Kind, str]], list[str]]:
        """Decide what the next file of this device has; return that, and the names of files whose place it takes."""
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

        rows, it.seq, it.rewrites, there, purges = await warm.store.read(plan)
        it.target = target = target._replace(purges=purges)
        if rows:
            it.target = target._replace(files=target.files + 1)
            it.name = f"{target.files + 1:08}.jsonl{SUFFIX if it.begun.recipients else ''}"
        return rows, there if it.rewrites else []

    async def _publish(self, warm: OpenStore, it: _Syncing, rows: list[tuple[Kind, str]], file: IO[bytes]) -> None:
        """Write the next file of this device. Raises MnemonError, OSError."""
        await trio.to_thread.run_sync(file.truncate, file.seek(0))
        digest = hashlib.sha256()
        for at in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[at : at + ROWS_AT_ONCE]
            of_rows = partial(kinds.records_of, things=part, now_us=self._identities.now_us(), device=it.device)
            found = await warm.store.rewrite(of_rows)
            content = b"".join(signed(encode(each), it.secret) + b"\n" for each in found)
            digest.update(content)
            await trio.to_thread.run_sync(file.write, content)
        await trio.to_thread.run_sync(file.flush)
        it.digest = digest.hexdigest()
        if it.name is not None:
            # Noted before it is there: a file of this device that is not noted is of another one.
            own, target = (it.device, it.name, it.digest), it.target

            def note(connection: Connection) -> None:
                sync_state.put_files(connection, it.params.target, [own])
                sync_state.put_target(connection, target._replace(purges=-1 if it.rewrites else target.purges))

            await warm.store.rewrite(note)

    @handles("sync.finish", in_task=True)
    async def finish(self, call: Call, params: SyncFinishParams) -> SyncFinishResult:
        """Note that the files of this device are there. Raises MnemonError: NOT_FOUND, STORAGE."""
        it = self._of(params.sync_id)
        async with it.lock:
            warm = await self._open_stores.open(it.store)
            target = it.target
            done = target._replace(published=it.seq, synced_at=format_us(self._identities.now_us()))
            digest = params.digest or it.digest
            own = [] if it.name is None else [(it.device, it.name, digest)]

            def note(connection: Connection) -> None:
                sync_state.put_files(connection, it.params.target, own, of=it.device if it.rewrites else None)
                sync_state.put_target(connection, done)
                files = [each for each in it.params.files if each.device != it.device or not it.rewrites]
                files += [SyncFile(*each) for each in own]
                wrote = (done.synced_at or "") if own else ""
                me = SyncDevice(it.device, it.begun.name or None, wrote)
                note_devices(connection, it.params.target, me, files, it.params.devices)

            await warm.store.rewrite(note)
            self._syncs.pop(params.sync_id, None)
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


def _sentences(it: _Syncing, sent: SyncSpool) -> list[str]:
    """Return why the first lines that cannot be used are refused."""
    named = ((it.params.files[file], number, why) for file, number, why in sent.refused)
    return [f"{of.device}/{of.name}, line {number:,}: {why}" for of, number, why in named]


# ---------------------------------------------------------------- lines of other devices
#
# The lines that other devices wrote, in parts of bounded size. They are in the order in which they were sent, but for
# those of one memory, which are together.


MAX_REFUSED: Final = 1_000
"""Lines of one file that are refused, after which the rest of it is not looked at: it is no file of mnemond's."""

BYTES_AT_ONCE: Final = 4 << 20
"""Bytes of the lines of one part, after which it ends: its records take some five times as much memory."""

Decode = Callable[[bytes], Record[Any]]


class Part(NamedTuple):
    """Records to be united in one operation, all of one step; `files`: of each the position of its file."""

    step: int
    records: list[Record[Any]]
    files: list[int]


class SyncSpool:
    """The files that a client sends. `look`, then read the `parts`. About 25 bytes of memory a line, and the lines of
    one part."""

    def __init__(self, content: IO[bytes], sent: Sequence[SyncSent]) -> None:
        self._content = content
        self._sent = sent
        self.good = {each.file for each in sent}
        """Positions of files of which every line could be used."""
        self.refused: list[tuple[int, int, str]] = []
        """Of the first lines that cannot be used, the position of the file, the number in it and the reason."""
        self.refused_found = 0
        self.strangers: set[int] = set()
        """Positions of files with lines that are signed with another code."""
        self.purges: dict[tuple[Kind, State], set[str]] = {}
        """Memories and exchanges that are purged by a line, by kind and the state that it gives them."""
        self._steps, self._files, self._lengths = array("B"), array("H"), array("I")
        self._keys, self._starts = array("Q"), array("Q")

    def look(self, decode: Decode) -> None:
        """Check every line that has not been looked at, and note where those are that can be used (blocking). Lines of
        kinds that a later version writes do not make the rest of a file useless: one of each file is refused."""
        numbers: dict[int, int] = {}
        bad: dict[int, int] = {}
        newer: set[int] = set()
        for file, start, line in self._lines():
            numbers[file] = numbers.get(file, 0) + 1
            if bad.get(file, 0) >= MAX_REFUSED:
                continue
            try:
                record = decode(line)
            except RecordError as error:
                if file in newer and isinstance(error, UnknownKindError):
                    continue
                if isinstance(error, UnknownKindError):
                    newer.add(file)
                else:
                    bad[file] = bad.get(file, 0) + 1
                if isinstance(error, StrangerError):
                    self.strangers.add(file)
                    continue
                self.refused_found += 1
                if len(self.refused) < MAX_NAMED:
                    self.refused.append((file, numbers[file], str(error)))
                continue
            if is_purge(record):
                self.purges.setdefault((record.kind, record.state), set()).add(record.key)
            self._steps.append(step_of(record))
            self._files.append(file)
            self._lengths.append(len(line))
            self._keys.append(int.from_bytes(blake2b(record.key.encode(), digest_size=8).digest(), "big"))
            self._starts.append(start)
        self.good -= bad.keys() | newer

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the lines that are complete, each with the position of its file and where it begins; a line that is too
        long as a part."""
        start = 0
        for each in self._sent:
            end = start + each.size
            while start < end:
                self._content.seek(start)
                if not (line := self._content.readline(min(end - start, MAX_LINE + 1))):
                    return
                yield each.file, start, line.removesuffix(b"\n")
                start += len(line)

    def parts(self, decode: Decode, held: Collection[str]) -> Iterator[Part]:
        """Yield the records, but for purges of memories that are `held` (blocking): first purges, then memories, links,
        relations and names, and uses, those of one memory together. Decisions about names that went with a purge wait
        with those, as the names may be those of memories that stay here. The files of both are not good then."""
        part = Part(PURGES, [], [])
        size = last = 0
        _, first, keys = np.unique(self._keys, return_index=True, return_inverse=True)
        for at in map(int, np.lexsort((np.asarray(self._starts), first[keys], np.asarray(self._steps)))):
            step, key, length = self._steps[at], self._keys[at], self._lengths[at]
            is_many = len(part.records) >= STEPS[step].at_once
            full = size >= BYTES_AT_ONCE or (is_many and key != last)
            if part.records and (full or step != part.step):
                yield part
                part, size = Part(step, [], []), 0
            record = decode(self._read(self._starts[at], length))
            is_name = bool(held) and record.kind == "name" and record.state == "purged"
            if is_name or (step == PURGES and record.key in held):
                self.good.discard(self._files[at])
                continue
            part = part._replace(step=step)
            part.records.append(record)
            part.files.append(self._files[at])
            size, last = size + length, key
        if part.records:
            yield part

    def wait_for(self, records: Sequence[Record[Any]], files: Sequence[int], keys: Collection[str]) -> None:
        """Let the files of records of some things be read again at the next sync."""
        self.good.difference_update(file for file, each in zip(files, records, strict=True) if each.key in keys)

    def without_purges(
        self, records: Sequence[Record[Any]], files: Sequence[int], held: Collection[str], *, exchanged: bool
    ) -> list[Record[Any]]:
        """Return records of exchanges without purges that are `held`, which are read again at the next sync; where they
        are not `exchanged` only purges."""
        waiting = {each.key for each in records if is_purge(each)}.intersection(held)
        self.wait_for(records, files, waiting)
        return [each for each in records if (each.key not in waiting if is_purge(each) else exchanged)]

    def _read(self, start: int, length: int) -> bytes:
        self._content.seek(start)
        return self._content.read(length)
