"""A proxy between a daemon and a server that cuts a connection around a commit."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

Cut = Literal["before", "after"]
NAME = ".s.PGSQL.5432"


class CuttingProxy:
    """Passes bytes on. `cut_next`: the next COMMIT is not passed on ("before"), or its answer is not ("after")."""

    def __init__(self, server: Path) -> None:
        self._server = str(server / NAME)
        self.home = Path(tempfile.mkdtemp(prefix="px"))
        self.cut_next: Cut | None = None
        self.refuses = False
        self.cuts = 0
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
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        answers = threading.Thread(target=_pass, args=(server, client), daemon=True)
        answers.start()
        try:
            while data := client.recv(1 << 20):
                if self.cut_next is not None and b"COMMIT\0" in data:
                    how, self.cut_next = self.cut_next, None
                    self.cuts += 1
                    _shut(client)
                    if how == "after":
                        server.sendall(data)
                        server.shutdown(socket.SHUT_WR)  # the server reads all of it, and then the end
                        answers.join(5)
                    break
                server.sendall(data)
        except OSError:
            pass
        _shut(client)
        _shut(server)

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


def _pass(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(1 << 20):
            target.sendall(data)
    except OSError:
        pass


def _shut(it: socket.socket) -> None:
    with suppress(OSError):
        it.shutdown(socket.SHUT_RDWR)
    it.close()
