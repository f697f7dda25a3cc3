"""Room that is kept free for a full disk: a file of nothing, which goes when a store can no longer be written.

Forgetting needs room as well, for the log. With the file gone there is some, and what only adds is refused until the
disk has room for the file again. One for each data directory, made when the daemon starts. Any thread may use it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

BYTES: Final = 4 << 20
"""As much as the write-ahead log grows to before it is copied into the database (`engine.CHECKPOINT_FRAMES`), so that
there is room for one such round (reliability, section 3)."""

MARGIN_BYTES: Final = 4 << 20
"""Free bytes beyond its own at which it is made again: at the brink it would come and go with every write."""

NAME: Final = "ballast"


class Ballast:
    """The file `ballast` of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / NAME
        self._lock = threading.Lock()

    @property
    def is_there(self) -> bool:
        """Whether there is something to let go of."""
        return self._path.exists()

    def is_needed(self) -> bool:
        """Whether it is there and the disk has no other room (blocking)."""
        with self._lock:
            return self.is_there and not self._has_room()

    def make(self) -> bool:
        """Take the room, unless it is taken already; False when the disk is too full for that (blocking)."""
        with self._lock:
            return self.is_there or (self._has_room() and self._fill())

    def release(self) -> None:
        """Let the room go (blocking). A file that cannot be removed keeps it."""
        with self._lock, contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _has_room(self) -> bool:
        try:
            found = os.statvfs(self._path.parent)
        except OSError:
            return False
        return found.f_bavail * found.f_frsize >= BYTES + MARGIN_BYTES

    def _fill(self) -> bool:
        """Whole or not at all: what a process that ended half-way left is no ballast."""
        draft = self._path.with_name(f".{NAME}.part")
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _allocate(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return False
        return True


def _allocate(descriptor: int) -> None:
    """Blocks of its own, where the file system can give them without writing; zeros elsewhere. Raises OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, BYTES)
        return
    for _ in range(BYTES >> 16):
        os.write(descriptor, bytes(1 << 16))
