"""MCP over HTTP on the loopback, for a program that knows nothing else: `mnemond` itself has no port and never will.

python -m tests.hosts.bridge SOCKET PROGRAM [ARGUMENT…]; {bridge} in an argument becomes the address. A handshake is a
session with a connection of its own, each request without one has a connection for itself. Nothing is added to what the
daemon says and nothing left out.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.hosts.offline import raise_loopback

SESSION: Final = "Mcp-Session-Id"
BAD_REQUEST: Final = {-32700, -32600, -32602, -32022, -32021, -32020}
"""Errors that MCP over HTTP answers with 400 where there is no session; an unknown method (-32601) with 404."""


class Wire:
    """One connection to the daemon."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._lines = self._socket.makefile("rb")
        self.lock = threading.Lock()

    def send(self, message: bytes) -> None:
        """One message; the daemon ends it at the line break, so it must not have one."""
        self._socket.sendall(json.dumps(json.loads(message)).encode() + b"\n")

    def line(self) -> dict[str, Any] | None:
        """The next thing the daemon says; None at its end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        """Also ends whatever waits for a line."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._lines.close()
        self._socket.close()


class Bridge(BaseHTTPRequestHandler):
    """One request of HTTP."""

    protocol_version = "HTTP/1.1"
    path_of_daemon: str
    sessions: dict[str, Wire]

    def do_POST(self) -> None:
        message = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            request = json.loads(message)
        except ValueError:
            return self._answer(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}})
        if request.get("method") == "initialize":
            return self._begin(message)
        name = self.headers.get(SESSION)
        if name is None:
            return self._once(message, request)
        wire = self.sessions.get(name)
        if wire is None:
            return self._answer(404, None)
        with wire.lock:
            wire.send(message)
            return self._answer(200, wire.line()) if "id" in request else self._answer(202, None)

    def do_GET(self) -> None:
        self._answer(405, None)

    def do_DELETE(self) -> None:
        wire = self.sessions.pop(self.headers.get(SESSION, ""), None)
        if wire is not None:
            wire.close()
        self._answer(200 if wire else 404, None)

    def _begin(self, message: bytes) -> None:
        wire = Wire(self.path_of_daemon)
        wire.send(message)
        answer = wire.line() or {}
        if "error" in answer:
            wire.close()
            return self._alone(answer)
        name = secrets.token_hex(8)
        self.sessions[name] = wire
        return self._answer(200, answer, {SESSION: name})

    def _once(self, message: bytes, request: dict[str, Any]) -> None:
        wire = Wire(self.path_of_daemon)
        try:
            wire.send(message)
            if "id" not in request:
                return self._answer(202, None)
            answer = wire.line() or {}
            if "method" in answer:
                return self._stream(answer, wire.line)
            return self._alone(answer)
        finally:
            wire.close()

    def _alone(self, answer: dict[str, Any]) -> None:
        """An answer outside of any session: there the status says as much as the error."""
        code = answer.get("error", {}).get("code")
        self._answer(404 if code == -32601 else 400 if code in BAD_REQUEST else 200, answer)

    def _stream(self, first: dict[str, Any], more: Callable[[], dict[str, Any] | None]) -> None:
        """What comes one by one, until either side has gone."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        message: dict[str, Any] | None = first
        while message is not None:
            self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
            self.wfile.flush()
            message = more()

    def _answer(self, status: int, document: object, headers: dict[str, str] | None = None) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The suite has a log of its own."""


def main(path: str, *command: str) -> int:
    """The exit status of the program."""
    raise_loopback()
    handler = type("Here", (Bridge,), {"path_of_daemon": path, "sessions": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    return subprocess.run([part.replace("{bridge}", address) for part in command], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
