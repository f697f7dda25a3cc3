"""A blocking JSON-RPC client: one connection, newline-delimited, with pipelining. Deliberately shares no code with
the product's own client, so that a fault there cannot hide here."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

WINDOW = 128
"""Requests in flight. Their replies fit the socket's buffer, so neither side can block the other for good."""

BURST = 64
"""Requests sent at once, and replies awaited before the next burst."""

TIMEOUT_S = 120.0

Json = dict[str, Any]


class RpcError(Exception):
    """The daemon answered with an error, or went away."""


def request(number: int, method: str, params: Json) -> bytes:
    """One message, newline included."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Wire:
    """One connection to `path`. Use as a context manager."""

    def __init__(self, path: Path, timeout_s: float = TIMEOUT_S) -> None:
        self._numbers = itertools.count(1)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._reader = self._socket.makefile("rb", buffering=1 << 16)
        try:
            self._socket.connect(str(path))
        except OSError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket; again is harmless."""
        self._reader.close()
        self._socket.close()

    def fileno(self) -> int:
        """For a selector."""
        return self._socket.fileno()

    def post(self, message: bytes) -> None:
        """Send one prepared request; its reply must be fetched with `take`."""
        self._socket.sendall(message)

    def take(self) -> bytes:
        """The next reply, as it came. RpcError when the daemon has closed the connection."""
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            raise RpcError("the daemon closed the connection")
        return line

    def call(self, method: str, **params: object) -> Json:
        """The result of one request."""
        return self.exchange(request(next(self._numbers), method, params))

    def exchange(self, message: bytes) -> Json:
        """The result of one prepared request."""
        return result_of(self.round_trip(message))

    def round_trip(self, message: bytes) -> bytes:
        """The reply to one prepared request, as it came: what latency is measured on."""
        self.post(message)
        return self.take()

    def pipeline(self, method: str, many: Iterable[Json]) -> Iterator[Json]:
        """Results in the order of `many`, which is also the order they are sent in."""
        waiting: dict[int, Json | None] = {}
        queue = iter(many)
        while True:
            burst = [(next(self._numbers), params) for params in itertools.islice(queue, BURST)]
            if burst:
                waiting.update((number, None) for number, _ in burst)
                self._socket.sendall(b"".join(request(number, method, params) for number, params in burst))
            keep = WINDOW - BURST if burst else 0
            yield from self._settle(waiting, keep)
            if not burst:
                return

    def _settle(self, waiting: dict[int, Json | None], keep: int) -> Iterator[Json]:
        """Take replies until at most `keep` requests wait; yield those whose turn has come."""
        while len(waiting) > keep:
            reply = _decoded(self.take())
            if reply.get("id") not in waiting:
                raise RpcError(f"an unexpected reply: {str(reply)[:300]}")
            waiting[reply["id"]] = reply
            while waiting and (first := waiting[head := next(iter(waiting))]) is not None:
                del waiting[head]
                yield _result(first)


def result_of(line: bytes) -> Json:
    """The result in a reply. RpcError when it carries an error instead."""
    return _result(_decoded(line))


def _decoded(line: bytes) -> Json:
    reply = json.loads(line)
    if not isinstance(reply, dict):
        raise RpcError(f"the reply is not an object: {line[:300]!r}")
    return reply


def _result(reply: Json) -> Json:
    if "error" in reply:
        raise RpcError(json.dumps(reply["error"], ensure_ascii=False)[:1000])
    result = reply["result"]
    if not isinstance(result, dict):
        raise RpcError(f"the result is not an object: {str(result)[:300]}")
    return result
