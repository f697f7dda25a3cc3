"""A minimal Python server: one connection, blocking, every byte sent back. `python -m benchmarks.echo SOCK`.

The round trip of the daemon is compared with it in the same run.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.wire import Wire

READY_S = 20.0
CHUNK = 1 << 16


def serve(path: str) -> None:
    """Answer one connection until it ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        listener.listen(1)
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(CHUNK):
                connection.sendall(data)


@contextmanager
def running(directory: Path) -> Iterator[Wire]:
    """A connection to an echo server in a process of its own, which leaves when the connection is closed."""
    path = directory / "echo-sock"
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.echo", str(path)])
    try:
        with _connected(path) as wire:
            yield wire
        process.wait(READY_S)
    finally:
        process.kill()
        process.wait()


def _connected(path: Path) -> Wire:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            return Wire(path)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


if __name__ == "__main__":
    serve(sys.argv[1])
