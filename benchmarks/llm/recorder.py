"""Stand between the daemon and a model's server on the loopback interface: count, time and keep the answers.

Equal questions get equal answers at temperature 0. With a file the answers are kept, so that a measurement goes on
where it was interrupted, and rules that judge answers can be changed without asking again.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

TIMEOUT_S = 900.0


class Reply(msgspec.Struct, frozen=True):
    """A kept answer of the server. `question`: hash of the request; `seconds`: how long it took."""

    question: str
    body: str
    seconds: float
    status: int = 200

    @property
    def text(self) -> str:
        """What the model wrote."""
        choices = self._json().get("choices") or [{}]
        return str((choices[0].get("message") or {}).get("content") or "")

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of the question and of the answer, as the server counts them."""
        usage = self._json().get("usage") or {}
        return int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))

    @property
    def is_json(self) -> bool:
        """Return True if the answer is one JSON object and nothing else."""
        try:
            return isinstance(json.loads(self.text), dict)
        except ValueError:
            return False

    def _json(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.body))
        except (ValueError, TypeError):
            return {}


class Recorder:
    """Answers of a server at `endpoint`, those of `kept` without asking."""

    def __init__(self, endpoint: str, kept: Path | None) -> None:
        self.answers: list[Reply] = []
        self._client = httpx.Client(base_url=endpoint, timeout=TIMEOUT_S)
        self._kept = kept
        self._known = {each.question: each for each in _read(kept)}
        self._asking = threading.Lock()

    def reply_to(self, path: str, body: bytes) -> Reply:
        """Return the server's reply to a request. httpx.HTTPError if there is none."""
        question = hashlib.blake2b(path.encode() + body, digest_size=12).hexdigest()
        with self._asking:
            reply = self._known.get(question) or self._asked(path, body, question)
            self.answers.append(reply)
            return reply

    def _asked(self, path: str, body: bytes, question: str) -> Reply:
        begin = time.perf_counter()
        answer = self._client.post(path, content=body, headers={"content-type": "application/json"})
        reply = Reply(question, answer.text, round(time.perf_counter() - begin, 2), answer.status_code)
        if reply.status == 200:
            self._known[question] = reply
            if self._kept is not None:
                with self._kept.open("ab") as out:
                    out.write(msgspec.json.encode(reply) + b"\n")
        return reply


def _read(kept: Path | None) -> list[Reply]:
    if kept is None or not kept.is_file():
        return []
    return [msgspec.json.decode(line, type=Reply) for line in kept.read_bytes().splitlines() if line.strip()]


@contextmanager
def recording(endpoint: str, kept: Path | None) -> Iterator[tuple[Recorder, str]]:
    """Run a recorder in a thread; yield it and its address."""
    recorder = Recorder(endpoint, kept)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                reply = recorder.reply_to(self.path, body)
            except httpx.HTTPError as error:
                reply = Reply("", json.dumps({"error": repr(error)}), 0.0, 502)
            sent = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield recorder, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
