"""SQLite connections, configured for durability. Only this module and `checksums` import apsw.

WAL, `synchronous=FULL` (an acknowledged memory survives power loss), explicit checkpoints only, `secure_delete`, no
symbolic links, no URI file names but those made here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import apsw

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store import checksums

Value = None | int | float | str | bytes
Row = Sequence[Value]

SqliteError = apsw.Error
BusyError = apsw.BusyError
FullError = apsw.FullError
ConstraintError = apsw.ConstraintError

STATEMENT_ROWS: Final = (64, 8, 1)
"""Rows of one statement; each of these sizes is a statement to be cached. The interpreter is released while a statement
runs, and taking it back is the cost: 256 short statements per batch of 32 memories kept the writer and the event loop
waiting for each other, and neither core was busy (docs/decisions/0026)."""

MINIMUM_SQLITE = (3, 51, 3)
"""Older ones, from 3.7.0, can corrupt a database that two connections write and checkpoint at once (WAL-reset bug)."""

BUSY_TIMEOUT_MS = 5000
"""How long BEGIN waits for another process's lock before the write is refused as busy."""

CACHE_KIB = 32_768
"""KiB of pages a store may cache. Edges lie all over their table, because ids are random: with SQLite's 2 MB,
linking a memory in a store of 10,000 takes half as long again (269 against 174 µs, docs/decisions/0009)."""

SAVEPOINT_BYTES = 131_071
"""Bytes of the statement journal (the previous content of pages that an operation of a batch changes) that are kept in
memory; the rest goes to a temporary file. SQLite's default of 64 KiB is less than a remember may touch: a batch of 64
wrote a thousand pages to /var/tmp, memories in them, beside 230 to the log (docs/decisions/0013). SQLite writes what it
kept in one system call, which takes 0x1ffff bytes at most: with one byte more, what does not fit fails as if the disk
were full."""

FULL, NORMAL = 2, 1
"""Values of PRAGMA synchronous: every commit is flushed to the disk, or only every checkpoint."""


def _keep_savepoints_in_memory() -> None:
    """Only possible before the first database of the process is opened; with one open, nothing is changed."""
    if not apsw.connections():
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_STMTJRNL_SPILL, SAVEPOINT_BYTES)
        apsw.initialize()


_keep_savepoints_in_memory()
HAS_CHECKSUMS = checksums.install()
"""True if this apsw can write checksums of pages; its wheels can."""


def check_sqlite_version(version: str | None = None) -> None:
    """Raise MnemonError(UNSUPPORTED) for a SQLite with the WAL-reset bug."""
    found = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")[:3]) < MINIMUM_SQLITE:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        raise MnemonError(
            UNSUPPORTED,
            f"SQLite {found} can damage a database in write-ahead-log mode; mnemond needs {wanted} or newer",
            hint='install a newer apsw: pip install --upgrade "apsw>=3.51.3.0"',
        )


class NoSavepointError(Exception):
    """An operation has to be rolled back alone and has no savepoint: the batch is written again, with savepoints."""


class Insertion:
    """Columns of a table into which rows are inserted. `order`: tables that are referred to come before those that
    refer to them. `tail` follows the values. `row`: the expressions of one row, if they are more than its values."""

    def __init__(self, order: int, table: str, columns: Sequence[str], tail: str = "", row: str = "") -> None:
        self.order = order
        self._head = f"INSERT INTO {table}({', '.join(columns)}) VALUES"
        self._row = row or f"({', '.join('?' * len(columns))})"
        self._tail = tail
        self.one = self.statement(1)

    @cache  # noqa: B019 - one each of a handful that live as long as the process
    def statement(self, rows: int) -> str:
        return f"{self._head}{', '.join([self._row] * rows)}{self._tail}"


class PendingRows:
    """Rows that are not inserted yet."""

    def __init__(self) -> None:
        self._rows: dict[Insertion, list[Row]] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, into: Insertion, rows: Sequence[Row]) -> None:
        self._rows.setdefault(into, []).extend(rows)

    def drop(self) -> None:
        self._rows.clear()

    def take(self) -> Iterator[tuple[str, list[Value]]]:
        """Remove all of them; yield them as statements with their values."""
        taken, self._rows = self._rows, {}
        for into in sorted(taken, key=lambda each: each.order):
            rows, begin = taken[into], 0
            for size in STATEMENT_ROWS:
                while len(rows) - begin >= size:
                    yield into.statement(size), list(chain.from_iterable(rows[begin : begin + size]))
                    begin += size


class ChangedRow(NamedTuple):
    """A row that differs from what it was. `key`: the values of its primary key. `old`: what the row was before it was
    deleted, by column. `columns`: those that differ, of a row that was there before and is there now. `new`: the values
    of an added row, in the order of its columns."""

    table: str
    change: RowChange
    key: tuple[Value, ...]
    old: Mapping[str, Value]
    columns: frozenset[str]
    new: tuple[Value, ...] = ()


RowChange = Literal["add", "change", "drop"]


class RowRecorder:
    """Records which rows of some tables differ, from its creation or the last `take` on, with SQLite's session
    extension. Rows that are again what they were are left out, and so is what was rolled back."""

    def __init__(self, connection: Connection, db: apsw.Connection, tables: Sequence[str]) -> None:
        self._connection = connection
        self._db = db
        self._columns = {each: connection.columns(each) for each in tables}
        self._session = self._begun()

    def _begun(self) -> apsw.Session:
        session = apsw.Session(self._db, "main")
        session.config(apsw.SQLITE_SESSION_OBJCONFIG_SIZE, True)
        for table in self._columns:
            session.attach(table)
        return session

    @property
    def size(self) -> int:
        """Bytes of the rows that differ, at most."""
        self._connection.flush()
        return self._session.changeset_size

    def take(self) -> list[ChangedRow]:
        """Return the rows that differ, and begin anew. Raises SqliteError, and NoSavepointError like `rows`."""
        self._connection.flush()
        found = [self._row(each) for each in apsw.Changeset.iter(self._session.changeset())]
        self._session.close()
        self._session = self._begun()
        return found

    def _row(self, it: apsw.TableChange) -> ChangedRow:
        columns = self._columns[it.name]
        values: tuple[Any, ...] = it.old or it.new or ()
        key = tuple(values[each] for each in sorted(it.pk_columns))
        if it.op == "DELETE":
            return ChangedRow(it.name, "drop", key, dict(zip(columns, values, strict=True)), frozenset())
        if it.op == "INSERT":
            return ChangedRow(it.name, "add", key, {}, frozenset(), values)
        pairs = zip(columns, it.new or (), strict=True)
        changed = frozenset(name for name, value in pairs if value is not apsw.no_change)
        return ChangedRow(it.name, "change", key, {}, changed)

    def close(self) -> None:
        self._session.close()


class Connection:
    """A thin wrapper over one apsw connection; used by one thread at a time.

    `numbers`: row numbers by id that were read or assigned (`insights.numbers_of`). `entities`: canonical names of
    existing rows of `entities`, and True if the type of one says more than "concept". Both are emptied by every
    rollback: a number is assigned again then.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        frozen: bool = False,
        unnamed: bool = False,
        vfs: str | None = None,
    ) -> None:
        """Open `path` (created when missing unless `read_only`). `frozen`: nothing else changes it, so no locks are
        taken, and its log is not read. `unnamed`: it loses its name at once, and ends with this connection. Raises
        SqliteError."""
        flags = apsw.SQLITE_OPEN_NOFOLLOW
        flags |= apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        name = str(path)
        if frozen:
            name, flags = f"{path.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        if read_only and not frozen:
            _roll_back_interrupted(path)
        self._db = apsw.Connection(name, flags=flags, vfs=vfs)
        self.numbers: dict[str, int] = {}
        self.entities: dict[str, bool] = {}
        self._pending = PendingRows()
        self.batches_inserts = False
        self._columns: dict[str, tuple[str, ...]] = {}
        self._last: dict[Insertion, int] = {}
        """Of each insertion, the last number that a pending row was given."""
        numbers, entities = self.numbers, self.entities

        def clear_caches() -> None:  # a method would be a reference cycle
            numbers.clear()
            entities.clear()

        self._clear_caches = clear_caches
        self._db.set_rollback_hook(self._clear_caches)
        try:
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            if unnamed:
                os.unlink(path)
                self._db.pragma("journal_mode", "off")
            elif not read_only:
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
        value: int | str | None = self._db.pragma(name)
        return value

    def set_pragma(self, name: str, value: int) -> None:
        """Set a pragma. `foreign_keys` stays as it is while a transaction is open."""
        self._db.pragma(name, value)

    def set_roots(self, roots: Mapping[str, int]) -> None:
        """Make tables begin at other pages, whatever these hold. For a file that is not used as it is."""
        self._db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        self._db.pragma("writable_schema", True)
        self._db.executemany(
            "UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", [(root, name) for name, root in roots.items()]
        )

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Execute one statement that returns no rows; return the number of rows it changed."""
        if self._pending:
            self._insert_pending()
        self._db.execute(sql, values)
        return self._db.changes()

    @contextmanager
    def inserts_batched(self, *, enabled: bool) -> Iterator[None]:
        """Until the end, delay inserts of rows (`add`) to make fewer statements; every other statement flushes them.

        Raises NoSavepointError, there or at the end, if a row violates a constraint: by then the operation it belongs
        to is unknown.
        """
        self.batches_inserts = enabled
        try:
            yield
            if self._pending:
                self._insert_pending()
        finally:
            self.batches_inserts = False
            self._pending.drop()
            self._last.clear()

    def _insert_pending(self) -> None:
        try:
            for sql, values in self._pending.take():
                self.run(sql, values)
        except ConstraintError as error:
            raise NoSavepointError from error

    def flush(self) -> None:
        """Insert the rows that were delayed. Raises NoSavepointError."""
        if self._pending:
            self._insert_pending()

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, in order. For tables that are not altered any more."""
        if table not in self._columns:
            self._columns[table] = tuple(row[1] for row in self.rows(f"PRAGMA table_info({table})"))
        return self._columns[table]

    def record_rows(self, tables: Sequence[str]) -> RowRecorder:
        """Record changed rows of these tables, which have primary keys, from now on. To be closed before this is."""
        return RowRecorder(self, self._db, tables)

    def add(self, into: Insertion, rows: Sequence[Row]) -> None:
        """Insert rows. Raises ConstraintError, or later NoSavepointError if inserts are batched."""
        if self.batches_inserts:
            self._pending.add(into, rows)
        else:
            self.run_many(into.one, rows)

    def add_numbered(self, into: Insertion, last: str, values: Row) -> int:
        """Insert a row whose first column is its number; return the number. `last`: a query for the highest number.
        Raises as `add` does."""
        if not self.batches_inserts:
            self.run(into.one, (None, *values))
            return self._db.last_insert_rowid()
        if into not in self._last:
            self._last[into] = self.count(last)
        self._last[into] = number = self._last[into] + 1
        self._pending.add(into, [(number, *values)])
        return number

    def roll_back_to(self, savepoint: str) -> None:
        """Undo everything since a savepoint, and end it."""
        self._pending.drop()
        self._last.clear()
        self._clear_caches()
        self.run(f"ROLLBACK TO {savepoint}")
        self.run(f"RELEASE {savepoint}")

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Execute one statement that returns no rows once for each tuple of values."""
        if self._pending:
            self._insert_pending()
        self._db.executemany(sql, rows)

    def script(self, sql: str) -> None:
        self._db.execute(sql)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        if self._pending:
            self._insert_pending()
        return self._db.execute(sql, values).fetchall()

    def iterate(self, sql: str, values: Sequence[Value] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query one by one, without all of them in memory. Raises SqliteError."""
        if self._pending:
            self._insert_pending()
        yield from self._db.execute(sql, values)

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Any, ...] | None:
        if self._pending:
            self._insert_pending()
        return self._db.execute(sql, values).fetchone()

    def column(self, sql: str, values: Sequence[Value] = ()) -> list[Any]:
        """Return the first column of a query."""
        return [row[0] for row in self.rows(sql, values)]

    def value(self, sql: str, values: Sequence[Value] = ()) -> Any:  # noqa: ANN401 - of any column
        """Return the first column of the first row of a query; None if there is no row."""
        row = self.row(sql, values)
        return None if row is None else row[0]

    def count(self, sql: str, values: Sequence[Value] = ()) -> int:
        """Return the number that is the first column of the first row of a query; 0 if there is no row, or NULL."""
        return int(self.value(sql, values) or 0)

    @property
    def in_transaction(self) -> bool:
        return self._db.in_transaction

    @property
    def is_checksummed(self) -> bool:
        """Return True if the checksum of every page that is read is verified. Raises SqliteError."""
        self._db.execute(_READ_PAGE).fetchall()  # known once a page was read
        return bool(self._db.pragma("checksum_verification") == "1")

    @property
    def reserved(self) -> int:
        """Bytes at the end of each page that SQLite leaves free; of a connection that may write, those that its next
        VACUUM leaves. Raises SqliteError."""
        self._db.execute(_READ_PAGE).fetchall()
        return self._db.reserve_bytes()

    def wal_frames(self) -> int:
        """Return the number of frames in the write-ahead log, moving none."""
        return max(0, self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0])

    def checkpoint(self, *, truncate: bool = False) -> tuple[int, int]:
        """Copy the write-ahead log into the database; return (frames in the log, frames copied). Raises SqliteError."""
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        self._db.set_busy_timeout(0)  # a reader of another process must not delay the queued writes
        try:
            return self._db.wal_checkpoint(mode=mode)
        finally:
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)

    def backup_to(self, target: Path, pause: Callable[[], None] = lambda: None) -> None:
        """Copy the whole database into a new file through the online backup API, in steps of 1 MB with `pause` between
        two. The copy is one file without a log. Raises SqliteError, and what `pause` raises."""
        copy = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            self._copy_into(copy, pause)
            copy.pragma("journal_mode", "delete")
        finally:
            copy.close()

    @contextmanager
    def unnamed_copy(self, draft: Path, pause: Callable[[], None] = lambda: None) -> Iterator[tuple[Connection, int]]:
        """Copy the whole database as `backup_to` does, into a file that has no name by the time something is in it, so
        that nothing is left of it whenever the process ends. Yield a connection to it, and a descriptor to read its
        bytes. `draft`: a name in a directory of the disk it is to be on. Raises SqliteError, OSError, and what `pause`
        raises."""
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            copy = Connection(draft, unnamed=True)
            try:
                self._copy_into(copy._db, pause)
                first = os.pread(descriptor, int(self.pragma("page_size") or 0), 0)
                os.pwrite(descriptor, checksums.without_log(first), 0)  # SQLite would look for a log by the name
                yield copy, descriptor
            finally:
                copy.close()
        finally:
            os.close(descriptor)

    def _copy_into(self, copy: apsw.Connection, pause: Callable[[], None]) -> None:
        self._begin_like_this(copy)
        with copy.backup("main", self._db, "main") as backup:
            while not backup.done:
                backup.step(256)
                pause()

    def _begin_like_this(self, copy: apsw.Connection) -> None:
        """Write the first page of a copy, from which cksumvfs learns if there are checksums to compute.

        A backup writes that page last, and whatever exceeds the cache (2 MB) before: without checksums until then, and
        pages in the write-ahead log have none. A copy of a database without checksums gets none either, or they would
        overwrite its data; `reserved` is not enough, as it tells what the next VACUUM will do.
        """
        copy.pragma("page_size", self.pragma("page_size"))
        copy.reserve_bytes(reserve=checksums.RESERVED if self.is_checksummed else 0)
        copy.pragma("user_version", 1)

    def close(self) -> None:
        self._db.close(True)


def apply_log(path: Path) -> None:
    """Copy the write-ahead log into a database of which the tables may not be readable. Raises SqliteError."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_READWRITE)
    try:
        db.pragma("user_version")  # reads the header alone, and opens the log
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        db.close()


_READ_PAGE: Final = "SELECT 1 FROM sqlite_schema LIMIT 1"


def _roll_back_interrupted(path: Path) -> None:
    """If a power cut interrupted the creation of a file, before it had a write-ahead log, there is a rollback journal.
    A read-only connection cannot read the file until it is rolled back, and may not do that itself."""
    if path.with_name(f"{path.name}-journal").exists():
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_READWRITE)
        try:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.execute(_READ_PAGE).fetchall()
        finally:
            db.close()


# Store files are opened by SQLite alone.
#
# Closing a descriptor of such a file drops every lock that SQLite holds on it in this process. The next program that
# opens and closes the store then counts as its last user and deletes its log, and every commit acknowledged from there
# on is lost (measured: ten of ten). An audit hook sees every file that Python opens, and none that SQLite does.


DATABASE_FILE: Final = "mnemon.db"
STORE_FILES: Final = tuple(f"{DATABASE_FILE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))


class RawOpenError(RuntimeError):
    """A defect: Python code was about to open a file of a store."""


class OpenGuard:
    """An audit hook over the stores of one data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._stores = f"{data_dir / 'data'}{os.sep}"

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raise RawOpenError instead of letting a file of a store be opened."""
        if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.fsdecode(arguments[0])
        if path.endswith(STORE_FILES) and os.path.basename(path) in STORE_FILES:
            path = os.path.abspath(path)
            if path.startswith(self._stores):
                raise RawOpenError(f"{path} may be opened by SQLite alone: closing it would drop SQLite's locks")


def forbid_raw_open(data_dir: Path) -> None:
    """Install the guard for the rest of this process. `data_dir` is absolute."""
    sys.addaudithook(OpenGuard(data_dir))
