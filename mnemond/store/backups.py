"""Backups: verified copies of stores in `backups/STORE/` of the data directory, under names made here.

No path ever comes from a caller: a backup is asked for by the name it was given. Beside each lies a note of what it
holds; a backup without one can still be restored, it only says less about itself.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

import msgspec
import trio

from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, STORAGE, MnemonError
from mnemond.model.memory import format_us
from mnemond.store import files, health, registry, verified_copy
from mnemond.store.connection import BusyError, SqliteError
from mnemond.store.files import flush_directory, make_directory
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.store.verified_copy import Facts, Pause, go_on

Kind = Literal["asked", "scheduled", "replaced", "removed"]
"""Why a backup was made: somebody asked for it, it was time, or the store was about to be replaced or removed."""

DIRECTORY: Final = "backups"
_SUFFIX: Final = ".db"
PIECE_BYTES: Final = 1 << 16
"""What is looked through at once: a millisecond."""

FEW_IDS: Final = 4
"""Ids up to which looking for each takes less time than for all that have their shape."""

_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME: Final = re.compile(rf"(\d{{8}}T\d{{6}}\.\d{{6}}Z)-({'|'.join(get_args(Kind))})")


class _Note(msgspec.Struct, frozen=True):
    """What stands beside a backup."""

    created_at: str
    facts: Facts


class Backup(msgspec.Struct, frozen=True):
    """One backup. `facts` is None when its note is lost; `bytes` is what the file has now."""

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
        """Where the backups of a store lie."""
        return self._root / registry.check(store)

    def add(self, store: str, source: Path, kind: Kind, now_us: int, pause: Pause = go_on) -> tuple[Backup, list[str]]:
        """Copy the database of a store, then let go of the oldest of this kind beyond `keep`; their names.

        Raises MnemonError, SqliteError and OSError, after which there is no new backup and none is gone.
        """
        folder = self.directory(store)
        files.make_directory(self._root)
        files.make_directory(folder)
        while (path := folder / _file_name(now_us, kind)).exists():
            now_us += 1
        facts = verified_copy.make(source, path, pause)
        note = _Note(format_us(now_us), facts)
        files.write(_note_of(path), msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        made = Backup(path.stem, store, kind, note.created_at, path, facts.bytes, facts)
        gone = [each for each in self.of(store) if each.kind == kind][self._keep :]
        for each in gone:
            self.drop(each)
        return made, [each.name for each in gone]

    def drop(self, backup: Backup) -> None:
        """Delete one. Raises OSError."""
        backup.path.unlink(missing_ok=True)
        _note_of(backup.path).unlink(missing_ok=True)

    def all(self) -> list[Backup]:
        """Those of every store, newest first."""
        folders = self._root.iterdir() if self._root.is_dir() else ()
        found = [each for folder in folders if registry.is_valid(folder.name) for each in self.of(folder.name)]
        return sorted(found, key=lambda each: (each.name, each.store), reverse=True)

    def of(self, store: str) -> list[Backup]:
        """Those of one store, newest first."""
        folder = self.directory(store)
        if not folder.is_dir():
            return []
        paths = sorted((path for path in folder.iterdir() if path.suffix == _SUFFIX and path.is_file()), reverse=True)
        return [backup for path in paths if (backup := _read(path, store)) is not None]

    def find(self, name: str, store: str | None) -> Backup:
        """The backup of that name, or of which it is the beginning; of one store if that is given.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS.
        """
        known = self.all() if store is None else self.of(store)
        found = [each for each in known if each.name == name] or [each for each in known if each.name.startswith(name)]
        of = "" if store is None else f' of the store "{store}"'
        if not found:
            raise MnemonError(
                NOT_FOUND, f"there is no backup {name[:60]!a}{of}", hint="`mnemonctl backup list` shows them",
                outcome="rejected",
            )  # fmt: skip
        if len(found) > 1:
            which = ", ".join(f"{each.name} ({each.store})" for each in found[:4])
            raise MnemonError(
                AMBIGUOUS, f"{name[:60]!a} means {len(found)} backups: {which}",
                hint="give more of the name, or the store with --store", outcome="rejected",
            )  # fmt: skip
        return found[0]


def holding(path: Path, ids: Collection[str]) -> list[str]:
    """Names of the copies of the database at `path` in which one of these ids can be read, sorted (blocking): those
    beside it, and its backups.

    A copy that cannot be read counts as holding it: nobody can say that it does not.
    """
    beside = (copy for copy in path.parent.glob(f"{path.name}.bak*") if copy.is_file())
    wanted = frozenset(each.encode() for each in ids)
    found = [copy.name for copy in beside if _holds(copy, wanted)]
    return sorted(found) + sorted(
        f"{DIRECTORY}/{path.parent.name}/{copy.name}" for copy in _backups_of(path) if _holds(copy, wanted)
    )


def _backups_of(path: Path) -> Iterator[Path]:
    """Files of the backups of the store whose database is at `path`: DATA_DIR/data/STORE/mnemon.db."""
    folder = path.parent.parent.parent / DIRECTORY / path.parent.name
    return (copy for copy in folder.glob(f"*{_SUFFIX}") if copy.is_file())


def _file_name(now_us: int, kind: Kind) -> str:
    stamp = format_us(now_us).replace("-", "").replace(":", "")
    return f"{stamp}-{kind}{_SUFFIX}"


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _read(path: Path, store: str) -> Backup | None:
    """What is known of a file; None for one whose name was not made here."""
    parts = _NAME.fullmatch(path.stem)
    if parts is None:
        return None
    stamp = parts[1]
    made = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:]}"
    kind = msgspec.convert(parts[2], Kind)
    try:
        facts = msgspec.json.decode(_note_of(path).read_bytes(), type=_Note).facts
    except (OSError, msgspec.MsgspecError):
        facts = None
    return Backup(path.stem, store, kind, made, path, path.stat().st_size, facts)


def _holds(copy: Path, wanted: frozenset[bytes]) -> bool:
    """By pieces, since nobody else runs while one is looked through. Of many ids, those that look like ours are found
    by their shape, or each would be looked for in every piece."""
    shaped = frozenset(filter(_ID.fullmatch, wanted)) if len(wanted) > FEW_IDS else frozenset()
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


# Backups, removing and restoring of stores while the daemon serves: nothing that could be kept is lost by mistake.


T = TypeVar("T")

REMOVED: Final = ".removed-"
"""Before the name of a store's directory that is being deleted; no store can be called that."""


class Made(msgspec.Struct, frozen=True):
    """A new backup, and the names of those whose place it took."""

    backup: Backup
    dropped: list[str]


class Restored(msgspec.Struct, frozen=True):
    """The store that was restored, from which backup, and the backup of what was there before."""

    store: str
    path: Path
    backup: Backup
    memories: int
    before: Backup | None


class _Abandoned(Exception):  # noqa: N818 - not an error: nobody waits any more
    """Ends the work of a thread whose caller was cancelled."""


class Safekeeping:
    """For the event loop's thread; the work is done in others."""

    def __init__(self, stores: StoreRegistry, shelf: BackupDirectory, now_us: Callable[[], int]) -> None:
        self._stores = stores
        self._shelf = shelf
        self._now_us = now_us
        self._one_at_a_time: dict[str, trio.Lock] = {}

    async def back_up(self, name: str) -> Made:
        """Copy a store that is open, as it is now; reads and writes go on. Raises MnemonError."""
        path = self._stores.find(name)
        async with self._turn(name):
            return await self._add(name, path, "asked", self._now_us())

    async def scheduled(self, store: Store, now_us: int) -> str:
        """Copy an open store because it is time; says in a line what was made. Raises MnemonError."""
        async with self._turn(store.name):
            made = await self._add(store.name, store.path, "scheduled", now_us)
        return made.backup.name

    async def list(self, store: str | None) -> list[Backup]:
        """Backups of one store, or of all, newest first. Raises MnemonError for a name that is none."""
        return await _in_thread(lambda _: self._shelf.all() if store is None else self._shelf.of(store))

    async def find(self, name: str, store: str | None) -> Backup:
        """One backup. Raises MnemonError: NOT_FOUND, AMBIGUOUS."""
        return await _in_thread(lambda _: self._shelf.find(name, store))

    async def verify(self, backup: Backup) -> Facts:
        """What a backup holds; every page is read. Raises MnemonError(STORAGE) for one that is damaged."""
        expected = None if backup.facts is None else backup.facts.sha256
        return await _in_thread(lambda pause: verified_copy.verify(backup.path, pause, expected))

    async def remove(self, name: str, *, purge: bool) -> Backup | None:
        """Delete a store, after a last backup; with `purge` without one, and its earlier ones go as well.

        Raises MnemonError; the store is as it was then.
        """
        self._stores.find(name)
        self._stores.refuse_active(name)
        async with self._turn(name), self._stores.exclusive(name) as path:
            self._stores.refuse_active(name)
            last = None
            if not purge:
                last = (await self._add(name, path, "removed", self._now_us())).backup
            await _settled(partial(_delete, path.parent))
            if purge:
                await _settled(partial(shutil.rmtree, self._shelf.directory(name), ignore_errors=True))
        return last

    async def restore(self, backup: Backup, into: str) -> Restored:
        """Make a store what a backup holds. What the store was before is a backup afterwards.

        Raises MnemonError; the store is as it was then.
        """
        registry.check(into)
        async with self._turn(into), self._stores.exclusive(into) as path:
            facts = await self.verify(backup)
            before = None
            if path.exists():
                before = (await self._add(into, path, "replaced", self._now_us())).backup
            ready = path.with_name(f"{path.name}.restored")
            await _in_thread(lambda pause: _prepare(backup.path, ready, pause))
            await _settled(partial(_put_in_place, ready, path))
        return Restored(into, path, backup, facts.memories, before)

    async def _add(self, name: str, path: Path, kind: Kind, now_us: int) -> Made:
        return Made(*await _in_thread(lambda pause: self._shelf.add(name, path, kind, now_us, pause)))

    def _turn(self, name: str) -> trio.Lock:
        return self._one_at_a_time.setdefault(name, trio.Lock())


def sweep(data_dir: Path) -> None:
    """Delete what a process that ended while it removed a store left behind (blocking)."""
    for left in (data_dir / "data").glob(f"{REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prepare(source: Path, ready: Path, pause: Pause) -> None:
    make_directory(ready.parent.parent)
    make_directory(ready.parent)
    verified_copy.make(source, ready, pause)


def _put_in_place(ready: Path, path: Path) -> None:
    """The one step by which the store becomes another. Its log is empty, and would be read into the new database."""
    for part in ("-wal", "-shm"):
        path.with_name(path.name + part).unlink(missing_ok=True)
    health.forget(path)
    os.replace(ready, path)
    flush_directory(path.parent)


def _delete(directory: Path) -> None:
    """Delete a store: at once as far as anybody can see, then file by file."""
    gone = directory.with_name(REMOVED + directory.name)
    shutil.rmtree(gone, ignore_errors=True)
    os.rename(directory, gone)
    flush_directory(directory.parent)
    shutil.rmtree(gone, ignore_errors=True)


async def _in_thread(work: Callable[[Pause], T]) -> T:
    """Work that nothing depends on yet: when the caller is cancelled it ends at its next step, and nobody waits for it.

    Raises MnemonError for what the disk or the database refuses.
    """
    waited_for = True

    def pause() -> None:
        if not waited_for:
            raise _Abandoned

    try:
        return await _told(partial(work, pause), abandon=True)
    finally:
        waited_for = False


async def _settled(work: Callable[[], T]) -> T:
    """A short step that is done or not done when this returns, cancelled or not. Raises MnemonError."""
    return await _told(work, abandon=False)


async def _told(work: Callable[[], T], *, abandon: bool) -> T:
    try:
        return await trio.to_thread.run_sync(work, abandon_on_cancel=abandon)
    except (SqliteError, OSError) as error:
        raise MnemonError(
            BUSY if isinstance(error, BusyError) else STORAGE,
            f"the disk or the database refused: {error}",
            hint="nothing was changed: look at space and permissions, then repeat",
            outcome="rejected",
        ) from error
