"""Turning a client away so that it learns why."""

from __future__ import annotations

import contextlib
import socket

import trio

from mnemond.errors import MnemonError
from mnemond.protocol.envelope import NO_ID, encode_error

LINGER_S = 1.0
"""For a refused client to read why. Most write their request first, and a write to a closed socket fails before
anything is read."""

MOST_LEAVING = 16
"""Refused clients that may linger at once: a quarter of the descriptors kept beside the connections."""

_READ_BYTES = 65536
_READS = 16
"""At once, and as often as a client that goes on sending is waited for: 1 MiB, 16 times."""


def last_word(sock: socket.socket, error: MnemonError) -> None:
    """Tell a client that gets no connection why, as far as its socket takes it without waiting, and that nothing
    else follows."""
    with contextlib.suppress(OSError):
        sock.send(encode_error(NO_ID, error) + b"\n")
        sock.shutdown(socket.SHUT_WR)


def discard(sock: socket.socket) -> bool:
    """Read what a refused client has sent, without waiting: closing a Unix socket with something unread would make
    the client's next read fail instead of telling it why. Whether more is worth waiting for."""
    for _ in range(_READS):
        try:
            if not sock.recv(_READ_BYTES):
                return False
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


async def see_out(sock: socket.socket) -> None:
    """Close the socket once the client has left or said too much, or after LINGER_S."""
    with sock, trio.move_on_after(LINGER_S):
        for _ in range(_READS):
            await trio.lowlevel.wait_readable(sock)
            if not discard(sock):
                return
