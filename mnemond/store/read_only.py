"""Stores that can be read only: on a file system mounted so, or in a directory that is somebody else's.

Nothing is written for them: no log, no lock file, no migration, no note of what was recalled (spec 15).
"""

from __future__ import annotations

import os
from pathlib import Path

from mnemond.errors import STORAGE, MnemonError
from mnemond.store.connection import Connection
from mnemond.store.files import log_bytes
from mnemond.store.migrate import APPLICATION_ID, current_version


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
