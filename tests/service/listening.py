"""A service manager that listens."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 30.0


class Manager:
    """Keeps what it was told."""

    def __init__(self, address: str | bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)

    def told(self) -> list[dict[str, str]]:
        """Every message that has come, oldest first, as its assignments."""
        messages = []
        while True:
            try:
                messages.append(self.socket.recv(65_536).decode())
            except BlockingIOError:
                return [dict(line.split("=", 1) for line in message.splitlines()) for message in messages]

    def wait_for(self, name: str) -> dict[str, str]:
        """The next message that assigns `name`; those before it are dropped."""
        deadline = time.monotonic() + PATIENCE_S
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.socket], [], [], left)[0]:
                message = dict(line.split("=", 1) for line in self.socket.recv(65_536).decode().splitlines())
                if name in message:
                    return message
        raise AssertionError(f"nobody said {name}")


@contextmanager
def listening(path: Path) -> Iterator[Manager]:
    """A manager whose socket is there as long as the block lasts."""
    manager = Manager(str(path))
    try:
        yield manager
    finally:
        manager.socket.close()
