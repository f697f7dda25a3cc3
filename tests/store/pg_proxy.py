"""A proxy between a daemon and a server that cuts a connection around a commit."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

Cut = Literal["before", "after", "late"]
NAME = ".s.PGSQL.5432"
COMMIT = b"COMMIT\0"
"""In a request its text, in an answer the tag of a transaction that is committed."""
SYNC = b"S\0\0\0\4"
"""The message that ends a batch of requests."""
READY = b"Z\0\0\0\5"
"""The message that ends its answers, but for a byte."""


class Late(NamedTuple):
    """Requests that were held back, of a client that is gone, and the server's end of its connection."""

    server: socket.socket
    requests: bytes
    answers: bytearray
    answered: threading.Event


class CuttingProxy:
    """Passes bytes on. `cut_next`: cuts the client off at the next COMMIT, which the server does not get ("before"),
    has carried out ("after"), or gets with `deliver` ("late": the requests from the next BEGIN on)."""

    def __init__(self, server: Path) -> None:
        self._server = str(server / NAME)
        self.home = Path(tempfile.mkdtemp(prefix="px"))
        self.cut_next: Cut | None = None
        self.refuses = False
        self.cuts = 0
        self._late: Late | None = None
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.home / NAME))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def dsn(self) -> str:
        return f"host={self.home} dbname=postgres user=mnemond"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server)
            except OSError:
                client.close()
                server.close()
                continue
            with self._lock:
                self._open += [client, server]
            for each in (self._requests, self._answers):
                threading.Thread(target=each, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        before = held = b""
        try:
            while data := client.recv(1 << 20):
                if self.cut_next == "before" and COMMIT in before + data:
                    self._cut(client)
                    break
                if self.cut_next == "late" and (held or b"BEGIN\0" in data):
                    held += data
                    if SYNC in held.partition(COMMIT)[2]:
                        self._late = Late(server, held, bytearray(), threading.Event())
                        self._cut(client)
                        return  # the connection to the server stays
                    continue
                server.sendall(data)
                before = data[-len(COMMIT) :]
        except OSError:
            pass
        _shut(client)
        _shut(server)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        before = b""
        try:
            while data := server.recv(1 << 20):
                if self.cut_next == "after" and COMMIT in before + data:
                    self._cut(client)
                    return
                late = self._late
                if late is not None and late.server is server:
                    late.answers.extend(data)
                    if READY in late.answers:
                        late.answered.set()
                    continue
                client.sendall(data)
                before = data[-len(COMMIT) :]
        except OSError:
            pass

    def _cut(self, client: socket.socket) -> None:
        self.cut_next = None
        self.cuts += 1
        _shut(client)

    def deliver(self) -> bool:
        """Pass on what was held back, wait for the answer, and return True if the server committed it."""
        late = self._late
        assert late is not None
        late.server.sendall(late.requests)
        assert late.answered.wait(30)
        self._late = None
        _shut(late.server)
        return COMMIT in late.answers

    def cut_all(self) -> None:
        """Cut every connection."""
        with self._lock:
            for each in self._open:
                _shut(each)
            self._open.clear()

    def close(self) -> None:
        _shut(self._listening)
        self.cut_all()
        shutil.rmtree(self.home, ignore_errors=True)


def _shut(it: socket.socket) -> None:
    with suppress(OSError):
        it.shutdown(socket.SHUT_RDWR)
    it.close()
