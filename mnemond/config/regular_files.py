"""Opening small files of the data directory without waiting: opening a named pipe waits for its other end, for ever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


class NotAFileError(OSError):
    """Something else is in the place of a file; `strerror` says what."""

    def __init__(self, mode: int) -> None:
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        super().__init__(errno.EINVAL, f"it is {kind}, not a file")


def open_regular(path: Path | str, flags: int, dir_fd: int | None = None) -> int:
    """Return a descriptor of a regular file, created 0600 with O_CREAT. Raises NotAFileError, other OSErrors."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.EISDIR):  # a pipe that is not read, a socket; a directory to be written
            raise NotAFileError(os.stat(path, dir_fd=dir_fd).st_mode) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NotAFileError(mode)
    return descriptor


def read_regular(path: Path, most: int, flags: int = 0) -> bytes:
    """Return the content of a regular file, at most so many bytes and one more; `flags` as of os.open. Raises
    NotAFileError and OSError."""
    with open(open_regular(path, os.O_RDONLY | flags), "rb") as file:
        return file.read(most + 1)
