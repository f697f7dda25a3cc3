"""One SQLite connection, opened the one way mnemond opens databases. With `checksums` the only one that imports apsw.

Pragmas and flags follow the reliability rules: WAL, `synchronous=FULL` (an acknowledged memory survives power loss),
explicit checkpoints only, `secure_delete`, no symbolic links, no URI file names but those made here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import apsw

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import checksums

# Rows that are inserted many at a time: those that the operations of one batch bring to the same table.


Value = None | int | float | str | bytes
Row = Sequence[Value]

AT_ONCE: Final = (64, 8, 1)
"""Rows of one statement; each of these sizes is a statement to be kept. While a statement runs, the interpreter is
free for the event loop, and getting it back is what costs: 256 short statements a batch of 32 memories kept both
threads waiting for each other, and neither core was busy (docs/decisions/0026)."""


class NotKept(Exception):  # noqa: N818 - no error of anybody's: the batch is written once more, with savepoints
    """What an operation has to be taken back to was not kept."""


class Insertion:
    """Into which columns of which table rows go. `order`: tables that are referred to come before those that refer to
    them. `tail` follows the values."""

    def __init__(self, order: int, table: str, columns: Sequence[str], tail: str = "") -> None:
        self.order = order
        self._head = f"INSERT INTO {table}({', '.join(columns)}) VALUES"
        self._row = f"({', '.join('?' * len(columns))})"
        self._tail = tail
        self.one = self.statement(1)
        """The statement for one row."""

    @cache  # noqa: B019 - one each of a handful that live as long as the process
    def statement(self, rows: int) -> str:
        """The statement for so many rows."""
        return f"{self._head}{', '.join([self._row] * rows)}{self._tail}"


class Waiting:
    """Rows that are not inserted yet."""

    def __init__(self) -> None:
        self._rows: dict[Insertion, list[Row]] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, into: Insertion, rows: Sequence[Row]) -> None:
        """These come after those that wait for the same table."""
        self._rows.setdefault(into, []).extend(rows)

    def drop(self) -> None:
        """Forget them all."""
        self._rows.clear()

    def take(self) -> Iterator[tuple[str, list[Value]]]:
        """All of them, as statements with their values; none waits any more."""
        taken, self._rows = self._rows, {}
        for into in sorted(taken, key=lambda each: each.order):
            rows, begin = taken[into], 0
            for size in AT_ONCE:
                while len(rows) - begin >= size:
                    yield into.statement(size), list(chain.from_iterable(rows[begin : begin + size]))
                    begin += size


SqliteError = apsw.Error
BusyError = apsw.BusyError
FullError = apsw.FullError
ConstraintError = apsw.ConstraintError

MINIMUM_SQLITE = (3, 51, 3)
"""Older ones, from 3.7.0, can corrupt a database that two connections write and checkpoint at once (WAL-reset bug)."""

BUSY_TIMEOUT_MS = 5000
"""How long BEGIN waits for another process's lock before the write is refused as busy (spec 11)."""

CACHE_KIB = 32_768
"""KiB of pages a store may keep in memory. Edges lie all over their table, because ids are random: with SQLite's own
2 MB, linking a memory in a store of 10,000 takes half as long again (269 against 174 µs, docs/decisions/0009)."""

SAVEPOINT_BYTES = 131_071
"""Of the pages that an operation of a batch changes, as they were, so much is kept in memory, and more in a temporary
file. SQLite's own 64 KiB is less than a remember may touch: a batch of 64 wrote a thousand pages to /var/tmp, memories
in them, beside 230 to the log (docs/decisions/0013). It hands what it kept to the system in one call, which takes
0x1ffff bytes at most: from one byte more on, what does not fit fails as if the disk were full."""

FULL = 2
"""PRAGMA synchronous reads back as 2 when every commit is flushed to the disk."""


def _keep_savepoints_in_memory() -> None:
    """Can be set before the first database of the process is opened only; with one open, all stays as it is."""
    if not apsw.connections():
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_STMTJRNL_SPILL, SAVEPOINT_BYTES)
        apsw.initialize()


_keep_savepoints_in_memory()
HAS_CHECKSUMS = checksums.install()
"""Whether this apsw can write checksums of pages; its wheels can."""


def check_sqlite_version(version: str | None = None) -> None:
    """Refuse to run on a SQLite with the WAL-reset bug.

    Raises MnemonError(UNSUPPORTED) naming both versions.
    """
    found = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")[:3]) < MINIMUM_SQLITE:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        raise MnemonError(
            UNSUPPORTED,
            f"SQLite {found} can damage a database in write-ahead-log mode; mnemond needs {wanted} or newer",
            hint='install a newer apsw: pip install --upgrade "apsw>=3.51.3.0"',
        )


class Connection:
    """A thin wrapper over one apsw connection; used by one thread at a time."""

    def __init__(self, path: Path, *, read_only: bool = False, frozen: bool = False, vfs: str | None = None) -> None:
        """Open `path` (created when missing unless `read_only`). With `frozen` nothing can change it: no locks are
        taken, and its log is not read. Raises SqliteError."""
        flags = apsw.SQLITE_OPEN_NOFOLLOW
        flags |= apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        name = str(path)
        if frozen:
            name, flags = f"{path.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        if read_only and not frozen:
            _take_back_interrupted(path)
        self._db = apsw.Connection(name, flags=flags, vfs=vfs)
        self.numbers: dict[str, int] = {}
        """Row numbers by id that were read or given (`store.numbers`). Whatever takes rows back empties it: a number
        is given again then."""
        self.entities: set[str] = set()
        """Ids of rows of `entities` that are there (`store.entities`); emptied as well."""
        self._waiting = Waiting()
        self._gathers = False
        self._last: dict[Insertion, int] = {}
        """By what is gathered, the last number that a row of this batch was given."""
        self._forget = partial(_empty, self.numbers, self.entities)  # no method: it would refer to itself
        self._db.set_rollback_hook(self._forget)
        try:
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            if not read_only:
                self._configure()
        except BaseException:
            self._db.close(True)
            raise

    def _configure(self) -> None:
        db = self._db
        if HAS_CHECKSUMS:
            db.reserve_bytes(reserve=checksums.RESERVED)  # of a file that has pages already: from its next VACUUM on
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", "full")
        db.pragma("foreign_keys", True)
        db.pragma("secure_delete", True)
        db.pragma("trusted_schema", False)
        db.pragma("cache_size", -CACHE_KIB)
        db.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        db.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        db.wal_autocheckpoint(0)

    def pragma(self, name: str) -> int | str | None:
        """The value a pragma reads back."""
        value: int | str | None = self._db.pragma(name)
        return value

    def set_pragma(self, name: str, value: int) -> None:
        """Set a pragma. `foreign_keys` stays as it is while a transaction is open."""
        self._db.pragma(name, value)

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Execute one statement that returns no rows; the number of rows it changed."""
        if self._waiting:
            self._put_in()
        self._db.execute(sql, values)
        return self._db.changes()

    @contextmanager
    def gathering(self, *, really: bool) -> Iterator[None]:
        """Until the end, rows that are added wait to be inserted together; whatever else is executed comes after them.

        Raises NotKept, there or at the end, where a constraint stands against one: by then nobody knows whose it was.
        """
        self._gathers = really
        try:
            yield
            if self._waiting:
                self._put_in()
        finally:
            self._gathers = False
            self._waiting.drop()
            self._last.clear()

    def _put_in(self) -> None:
        try:
            for sql, values in self._waiting.take():
                self.run(sql, values)
        except ConstraintError as error:
            raise NotKept from error

    def add(self, into: Insertion, rows: Sequence[Row]) -> None:
        """Insert rows. Raises ConstraintError, or later NotKept where rows are gathered."""
        if self._gathers:
            self._waiting.add(into, rows)
        else:
            self.run_many(into.one, rows)

    def add_numbered(self, into: Insertion, last: str, values: Row) -> int:
        """Insert a row whose first column is its number; the number. `last`: a query for the highest number there is.
        Raises as `add` does."""
        if not self._gathers:
            self.run(into.one, (None, *values))
            return self._db.last_insert_rowid()
        if into not in self._last:
            (highest,) = self.row(last) or (None,)
            self._last[into] = highest or 0
        self._last[into] = number = self._last[into] + 1
        self._waiting.add(into, [(number, *values)])
        return number

    @property
    def gathers(self) -> bool:
        """Whether rows that are added wait for others."""
        return self._gathers

    def take_back(self, savepoint: str) -> None:
        """Undo everything since a savepoint, and end it."""
        self._waiting.drop()
        self._last.clear()
        self._forget()
        self.run(f"ROLLBACK TO {savepoint}")
        self.run(f"RELEASE {savepoint}")

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Execute one statement that returns no rows once for each tuple of values."""
        if self._waiting:
            self._put_in()
        self._db.executemany(sql, rows)

    def script(self, sql: str) -> None:
        """Execute several statements, in no batch."""
        self._db.execute(sql)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """Every row of a query."""
        if self._waiting:
            self._put_in()
        return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        if self._waiting:
            self._put_in()
        return self._db.execute(sql, values).fetchone()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    @property
    def is_checksummed(self) -> bool:
        """Whether every page that is read is compared with its checksum. Raises SqliteError."""
        self._db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()  # it is known once a page was read
        return bool(self._db.pragma("checksum_verification") == "1")

    @property
    def reserved(self) -> int:
        """Bytes at the end of each page that SQLite leaves to others; of a connection that may write, what its next
        VACUUM leaves. Raises SqliteError."""
        self._db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        return self._db.reserve_bytes()

    def wal_frames(self) -> int:
        """Frames now in the write-ahead log (0 when it is empty); reads, moves nothing."""
        return max(0, self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0])

    def checkpoint(self, *, truncate: bool = False) -> tuple[int, int]:
        """Copy the write-ahead log into the database: (frames in the log, frames copied). Raises SqliteError."""
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        self._db.set_busy_timeout(0)  # a reader of another process must not hold up the writes that wait
        try:
            return self._db.wal_checkpoint(mode=mode)
        finally:
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)

    def backup_to(self, target: Path, pause: Callable[[], None] = lambda: None) -> None:
        """Copy the whole database into a new file through the online backup API, in steps of 1 MB with `pause` between
        two. The copy is one file: it has no log beside it. Raises SqliteError, and what `pause` raises."""
        copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            self._begin_like_this(copy)
            with copy.backup("main", self._db, "main") as backup:
                while not backup.done:
                    backup.step(256)
                    pause()
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()

    def _begin_like_this(self, copy: apsw.Connection) -> None:
        """Write the first page of a copy, which tells cksumvfs whether there are checksums to compute.

        A backup writes that page last, and whatever exceeds the cache (2 MB) before: without checksums until then, and
        pages in the write-ahead log have none of their own. Where this database has none, neither has the copy, or they
        would lie over its data; what `reserved` says is asked for, and comes with the next VACUUM alone.
        """
        copy.pragma("page_size", self.pragma("page_size"))
        copy.reserve_bytes(reserve=checksums.RESERVED if self.is_checksummed else 0)
        copy.pragma("user_version", 1)

    def close(self) -> None:
        """Close; whatever is uncommitted is rolled back."""
        self._db.close(True)


def _take_back_interrupted(path: Path) -> None:
    """What a power cut interrupted before a file had a write-ahead log, while it was made that is, stands in a rollback
    journal. A read-only connection may not take it back, and cannot read the file before that is done."""
    if path.with_name(f"{path.name}-journal").exists():
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_READWRITE)
        try:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        finally:
            db.close()


def _empty(*known: dict[str, int] | set[str]) -> None:
    for each in known:
        each.clear()


# No code of this process but SQLite opens the files of a store.
#
# Closing such a file drops every lock that SQLite holds on it in this process. The next program that opens and closes
# the store then counts as its last user and throws its log away, and what is acknowledged from there on is lost: ten
# of ten commits when it was measured (reliability, section 0). An audit hook sees every file that Python opens, and
# none that SQLite does.


STORE_FILES: Final = ("mnemon.db", "mnemon.db-wal", "mnemon.db-shm", "mnemon.db-journal")


class RawOpenError(RuntimeError):
    """A defect: somebody was about to open a file of a store."""


class Watch:
    """An audit hook over the stores of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._stores = f"{data_dir / 'data'}{os.sep}"

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raises RawOpenError instead of letting a file of a store be opened."""
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[0])
        if path.endswith(STORE_FILES) and os.path.basename(path) in STORE_FILES:
            path = os.path.abspath(path)
            if path.startswith(self._stores):
                raise RawOpenError(f"{path} may be opened by SQLite alone: closing it would drop SQLite's locks")


def forbid(data_dir: Path) -> None:
    """From now on and for good, in this process. `data_dir` is absolute."""
    sys.addaudithook(Watch(data_dir))
