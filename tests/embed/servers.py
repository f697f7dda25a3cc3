"""A server on a real socket whose every answer the test decides."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Request(NamedTuple):
    """What arrived. Header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Answer(NamedTuple):
    """What to send back. `hang` sends the status line and then nothing, until the server ends."""

    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)
    hang: bool = False


Rule = Callable[[Request], Answer]


def as_json(value: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value).encode())


class Server(NamedTuple):
    """A running server: where it is, and what it was asked."""

    port: int
    requests: list[Request]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextmanager
def serving(rule: Rule) -> Iterator[Server]:
    """Answers by `rule` on a port of its own; hanging requests are let go at the end."""
    asked: list[Request] = []
    over = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self.rfile.read(length))
            asked.append(request)
            answer = rule(request)
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            if answer.hang:
                self.wfile.flush()
                over.wait()
                return
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except OSError:
                return  # the client had read enough

        do_GET = do_POST = answer  # noqa: N815 - names given by the library

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Server(server.server_address[1], asked)
        finally:
            over.set()
            server.shutdown()
            thread.join()


class Speaker(NamedTuple):
    """A server that speaks without being asked: where it is, and whether anybody has connected."""

    host: str
    port: int
    reached: threading.Event

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


@contextmanager
def speaking(speak: Callable[[socket.socket], None], host: str = "127.0.0.1") -> Iterator[Speaker]:
    """Whoever connects is spoken to as the test wants, one after the other. That somebody left early is no error.

    A machine that stops for a while can use up a client's whole deadline before it connects, so nothing here waits for
    a client to come.
    """
    reached = threading.Event()
    over = threading.Event()

    def serve() -> None:
        while True:
            line, _ = listener.accept()
            with line, contextlib.suppress(OSError):
                if over.is_set():
                    return
                reached.set()
                speak(line)

    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Speaker(host, port, reached)
        finally:
            over.set()
            socket.create_connection((host, port)).close()  # wakes accept
            thread.join()


def closed_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def has_address(host: str) -> bool:
    """Whether this machine has that IPv6 address."""
    try:
        socket.create_server((host, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
