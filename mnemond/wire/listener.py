"""The socket that clients connect to: passed by the service manager, or bound in the data directory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

from mnemond import errors
from mnemond.errors import MnemonError

# The data directory: private to its owner, served by one daemon at a time.


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


SOCKET = "sock"
BACKLOG = 512
MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Room in sockaddr_un.sun_path, less the closing zero byte (unix(7); sys/un.h of macOS)."""

_FIRST_PASSED_FD = 3  # SD_LISTEN_FDS_START, sd_listen_fds(3)


class Listener:
    """A listening socket, non-blocking. One that was passed is shared with the service manager and only borrowed."""

    def __init__(self, sock: socket.socket, bound_in: DataDir | None = None) -> None:
        sock.setblocking(False)
        self.socket = sock
        self._bound_in = bound_in
        self._inode = None if bound_in is None else _inode(bound_in)

    @property
    def adopted(self) -> bool:
        """Whether the socket was passed to this process."""
        return self._bound_in is None

    def refuse_newcomers(self) -> None:
        """From now on connecting fails at once, while those who wait in the backlog can still be accepted. Clients
        of a passed socket wait there for the next daemon instead."""
        if self._bound_in is None:
            return
        self._unlink(self._bound_in)
        with contextlib.suppress(OSError):  # macOS knows no shutdown of a listening socket; there the close does it
            self.socket.shutdown(socket.SHUT_RD)

    @property
    def lost(self) -> bool:
        """Whether clients no longer find the socket that we bound: it was removed, or something else is there."""
        if self._bound_in is None or self._inode is None:
            return False
        try:
            return _inode(self._bound_in) != self._inode
        except OSError:
            return False  # we cannot even look; what is there may be ours

    def regain(self) -> None:
        """Listen in a new socket where the lost one was. Whoever waits in the backlog of the old one is dropped.

        Call it while the instance lock is held. Raises MnemonError (DATA_DIR) as `bind` does, and when the directory
        itself is no longer at its path: what is there may be another daemon's.
        """
        if self._bound_in is None:
            return
        _check_in_place(self._bound_in)
        fresh = _listen(self._bound_in)
        fresh.setblocking(False)
        self.socket.close()
        self.socket = fresh
        self._inode = _inode(self._bound_in)

    def close(self) -> None:
        """Stop listening; a socket that we bound disappears. Call it while the instance lock is held."""
        if self._bound_in is not None:
            self._unlink(self._bound_in)
        self.socket.close()

    def _unlink(self, directory: DataDir) -> None:
        if self._inode is not None and _inode(directory) == self._inode:
            os.unlink(SOCKET, dir_fd=directory.fd)
        self._inode = None


def adopt(environ: MutableMapping[str, str]) -> Listener | None:
    """The socket that the service manager passed to this very process (sd_listen_fds(3)), or None.

    The variables are taken out of `environ`. Raises MnemonError (CONFIG) when what was passed cannot be used.
    """
    pid, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or count in ("", "0"):
        return None
    if count != "1":
        raise MnemonError(errors.CONFIG, f"{count} sockets were passed (LISTEN_FDS); exactly one is needed")
    try:
        sock = socket.socket(fileno=_FIRST_PASSED_FD)
        listening = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise MnemonError(errors.CONFIG, f"descriptor 3 (LISTEN_FDS) is not a socket: {error.strerror}") from error
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not listening:
        sock.detach()
        raise MnemonError(errors.CONFIG, "descriptor 3 (LISTEN_FDS) is not a listening Unix stream socket")
    sock.set_inheritable(False)
    return Listener(sock)


def bind(directory: DataDir, lock: InstanceLock) -> Listener:
    """Listen on `sock` in the directory, for its owner only. Whoever holds the lock knows that a socket lying there
    is a dead daemon's, and removes it.

    Raises MnemonError (DATA_DIR) when the path is too long, or something else than a socket is in the way.
    """
    return Listener(_listen(directory), directory)


def _listen(directory: DataDir) -> socket.socket:
    path = directory.path / SOCKET
    length = len(os.fsencode(path))
    if length > MAX_PATH_BYTES:
        raise MnemonError(
            errors.DATA_DIR,
            f"the path of the socket, {path}, has {length} bytes; the system allows {MAX_PATH_BYTES}",
            hint="choose a data directory with a shorter path",
        )
    _clear_the_way(directory)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind_privately(sock, path.as_posix())
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise MnemonError(errors.DATA_DIR, f"cannot listen on {path}: {error.strerror}") from error
    return sock


def _bind_privately(sock: socket.socket, path: str) -> None:
    """Nobody else reaches the socket in between: the directory is private. (A umask would be that of all threads.)"""
    sock.bind(path)
    os.chmod(path, 0o600)


def _check_in_place(directory: DataDir) -> None:
    try:
        there = os.stat(directory.path, follow_symlinks=False)
    except OSError as error:
        raise MnemonError(errors.DATA_DIR, f"{directory.path} cannot be opened: {error.strerror}") from error
    ours = os.fstat(directory.fd)
    if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
        raise MnemonError(errors.DATA_DIR, f"{directory.path} is no longer the directory that this daemon serves")


def _clear_the_way(directory: DataDir) -> None:
    try:
        status = os.stat(SOCKET, dir_fd=directory.fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        where = directory.path / SOCKET
        raise MnemonError(
            errors.DATA_DIR, f"{where} is not a socket; it is left as it is", hint="move it away and start again"
        )
    os.unlink(SOCKET, dir_fd=directory.fd)


def _inode(directory: DataDir) -> tuple[int, int] | None:
    try:
        status = os.stat(SOCKET, dir_fd=directory.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
