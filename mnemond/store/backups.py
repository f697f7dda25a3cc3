"""Backups: verified copies of stores in `backups/STORE/` of the data directory, under names made here.

No path ever comes from a caller: a backup is found by the name it was given. A note of its facts lies next to each; a
backup without one can still be restored.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

import msgspec
import trio

from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, STORAGE, rejected
from mnemond.model.memory import format_us
from mnemond.store import files, health, verified_copy
from mnemond.store.connection import BusyError, SqliteError
from mnemond.store.files import flush_directory, make_directory
from mnemond.store.registry import StoreRegistry, check_name, check_new_name, is_valid_name
from mnemond.store.store import Store
from mnemond.store.verified_copy import Facts, Pause, no_pause

Kind = Literal["asked", "scheduled", "replaced", "removed"]
"""Why a backup was made: on request, on schedule, or before the store was replaced or removed."""

DIRECTORY: Final = "backups"
_SUFFIX: Final = ".db"
REMOVED: Final = ".removed-"
"""Prefix of a store's directory that is being deleted; it is no valid name of a store."""

PIECE_BYTES: Final = 1 << 16
"""Bytes searched at once: a millisecond."""

MAX_SEARCHED_IDS: Final = 4
"""Ids up to which searching for each takes less time than matching the shape of ids."""

_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME: Final = re.compile(rf"(\d{{8}}T\d{{6}}\.\d{{6}}Z)-({'|'.join(get_args(Kind))})")

T = TypeVar("T")


class _Note(msgspec.Struct, frozen=True):
    created_at: str
    facts: Facts


class Backup(msgspec.Struct, frozen=True):
    """One backup. `facts` is None when its note is lost; `bytes` is the present size of the file."""

    name: str
    store: str
    kind: Kind
    created_at: str
    path: Path
    bytes: int
    facts: Facts | None


class BackupDirectory:
    """The backups of one data directory. Every method is blocking; one at a time for each store."""

    def __init__(self, data_dir: Path, keep: int) -> None:
        """`keep`: backups of a store, of each kind."""
        self._root = data_dir / DIRECTORY
        self._keep = keep

    def directory(self, store: str) -> Path:
        return self._root / check_name(store)

    def add(
        self, store: str, source: Path, kind: Kind, now_us: int, pause: Pause = no_pause
    ) -> tuple[Backup, list[str]]:
        """Copy the database of a store, then delete the oldest of this kind beyond `keep`; return the backup and the
        names of those deleted.

        Raises MnemonError, SqliteError and OSError; then there is no new backup and none is deleted.
        """
        folder = self.directory(store)
        files.make_directory(self._root)
        files.make_directory(folder)
        while (path := folder / _file_name(now_us, kind)).exists():
            now_us += 1
        facts = verified_copy.make(source, path, pause)
        note = _Note(format_us(now_us), facts)
        files.replace_file(_note_of(path), msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        made = Backup(path.stem, store, kind, note.created_at, path, facts.bytes, facts)
        gone = [each for each in self.of(store) if each.kind == kind][self._keep :]
        for each in gone:
            self.drop(each)
        return made, [each.name for each in gone]

    def drop(self, backup: Backup) -> None:
        backup.path.unlink(missing_ok=True)
        _note_of(backup.path).unlink(missing_ok=True)

    def all(self) -> list[Backup]:
        folders = self._root.iterdir() if self._root.is_dir() else ()
        found = [each for folder in folders if is_valid_name(folder.name) for each in self.of(folder.name)]
        return sorted(found, key=lambda each: (each.name, each.store), reverse=True)

    def of(self, store: str) -> list[Backup]:
        folder = self.directory(store)
        if not folder.is_dir():
            return []
        paths = sorted((path for path in folder.iterdir() if path.suffix == _SUFFIX and path.is_file()), reverse=True)
        return [backup for path in paths if (backup := _read(path, store)) is not None]

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


def _file_name(now_us: int, kind: Kind) -> str:
    stamp = format_us(now_us).replace("-", "").replace(":", "")
    return f"{stamp}-{kind}{_SUFFIX}"


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _read(path: Path, store: str) -> Backup | None:
    """The backup of a file; None if its name was not made here."""
    parts = _NAME.fullmatch(path.stem)
    if parts is None:
        return None
    stamp = parts[1]
    created_at = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:]}"
    kind = msgspec.convert(parts[2], Kind)
    try:
        facts = msgspec.json.decode(_note_of(path).read_bytes(), type=_Note).facts
    except (OSError, msgspec.MsgspecError):
        facts = None
    return Backup(path.stem, store, kind, created_at, path, path.stat().st_size, facts)


# Copies that still contain purged memories.


def copies_holding(path: Path, ids: Collection[str]) -> list[str]:
    """Return the names of the copies of the database at `path` that contain one of these ids, sorted (blocking): those
    next to it (`*.bak*`), and its backups in DATA_DIR/backups/STORE, where `path` is DATA_DIR/data/STORE/mnemon.db.

    A copy that cannot be read is included: it may contain them.
    """
    wanted = frozenset(each.encode() for each in ids)
    store = path.parent
    beside = [copy.name for copy in store.glob(f"{path.name}.bak*") if copy.is_file() and _holds(copy, wanted)]
    folder = store.parent.parent / DIRECTORY / store.name
    backups = [copy for copy in folder.glob(f"*{_SUFFIX}") if copy.is_file() and _holds(copy, wanted)]
    return sorted(beside) + sorted(f"{DIRECTORY}/{store.name}/{copy.name}" for copy in backups)


def _holds(copy: Path, wanted: frozenset[bytes]) -> bool:
    """Reads in pieces, as searching one holds up all other threads. Many ids are found by matching the shape of ids, as
    each would be searched for in every piece."""
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
    """The store that was restored, from which backup, and the backup of its previous content."""

    store: str
    path: Path
    backup: Backup
    memories: int
    before: Backup | None


class _Abandoned(Exception):  # noqa: N818 - no error
    """Ends the work of a thread whose caller was cancelled."""


class BackupService:
    """For the event loop's thread; the work is done in others."""

    def __init__(self, stores: StoreRegistry, directory: BackupDirectory, now_us: Callable[[], int]) -> None:
        self._stores = stores
        self._directory = directory
        self._now_us = now_us
        self._locks: dict[str, trio.Lock] = {}

    async def back_up(self, name: str) -> NewBackup:
        """Copy the present state of a store; reads and writes go on. Raises MnemonError."""
        path = self._stores.find(name)
        async with self._lock(name):
            return await self._add(name, path, "asked", self._now_us())

    async def scheduled(self, store: Store, now_us: int) -> str:
        """Copy an open store on schedule; return the name of the backup. Raises MnemonError."""
        async with self._lock(store.name):
            made = await self._add(store.name, store.path, "scheduled", now_us)
        return made.backup.name

    async def list(self, store: str | None) -> list[Backup]:
        """Return the backups of one store, or of all, newest first. Raises MnemonError for an invalid name."""
        return await _in_thread(lambda _: self._directory.all() if store is None else self._directory.of(store))

    async def find(self, name: str, store: str | None) -> Backup:
        """Return one backup. Raises MnemonError: NOT_FOUND, AMBIGUOUS."""
        return await _in_thread(lambda _: self._directory.find(name, store))

    async def verify(self, backup: Backup) -> Facts:
        """Return the facts of a backup; every page is read. Raises MnemonError(STORAGE) if it is damaged."""
        expected = None if backup.facts is None else backup.facts.sha256
        return await _in_thread(lambda pause: verified_copy.verify(backup.path, pause, expected))

    async def remove(self, name: str, *, purge: bool) -> Backup | None:
        """Delete a store after a last backup; with `purge` without one, and its earlier backups as well.

        Raises MnemonError; the store is unchanged then.
        """
        self._stores.find(name)
        self._stores.refuse_active(name)
        async with self._lock(name), self._stores.exclusive(name) as path:
            self._stores.refuse_active(name)
            last = None
            if not purge:
                last = (await self._add(name, path, "removed", self._now_us())).backup
            await _run(partial(_delete, path.parent), abandon=False)
            if purge:
                delete = partial(shutil.rmtree, self._directory.directory(name), ignore_errors=True)
                await _run(delete, abandon=False)
        return last

    async def restore(self, backup: Backup, into: str) -> Restored:
        """Replace the content of a store by a backup. Its previous content becomes a backup.

        Raises MnemonError; the store is unchanged then.
        """
        if not self._stores.exists(into):
            check_new_name(into)
        async with self._lock(into), self._stores.exclusive(into) as path:
            facts = await self.verify(backup)
            before = None
            if path.exists():
                before = (await self._add(into, path, "replaced", self._now_us())).backup
            ready = path.with_name(f"{path.name}.restored")
            await _in_thread(lambda pause: _prepare(backup.path, ready, pause))
            await _run(partial(_put_in_place, ready, path), abandon=False)
        return Restored(into, path, backup, facts.memories, before)

    async def _add(self, name: str, path: Path, kind: Kind, now_us: int) -> NewBackup:
        return NewBackup(*await _in_thread(lambda pause: self._directory.add(name, path, kind, now_us, pause)))

    def _lock(self, name: str) -> trio.Lock:
        return self._locks.setdefault(name, trio.Lock())


def remove_leftovers(data_dir: Path) -> None:
    """Delete the leftovers of a process that ended while it removed a store (blocking)."""
    for left in (data_dir / "data").glob(f"{REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prepare(source: Path, ready: Path, pause: Pause) -> None:
    make_directory(ready.parent.parent)
    make_directory(ready.parent)
    verified_copy.make(source, ready, pause)


def _put_in_place(ready: Path, path: Path) -> None:
    """Replace the database in one step. Its log is empty, and would be read into the new database."""
    for part in ("-wal", "-shm"):
        path.with_name(path.name + part).unlink(missing_ok=True)
    health.remove_notes(path)
    os.replace(ready, path)
    flush_directory(path.parent)


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
        raise rejected(
            BUSY if isinstance(error, BusyError) else STORAGE,
            f"the disk or the database refused: {error}",
            "nothing was changed: look at space and permissions, then repeat",
        ) from error
