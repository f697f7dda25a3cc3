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
from mnemond.config.regular_files import NotAFileError, open_regular
from mnemond.errors import MnemonError

# ---------------------------------------------------------------- the data directory: private, served by one daemon

LOCK = "lock"

MARKS: Final = frozenset({LOCK, "start.lock", "mnemon.db"})
"""Files that mark a data directory of mnemond, or of mnemon; a client creates the second before anything else."""

EXPECTED: Final = frozenset({
    "active", "backups", "ballast", "bin", "config.toml", "damaged", "data", "hosts", "log", "prompt", "restart.stamp",
    "setup.json", "setup.lock", "sock", ".DS_Store",
})  # fmt: skip
"""Names that may be in one before its first daemon: settings, files of `setup`, copied stores."""

HOMES: Final = frozenset({".git", ".bashrc", ".bash_profile", ".profile", ".zshrc"})
"""Names that mark a project or a home, even if it is private already."""


class DataDir:
    """An open data directory. Everything in it is opened through `fd`, so exchanging the path has no effect."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)


class InstanceLock:
    """The lock of the daemon that serves a data directory; the kernel releases it when the process ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def close(self) -> None:
        """Release the lock. The file stays: removing it would let two daemons lock two files."""
        os.close(self._fd)


def open_data_dir(path: Path) -> DataDir:
    """Open the directory, creating it if missing, and make it private.

    Raises MnemonError (DATA_DIR) for a symbolic link, a file, a foreign owner, a directory that others may write to, or
    one with other contents: a project, a home, /etc.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _refuse_other_contents(path, fd)
        _make_private(path, fd)
    except BaseException:
        os.close(fd)
        raise
    return DataDir(path, fd)


def unwritable(path: Path) -> MnemonError | None:
    """Return the error for a data directory in which nothing can be made, None for one that can be written."""
    if os.access(path, os.W_OK):
        return None
    mode = stat.S_IMODE(os.stat(path).st_mode)
    return MnemonError(
        errors.DATA_DIR,
        f"the data directory {path} cannot be written (mode {mode:04o}, or its file system is mounted for reading"
        " only), and a daemon needs its lock and its socket there",
        hint=f"chmod u+w {path}; until then memories can be read: mnemonctl recall WORDS, mnemonctl list",
    )


def lock(directory: DataDir) -> InstanceLock:
    """Lock the directory, and write the process id into the lock file.

    Raises MnemonError: LOCKED if another daemon has it, DATA_DIR if the lock file cannot be opened as a file.
    """
    try:
        fd = open_regular(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, directory.fd)
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
    path.chmod(0o700)  # a umask such as 0777 would lock the owner out


def _refuse_other_contents(path: Path, fd: int) -> None:
    """Refuse a directory with other contents: a wrong path must neither make a shared directory private nor fill a
    project. One that is private already was made so on purpose."""
    names = set(os.listdir(fd))
    others = sorted(names - EXPECTED)
    is_private = not stat.S_IMODE(os.fstat(fd).st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if others and MARKS.isdisjoint(names) and not (is_private and HOMES.isdisjoint(names)):
        raise MnemonError(
            errors.DATA_DIR,
            f"{path} is not a data directory of mnemond: it contains other files, such as {others[0][:80]!a}; nothing"
            " in it was changed",
            hint=f"name an empty or new directory, such as {path / 'mnemon'}",
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
            f"other users may write to the data directory {path} (mode {mode:04o}); its contents cannot be trusted",
            hint=f"it is shared by all users; name a directory of your own in it, such as {path / 'mnemon'}"
            if status.st_mode & stat.S_ISVTX
            else f"inspect its files, then: chmod 700 {path}",
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        os.fchmod(fd, 0o700)


def _take(path: Path, fd: int) -> None:
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
            errors.DATA_DIR, f"{path} is a symbolic link; links are not followed here", hint="name its target"
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return MnemonError(errors.DATA_DIR, f"{path}, or a part of it, is not a directory")
    hint = "remove it and start again" if isinstance(error, NotAFileError) else None
    if error.errno in (errno.EACCES, errno.EROFS):
        hint = f"make {path.parent} writable, or choose another data directory: --data-dir, MNEMON_DATA_DIR"
    return MnemonError(errors.DATA_DIR, f"{path} cannot be opened: {error.strerror}", hint=hint)


# ---------------------------------------------------------------- the socket

SOCKET = "sock"
BACKLOG = 512
MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""Room in sockaddr_un.sun_path, less the closing zero byte (unix(7); sys/un.h of macOS)."""

_FIRST_PASSED_FD = 3  # SD_LISTEN_FDS_START, sd_listen_fds(3)


class Listener:
    """A listening socket, non-blocking. One that was passed belongs to the service manager."""

    def __init__(self, sock: socket.socket, bound_in: DataDir | None = None) -> None:
        sock.setblocking(False)
        self.socket = sock
        self._bound_in = bound_in
        self._inode = None if bound_in is None else _inode(bound_in)

    @property
    def adopted(self) -> bool:
        """Return True if the socket was passed to this process."""
        return self._bound_in is None

    def refuse_newcomers(self) -> None:
        """Make connecting fail at once, while clients in the backlog can still be accepted. Clients of a passed socket
        wait there for the next daemon instead."""
        if self._bound_in is None:
            return
        self._unlink(self._bound_in)
        with contextlib.suppress(
            OSError
        ):  # macOS has no shutdown of a listening socket; closing it has the same effect
            self.socket.shutdown(socket.SHUT_RD)

    @property
    def lost(self) -> bool:
        """Return True if the bound socket is no longer in the directory: it was removed or replaced."""
        if self._bound_in is None or self._inode is None:
            return False
        try:
            return _inode(self._bound_in) != self._inode
        except OSError:
            return False  # the directory cannot be read; the socket may be there

    def regain(self) -> None:
        """Bind a new socket in place of the lost one. Clients in the backlog of the old one are dropped.

        Call it while the instance lock is held. Raises MnemonError (DATA_DIR) as `bind` does, and if the path is that
        of another directory now, which another daemon may serve.
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
        """Stop listening, and remove a bound socket. Call it while the instance lock is held."""
        if self._bound_in is not None:
            self._unlink(self._bound_in)
        self.socket.close()

    def _unlink(self, directory: DataDir) -> None:
        if self._inode is not None and _inode(directory) == self._inode:
            os.unlink(SOCKET, dir_fd=directory.fd)
        self._inode = None


def adopt(environ: MutableMapping[str, str]) -> Listener | None:
    """Return the socket that the service manager passed to this process (sd_listen_fds(3)), or None.

    Removes the variables from `environ`. Raises MnemonError (CONFIG) if the socket cannot be used.
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
    """Listen on `sock` in the directory, for its owner only. As the lock is held, a socket that exists is left from a
    daemon that ended, and is removed.

    Raises MnemonError (DATA_DIR) if the path is too long, or is that of something other than a socket.
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
    _remove_old_socket(directory)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind_privately(sock, path.as_posix())
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise MnemonError(errors.DATA_DIR, f"cannot listen on {path}: {error.strerror}") from error
    return sock


def _bind_privately(sock: socket.socket, path: str) -> None:
    """Other users cannot reach the socket between the two calls: the directory is private. (A umask would be that of
    all threads.)"""
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


def _remove_old_socket(directory: DataDir) -> None:
    try:
        status = os.stat(SOCKET, dir_fd=directory.fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        where = directory.path / SOCKET
        raise MnemonError(
            errors.DATA_DIR, f"{where} is not a socket; it was not changed", hint="move it away and start again"
        )
    os.unlink(SOCKET, dir_fd=directory.fd)


def _inode(directory: DataDir) -> tuple[int, int] | None:
    try:
        status = os.stat(SOCKET, dir_fd=directory.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
