"""Ollama as far as embedding goes: its routes, its JSON, its words for what is wrong, on a real socket.

After the server's own docs/api.md and server/routes.go. The vectors it makes are those of a bag of words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.embed.servers import Answer, Request, Rule, Server, as_json, serving

DIMENSION = 8
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
CONTEXT = 2_000


class Ollama:
    """What the server has and how it behaves; change it while it runs."""

    def __init__(self) -> None:
        self.models: dict[str, str] = {"nomic-embed-text:latest": DIGEST}
        self.batches = True
        self.tells_dimension = True
        self.context = 1_000_000
        self.rules: dict[str, Rule] = {}
        self.server: Server

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def paths(self) -> list[str]:
        return self.server.paths

    def inputs(self, path: str = "/api/embed") -> list[Any]:
        """What was asked to be embedded, request by request."""
        asked = [request.json for request in self.server.requests if request.path == path]
        return [each.get("input", each.get("prompt")) for each in asked]

    def answer(self, request: Request) -> Answer:
        if rule := self.rules.get(request.path):
            return rule(request)
        if request.path == "/api/tags":
            return as_json({"models": [self._listed(name) for name in self.models]})
        known = {"/api/show": self._show, "/api/embeddings": self._embed_one}
        if self.batches:
            known["/api/embed"] = self._embed
        if request.path not in known:
            return Answer(404, b"404 page not found", (("Content-Type", "text/plain"),))
        asked = request.json
        name = asked["model"] if ":" in asked["model"] else f"{asked['model']}:latest"
        if name not in self.models:
            return as_json({"error": f'model "{asked["model"]}" not found, try pulling it first'}, 404)
        return known[request.path](asked)

    def _listed(self, name: str) -> dict[str, object]:
        details = {"family": "nomic-bert", "parameter_size": "137M", "quantization_level": "F16"}
        return {"name": name, "model": name, "size": 274_302_450, "digest": self.models[name], "details": details}

    def _show(self, asked: dict[str, Any]) -> Answer:
        told: dict[str, object] = {"general.architecture": "nomic-bert", "nomic-bert.context_length": 2048}
        if self.tells_dimension:
            told["nomic-bert.embedding_length"] = DIMENSION
        return as_json({"license": "Apache-2.0", "details": {"family": "nomic-bert"}, "model_info": told})

    def _embed(self, asked: dict[str, Any]) -> Answer:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        if any(len(text) > self.context for text in texts):
            return as_json({"error": "the input length exceeds the context length"}, 400)
        return as_json({"model": asked["model"], "embeddings": [vector(text) for text in texts], "load_duration": 1})

    def _embed_one(self, asked: dict[str, Any]) -> Answer:
        return as_json({"embedding": [7 * number for number in vector(asked["prompt"])]})


def vector(text: str) -> list[float]:
    """Words counted in DIMENSION bins, as a direction."""
    counts = [0.0] * DIMENSION
    for word in text.lower().split():
        counts[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1.0
    length = sum(count * count for count in counts) ** 0.5
    return [count / length for count in counts] if length else counts


@contextmanager
def running() -> Iterator[Ollama]:
    """A server with one model, nomic-embed-text."""
    fake = Ollama()
    with serving(fake.answer) as server:
        fake.server = server
        yield fake
