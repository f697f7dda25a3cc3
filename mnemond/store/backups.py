"""Backups: verified copies of stores in `backups/STORE/` of the data directory, under names made here.

No path ever comes from a caller: a backup is found by the name it was given. A note of its facts lies next to each; a
backup without one can still be restored.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar, get_args

import msgspec
import trio

from mnemond.config.regular_files import read_regular
from mnemond.errors import AMBIGUOUS, BUSY, NOT_FOUND, STORAGE, MnemonError, rejected
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
_SUFFIX: Final = ".db"
DAMAGED: Final = "damaged"
"""Directory of the data directory with stores that could not be read when they were replaced or removed."""

REMOVED: Final = ".removed-"
"""Prefix of a store's directory that is being deleted; it is no valid name of a store."""

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
        self, store: str, source: Path | Connection, kind: Kind, now_us: int, pause: Pause = no_pause
    ) -> tuple[Backup, list[str]]:
        """Copy the database of a store, given by its file or an open connection, then delete the oldest of this kind
        beyond `keep`; return the backup and the names of those deleted.

        Raises MnemonError, SqliteError and OSError; then there is no new backup and none is deleted.
        """
        folder = self.directory(store)
        files.make_directory(self._root)
        files.make_directory(folder)
        while (path := folder / _file_name(now_us, kind)).exists():
            now_us += 1
        if isinstance(source, Connection):
            facts = verified_copy.make_of_open(source, path, pause)
        else:
            facts = verified_copy.make(source, path, pause)
        note = _Note(format_us(now_us), facts)
        files.replace_file(_note_of(path), msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        made = Backup(path.stem, store, kind, note.created_at, path, facts.bytes, facts)
        gone = [each for each in self.of(store) if each.kind == kind][self._keep :]
        for each in gone:
            self.drop(each)
        return made, [each.name for each in gone]

    def add_of_files(self, store: str, source: Path, kind: Kind, now_us: int, pause: Pause = no_pause) -> Backup:
        """Copy a database that is not in use, and its log, to a place where they may be opened, and add that as `add`
        does: nothing is opened beside `source`. Raises MnemonError, SqliteError and OSError."""
        files.make_directory(self._root)
        files.make_directory(self.directory(store))
        work = self.directory(store) / f".{kind}.work"
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

    def no_files(self, store: str | None) -> list[Path]:
        """Return what has the name of a backup, of one store or of all, and is no file: a directory, a named pipe, a
        link to nothing. No backup is read from it."""
        folders = [self.directory(store)] if store is not None else self._root.glob("*")
        places = (path for folder in folders if is_valid_name(folder.name) for path in folder.glob(f"*{_SUFFIX}"))
        return sorted(path for path in places if _NAME.fullmatch(path.stem) and not path.is_file())

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
    return f"{_stamp(now_us)}-{kind}{_SUFFIX}"


def _stamp(now_us: int) -> str:
    return format_us(now_us).replace("-", "").replace(":", "")


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
        facts = msgspec.json.decode(read_regular(_note_of(path), MAX_NOTE), type=_Note).facts
    except (OSError, msgspec.MsgspecError):
        facts = None
    return Backup(path.stem, store, kind, created_at, path, path.stat().st_size, facts)


def examine(backup: Backup) -> str | None:
    """Return what is wrong with a backup or its note, None if nothing is; every page and row is read (blocking)."""
    if backup.facts is None:
        return wrong_note(backup, None)
    try:
        facts = verified_copy.verify(backup.path, no_pause, backup.facts.sha256)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    except MnemonError as error:
        return error.message.removeprefix(f"{backup.path} ")
    if facts.unreadable:
        return f"rows that cannot be read: {facts.unreadable:,} ({', '.join(facts.unreadable_rows)})"
    return wrong_note(backup, facts)


def wrong_note(backup: Backup, facts: Facts | None) -> str | None:
    """Return what is wrong with the note of a backup that holds `facts`, None if nothing is."""
    if backup.facts is None:
        why = "is not readable" if _note_of(backup.path).exists() else "is missing"
        return f"its note {_note_of(backup.path).name} {why}; nothing says what it should hold"
    if facts != backup.facts:
        return f"its note {_note_of(backup.path).name} says something else than what it holds"
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
        f"{DIRECTORY}/*/*{_SUFFIX}", f"data/*/{DATABASE_FILE}.bak*", f"data/*/{LEFT_OUT_FILE}", f"{DAMAGED}/*/*/*",
        DATABASE_FILE, f"{DATABASE_FILE}-wal",
    )  # fmt: skip
    for pattern in patterns:
        yield from (each for each in root.glob(pattern) if each.is_file())


def _incomplete(root: Path) -> Iterator[Path]:
    for draft in drafts(root):
        yield from (each for each in (draft, *draft.rglob("*")) if each.is_file())


def _store_holds(path: Path, ids: Collection[str]) -> bool:
    """True if another store, which may be open, has one of these memories, or its history has."""
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
"""


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

    async def back_up(self, name: str) -> NewBackup:
        """Copy the present state of a store; reads and writes go on. Raises MnemonError."""
        path = self._stores.find(name)
        async with self._lock(name):
            return await self._add_of(name, path, "asked", self._now_us())

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

    async def _add_of(self, name: str, path: Path, kind: Kind, now_us: int) -> NewBackup:
        """Copy a store that may be open. One whose file is not there any more is copied through the connection that the
        daemon has; its queries and writes wait as long."""
        store = self._stores.warm(name)
        if store is None or store.lost is None:
            return await self._add(name, path, kind, now_us)

        def add(connection: Connection) -> NewBackup | OSError:
            try:
                return NewBackup(*self._directory.add(name, connection, kind, now_us))
            except OSError as error:
                return error

        made = await store.read(add)
        return await _in_thread(lambda _: _made(made))

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

    async def enforced(self, backup: Backup) -> frozenset[tuple[str, str, str, str]]:
        """Return (id, trigger, ask or deny, text) of the rules of a backup that were enforced.

        Raises MnemonError(STORAGE) if it cannot be read.
        """

        def read(_pause: Pause) -> frozenset[tuple[str, str, str, str]]:
            connection = Connection(backup.path, read_only=True, frozen=True)
            try:
                return enforced_triggers(connection)
            finally:
                connection.close()

        return await _in_thread(read)

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

    async def restore(self, backup: Backup, into: str) -> Restored:
        """Replace a store by a backup. Its previous content becomes a backup; a store that cannot be read is not
        opened, and is kept aside as it is.

        Raises MnemonError; the store is unchanged then.
        """
        if not self._stores.exists(check_name(into)):
            check_new_name(into)
        async with self._lock(into):
            facts = await self.verify(backup)
            path = self._stores.path(into)
            ready = path.parent.with_name(RESTORING + into)
            await _in_thread(lambda pause: _prepare(backup.path, ready, path.parent, pause))
            before = await self._save(into, "replaced")
            async with self._stores.exclusive(into) as closed:
                before = before or await self._last_backup(into, closed, "replaced")
                aside = await _run(partial(self._directory.swap, into, ready, self._now_us()), abandon=False)
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

    async def _add(self, name: str, path: Path, kind: Kind, now_us: int) -> NewBackup:
        return NewBackup(*await _in_thread(lambda pause: self._directory.add(name, path, kind, now_us, pause)))

    def _lock(self, name: str) -> trio.Lock:
        return self._locks.setdefault(name, trio.Lock())


def remove_leftovers(data_dir: Path) -> None:
    """Delete the leftovers of a process that ended while it copied, removed or restored a store, and finish a restore
    that had put the old store aside already (blocking)."""
    stores = data_dir / "data"
    for left in stores.glob(f"{REMOVED}*"):
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
    """Return what an interrupted process left of copies of stores: files `.NAME.part`, directories `.NAME.work`. While
    nothing is being copied, none of them is in use."""
    found = [
        path
        for pattern in ("data/*/.*", f"{DIRECTORY}/*/.*")
        for path in data_dir.glob(pattern)
        if path.name.endswith(DRAFT_ENDINGS)
    ]
    found += data_dir.glob(f"data/*/{DATABASE_FILE}.restored")
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


def _prepare(source: Path, ready: Path, old: Path, pause: Pause) -> None:
    """Make a directory for a store next to the old one, with the content of a backup and the settings of the store."""
    make_directory(ready.parent)
    shutil.rmtree(ready, ignore_errors=True)
    make_directory(ready)
    for name in OWN_FILES:
        if (old / name).is_file():
            files.replace_file(ready / name, (old / name).read_bytes())
    verified_copy.make(source, ready / DATABASE_FILE, pause)


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
