"""A socket server that answers requests as it is told: what the benchmark client is tested against."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Answer = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@contextmanager
def serving(path: Path, answer: Answer) -> Iterator[list[dict[str, Any]]]:
    """Serve one connection, giving `answer` every batch of requests that one read holds; yields all requests seen."""
    seen: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(1)
        thread = threading.Thread(target=_serve, args=(listener, answer, seen))
        thread.start()
        yield seen
        thread.join(10)


def _serve(listener: socket.socket, answer: Answer, seen: list[dict[str, Any]]) -> None:
    connection, _ = listener.accept()
    with connection:
        rest = b""
        while data := connection.recv(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            requests = [json.loads(line) for line in lines]
            seen.extend(requests)
            replies = answer(requests)
            connection.sendall(b"".join(json.dumps(reply).encode() + b"\n" for reply in replies))
            if not replies and requests:
                return
