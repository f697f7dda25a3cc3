"""Backups: verified copies of stores in `backups/STORE/` of the data directory, under names made here. With recipients
they are encrypted: then no plaintext is ever in `backups`, and the keys to read them are not here.

No path ever comes from a caller: a backup is found by the name it was given. A note of its facts lies next to each; a
backup without one can still be restored.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple, TypeVar, get_args

import msgspec
import trio

from mnemond import encryption
from mnemond.config.regular_files import open_regular, read_regular
from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, STORAGE, MnemonError, rejected
from mnemond.model.answers import Backup
from mnemond.model.memory import format_us
from mnemond.store import files, health, verified_copy
from mnemond.store.checksums import is_damage, reason
from mnemond.store.connection import DATABASE_FILE, STORE_FILES, BusyError, Connection, SqliteError
from mnemond.store.files import flush_directory, make_directory
from mnemond.store.insights import enforced_triggers
from mnemond.store.registry import Closed, StoreRegistry, check_name, check_new_name, is_valid_name
from mnemond.store.store import Store
from mnemond.store.verified_copy import Facts, Pause, no_pause

Kind = Literal["asked", "scheduled", "replaced", "removed"]
"""Why a backup was made: on request, on schedule, or before the store was replaced or removed."""

DIRECTORY: Final = "backups"
_SUFFIXES: Final = (".db", f".db{encryption.SUFFIX}")
"""Endings of the names of backups: of a database, and of one that is encrypted."""

DAMAGED: Final = "damaged"
"""Directory of the data directory with stores that could not be read when they were replaced or removed."""

REMOVED: Final = ".removed-"
"""Prefix of a store's directory that is being deleted; it is no valid name of a store."""

COPYING: Final = ".copying-"
"""Prefix of a directory beside the stores with a copy of the files of one that was put aside."""

RESTORING: Final = ".restoring-"
"""Prefix of a store's directory that is being made from a backup."""

PIECE_BYTES: Final = 1 << 16
"""Bytes searched at once: a millisecond."""

MAX_SEARCHED_IDS: Final = 4
"""Ids up to which searching for each takes less time than matching the shape of ids."""

_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME: Final = re.compile(rf"(\d{{8}}T\d{{6}}\.\d{{6}}Z)-({'|'.join(get_args(Kind))})")

MAX_NOTE: Final = 1 << 16
"""Bytes of the note of a backup."""

T = TypeVar("T")


class _Note(msgspec.Struct, frozen=True):
    created_at: str
    facts: Facts


class BackupDirectory:
    """The backups of one data directory. Every method is blocking; one at a time for each store."""

    def __init__(self, data_dir: Path, keep: int, encrypt_to: Sequence[str] = ()) -> None:
        """`keep`: backups of a store, of each kind. `encrypt_to`: recipients of all backups, none to encrypt none."""
        self._root = data_dir / DIRECTORY
        self._keep = keep
        self._encrypt_to = tuple(encrypt_to)

    def directory(self, store: str) -> Path:
        return self._root / check_name(store)

    def add(
        self,
        store: str,
        source: Path | Connection,
        kind: Kind,
        now_us: int,
        pause: Pause = no_pause,
        encrypt_to: Sequence[str] = (),
    ) -> tuple[Backup, list[str]]:
        """Copy the database of a store, given by its file or an open connection, then delete the oldest of this kind
        beyond `keep`; return the backup and the names of those deleted. `encrypt_to`: recipients in place of those of
        all backups.

        Raises MnemonError, SqliteError and OSError; then there is no new backup and none is deleted.
        """
        recipients = encryption.recipients_of(encrypt_to or self._encrypt_to)
        folder = self.directory(store)
        files.make_directory(self._root)
        files.make_directory(folder)
        while any((folder / f"{_name(now_us, kind)}{suffix}").exists() for suffix in _SUFFIXES):
            now_us += 1
        path = folder / f"{_name(now_us, kind)}{_SUFFIXES[bool(recipients)]}"
        if isinstance(source, Connection):
            facts = verified_copy.make_of_open(source, path, pause, recipients)
        else:
            facts = verified_copy.make(source, path, pause, recipients)
        note = _Note(format_us(now_us), facts)
        files.replace_file(_note_of(path), msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        made = _backup(path, store, kind, note.created_at, facts)
        gone = [each for each in self.of(store) if each.kind == kind][self._keep :]
        for each in gone:
            self.drop(each)
        return made, [each.name for each in gone]

    def add_of_files(self, store: str, source: Path, kind: Kind, now_us: int, pause: Pause = no_pause) -> Backup:
        """Copy a database that is not in use, and its log, to a place where they may be opened, and add that as `add`
        does: nothing is opened beside `source`. Raises MnemonError, SqliteError and OSError."""
        work = self._root.with_name("data") / f"{COPYING}{check_name(store)}"
        shutil.rmtree(work, ignore_errors=True)
        os.mkdir(work, 0o700)
        try:
            for part in ("", "-wal"):
                if (file := source.with_name(source.name + part)).is_file():
                    shutil.copyfile(file, work / f"copy.db{part}")
            return self.add(store, work / "copy.db", kind, now_us, pause)[0]
        finally:
            shutil.rmtree(work, ignore_errors=True)

    # Stores that cannot be read are moved to `damaged/STORE/TIME` as they are.

    def aside(self, store: str) -> Path:
        return self._root.with_name(DAMAGED) / check_name(store)

    def put_aside(self, store: str, now_us: int) -> Path | None:
        """Move the directory of a store away in one step, and return its new place; None if there is no directory.
        Raises OSError."""
        stores, folder = self._root.with_name("data"), self.aside(store)
        if not os.path.lexists(stores / store):
            return None
        files.make_directory(folder.parent)
        files.make_directory(folder)
        while os.path.lexists(place := folder / _stamp(now_us)):
            now_us += 1
        os.rename(stores / store, place)
        flush_directory(folder)
        flush_directory(stores)
        return place

    def swap(self, store: str, ready: Path, now_us: int) -> Path | None:
        """Give a store the directory `ready`, and move its old one aside, if it has one; return that place.

        If the process ends between the two steps, `remove_leftovers` does the second one. Raises OSError.
        """
        stores = self._root.with_name("data")
        aside = self.put_aside(store, now_us)
        os.rename(ready, stores / store)
        flush_directory(stores)
        return aside

    def drop_aside(self, aside: Path) -> None:
        """Delete what was moved aside, and the directories above it if nothing else is in them."""
        remove_draft(aside)
        for folder in (aside.parent, aside.parent.parent):
            with suppress(OSError):
                folder.rmdir()

    def drop(self, backup: Backup) -> None:
        backup.file.unlink(missing_ok=True)
        _note_of(backup.file).unlink(missing_ok=True)

    def all(self) -> list[Backup]:
        folders = self._root.iterdir() if self._root.is_dir() else ()
        found = [each for folder in folders if is_valid_name(folder.name) for each in self.of(folder.name)]
        return sorted(found, key=lambda each: (each.name, each.store), reverse=True)

    def of(self, store: str) -> list[Backup]:
        folder = self.directory(store)
        if not folder.is_dir():
            return []
        paths = sorted((path for path in folder.iterdir() if _is_named(path) and path.is_file()), reverse=True)
        return [backup for path in paths if (backup := _read(path, store)) is not None]

    def no_files(self, store: str | None) -> list[Path]:
        """Return what has the name of a backup, of one store or of all, and is no file: a directory, a named pipe, a
        link to nothing. No backup is read from it."""
        folders = [self.directory(store)] if store is not None else self._root.glob("*")
        places = (path for folder in folders if is_valid_name(folder.name) for path in folder.glob("*"))
        return sorted(path for path in places if _is_named(path) and not path.is_file())

    def find(self, name: str, store: str | None) -> Backup:
        """Return the backup whose name is, or begins with, `name`; of one store if that is given.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS.
        """
        known = self.all() if store is None else self.of(store)
        found = [each for each in known if each.name == name] or [each for each in known if each.name.startswith(name)]
        of = "" if store is None else f' of the store "{store}"'
        if not found:
            raise rejected(NOT_FOUND, f"there is no backup {name[:60]!a}{of}", "`mnemonctl backup list` shows them")
        if len(found) > 1:
            which = ", ".join(f"{each.name} ({each.store})" for each in found[:4])
            raise rejected(
                AMBIGUOUS,
                f"{name[:60]!a} means {len(found)} backups: {which}",
                "give more of the name, or the store with --store",
            )
        return found[0]


def _name(now_us: int, kind: Kind) -> str:
    return f"{_stamp(now_us)}-{kind}"


def _is_named(path: Path) -> bool:
    """Return True for the path of a backup, whatever is there."""
    return path.name.endswith(_SUFFIXES) and _NAME.fullmatch(_stem(path)) is not None


def _stem(path: Path) -> str:
    """Return the name of a backup."""
    return path.name.partition(".db")[0]


def _stamp(now_us: int) -> str:
    return format_us(now_us).replace("-", "").replace(":", "")


def _note_of(path: Path) -> Path:
    return path.with_name(f"{_stem(path)}.json")


def _read(path: Path, store: str) -> Backup | None:
    """The backup of a file; None if its name was not made here."""
    parts = _NAME.fullmatch(_stem(path))
    if parts is None:
        return None
    stamp = parts[1]
    created_at = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:]}"
    kind = msgspec.convert(parts[2], Kind)
    return _backup(path, store, kind, created_at, _noted(path))


def _noted(path: Path) -> Facts | None:
    """Return what the note of a backup says of its file; None if it is lost."""
    try:
        return msgspec.json.decode(read_regular(_note_of(path), MAX_NOTE), type=_Note).facts
    except (OSError, msgspec.MsgspecError):
        return None


def _backup(path: Path, store: str, kind: Kind, created_at: str, facts: Facts | None) -> Backup:
    return Backup(
        name=_stem(path), store=store, kind=kind, created_at=created_at, path=str(path), bytes=path.stat().st_size,
        memories=None if facts is None else facts.memories, retired=None if facts is None else facts.retired,
        sha256=None if facts is None else facts.sha256, encrypted=path.suffix == encryption.SUFFIX,
    )  # fmt: skip


def examine(backup: Backup, identities: Sequence[encryption.Identity] = ()) -> str | None:
    """Return what is wrong with a backup or its note, None if nothing is; every page and row is read (blocking). Of one
    that is encrypted the bytes are compared with its note, with `identities` those of its plaintext as well."""
    noted = _noted(backup.file)
    if noted is None:
        return wrong_note(backup, None)
    try:
        if backup.encrypted:
            return _examine_encrypted(backup, noted, identities)
        facts = verified_copy.verify(backup.file, no_pause, backup.sha256)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    except MnemonError as error:
        return error.message.removeprefix(f"{backup.path} ")
    if facts.unreadable:
        return f"rows that cannot be read: {facts.unreadable:,} ({', '.join(facts.unreadable_rows)})"
    return wrong_note(backup, facts)


def _examine_encrypted(backup: Backup, facts: Facts, identities: Sequence[encryption.Identity]) -> str | None:
    with open(open_regular(backup.file, os.O_RDONLY), "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != facts.encrypted_sha256:
            return "it is damaged: its checksum is not the one that was noted when it was made"
    if identities and plain_sha256(backup, identities) != backup.sha256:
        return "it is damaged: its plaintext is not the one that was noted when it was made"
    return None


def plain_sha256(backup: Backup, identities: Sequence[encryption.Identity]) -> str:
    """Return the SHA-256 of the plaintext of an encrypted backup (blocking). Raises MnemonError, OSError."""
    digest = hashlib.sha256()
    with opened_plain(backup, identities) as plain:
        for part in encryption.parts_of(plain):
            digest.update(part)
    return digest.hexdigest()


def opened_plain(backup: Backup, identities: Sequence[encryption.Identity]) -> IO[bytes]:
    """Return the plaintext of an encrypted backup as a stream; see `encryption.decrypted`. Raises OSError."""
    file = open(open_regular(backup.file, os.O_RDONLY), "rb")  # noqa: SIM115 - the stream closes it
    return encryption.decrypted(file, identities, backup.name)


def wrong_note(backup: Backup, facts: Facts | None) -> str | None:
    """Return what is wrong with the note of a backup that holds `facts`, None if nothing is."""
    noted = _noted(backup.file)
    if noted is None:
        why = "is not readable" if _note_of(backup.file).exists() else "is missing"
        return f"its note {_note_of(backup.file).name} {why}; nothing says what it should hold"
    if facts != noted:
        return f"its note {_note_of(backup.file).name} says something else than what it holds"
    return None


# Places that may still contain purged memories.


def copies_holding(path: Path, ids: Collection[str]) -> list[str]:
    """Return the names of the files that may contain one of these ids, sorted (blocking): those next to the database at
    `path`, and of its data directory, if that is DATA_DIR/data/STORE/mnemon.db, the paths in it of backups, of other
    stores, of stores that were put aside, of rows left out of a salvage, and of incomplete copies.

    A file that cannot be read is included: it may contain them. So are incomplete and damaged copies of this store.
    """
    wanted = frozenset(each.encode() for each in ids)
    store, root = path.parent, path.parent.parent.parent
    beside = [*store.glob(f"{path.name}.bak*"), *store.glob(LEFT_OUT_FILE)]
    found = sorted(copy.name for copy in beside if copy.is_file() and _holds(copy, wanted))
    if store.parent.name != "data":
        return found
    elsewhere = {copy for copy in _copies_elsewhere(root) if copy.parent != store and _holds(copy, wanted)}
    elsewhere.update(each for each in _incomplete(root) if each.stat().st_size)
    elsewhere.update(
        each for each in (root / DAMAGED / store.name).glob("*/*") if each.is_file() and each.stat().st_size
    )
    for other in root.glob(f"data/*/{DATABASE_FILE}"):
        if other != path and _store_holds(other, ids):
            elsewhere.add(other)
    return found + sorted(str(each.relative_to(root)) for each in elsewhere)


def _copies_elsewhere(root: Path) -> Iterator[Path]:
    patterns = (
        *(f"{DIRECTORY}/*/*{suffix}" for suffix in _SUFFIXES), f"data/*/{DATABASE_FILE}.bak*",
        f"data/*/{LEFT_OUT_FILE}", f"{DAMAGED}/*/*/*", DATABASE_FILE, f"{DATABASE_FILE}-wal",
    )  # fmt: skip
    for pattern in patterns:
        yield from (each for each in root.glob(pattern) if each.is_file())


def _incomplete(root: Path) -> Iterator[Path]:
    for draft in drafts(root):
        yield from (each for each in (draft, *draft.rglob("*")) if each.is_file())


def _store_holds(path: Path, ids: Collection[str]) -> bool:
    """Return True if another store, which may be open, has one of these memories, or its history has."""
    try:
        connection = Connection(path, read_only=True)
        try:
            names = msgspec.json.encode(list(ids)).decode()
            return connection.row(_HAS, (names,)) is not None
        finally:
            connection.close()
    except SqliteError:
        return True


_HAS: Final = """
    WITH wanted AS (SELECT value AS id FROM json_each(?1))
    SELECT 1 FROM insights WHERE id IN (SELECT id FROM wanted)
    UNION ALL
    SELECT 1 FROM memory_operations
     WHERE memory_id IN (SELECT id FROM wanted) AND coalesce(before_state, after_state) IS NOT NULL
    UNION ALL
    SELECT 1 FROM passages WHERE id IN (SELECT id FROM wanted)
"""


def _holds(copy: Path, wanted: frozenset[bytes]) -> bool:
    """Reads in pieces, as searching one holds up all other threads. Many ids are found by matching the shape of ids, as
    each would be searched for in every piece. What is encrypted may hold them."""
    if copy.suffix == encryption.SUFFIX:
        return True
    shaped = frozenset(filter(_ID.fullmatch, wanted)) if len(wanted) > MAX_SEARCHED_IDS else frozenset()
    others = wanted - shaped
    kept = max(map(len, wanted), default=0)
    piece = b""
    try:
        with open(copy, "rb") as file:
            while more := file.read(PIECE_BYTES):
                piece = piece[-kept:] + more
                if not shaped.isdisjoint(_ID.findall(piece)) or any(each in piece for each in others):
                    return True
    except OSError:
        return True
    return False


# Backing up, removing and restoring stores while the daemon serves.


class NewBackup(msgspec.Struct, frozen=True):
    """A new backup, and the names of those it displaced."""

    backup: Backup
    dropped: list[str]


class Restored(msgspec.Struct, frozen=True):
    """The store that was restored, from which backup, and its previous content: the backup of it, or the directory in
    which it is kept because it cannot be read."""

    store: str
    path: Path
    backup: Backup
    memories: int
    before: Backup | None
    aside: Path | None = None


class Removed(NamedTuple):
    """The last backup of a store that was removed, or the directory in which it is kept because it cannot be read."""

    backup: Backup | None
    aside: Path | None


def _made(made: NewBackup | OSError) -> NewBackup:
    if isinstance(made, OSError):
        raise made
    return made


class _Abandoned(Exception):  # noqa: N818 - no error
    """Ends the work of a thread whose caller was cancelled."""


class BackupService:
    """For the event loop's thread; the work is done in others."""

    def __init__(self, stores: StoreRegistry, directory: BackupDirectory, now_us: Callable[[], int]) -> None:
        self._stores = stores
        self._directory = directory
        self._now_us = now_us
        self._locks: dict[str, trio.Lock] = {}

    async def back_up(self, name: str, encrypt_to: Sequence[str] = ()) -> NewBackup:
        """Copy the present state of a store; reads and writes go on. `encrypt_to`: recipients in place of those of all
        backups. Raises MnemonError."""
        path = self._stores.find(name)
        async with self._lock(name):
            return await self._add_of(name, path, "asked", self._now_us(), encrypt_to)

    async def scheduled(self, store: Store, now_us: int) -> str:
        """Copy an open store on schedule; return the name of the backup. Raises MnemonError."""
        async with self._lock(store.name):
            made = await self._add_of(store.name, store.path, "scheduled", now_us)
        return made.backup.name

    async def save_lost(self) -> list[str]:
        """Back up every open store whose file is not there any more; return their names. Raises MnemonError."""
        lost = [store.name for store in self._stores.open_stores() if store.lost is not None]
        for name in lost:
            await self.back_up(name)
        return lost

    async def _add_of(
        self, name: str, path: Path, kind: Kind, now_us: int, encrypt_to: Sequence[str] = ()
    ) -> NewBackup:
        """Copy a store that may be open. One whose file is not there any more is copied through the connection that the
        daemon has; its queries and writes wait as long."""
        store = self._stores.warm(name)
        if store is None or store.lost is None:
            add_file = self._directory.add
            made = await _in_thread(lambda pause: add_file(name, path, kind, now_us, pause, encrypt_to=encrypt_to))
            return NewBackup(*made)

        def add(connection: Connection) -> NewBackup | OSError:
            try:
                return NewBackup(*self._directory.add(name, connection, kind, now_us, encrypt_to=encrypt_to))
            except OSError as error:
                return error

        read = await store.read(add)
        return await _in_thread(lambda _: _made(read))

    async def list(self, store: str | None) -> list[Backup]:
        """Return the backups of one store, or of all, newest first. Raises MnemonError for an invalid name."""
        return await _in_thread(lambda _: self._directory.all() if store is None else self._directory.of(store))

    async def find(self, name: str, store: str | None) -> Backup:
        """Return one backup. Raises MnemonError: NOT_FOUND, AMBIGUOUS."""
        return await _in_thread(lambda _: self._directory.find(name, store))

    async def verify(self, backup: Backup) -> Facts:
        """Return the facts of a backup; every page is read. Raises MnemonError(STORAGE) if it is damaged."""
        return await _in_thread(lambda pause: verified_copy.verify(backup.file, pause, backup.sha256))

    async def examine(self, backup: Backup) -> str | None:
        """Return what is wrong with a backup, None if nothing is; see `examine`."""
        return await _in_thread(lambda _: examine(backup))

    async def remove(self, name: str, *, purge: bool) -> Removed:
        """Delete a store after a last backup; with `purge` without one, and its earlier backups as well. A store that
        cannot be read is kept aside.

        Raises MnemonError; the store is unchanged then.
        """
        self._stores.find_directory(name)
        self._stores.refuse_active(name)
        async with self._lock(name):
            last = None if purge else await self._save(name, "removed")
            async with self._stores.exclusive(name) as closed:
                self._stores.refuse_active(name)
                if not purge:
                    return await self._remove(name, closed, last)
                if closed.path.parent.exists():
                    await _run(partial(_delete, closed.path.parent), abandon=False)
                for each in (self._directory.directory(name), self._directory.aside(name)):
                    await _run(partial(shutil.rmtree, each, ignore_errors=True), abandon=False)
        return Removed(None, None)

    async def _remove(self, name: str, closed: Closed, last: Backup | None) -> Removed:
        last = last or await self._last_backup(name, closed, "removed")
        aside = await _run(partial(self._directory.put_aside, name, self._now_us()), abandon=False)
        return Removed(*await self._kept(name, "removed", last, aside))

    async def restore(
        self,
        backup: Backup,
        into: str,
        admit: Callable[[Enforced], Awaitable[None]] | None = None,
        plain: IO[bytes] | None = None,
    ) -> Restored:
        """Replace a store by a backup. Its previous content becomes a backup; a store that cannot be read is not
        opened, and is kept aside as it is. `plain` is the plaintext of one that is encrypted. `admit` is called with
        the rules that it enforces, and raises to end it there.

        Raises MnemonError; the store is unchanged then.
        """
        if not self._stores.exists(check_name(into)):
            check_new_name(into)
        async with self._lock(into):
            path = self._stores.path(into)
            ready = path.parent.with_name(RESTORING + into)
            try:
                if plain is None:
                    await self.verify(backup)
                prepare = partial(_prepare, backup.file, ready, path.parent, plain=plain, expected=backup.sha256)
                facts = await _in_thread(prepare)
                if admit is not None:
                    await admit(await _in_thread(lambda _: _enforced(ready / DATABASE_FILE)))
                before = await self._save(into, "replaced")
                async with self._stores.exclusive(into) as closed:
                    before = before or await self._last_backup(into, closed, "replaced")
                    aside = await _run(partial(self._directory.swap, into, ready, self._now_us()), abandon=False)
            except MnemonError:
                with trio.CancelScope(shield=True):
                    await _run(partial(shutil.rmtree, ready, ignore_errors=True), abandon=False)
                raise
            before, aside = await self._kept(into, "replaced", before, aside, path.parent)
        return Restored(into, path, backup, facts.memories, before, aside)

    async def _kept(
        self, name: str, kind: Kind, before: Backup | None, aside: Path | None, heir: Path | None = None
    ) -> tuple[Backup | None, Path | None]:
        """Back up what was moved aside, unless `before` has it, and delete it if there is a backup or nothing to keep;
        `heir`: the directory that gets the copies beside it. Return the backup, and the place of what was neither
        backed up nor deleted."""
        if aside is None:
            return before, None
        if before is None:
            before = await self._backup_of_aside(name, aside, kind)
        if before is None and holds_store(aside):
            return None, aside
        if heir is not None:
            await _run(partial(_take_over, aside, heir), abandon=False)
        await _run(partial(self._directory.drop_aside, aside), abandon=False)
        return before, None

    async def _save(self, name: str, kind: Kind) -> Backup | None:
        """Back up an open store whose file is not there any more; None for any other. Raises MnemonError."""
        store = self._stores.warm(name)
        if store is None or store.lost is None:
            return None
        return (await self._add_of(name, store.path, kind, self._now_us())).backup

    async def _last_backup(self, name: str, closed: Closed, kind: Kind) -> Backup | None:
        """Back up a store that was in use and in order until now; None for any other, which is not opened."""
        if not closed.was_sound or not closed.path.is_file():
            return None

        def add(pause: Pause) -> Backup | None:
            try:
                return self._directory.add(name, closed.path, kind, self._now_us(), pause)[0]
            except (SqliteError, MnemonError) as error:
                if isinstance(error, MnemonError) or is_damage(error):
                    return None  # it is kept aside then
                raise

        return await _in_thread(add)

    async def _backup_of_aside(self, name: str, aside: Path, kind: Kind) -> Backup | None:
        """Back up a store that was put aside, from a copy of its files; None if it cannot be read."""
        if not (aside / DATABASE_FILE).is_file():
            return None
        try:
            add = self._directory.add_of_files
            made = await _in_thread(lambda pause: add(name, aside / DATABASE_FILE, kind, self._now_us(), pause))
        except MnemonError:
            return None
        return made

    def _lock(self, name: str) -> trio.Lock:
        return self._locks.setdefault(name, trio.Lock())


def remove_leftovers(data_dir: Path) -> None:
    """Delete the leftovers of a process that ended while it copied, removed or restored a store, and finish a restore
    that had put the old store aside already (blocking)."""
    stores = data_dir / "data"
    for left in (*stores.glob(f"{REMOVED}*"), *stores.glob(f"{COPYING}*")):
        shutil.rmtree(left, ignore_errors=True)
    for ready in stores.glob(f"{RESTORING}*"):
        place = ready.with_name(ready.name.removeprefix(RESTORING))
        if os.path.lexists(place) or not (ready / DATABASE_FILE).is_file():
            shutil.rmtree(ready, ignore_errors=True)
        else:
            os.rename(ready, place)
            flush_directory(stores)
    for draft in drafts(data_dir):
        remove_draft(draft)


def drafts(data_dir: Path) -> list[Path]:
    """Return what an interrupted process left of copies of stores: files `.NAME.part`, directories `.copying-NAME`.
    While nothing is being copied, none of them is in use."""
    found = [
        path
        for pattern in ("data/*/.*", f"{DIRECTORY}/*/.*")
        for path in data_dir.glob(pattern)
        if path.name.endswith(DRAFT_ENDINGS)
    ]
    found += data_dir.glob(f"data/*/{DATABASE_FILE}.restored")
    found += data_dir.glob(f"data/{COPYING}*")
    return sorted(found)


DRAFT_ENDINGS: Final = (".part", ".part-journal", ".part-wal", ".part-shm", ".work")
"""Endings of the names of copies that are not complete."""


def remove_draft(path: Path) -> None:
    """Remove a file or a directory, if possible (blocking)."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def holds_store(directory: Path) -> bool:
    """Return True if a directory has a file of a store that may hold memories."""
    kept = (*STORE_FILES, LEFT_OUT_FILE)
    return any(os.path.lexists(directory / name) for name in kept) or any(directory.glob(f"{DATABASE_FILE}.bak*"))


LEFT_OUT_FILE: Final = "left-out.jsonl"
"""Beside a salvaged store: rows that were read and could not be kept, a JSON object a line, 0600."""


Enforced = frozenset[tuple[str, str, str, str]]
"""(id, trigger, ask or deny, text) of the rules of a store that are enforced."""


def _enforced(path: Path) -> Enforced:
    connection = Connection(path, read_only=True, frozen=True)
    try:
        return enforced_triggers(connection)
    finally:
        connection.close()


def _prepare(
    source: Path, ready: Path, old: Path, pause: Pause, plain: IO[bytes] | None = None, expected: str | None = None
) -> Facts:
    """Make a directory for a store next to the old one, with the content of a database, or of the bytes of one that
    have the `expected` SHA-256, and the settings of the store; return the facts of the content.

    Raises MnemonError, SqliteError, OSError.
    """
    make_directory(ready.parent)
    shutil.rmtree(ready, ignore_errors=True)
    make_directory(ready)
    for name in OWN_FILES:
        if (old / name).is_file():
            files.replace_file(ready / name, (old / name).read_bytes())
    if plain is None:
        return verified_copy.make(source, ready / DATABASE_FILE, pause)
    return verified_copy.take(plain, ready / DATABASE_FILE, pause, expected)


OWN_FILES: Final = ("config.toml",)
"""Files in the directory of a store that are not the store's, and stay when it is replaced."""


def _take_over(aside: Path, place: Path) -> None:
    """Move the copies beside the old store beside the new one."""
    for path in (*aside.glob(f"{DATABASE_FILE}.bak*"), *aside.glob(LEFT_OUT_FILE)):
        os.replace(path, place / path.name)
    flush_directory(place)


def _delete(directory: Path) -> None:
    """Delete a store: first its name, then file by file."""
    gone = directory.with_name(REMOVED + directory.name)
    shutil.rmtree(gone, ignore_errors=True)
    os.rename(directory, gone)
    flush_directory(directory.parent)
    shutil.rmtree(gone, ignore_errors=True)


async def _in_thread(work: Callable[[Pause], T]) -> T:
    """Run work that may be abandoned: when the caller is cancelled it ends at its next step, without being waited for.

    Raises MnemonError for errors of the disk or the database.
    """
    waited_for = True

    def pause() -> None:
        if not waited_for:
            raise _Abandoned

    try:
        return await _run(partial(work, pause), abandon=True)
    finally:
        waited_for = False


async def _run(work: Callable[[], T], *, abandon: bool) -> T:
    """Run work in a thread; without `abandon` it is done, or has failed, when this returns, cancelled or not."""
    try:
        return await trio.to_thread.run_sync(work, abandon_on_cancel=abandon)
    except (SqliteError, OSError) as error:
        hint = health.DAMAGE_HINT if is_damage(error) else "look at space and permissions, then repeat"
        raise rejected(
            BUSY if isinstance(error, BusyError) else STORAGE,
            f"{reason(error)}; nothing was changed",
            hint,
        ) from error
