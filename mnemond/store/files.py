"""Whether an open store's files are still the ones at its path.

A file that was removed or replaced while it was open takes writes and loses them: SQLite goes on writing into the old
file, which nobody can open any more. Looking costs two `stat` calls and opens nothing: closing a descriptor of the
database would drop SQLite's locks.
"""

from __future__ import annotations

import os
from pathlib import Path

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
