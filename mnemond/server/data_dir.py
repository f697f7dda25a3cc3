"""The data directory: private to its owner, served by one daemon at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from mnemond import errors
from mnemond.errors import MnemonError

LOCK = "lock"

MARKS: Final = frozenset({LOCK, "start.lock", "mnemon.db"})
"""Files by which a directory is one of ours, or of mnemon's: a client's first act is to make the second."""

EXPECTED: Final = frozenset({
    "active", "backups", "ballast", "bin", "config.toml", "data", "hosts", "log", "prompt", "restart.stamp",
    "setup.json", "setup.lock", "sock", ".DS_Store",
})  # fmt: skip
"""What may stand in one before its first daemon: settings, what `setup` writes, stores from elsewhere."""

HOMES: Final = frozenset({".git", ".bashrc", ".bash_profile", ".profile", ".zshrc"})
"""What makes of a directory a project or a home, also where it is private already."""


class DataDir:
    """An open data directory. Everything in it is reached through `fd`, so a swapped path changes nothing."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)


class InstanceLock:
    """Held by the one daemon that serves a data directory; the kernel drops it when the process ends, however."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        """Let the next daemon in. The file stays: removing it would let two daemons lock two files."""
        os.close(self._fd)


def open_data_dir(path: Path) -> DataDir:
    """Open the directory, making it when missing, and make sure that nobody else can read or change it.

    Raises MnemonError (DATA_DIR) for a symbolic link, a file, a foreign owner, a directory that others may write to, or
    one that is somebody's already: a project, a home, /etc.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _refuse_others(path, fd)
        _make_private(path, fd)
    except BaseException:
        os.close(fd)
        raise
    return DataDir(path, fd)


def lock(directory: DataDir) -> InstanceLock:
    """Become the one daemon of this directory; our process id stands in the lock file.

    Raises MnemonError: LOCKED when another daemon has it, DATA_DIR when the lock file is not a file of ours.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(LOCK, flags, 0o600, dir_fd=directory.fd)
    except OSError as error:
        raise _unusable(directory.path / LOCK, error) from error
    try:
        _take(directory.path / LOCK, fd)
    except BaseException:
        os.close(fd)
        raise
    return InstanceLock(fd)


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    path.chmod(0o700)  # a umask such as 0777 would have left us outside


def _refuse_others(path: Path, fd: int) -> None:
    """A wrong path must not lock everybody out of a directory, nor fill a project. One that is private already was made
    so by somebody."""
    there = set(os.listdir(fd))
    strange = sorted(there - EXPECTED)
    is_private = not stat.S_IMODE(os.fstat(fd).st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if strange and MARKS.isdisjoint(there) and not (is_private and HOMES.isdisjoint(there)):
        raise MnemonError(
            errors.DATA_DIR,
            f"{path} is no data directory of mnemond's: it holds other things, such as {strange[0][:80]!a}; nothing in"
            " it was changed",
            hint=f"name an empty directory or one that is not there yet, such as {path / 'mnemon'}",
        )


def _make_private(path: Path, fd: int) -> None:
    status = os.fstat(fd)
    if status.st_uid != os.geteuid():
        raise MnemonError(
            errors.DATA_DIR,
            f"the data directory {path} belongs to user {status.st_uid}; this process runs as user {os.geteuid()}",
            hint="choose a data directory of your own",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        raise MnemonError(
            errors.DATA_DIR,
            f"others may write to the data directory {path} (mode {mode:04o}); what is in it cannot be trusted",
            hint=f"it is shared by everybody; name a directory of your own in it, such as {path / 'mnemon'}"
            if status.st_mode & stat.S_ISVTX
            else f"look through it, then: chmod 700 {path}",
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        os.fchmod(fd, 0o700)


def _take(path: Path, fd: int) -> None:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise MnemonError(errors.DATA_DIR, f"{path} is not a regular file", hint="remove it and start again")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise MnemonError(
            errors.LOCKED,
            f"another daemon (process {owner}) serves {path.parent}",
            hint="use it, or stop it with: mnemonctl daemon stop",
        ) from error
    os.fchmod(fd, 0o600)
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _unusable(path: Path, error: OSError) -> MnemonError:
    if error.errno in (errno.ELOOP, errno.EMLINK) or os.path.islink(path):
        return MnemonError(
            errors.DATA_DIR, f"{path} is a symbolic link; links are not followed here", hint="name the real place"
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return MnemonError(errors.DATA_DIR, f"{path}, or a part of it, is not a directory")
    return MnemonError(errors.DATA_DIR, f"{path} cannot be opened: {error.strerror}")
