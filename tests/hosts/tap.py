"""Between a host and the daemon: passes every byte on, in both directions, and keeps it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

CHUNK: Final = 1 << 16


class Talk(msgspec.Struct):
    """One connection: what the host said, and what it was told."""

    said: bytearray = msgspec.field(default_factory=bytearray)
    told: bytearray = msgspec.field(default_factory=bytearray)

    def messages(self) -> list[Any]:
        """What the host said, one by one."""
        return [json.loads(line) for line in self.said.splitlines() if line.strip()]

    def answers(self) -> list[Any]:
        """What it was told."""
        return [json.loads(line) for line in self.told.splitlines() if line.strip()]


class Tap:
    """Listens at one path and connects to another."""

    def __init__(self, here: Path, there: Path) -> None:
        self.talks: list[Talk] = []
        self._there = there
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(here))
        self._listener.listen(64)
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def hooks(self) -> list[dict[str, Any]]:
        """The payloads of hooks, in the order in which they came."""
        return [each for talk in list(self.talks) for each in talk.messages() if "jsonrpc" not in each]

    def methods(self) -> list[str]:
        """The methods of MCP that were called, in the order in which they came."""
        said = [each for talk in list(self.talks) for each in talk.messages()]
        named = [each["method"] for each in said if "jsonrpc" in each and "method" in each]
        return [name for name in named if name != "hello"]  # by which the launcher tells where it works

    def close(self) -> None:
        """Once the host has left."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _begin(self, function: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                host, _ = self._listener.accept()
            except OSError:
                return
            talk = Talk()
            self.talks.append(talk)
            self._begin(self._pass, host, talk)

    def _pass(self, host: socket.socket, talk: Talk) -> None:
        with host, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as daemon:
            daemon.connect(str(self._there))
            back = threading.Thread(target=copy, args=(daemon, host, talk.told))
            back.start()
            copy(host, daemon, talk.said)
            back.join()


def copy(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
    """Everything up to the end of the source, whose end is passed on as well."""
    with contextlib.suppress(OSError):
        while part := source.recv(CHUNK):
            kept += part
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def tapped(here: Path, there: Path) -> Iterator[Tap]:
    """A tap for as long as the block lasts."""
    tap = Tap(here, there)
    try:
        yield tap
    finally:
        tap.close()
