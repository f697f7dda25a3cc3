"""The socket that clients connect to: passed by the service manager, or bound in the data directory."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
from collections.abc import MutableMapping

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.server.data_dir import DataDir, InstanceLock

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
