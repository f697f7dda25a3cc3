"""Backups, removing and restoring of stores while the daemon serves: nothing that could be kept is lost by mistake."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import trio

from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.store import known, names, verified_copy
from mnemond.store.backups import Backup, Kind, Shelf
from mnemond.store.connection import BusyError, SqliteError
from mnemond.store.durable import flush_directory, make_directory
from mnemond.store.registry import StoreRegistry
from mnemond.store.store import Store
from mnemond.store.verified_copy import Facts, Pause

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

    def __init__(self, stores: StoreRegistry, shelf: Shelf, now_us: Callable[[], int]) -> None:
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
        names.check(into)
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
    known.forget(path)
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
