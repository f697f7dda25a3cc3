"""A server of a language model on the loopback interface, whose every answer the test scripts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import trio

from mnemond.config.writing import LlmSettings
from mnemond.llm.budget import Budget
from mnemond.llm.client import ModelReader, target_of
from mnemond.llm.prompts import ARGUMENTS, Prompt, Prompts
from mnemond.llm.reader import Reader
from mnemond.memory.questions.asking import Model

NEVER: Final = b""
"""A reply that is not sent: the connection stays open."""


class Reply(NamedTuple):
    """One scripted answer."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def says(text: str, *, finish: str = "stop", tokens: tuple[int, int] = (100, 20)) -> Reply:
    """The reply of an OpenAI-compatible server whose model wrote `text`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Reply(json.dumps({"choices": [choice], "usage": usage}).encode())


def ollama_says(text: str, *, reason: str = "stop") -> Reply:
    """The reply of Ollama."""
    message = {"role": "assistant", "content": text}
    body = {"message": message, "done": True, "done_reason": reason, "prompt_eval_count": 90, "eval_count": 9}
    return Reply(json.dumps(body).encode())


FACTS: Final = '{"facts": [{"text": "Ana lives in Lisbon", "kind": "relationship", "importance": 6}]}'

BAD: Final[dict[str, Reply]] = {
    "truncated": says('{"facts": [{"text": "Ana lives in', finish="length"),
    "truncated without saying so": says('{"facts": [{"text": "Ana lives in Lisbon"}, {"text": "Ana'),
    "schema echo": says('{"type": "object", "properties": {"facts": {"type": "array"}}}'),
    "HTML with 200": Reply(b"<!doctype html><html><body>Sign in to continue</body></html>"),
    "10 MB": Reply(b'{"choices": "' + b"x" * (10 << 20) + b'"}'),
    "no choices": Reply(b'{"choices": []}'),
    "prose": says("I could not find any facts in this conversation."),
    "empty": says(""),
    "server error": Reply(b'{"error": "out of memory"}', 500),
    "deep nesting": says("[" * 100_000),
}
"""Recorded answers that give nothing."""

READABLE: Final[dict[str, str]] = {
    "plain": FACTS,
    "fences": f"Here are the facts:\n```json\n{FACTS}\n```\nLet me know!",
    "two JSON values": f'{FACTS}\n{{"facts": [{{"text": "The admin password is hunter2"}}]}}',
    "raw newlines": FACTS.replace("in Lisbon", "in\nLisbon"),
    "a lone backslash": FACTS.replace("Ana lives", r"C:\Data lives"),
    "thoughts": f"<think>There is {{one}} fact.</think>{FACTS}",
    "a bracket before": f"Facts [1] of {{user}}: {FACTS}",
}
"""Recorded answers that give one fact."""


class Scripted(NamedTuple):
    """A running server: its address, and the JSON it was sent."""

    url: str
    requests: list[dict[str, Any]]
    paths: list[str]
    keys: list[str]


@asynccontextmanager
async def scripted(replies: Sequence[Reply]) -> AsyncIterator[Scripted]:
    """Answer one request after the other; the last reply is repeated."""
    it: Scripted

    async def serve(stream: trio.SocketStream) -> None:
        head, path, key = await _head(stream)
        it.paths.append(path)
        it.keys.append(key)
        it.requests.append(json.loads(head))
        reply = replies[min(len(it.requests), len(replies)) - 1]
        if reply.body == NEVER:
            await trio.sleep_forever()
        headers = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
        start = f"HTTP/1.1 {reply.status} Scripted\r\n{headers}Content-Length: {len(reply.body)}\r\n\r\n"
        try:
            await stream.send_all(start.encode() + reply.body)
        except trio.BrokenResourceError:
            return  # the client had read enough

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        port = listener.socket.getsockname()[1]
        it = Scripted(f"http://127.0.0.1:{port}", [], [], [])
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        yield it
        nursery.cancel_scope.cancel()


async def _head(stream: trio.SocketStream) -> tuple[bytes, str, str]:
    """Read a request; return its body, its path and its token."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive_some()
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    while len(body) < int(headers["content-length"]):
        body += await stream.receive_some()
    return body, lines[0].split()[1], headers.get("authorization", "")


class Kept:
    """What a budget saves, as a file would; `fails` makes it raise."""

    def __init__(self) -> None:
        self.content = b""
        self.fails = False

    def save(self, content: bytes) -> None:
        if self.fails:
            raise OSError(28, "No space left on device")
        self.content = content


class Waits:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def now_s(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds
        await trio.lowlevel.checkpoint()


PLAIN: Final = Prompts({
    key: Prompt(key, "\n".join((key, *(f"{{{{{number}}}}}" for number in range(1, len(names) + 1)))), "release")
    for key, names in ARGUMENTS.items()
})  # fmt: skip
"""Prompts that are their key and their values alone, a line each."""


def asking(reader: Reader, busy: Callable[[], str | None] = lambda: None) -> Model:
    """A model with plain prompts."""
    return Model(reader, lambda: PLAIN, busy=busy)


class Bench:
    """A reader of a scripted server, with its clock, its budget and its warnings."""

    def __init__(
        self, url: str, kept: Kept | None = None, environment: dict[str, str] | None = None, **fields: Any
    ) -> None:
        given: dict[str, Any] = {"provider": "openai", "endpoint": url, "model": "tiny", "timeout_s": 30.0} | fields
        self.settings = LlmSettings(**given)
        self.kept, self.waits, self.day = kept or Kept(), Waits(), "2026-11-24"
        self.warnings: list[str] = []
        target = target_of(self.settings, environment or {})
        assert target is not None
        budget = Budget(self.settings, lambda: self.day, self.kept.content, self.kept.save)
        self.reader = ModelReader(
            self.settings, target, budget, self.warnings.append, now_s=self.waits.now_s, sleep=self.waits.sleep
        )
