"""Which process is at the other end of a Unix socket; the kernel says so."""

from __future__ import annotations

import select
import socket
import struct
import sys

_LINUX = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))
_DARWIN = struct.Struct("2I")  # beginning of struct xucred: version, uid (sys/ucred.h)
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002  # sys/un.h of macOS


def credentials(sock: socket.socket) -> tuple[int, int]:
    """(pid, uid) of the process that connected; pid 0 where unknown. Raises OSError when the socket is no longer
    connected."""
    if sys.platform == "darwin":  # pragma: no cover - the tests run where SO_PEERCRED is
        _, uid = _DARWIN.unpack(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)[: _DARWIN.size])
        (pid,) = struct.unpack("i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
        return pid, uid
    pid, uid, _ = _LINUX.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX.size))
    return pid, uid


def is_gone(sock: socket.socket) -> bool:
    """Whether nobody can read what is sent: the other end is closed, or this one. Who only stopped sending still
    reads. Where the system does not tell the two apart, nobody is gone before this end is closed."""
    descriptor = sock.fileno()
    if descriptor < 0:
        return True
    if sys.platform != "linux":  # pragma: no cover - macOS reports a hang-up for a half-closed socket as well
        return False
    poller = select.poll()
    poller.register(descriptor, 0)  # a hang-up is told unasked
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(0))
