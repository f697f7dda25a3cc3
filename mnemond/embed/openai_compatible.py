"""The wire of every server that speaks /v1/embeddings: OpenAI, llama.cpp, vLLM, LM Studio, Ollama as well.

Source: the embeddings section of the OpenAI API reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mnemond.embed.answers import decoded, refusal_of, refused, room
from mnemond.embed.remote import Described
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.outbound.address import Address
from mnemond.outbound.client import HttpClient
from mnemond.outbound.deadline import Deadline

SERVICE: Final = "the embedding server at"

PROBE: Final = "dimension"
"""The word whose vector tells that the server lives and what its dimension is; not every server lists its models."""


class _Datum(msgspec.Struct):
    embedding: list[float]
    index: int


class _Embedded(msgspec.Struct):
    data: list[_Datum]


class OpenAiWire:
    """Speaks to one server about one model; see `Wire`."""

    provider = "openai"

    def __init__(self, client: HttpClient, model: str, path: str, dimensions: int | None = None) -> None:
        """`path` is where embeddings are made; `dimensions` asks the server for shorter vectors, which not all do."""
        self._client = client
        self._path = path
        self._dimensions = dimensions
        self.model = model
        self.service = client.service

    def describe(self, deadline: Deadline) -> Described:
        """The dimension of one word's vector; these servers name no build."""
        return Described("", len(self.embeddings([PROBE], deadline)[0]))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """One request for all texts; the answer is put in their order."""
        asked: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            asked["dimensions"] = self._dimensions
        reply = self._client.post(self._path, msgspec.json.encode(asked), deadline=deadline, max_bytes=room(len(texts)))
        if reply.status != 200:
            raise refused(self.service, refusal_of(reply))
        data = sorted(decoded(self.service, reply.body, _Embedded).data, key=lambda datum: datum.index)
        if [datum.index for datum in data] != list(range(len(texts))):
            raise MnemonError(
                UNAVAILABLE,
                f"{self.service} answered {len(texts)} texts with {len(data)} vectors of other numbers",
                hint="see which model the server runs",
            )
        return [datum.embedding for datum in data]


def embeddings_path(base: str) -> str:
    """Where a server whose API lies below `base` makes embeddings: "" → /v1/embeddings, "/v1" → /v1/embeddings."""
    if base.endswith("/embeddings"):
        return base
    return f"{base or '/v1'}/embeddings"


def wire(address: Address, key: str | None, model: str, dimensions: int | None) -> OpenAiWire:
    """Speaks to the server at `address`, which need not say "/v1"."""
    return OpenAiWire(HttpClient(address, SERVICE, key), model, embeddings_path(address.path), dimensions)
