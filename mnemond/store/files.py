"""Files of a store: creating them durably, their identity and size, and stores that can only be read.

A file that was removed or replaced while it was open takes writes and loses them: SQLite goes on writing into the old
file, which cannot be opened any more. Detecting that costs two `stat` calls and opens nothing: closing a descriptor of
the database would drop SQLite's locks.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from mnemond.errors import STORAGE, MnemonError, rejected
from mnemond.store import checksums
from mnemond.store.connection import Connection
from mnemond.store.schema import APPLICATION_ID, VERSION, refuse_other


def make_directory(path: Path) -> None:
    """Create a directory (0700), if it does not exist, and flush its entry in the parent. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Flush the entries of a directory after a file in it was created, renamed or removed. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def replace_file(path: Path, content: bytes) -> None:
    """Replace a small file (0600) durably by one with this `content`: readers see the old one or the new one, whole.

    A symbolic link in its place is replaced, not followed. Raises OSError; the old file is unchanged then.
    """
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    flush_directory(path.parent)


def damaged(what: str, error: Exception) -> MnemonError:
    """The error for a part of a database that no mnemond wrote like this; `error` names the kind of damage."""
    return rejected(
        STORAGE,
        f"the store is damaged: {what} cannot be read ({type(error).__name__})",
        "keep a copy of the file as it is; then restore a backup",
    )


def damage_reason(error: Exception) -> str:
    """Why a store is not written any more, after an error for which `checksums.is_damage` is True."""
    return f"the store's file is damaged: {checksums.reason(error)}"


# Identity and size.


class StoreFiles:
    """Identity of the database and its write-ahead log since the store was opened."""

    def __init__(self, path: Path) -> None:
        self._paths = [str(each) for each in _paths(path)]
        self._known = [_identity(file) for file in self._paths]

    def replaced(self) -> str | None:
        """Return the file that was removed or replaced since, if one was."""
        for number, file in enumerate(self._paths):
            found = _identity(file)
            if self._known[number] is None:
                self._known[number] = found  # the first write creates the log
            elif found != self._known[number]:
                return file
        return None


def size_bytes(path: Path) -> int:
    """Return the bytes of a store's database and its write-ahead log."""
    found = map(_status, _paths(path))
    return sum(status.st_size for status in found if status is not None)


def log_bytes(path: Path) -> int:
    """Return the bytes of a store's write-ahead log: 0 when all of it is in the database."""
    status = _status(_paths(path)[1])
    return 0 if status is None else status.st_size


def state_at_rest(path: Path) -> tuple[int, ...] | None:
    """Return what changes with every write to a closed database; None if some of its content is in a log."""
    status = _status(path)
    if status is None or log_bytes(path):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class FileFigures(msgspec.Struct, frozen=True):
    """Bytes of the database, of its log, and of its free pages; rows by state, and active ones by type."""

    database: int
    log: int
    free: int
    by_status: dict[str, int]
    by_type: dict[str, int]


def file_figures(connection: Connection, path: Path) -> FileFigures:
    """Read the whole database at `path` through `connection` (blocking). Raises SqliteError."""
    connection.run("BEGIN")
    try:
        by_status = dict(connection.rows("SELECT status, count(*) FROM insights GROUP BY status ORDER BY status"))
        by_type = dict(
            connection.rows(
                "SELECT memory_type, count(*) FROM insights WHERE deleted_at IS NULL GROUP BY 1 ORDER BY 2 DESC, 1"
            )
        )
        free = int(connection.pragma("freelist_count") or 0) * int(connection.pragma("page_size") or 0)
    finally:
        connection.run("ROLLBACK")
    log = log_bytes(path)
    return FileFigures(size_bytes(path) - log, log, free, by_status, by_type)


def _paths(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}-wal")


def _identity(path: Path | str) -> tuple[int, int] | None:
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


# Stores that can only be read: on a read-only file system, or in a directory of another user. Nothing is written for
# them: no log, no lock file, no use count.


def is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect_read_only(path: Path) -> tuple[Connection, str]:
    """Return a connection that writes nothing, and the reason why there is no other.

    If SQLite would have to create its lock file, the database is read as if nothing could change it, without the
    content of its log. Raises MnemonError: UNSUPPORTED for a database of another version or program, STORAGE for an
    empty one; SqliteError.
    """
    makes_lock_file = os.access(path.parent, os.W_OK) and log_bytes(path) > 0
    frozen = not (path.with_name(f"{path.name}-shm").exists() or makes_lock_file)
    connection = Connection(path, read_only=True, frozen=frozen)
    try:
        _refuse_other_version(connection, path)
    except BaseException:
        connection.close()
        raise
    data_dir = path.parent.parent.parent
    locked = next((each for each in (path.parent, path) if not os.access(each, os.W_OK)), data_dir)
    reason = f"{locked} cannot be written: the store is open for reading only"
    return connection, f"{reason}, without the content of its log" if frozen and log_bytes(path) else reason


def _refuse_other_version(connection: Connection, path: Path) -> None:
    refuse_other(connection, path)
    if (connection.pragma("user_version"), connection.pragma("application_id")) != (VERSION, APPLICATION_ID):
        raise rejected(
            STORAGE,
            f"{path} is empty, and its tables cannot be made in a file that cannot be written",
            "make its directory writable, then repeat",
        )


def read_only_error(reason: str) -> MnemonError:
    """The error for a write to a store that can only be read."""
    return rejected(
        STORAGE,
        f"{reason}; nothing was written",
        "make it writable, then: mnemonctl daemon restart; or use another store",
    )
