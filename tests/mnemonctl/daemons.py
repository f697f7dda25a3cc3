"""Daemons that behave as a test wants them to, on a real socket."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from mnemond.api.types_daemon import CliRunResult
from mnemond.wire.jsonrpc import encode_result

Behaviour = Callable[[bytes], bytes | None]
"""From a message to what is sent back, byte for byte; None: stay silent until the test is over."""


def line(exit_code: int = 0, stdout: str = "", stderr: str = "", *, outdated: bool = False) -> bytes:
    """The reply of a `cli.run`, as the real daemon encodes it."""
    return encode_result(msgspec.Raw(b"1"), CliRunResult(exit_code, outdated, stdout, stderr)) + b"\n"


def without_directory(message: bytes) -> bytes:
    """A message without the line in which the launcher of an MCP server tells its directory."""
    first, ended, rest = message.partition(b"\n")
    return rest if ended and first.startswith(b'{"jsonrpc":"2.0","method":"hello"') else message


class FakeDaemon:
    """Answers one message a connection and keeps what it was sent."""

    def __init__(self, directory: Path, behaviour: Behaviour, backlog: int = 8) -> None:
        self.messages: list[bytes] = []
        self._behaviour = behaviour
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(directory / "sock"))
        self._listener.listen(backlog)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._thread.join()
        self._listener.close()  # after that: another socket may get its number at once

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        message = b""
        while not message.endswith(b"\n"):
            part = connection.recv(65536)
            if not part:
                break
            message = without_directory(message + part)
        self.messages.append(message)
        reply = self._behaviour(message)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            if reply is None:
                self._over.wait()
            else:
                connection.sendall(reply)


@contextlib.contextmanager
def fake_daemon(directory: Path, behaviour: Behaviour) -> Iterator[FakeDaemon]:
    """A daemon that listens in `directory` for as long as the block lasts."""
    daemon = FakeDaemon(directory, behaviour)
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()
