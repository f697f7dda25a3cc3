"""The client's files in the data directory, private and never reached through a symbolic link; and atomic writing."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mnemond.config.regular_files import open_regular, read_regular
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.wire.listener import MAX_PATH_BYTES, SOCKET, open_data_dir

ANOTHER = "choose another with --data-dir or MNEMON_DATA_DIR"
"""Hint for a data directory that cannot be used."""

_TAIL = 65_536
"""Bytes at the end of the log that are read: more than a daemon writes while it starts."""


def usable(directory: Path) -> Path:
    """Return the directory if it can be a data directory.

    Raises MnemonError if a file is in its place or the path of the socket is too long.
    """
    length = len(os.fsencode(directory / SOCKET))
    if length > MAX_PATH_BYTES:
        raise MnemonError(
            DATA_DIR,
            f"the path of the socket, {directory / SOCKET}, has {length} bytes; the system allows {MAX_PATH_BYTES}",
            hint="use a shorter --data-dir",
        )
    nearest = next(path for path in (directory, *directory.parents) if os.path.exists(path))
    if not os.path.isdir(nearest):
        raise MnemonError(DATA_DIR, f"the data directory cannot be made: {nearest} is a file", hint=ANOTHER)
    return directory


def make_private(directory: Path) -> None:
    """Create the data directory (0700). Raises MnemonError for one that the daemon refuses, too."""
    try:
        open_data_dir(directory).close()
    except MnemonError as error:
        error.hint = error.hint or ANOTHER
        raise


@contextmanager
def private_file(path: Path, flags: int = os.O_RDWR, dir_fd: int | None = None) -> Iterator[int]:
    """Open a file, created 0600 if it is not there, and yield its descriptor; `dir_fd`: of its directory. Raises
    MnemonError."""
    try:
        descriptor = open_regular(path if dir_fd is None else path.name, flags | os.O_CREAT | os.O_NOFOLLOW, dir_fd)
    except OSError as error:
        hint = f"chmod u+w {path} {path.parent}" if error.errno == errno.EACCES else None
        raise MnemonError(DATA_DIR, f"cannot write {path}: {error.strerror}", hint=hint) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file as a whole, and to the disk, or not at all. Raises MnemonError."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".mnemond", dir=path.parent)
        draft = Path(name)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unusable(path, error) from None
    with suppress(OSError):  # some file systems sync no directories; the file itself is on the disk
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def unusable(path: Path, error: OSError) -> MnemonError:
    """Return the error for a path that the system refuses."""
    return MnemonError(DATA_DIR, f"{path} cannot be used: {error.strerror}", hint="look at it and at its directory")


# ------------------------------------------------------------------ log of a daemon in the background


def log_path(directory: Path) -> Path:
    return directory / "log" / "mnemond.log"


@contextmanager
def log_file(directory: Path) -> Iterator[int]:
    """Open the log for appending, in a directory 0700, and yield its descriptor. Raises MnemonError."""
    folder = log_path(directory).parent
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise MnemonError(DATA_DIR, f"cannot use the log directory {folder}: {error.strerror}") from None
    try:
        with private_file(log_path(directory), os.O_WRONLY | os.O_APPEND, folder_fd) as descriptor:
            yield descriptor
    finally:
        os.close(folder_fd)


def logged(directory: Path, since: int) -> str:
    """Return what was logged after byte `since`, not escaped; "" if the log cannot be read."""
    try:
        with log_path(directory).open("rb") as log:
            size = os.fstat(log.fileno()).st_size
            log.seek(max(size - _TAIL, since if since <= size else 0))  # a shorter one was begun anew meanwhile
            return log.read(_TAIL).decode("utf-8", "replace")
    except OSError:
        return ""


# ------------------------------------------------------------------ locks and stamps

MAX_PID = 20
"""Characters of a pid in the lock."""

SUSPENDED = ("T", "t")
"""States of a process that a signal or a debugger holds (proc(5), ps(1))."""

PS_S = 2.0
"""Seconds that ps(1) may take."""


def try_lock(descriptor: int) -> bool:
    """Take an exclusive lock until the descriptor is closed; return False if another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_unlocked(path: Path) -> bool:
    """Return True if no process holds the lock, or there is no such file. Tests with a shared lock."""
    try:
        descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError as error:
        hint = f"look at it; if it is not yours to keep: rm -r {path}"
        raise MnemonError(DATA_DIR, f"cannot look at {path}: {error.strerror}", hint=hint) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lock_holder(directory: Path) -> int | None:
    """Return the pid of the daemon of a data directory, None if there is none.

    Raises OSError, ValueError, MnemonError if it cannot be found out.
    """
    path = directory / "lock"
    pid = int(read_regular(path, MAX_PID, os.O_NOFOLLOW)[:MAX_PID])
    return None if is_unlocked(path) else pid  # of one that is gone, another process may have the pid by now


def suspended(directory: Path) -> int | None:
    """Return the pid of the daemon of a data directory if a signal has suspended it (SIGSTOP, ^Z, a debugger); None if
    it runs, if there is none, or if that cannot be found out."""
    try:
        pid = _lock_holder(directory)
        return pid if pid is not None and _state(pid)[:1] in SUSPENDED else None
    except (OSError, ValueError, MnemonError, subprocess.SubprocessError):
        return None


def terminate(directory: Path) -> int | None:
    """Send SIGTERM to the daemon of a data directory and return its pid; None if there is none, or if the process of
    that pid may be another: the lock may be held in another container."""
    try:
        pid = _lock_holder(directory)
        if pid is None:
            return None
        if sys.platform != "linux":
            if "mnemond" in _ps(pid, "args="):
                os.kill(pid, signal.SIGTERM)
                return pid
            return None
        process = os.pidfd_open(pid)
        try:
            lock = os.stat(directory / "lock")
            if not any(os.path.samestat(lock, opened) for opened in _opened(pid)):
                return None
            signal.pidfd_send_signal(process, signal.SIGTERM)
            return pid
        finally:
            os.close(process)
    except (OSError, ValueError, MnemonError, subprocess.SubprocessError):
        return None


def _opened(pid: int) -> Iterator[os.stat_result]:
    """Yield the files that a process has open (proc(5)). Raises OSError."""
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield path.stat()


def _state(pid: int) -> str:
    """Return the state of a process by proc(5) of Linux, or else by ps(1). Raises OSError, SubprocessError."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].strip()
    except FileNotFoundError:
        return _ps(pid, "state=")


def _ps(pid: int, column: str) -> str:
    line = ["/bin/ps", "-o", column, "-p", str(pid)]
    return subprocess.run(line, capture_output=True, text=True, timeout=PS_S, check=True).stdout.strip()  # noqa: S603


def claim_stamp(path: Path, seconds: float) -> bool:
    """Return True, and set the stamp, if the last claim is at least `seconds` ago or lies in the future."""
    with private_file(path) as descriptor:
        if not try_lock(descriptor):
            return False
        status = os.fstat(descriptor)
        age = time.time() - status.st_mtime
        if status.st_size and 0 <= age < seconds:
            return False
        os.pwrite(descriptor, b"1", 0)
        os.utime(descriptor)
        return True
