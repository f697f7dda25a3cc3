"""Models on this machine that say what they are told to: in the words of Anthropic's, OpenAI's and Google's interfaces.

Each main question, one that offers tools, is answered by the next step of a script; the questions that hosts ask beside
it (a title, a summary) by one word. Everything that is asked is kept, a line of JSON each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
Step = Json
"""{"say": text}, or {"use": the end of a tool's name, "with": its arguments}."""

SIDE: Final = {"say": "Title"}
"""What is answered to a question without tools."""


class Script:
    """What a model says, in its order; the last step for ever."""

    def __init__(self, steps: list[Step], log: Path) -> None:
        self._steps = steps
        self._log = log
        self._lock = threading.Lock()
        self._next = 0

    def answer(self, path: str, body: Json, tools: list[str]) -> Step:
        """The step for a question, with the whole name of its tool."""
        with self._lock:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps({"path": path, "tools": tools, "body": body}) + "\n")
            if not tools:
                return SIDE
            step = self._steps[min(self._next, len(self._steps) - 1)]
            self._next += 1
        if "use" not in step:
            return step
        named = [name for name in tools if name.endswith(step["use"])]
        return {**step, "use": named[0]} if named else {"say": f"there is no tool {step['use']}"}


# ------------------------------------------------------------------ Anthropic: POST /v1/messages


def anthropic_tools(body: Json) -> list[str]:
    """The names of what is offered."""
    return [tool["name"] for tool in body.get("tools", [])]


def anthropic(step: Step, number: int) -> Iterator[tuple[str, Json]]:
    """The events of a message, by name."""
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    message: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "fake", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    if "use" in step:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step["use"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["with"])}
        reason = "tool_use"
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": step["say"]}
        reason = "end_turn"
    yield "message_start", {"message": message}
    yield "content_block_start", {"index": 0, "content_block": block}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


# ------------------------------------------------------------------ OpenAI: POST /v1/responses


def openai_tools(body: Json) -> list[str]:
    """Names; those in a namespace as `namespace.name`."""
    found = []
    for tool in body.get("tools", []):
        if tool.get("type") == "namespace":
            found += [f"{tool['name']}.{each['name']}" for each in tool.get("tools", [])]
        else:
            found.append(tool.get("name", tool.get("type", "")))
    return found


def openai(step: Step, number: int) -> Iterator[tuple[str, Json]]:
    """The events of a response, by name."""
    if "use" in step:
        space, _, name = step["use"].rpartition(".")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name,
                "arguments": json.dumps(step["with"]), **({"namespace": space} if space else {})}  # fmt: skip
    else:
        content = [{"type": "output_text", "text": step["say"]}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
             "total_tokens": 2}  # fmt: skip
    yield "response.created", {"response": {"id": f"resp_{number}"}}
    yield "response.output_item.done", {"item": item}
    yield "response.completed", {"response": {"id": f"resp_{number}", "usage": usage}}


# ------------------------------------------------------------------ Google: POST …:streamGenerateContent


def google_tools(body: Json) -> list[str]:
    """The names of the functions."""
    return [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]


def google(step: Step) -> Json:
    """A whole answer."""
    part = {"functionCall": {"name": step["use"], "args": step["with"]}} if "use" in step else {"text": step["say"]}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "fake",
    }


# ------------------------------------------------------------------ the server


class Model(BaseHTTPRequestHandler):
    """All three, told apart by where they are asked."""

    protocol_version = "HTTP/1.1"
    script: Script
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
        type(self).asked += 1
        path, number = self.path.partition("?")[0], self.asked
        if path == "/v1/messages":
            step = self.script.answer(path, body, anthropic_tools(body))
            self._events(anthropic(step, number))
        elif path.endswith("/responses"):
            self._events(openai(self.script.answer(path, body, openai_tools(body)), number))
        elif "enerateContent" in path:
            self._google(path, self.script.answer(path, body, google_tools(body)))
        elif "ountTokens" in path or "count_tokens" in path:
            self._whole({"input_tokens": 9, "totalTokens": 9})
        else:
            self._whole({})

    def do_GET(self) -> None:
        self._whole({"object": "list", "data": [], "models": []})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def _google(self, path: str, step: Step) -> None:
        if path.endswith(":streamGenerateContent"):
            self._stream(b"data: " + json.dumps(google(step)).encode() + b"\r\n\r\n" for _ in range(1))
        else:
            self._whole(google(step))

    def _events(self, events: Iterator[tuple[str, Json]]) -> None:
        self._stream(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode() for name, data in events)

    def _stream(self, pieces: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    def _whole(self, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """What it was asked stands in its own log."""


def serving(script: Script) -> tuple[str, Callable[[], None]]:
    """The address of such a model on the loopback, and what ends it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Model,), {"script": script}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown()
        thread.join()
        server.server_close()

    return f"http://127.0.0.1:{server.server_address[1]}", end
