"""Whether an open store's files are still the ones at its path.

A file that was removed or replaced while it was open takes writes and loses them: SQLite goes on writing into the old
file, which nobody can open any more. Looking costs two `stat` calls and opens nothing: closing a descriptor of the
database would drop SQLite's locks.
"""

from __future__ import annotations

import os
from pathlib import Path

from mnemond.errors import STORAGE, MnemonError
from mnemond.store.connection import Connection
from mnemond.store.schema import APPLICATION_ID, current_version

# What is said of something in a database that no mnemond wrote.


def damaged(what: str, error: Exception) -> MnemonError:
    """`what` cannot be read; `error` says of which kind the damage is."""
    return MnemonError(
        STORAGE,
        f"the store is damaged: {what} cannot be read ({type(error).__name__})",
        hint="keep a copy of the file as it is; then restore a backup",
        outcome="rejected",
    )


def damaged_file(error: Exception) -> str:
    """Why a store is not written any more, after a failure that `checksums.is_damage`."""
    return f"the store's file is damaged: {error}"


# Files and directories that are there after a power cut once they have been made.


def make_directory(path: Path) -> None:
    """Create a directory (0700) and flush its entry in the parent; nothing when it is there. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Flush the entries of a directory: what was made, renamed or removed in it. Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def write(path: Path, content: bytes) -> None:
    """Replace a small file (0600) by one that holds `content`: readers see the old one or the new one, whole.

    A symbolic link in its place is replaced, not followed. Raises OSError; the old file is as it was then.
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


_Identity = tuple[int, int] | None


class StoreFiles:
    """The database and its write-ahead log, as they were when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._paths = [str(each) for each in _paths(path)]
        self._known = [_identity(file) for file in self._paths]

    def replaced(self) -> str | None:
        """The file that was removed or replaced since, if one was."""
        for number, file in enumerate(self._paths):
            found = _identity(file)
            if self._known[number] is None:
                self._known[number] = found  # a log comes into being with the first write
            elif found != self._known[number]:
                return file
        return None


def size_bytes(path: Path) -> int:
    """Bytes of a store's database and its write-ahead log."""
    found = map(_status, _paths(path))
    return sum(status.st_size for status in found if status is not None)


def log_bytes(path: Path) -> int:
    """Bytes of a store's write-ahead log: 0 when everything stands in the database."""
    status = _status(_paths(path)[1])
    return 0 if status is None else status.st_size


def _paths(path: Path) -> tuple[Path, Path]:
    return path, path.with_name(f"{path.name}-wal")


def _identity(path: Path | str) -> _Identity:
    status = _status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


# Stores that can be read only: on a file system mounted so, or in a directory that is somebody else's.
#
# Nothing is written for them: no log, no lock file, no migration, no note of what was recalled (spec 15).


def is_writable(path: Path) -> bool:
    """Whether a store's file and its directory may be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def connect(path: Path) -> tuple[Connection, str]:
    """A connection that writes nothing, and why there is no other.

    Where SQLite would have to make a file of locks, the database is read as if nothing could change it; what stands in
    the log is not seen then. Raises MnemonError(STORAGE) for a database of another version, SqliteError.
    """
    frozen = not path.with_name(f"{path.name}-shm").exists()
    connection = Connection(path, read_only=True, frozen=frozen)
    try:
        _refuse_other_version(connection, path)
    except BaseException:
        connection.close()
        raise
    reason = f"{path.parent} cannot be written: the store is open for reading only"
    unseen = frozen and log_bytes(path) > 0
    return connection, f"{reason}, without what its log holds" if unseen else reason


def refusal(reason: str) -> MnemonError:
    """The error for a write."""
    return MnemonError(
        STORAGE,
        f"{reason}; nothing was written",
        hint="make its directory writable, then: mnemonctl daemon restart; or use another store",
        outcome="rejected",
    )


def _refuse_other_version(connection: Connection, path: Path) -> None:
    version, application = connection.pragma("user_version"), connection.pragma("application_id")
    if (version, application) != (current_version(), APPLICATION_ID):
        raise MnemonError(
            STORAGE,
            f"{path} has schema version {version} and this mnemond {current_version()}; what cannot be written cannot"
            " be migrated",
            hint="make its directory writable, then repeat",
            outcome="rejected",
        )
