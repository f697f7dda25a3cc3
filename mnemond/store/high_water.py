"""How far a store has come, noted beside its database: the number of the last line of its log.

A database whose write-ahead log was removed, cut short or rolled back opens as if nothing had happened, at an earlier
state (reliability, section 0, fact 9). What it cannot tell by itself it tells by this number, which is written after
each commit and before anybody hears of it. It is not flushed: it outlives the process at once, and a power cut within
half a minute, in which nothing of the kind can happen without the disk's own doing (docs/decisions/0025).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from mnemond.store.connection import Connection

FILE: Final = "high-water"
"""In the directory of a store, 0600."""

_DIGITS: Final = 20
"""Each number has as many bytes, in one sector: it is there as a whole, or as it was."""


class HighWater:
    """The note beside the database at `path`. Used by one thread at a time; `close` ends it."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(FILE)
        self._descriptor: int | None = None
        self._noted: int | None = None

    def read(self) -> int | None:
        """The number that was noted; None where there is none, or one that no mnemond wrote. Raises OSError."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            content = os.read(descriptor, _DIGITS + 1)
        finally:
            os.close(descriptor)
        return int(content) if len(content) == _DIGITS and content.isdigit() else None

    def note(self, line: int) -> None:
        """From now on it is this number. Raises OSError."""
        if line == self._noted:
            return
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            os.ftruncate(self._descriptor, _DIGITS)  # of what no mnemond wrote there
        os.pwrite(self._descriptor, b"%0*d" % (_DIGITS, line), 0)
        self._noted = line

    def close(self) -> None:
        """Let go of the file; `note` opens it again."""
        descriptor, self._descriptor, self._noted = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def last_line(connection: Connection) -> int:
    """The number of the last line of a store's log; 0 before the first. Raises SqliteError."""
    row = connection.row("SELECT seq FROM sqlite_sequence WHERE name = 'oplog'")
    return 0 if row is None else int(row[0])
