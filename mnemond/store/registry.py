"""The stores of one data directory: their names and files, which of them is active, and which are open."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import trio

from mnemond.config.reading import VectorSettings
from mnemond.config.regular_files import NotAFileError, read_regular
from mnemond.errors import BUSY, DATA_DIR, INVALID_PARAMS, NOT_FOUND, STORAGE, FieldProblem, MnemonError, rejected
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import Visibility
from mnemond.store import files
from mnemond.store.checksums import is_damage, reason
from mnemond.store.connection import DATABASE_FILE, STORE_FILES, BusyError, SqliteError
from mnemond.store.database import ChooseEmbedder
from mnemond.store.engine import OnDefect
from mnemond.store.files import log_bytes, make_directory, replace_file
from mnemond.store.health import DAMAGE_HINT, FAULTS_FILE, HIGH_WATER_FILE, Ballast
from mnemond.store.shared_log import Cursor, seen_otherwise
from mnemond.store.store import EventLoop, Store, embedder_of_shared, open_store
from mnemond.text.secrets import kind_in_name

DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

MAX_ACTIVE_BYTES = 256
"""Bytes read of the file `active`. A name has at most 64 characters; the rest allows a byte-order mark, blank lines."""

DISCARD_S = 1.0
"""Seconds that a cancelled caller waits for an unused store to be closed again."""


def is_valid_name(name: str) -> bool:
    """Return True if a store may have this name, which becomes a directory."""
    return _NAME.fullmatch(name) is not None  # `match` with `$` would accept a trailing newline


def check_name(name: str) -> str:
    """Return the name. Raises MnemonError(INVALID_PARAMS)."""
    if not is_valid_name(name):
        message = (
            f"store is {name[:40]!a}; a store's name starts with a letter or digit and has at most 64 letters,"
            ' digits, "_" and "-"'
        )
        raise MnemonError(INVALID_PARAMS, message, problems=(FieldProblem("store", message),), outcome="rejected")
    return name


def check_new_name(name: str) -> str:
    """Return the name for a store to make; it becomes a directory, so a secret is refused. Raises MnemonError."""
    check_name(name)
    if (kind := kind_in_name(name)) is not None:
        message = f"the store's name looks like a secret ({kind}): give it another name"
        raise MnemonError(INVALID_PARAMS, message, problems=(FieldProblem("store", message),), outcome="rejected")
    return name


class ActiveName:
    """The file `active`: the name of the store used when none is given. Read again only when it changed; what is wrong
    with it is reported once."""

    def __init__(self, data_dir: Path, warn: Callable[[str], None]) -> None:
        self._path = data_dir / "active"
        self._warn = warn
        self._seen: tuple[int, int] | None = None
        self._name: str | None = None

    def resolve(self) -> tuple[str, str]:
        """Return (store name, origin): "active-file", or "default" when there is no file or it names no store.

        Raises MnemonError(DATA_DIR) if something else is in the place of the file: it may have named another store.
        """
        try:
            state = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._name = None, None
            return DEFAULT, "default"
        seen = (state.st_mtime_ns, state.st_size)
        if seen != self._seen:
            self._seen, self._name = seen, self._read()
        return (self._name, "active-file") if self._name else (DEFAULT, "default")

    def write(self, name: str) -> None:
        """Replace the file. Raises MnemonError for an invalid name, OSError."""
        replace_file(self._path, f"{check_name(name)}\n".encode())
        self._seen = None

    def _read(self) -> str | None:
        try:
            content = read_regular(self._path, MAX_ACTIVE_BYTES)
            name = content[:MAX_ACTIVE_BYTES].decode("utf-8-sig", "replace").strip()
        except NotAFileError as error:
            raise rejected(
                DATA_DIR,
                f"{self._path} cannot name the active store: {error.strerror}",
                "remove it, then: mnemonctl store set NAME; or name a store with --store",
            ) from error
        except OSError as error:
            self._warn(f"{self._path} cannot be read ({error.strerror}); the store {DEFAULT!r} is used")
            return None
        if is_valid_name(name):
            return name
        self._warn(f"{self._path} does not hold the name of a store; the store {DEFAULT!r} is used")
        return None


class CancellableOpen:
    """Opens a store in a thread and hands it to the waiting task, or closes it if that task was cancelled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_up = False
        self._opened: Store | None = None

    def run(self, open_it: Callable[[], Store]) -> Store:
        """In the thread: open the store, and close it if the task has given up."""
        store = open_it()
        with self._lock:
            self._opened = store
            unwanted = self._given_up
        if unwanted:
            store.discard()
        return store

    def give_up(self) -> Store | None:
        """In the cancelled task: return the store if it is open already; it must be discarded."""
        with self._lock:
            self._given_up = True
            return self._opened


class Closed(NamedTuple):
    """A store that is closed. `was_sound`: it was in use until now, nothing was wrong, and its log is empty."""

    path: Path
    was_sound: bool


class _Opening:
    def __init__(self) -> None:
        self.lock = trio.Lock()
        self.failures = 0
        self.failure: MnemonError | None = None


class _Kept(NamedTuple):
    """The index of a closed store, and the state of the file that it was made from."""

    memories: MemoryIndex
    state: tuple[int, ...]


MORE: Final = 4
"""Of so many stores that may be open, one more may be while all of them are in use."""

ROOM_S: Final = 20.0
"""Seconds that opening a store waits while as many as may be open are in use."""

ROOM_POLL_S: Final = 0.01
"""Nothing tells when a request is done with its store."""

KEPT_MEMORIES: Final = 100_000
"""Memories of closed stores that stay in memory, some 4 KB each, so that these are open again in milliseconds. The
others are read from their files: 100 to 200 ms for 1,000 memories."""


class StoreRegistry:
    """Opens a store on first use and keeps it warm, until others need its place. For the event loop's thread."""

    def __init__(
        self,
        data_dir: Path,
        *,
        choose_embedder: ChooseEmbedder,
        now_us: Callable[[], int],
        loop: EventLoop,
        on_defect: OnDefect,
        warn: Callable[[str], None],
        search: VectorSettings | None = None,
        environment: Mapping[str, str] | None = None,
        most: Callable[[], int] = lambda: sys.maxsize,
        read_only: bool = False,
    ) -> None:
        """`choose_embedder` is called in the thread that makes a store; `search`: how vectors are searched;
        `environment` has the connection strings of shared stores; `most` returns how many stores may be open;
        `read_only`: nothing is made or written, as no lock is held."""
        self._root = data_dir / "data"
        self._active = ActiveName(data_dir, warn)
        self._choose_embedder = choose_embedder
        self._environment = {} if environment is None else environment
        self._ballast = None if read_only else Ballast(data_dir)
        self._open = partial(
            open_store, choose_embedder=choose_embedder, now_us=now_us, loop=loop, on_defect=on_defect,
            search=search, ballast=self._ballast, environment=environment, read_only=read_only,
        )  # fmt: skip
        self._stores: dict[str, Store] = {}
        self._opening: dict[str, _Opening] = {}
        self._most = most
        self._entrance = trio.Lock()
        self._opened = trio.Event()
        self._moving = 0
        """Stores that are being opened or closed."""
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self.unused: Callable[[], Iterator[str]] = lambda: iter(())
        """Yields the names of open stores that are not in use, the one least recently used first."""
        self.on_closed: list[Callable[[str], None]] = []
        """Called with the name of a store that is about to be closed while the daemon runs on."""
        self.on_exclusive: list[Callable[[str], None]] = []
        """Called next, if the store may be another one when it is opened again."""

    def active(self) -> tuple[str, str]:
        """Return (name, origin) of the store used when none is named."""
        return self._active.resolve()

    def resolve(self, name: str | None) -> str:
        """Return the name of the store a request refers to. Raises MnemonError(INVALID_PARAMS) for an invalid name."""
        return check_name(name) if name is not None else self.active()[0]

    def refuse_active(self, name: str) -> None:
        """Raise MnemonError(INVALID_PARAMS) for the store that is used when none is named."""
        if self.active()[0] == name:
            raise rejected(
                INVALID_PARAMS,
                f'the store "{name}" is the active one',
                "make another one active first: mnemonctl store set NAME",
            )

    def _is_active(self, name: str) -> bool:
        with suppress(MnemonError):
            return self.active() == (name, "active-file")
        return False

    def activate(self, name: str) -> None:
        """Make another store the active one (blocking). Raises MnemonError: NOT_FOUND, STORAGE."""
        self.find(name)
        try:
            self._active.write(name)
        except OSError as error:
            raise rejected(
                STORAGE,
                f"the active store cannot be changed: {error}",
                "look at the file `active` in the data directory: space, owner, permissions",
            ) from error

    def path(self, name: str) -> Path:
        return self._root / check_name(name) / DATABASE_FILE

    def exists(self, name: str) -> bool:
        """Return True if a store has a file, or is open: its file may have been removed since."""
        return name in self._stores or self.path(name).is_file()

    def names(self) -> list[str]:
        entries = {entry.name for entry in self._root.iterdir()} if self._root.is_dir() else set()
        return sorted(name for name in entries | self._stores.keys() if is_valid_name(name) and self.exists(name))

    def open_stores(self) -> list[Store]:
        return list(self._stores.values())

    async def open(self, name: str) -> Store:
        """Return the store, opening it on first use. `default` is created then, others have to exist.

        Raises MnemonError(NOT_FOUND) for a store that does not exist, MnemonError(STORAGE) when it cannot be opened.
        """
        if (store := self._stores.get(name)) is not None:
            return store
        self.find(name)
        seen = self._opening[name].failures if name in self._opening else 0
        async with self._locked(name) as opening:
            if opening.failures > seen and opening.failure is not None:
                raise opening.failure  # of the attempt this call waited for: another would take as long, and fail
            try:
                self.find(name)  # it may have been removed meanwhile
                return await self._open_cold(name)
            except MnemonError as error:
                opening.failure, opening.failures = error, opening.failures + 1
                raise

    @asynccontextmanager
    async def _locked(self, name: str) -> AsyncIterator[_Opening]:
        """Hold the lock under which a store is opened and closed."""
        opening = self._opening.setdefault(name, _Opening())
        try:
            async with opening.lock:
                yield opening
        finally:
            if name not in self._stores and not opening.lock.locked():
                self._opening.pop(name, None)

    def find(self, name: str) -> Path:
        """Return the file of a store that exists, or is made on first use. Raises MnemonError(NOT_FOUND)."""
        if name != DEFAULT and not self.exists(name):
            if os.path.lexists(self.path(name).parent):
                raise rejected(
                    NOT_FOUND,
                    f'the store "{name}" has no database: {self.path(name)} is not there or not a file',
                    "`mnemonctl backup restore BACKUP` puts an earlier copy in its place (mnemonctl backup list);"
                    f" `mnemonctl store remove {name} --yes` removes what is left of it",
                )
            check_new_name(name)  # else the error would repeat the secret
            origin = ' (the file "active" names it)' if self._is_active(name) else ""
            raise rejected(
                NOT_FOUND,
                f'no store named "{name}"{origin}',
                f"`mnemonctl store create {name}` makes it; `mnemonctl store list` shows what is there",
            )
        return self.path(name)

    def find_directory(self, name: str) -> Path:
        """Return the directory of a store, with or without a database. Raises MnemonError(NOT_FOUND)."""
        directory = self.path(name).parent
        return directory if os.path.lexists(directory) else self.find(name).parent

    def warm(self, name: str) -> Store | None:
        return self._stores.get(name)

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[Closed]:
        """Close the store, whatever its state, and yield its file: what was queued is written, if that is possible, and
        calls of `open` wait until the end.

        Raises MnemonError(BUSY) when a sound store is still being read by another program: its log is not empty then.
        """
        async with self._locked(name):
            sound = name in self._stores and await self._shut(self._stores[name])
            self._kept.pop(name, None)
            for notify in self.on_exclusive:
                notify(name)
            if sound and log_bytes(self.path(name)):
                raise rejected(
                    BUSY,
                    f'the store "{name}" is still being read',
                    "repeat in a moment; close other programs that have it open",
                )
            yield Closed(self.path(name), sound)

    async def _shut(self, store: Store) -> bool:
        """Close an open store, whose lock is held; return True if nothing was wrong."""
        sound = not store.is_damaged
        for notify in self.on_closed:
            notify(store.name)
        del self._stores[store.name]
        self._moving += 1
        with trio.CancelScope(shield=True):  # a store must not be opened again while it is being closed
            try:
                await store.close()
            except MnemonError:
                sound = False  # what is in its log stays there
            finally:
                self._moving -= 1
        return sound

    async def _close_unused(self) -> bool:
        """Close the least recently used store of those that are not in use; return False if there is none."""
        for name in self.unused():
            lock, store = self._opening[name].lock, self._stores[name]
            if lock.locked() or not store.may_rest:
                continue
            lock.acquire_nowait()
            try:
                index = store.index_at_rest
                state = files.state_at_rest(store.path) if await self._shut(store) else None
                if index is not None and state is not None:
                    self._kept[name] = _Kept(index, state)
                    while sum(each.memories.snapshot.rows for each in self._kept.values()) > KEPT_MEMORIES:
                        self._kept.popitem(last=False)
            finally:
                lock.release()
            return True
        return False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Close unused stores while more are open than may be, until cancelled."""
        task_status.started()
        while True:
            self._opened = trio.Event()
            if not (len(self._stores) > self._most() and await self._close_unused()):
                await self._opened.wait()

    async def _room(self) -> None:
        """Wait until one more store may be open; who came first is first. Raises MnemonError(BUSY)."""
        with trio.move_on_after(ROOM_S):
            async with self._entrance:
                while len(self._stores) + self._moving >= (most := self._most()) + max(1, most // MORE):
                    if not await self._close_unused():
                        await trio.sleep(ROOM_POLL_S)
                return
        sentence = f"{len(self._stores):,} stores are in use at once, as many as may be open"
        raise rejected(BUSY, sentence, "repeat in a moment; server.max_open_stores, and `ulimit -n`")

    async def create(self, name: str, share: Cursor | None = None, visibility: Visibility | None = None) -> bool:
        """Make a store and open it; return True if it is new. `share`: it is a cache of that log, with this
        `visibility`. Raises MnemonError: STORAGE when that fails; UNAVAILABLE, INVALID_PARAMS for a log or a store
        that cannot be used so."""
        async with self._locked(name):
            existed = self.exists(name)
            if not existed:
                check_new_name(name)
            if share is not None and (store := self._stores.get(name)) is not None:
                if store.shared is None or store.shared.cursor.store != share.store:
                    raise rejected(
                        INVALID_PARAMS,
                        f'the store "{name}" is not of that log',
                        "give it another name; `mnemonctl export` and `mnemonctl import` take its memories along",
                    )
                if visibility is not None and (found := store.shared.visibility) not in (None, visibility):
                    raise seen_otherwise(name, found)
                return False
            await self._open_cold(name, share, visibility)
            return not existed

    async def _open_cold(self, name: str, share: Cursor | None = None, visibility: Visibility | None = None) -> Store:
        if (store := self._stores.get(name)) is not None:
            return store
        await self._room()
        path, attempt = self.path(name), CancellableOpen()
        open_it = partial(self._open_blocking, kept=self._kept.pop(name, None))
        if share is not None:
            open_it = partial(self._open_shared, share, visibility)
        remove_new = _removal_of_new(path)
        self._moving += 1
        try:
            # A stop does not wait for a database that others hold: nothing has been written that could be half-done.
            store = await trio.to_thread.run_sync(attempt.run, partial(open_it, name, path), abandon_on_cancel=True)
            try:
                store.start()
            except RuntimeError:  # the system starts no thread
                store.discard()
                raise
            self._stores[name] = store
        except trio.Cancelled:
            if (unwanted := attempt.give_up()) is not None:
                with trio.move_on_after(DISCARD_S, shield=True):
                    await trio.to_thread.run_sync(unwanted.discard, abandon_on_cancel=True)
            raise
        except (SqliteError, OSError) as error:
            remove_new()
            raise _unopened(name, path, error) from error
        except (MnemonError, RuntimeError):
            remove_new()
            raise
        finally:
            self._moving -= 1
        self._opened.set()
        return store

    def _open_shared(self, share: Cursor, visibility: Visibility | None, name: str, path: Path) -> Store:
        embedder_of_shared(share, self._environment, self._choose_embedder, visibility)  # before there is a file of it
        return self._open_blocking(name, path, share=share)

    def _open_blocking(self, name: str, path: Path, *, kept: _Kept | None = None, share: Cursor | None = None) -> Store:
        index = kept.memories if kept is not None and kept.state == files.state_at_rest(path) else None
        opening = partial(self._open, kept=index, share=share)
        if self._ballast is None:
            return opening(name, path)
        make_directory(path.parent.parent)
        make_directory(path.parent)
        self._ballast.make()
        try:
            return opening(name, path)
        except (SqliteError, OSError):
            if not self._ballast.is_needed():
                raise
            self._ballast.release()  # opening needs room, for what SQLite keeps beside the file
            return opening(name, path)

    async def close(self) -> list[MnemonError]:
        """Close every store; what went wrong, store by store."""
        failures: list[MnemonError] = []
        while self._stores:
            _, store = self._stores.popitem()
            try:
                await store.close()
            except MnemonError as error:
                failures.append(error)
        return failures


def _removal_of_new(path: Path) -> Callable[[], None]:
    """Return what removes the files that opening makes, if there is no database now."""
    if os.path.lexists(path):
        return lambda: None
    is_new = not os.path.lexists(path.parent)
    names = (*STORE_FILES, HIGH_WATER_FILE, FAULTS_FILE)
    new = [part for name in names if not os.path.lexists(part := path.with_name(name))]

    def remove() -> None:
        for part in new:
            with suppress(OSError):
                part.unlink()
        if is_new:
            with suppress(OSError):
                path.parent.rmdir()

    return remove


def _unopened(name: str, path: Path, error: SqliteError | OSError) -> MnemonError:
    damage = is_damage(error)
    return rejected(
        BUSY if isinstance(error, BusyError) else STORAGE,
        f'the store "{name}" cannot be opened: {reason(error)}',
        DAMAGE_HINT if damage else f"look at {path} and its directory: space, owner, permissions",
    )
