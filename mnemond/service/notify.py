"""What a service manager is told of the daemon's life: datagrams of `NAME=value` lines, as sd_notify(3) has them."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import MutableMapping
from typing import Final

PATIENCE_S: Final = 0.05
"""Seconds a datagram may wait for room in the manager's queue; the event loop waits with it."""


class Notifier:
    """Sends to the socket of the service manager; to nobody when there is none."""

    def __init__(self, address: bytes | None) -> None:
        """`address` is a path, or an abstract name that begins with a zero byte."""
        self._address = address
        self._socket: socket.socket | None = None
        if address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(PATIENCE_S)

    @classmethod
    def of(cls, environ: MutableMapping[str, str]) -> Notifier:
        """For the socket that $NOTIFY_SOCKET names. The variable is taken out: it is meant for this process alone.

        An address of another kind (`vsock:` of a virtual machine's init) counts as none.
        """
        named = os.fsencode(environ.pop("NOTIFY_SOCKET", ""))
        if named[:1] == b"@":
            return cls(b"\0" + named[1:])
        return cls(named if named[:1] == b"/" else None)

    @property
    def heard(self) -> bool:
        """Whether there is somebody to tell."""
        return self._socket is not None

    def tell(self, **assignments: str | int) -> None:
        """Send the assignments together. One that cannot be sent is dropped: a manager that does not listen must not
        end the daemon."""
        if self._socket is None:
            return
        lines = [f"{name}={' '.join(str(value).split())}" for name, value in assignments.items()]
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode("utf-8", "replace"), self._address or b"")

    def close(self) -> None:
        """Give the descriptor back. What is told after it reaches nobody."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
