"""The client's few files in the data directory: private, and never reached through a symbolic link."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemond.errors import DATA_DIR, MnemonError
from mnemond.wire.listener import MAX_PATH_BYTES, SOCKET, open_data_dir

ANOTHER = "choose another with --data-dir or MNEMON_DATA_DIR"
"""What to do about a data directory that cannot be used."""

_TAIL = 65_536
"""Bytes at the end of the log that may be looked at: what a daemon says while it starts is much less."""


def usable(directory: Path) -> Path:
    """The data directory, if it can be one. Raises MnemonError for a file, or a path that leaves a socket no room."""
    length = len(os.fsencode(directory / SOCKET))
    if length > MAX_PATH_BYTES:
        raise MnemonError(
            DATA_DIR,
            f"the path of the socket, {directory / SOCKET}, has {length} bytes; the system allows {MAX_PATH_BYTES}",
            hint="use a shorter --data-dir",
        )
    there = next(path for path in (directory, *directory.parents) if os.path.exists(path))
    if not os.path.isdir(there):
        raise MnemonError(DATA_DIR, f"there is no room for the data directory: {there} is a file", hint=ANOTHER)
    return directory


def make_private(directory: Path) -> None:
    """Create the data directory, 0700. Raises MnemonError for one that is not safe to write to, as the daemon does."""
    try:
        open_data_dir(directory).close()
    except MnemonError as error:
        error.hint = error.hint or ANOTHER
        raise


def log_path(directory: Path) -> Path:
    """What a daemon in the background writes."""
    return directory / "log" / "mnemond.log"


@contextmanager
def private_file(path: Path, flags: int = os.O_RDWR, dir_fd: int | None = None) -> Iterator[int]:
    """A descriptor of a file that is created 0600 if it is not there. Raises MnemonError."""
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=dir_fd)
    except OSError as error:
        raise MnemonError(DATA_DIR, f"cannot write {path}: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def log_file(directory: Path) -> Iterator[int]:
    """The log, for appending, in its directory 0700."""
    folder = log_path(directory).parent
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise MnemonError(DATA_DIR, f"cannot use the log directory {folder}: {error.strerror}") from None
    try:
        with private_file(Path(log_path(directory).name), os.O_WRONLY | os.O_APPEND, inside) as descriptor:
            yield descriptor
    finally:
        os.close(inside)


def logged(directory: Path, since: int) -> str:
    """What was logged after byte `since`, as it is: not harmless. Empty when the log cannot be read."""
    try:
        with log_path(directory).open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(size - _TAIL, since if since <= size else 0))  # a shorter one was begun anew meanwhile
            return log.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return ""


def try_lock(descriptor: int) -> bool:
    """Take an exclusive lock for as long as the descriptor is open, unless somebody else holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_unlocked(path: Path) -> bool:
    """Whether no process holds the lock (there may be no such file). The test itself hardly holds it: it is shared."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise MnemonError(DATA_DIR, f"cannot look at {path}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def claim_stamp(path: Path, seconds: float) -> bool:
    """Whether the last claim is at least so long ago; if so, this is a new one. A stamp of the future counts as old."""
    with private_file(path) as descriptor:
        if not try_lock(descriptor):
            return False
        found = os.fstat(descriptor)
        age = time.time() - found.st_mtime
        if found.st_size and 0 <= age < seconds:
            return False
        os.pwrite(descriptor, b"1", 0)
        os.utime(descriptor)
        return True
