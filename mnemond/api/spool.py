"""Files in `spool/` of the data directory, by which a client and the daemon of one user hand content to each other that
is too large for a message.

The client makes one and names it in a call; the daemon opens it and removes its name at once. Both have it open then,
and it is gone when both have closed it, however they end. Only a client that ended before its call leaves one behind.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import trio

from mnemond.config.regular_files import open_regular
from mnemond.errors import NOT_FOUND, STORAGE, TOO_LARGE, MnemonError, rejected
from mnemond.wire.params import SPOOL

LEFT_S: Final = 3_600.0
"""Seconds after the last write when a file is taken for one that a client left, and between two looks for such."""


def taken(data_dir: Path, name: str, most: int) -> IO[bytes]:
    """Open a file that a client made, to be read and written, and remove its name (blocking). Raises MnemonError:
    NOT_FOUND, TOO_LARGE for more than `most` bytes, STORAGE."""
    path = data_dir / SPOOL / name
    try:
        with _opened(path.parent) as directory, ExitStack() as if_refused:
            descriptor = open_regular(name, os.O_RDWR | os.O_NOFOLLOW, directory)
            file = if_refused.enter_context(open(descriptor, "r+b"))
            os.unlink(name, dir_fd=directory)
            if_refused.pop_all()
    except FileNotFoundError:
        sentence = f"{path} is not there: content is handed over in files of the data directory"
        hint = "run it on the daemon's machine, with its data directory: a forwarded socket is not enough"
        raise rejected(NOT_FOUND, sentence, hint) from None
    except OSError as error:
        raise MnemonError(STORAGE, f"{path} cannot be opened: {error.strerror}", outcome="rejected") from error
    found = os.fstat(file.fileno())
    if found.st_uid == os.geteuid() and found.st_nlink == 0 and found.st_size <= most:
        return file
    file.close()
    if found.st_size > most:
        raise rejected(TOO_LARGE, f"{found.st_size:,} bytes were sent; at most {most:,} are taken; nothing was done")
    raise MnemonError(STORAGE, f"{path} has another owner, or another name as well", outcome="rejected")


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open the directory, which is no link, of this user alone. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(1, "its directory is not of this user alone")
        yield descriptor
    finally:
        os.close(descriptor)


def remove_left(data_dir: Path, now_us: int) -> None:
    """Remove the files of clients that ended before their call (blocking)."""
    with suppress(OSError), _opened(data_dir / SPOOL) as directory:
        for name in os.listdir(directory):
            with suppress(OSError):  # it was taken meanwhile
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if now_us / 1e6 - found.st_mtime > LEFT_S:
                    os.unlink(name, dir_fd=directory)


async def run(data_dir: Path, now_us: Callable[[], int]) -> None:
    """Remove what clients left, now and from time to time, until cancelled."""
    while True:
        await trio.to_thread.run_sync(remove_left, data_dir, now_us())
        await trio.sleep(LEFT_S)
