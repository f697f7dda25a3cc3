"""The wire of Ollama: /api/tags and /api/show to look, /api/embed to embed, /api/embeddings where that is missing.

Source: docs/api.md of the Ollama repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from mnemond.embed.answers import Refusal, decoded, refusal_of, refused, room
from mnemond.embed.remote import Described
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.outbound.address import Address
from mnemond.outbound.client import HttpClient
from mnemond.outbound.deadline import Deadline

SERVICE: Final = "Ollama at"

LATEST: Final = ":latest"
"""The tag of a model that is named without one."""

CATALOGUE_BYTES: Final = 8 << 20
"""Bytes of a list of models or of the description of one; a description may hold a licence and a tokeniser."""


class _Model(msgspec.Struct):
    name: str
    digest: str = ""


class _Tags(msgspec.Struct):
    models: list[_Model] | None


class _Shown(msgspec.Struct):
    model_info: dict[str, Any] = {}


class _Embedded(msgspec.Struct):
    embeddings: list[list[float]]


class _EmbeddedOne(msgspec.Struct):
    embedding: list[float]


class OllamaWire:
    """Speaks to one Ollama server about one model; see `Wire`."""

    provider = "ollama"

    def __init__(self, client: HttpClient, model: str, api: str = "/api") -> None:
        """`api` is the path below which the server answers."""
        self._client = client
        self._api = api
        self._batches = True
        self.model = model.removesuffix(LATEST)
        self.service = client.service

    def describe(self, deadline: Deadline) -> Described:
        """Digest and dimension of the model. Raises MnemonError(UNAVAILABLE) when it is not among the server's."""
        reply = self._client.get(f"{self._api}/tags", deadline=deadline, max_bytes=CATALOGUE_BYTES)
        if reply.status != 200:
            raise refused(self.service, refusal_of(reply))
        models = decoded(self.service, reply.body, _Tags).models or []
        found = next((each for each in models if each.name.removesuffix(LATEST) == self.model), None)
        if found is None:
            raise self._missing()
        return Described(found.digest, self._dimension(deadline))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """One request for all texts; one a text where the server is older than /api/embed."""
        if self._batches:
            body = msgspec.json.encode({"model": self.model, "input": list(texts), "truncate": True})
            reply = self._client.post(f"{self._api}/embed", body, deadline=deadline, max_bytes=room(len(texts)))
            if reply.status == 200:
                return decoded(self.service, reply.body, _Embedded).embeddings
            refusal = refusal_of(reply)
            if refusal.status != 404 or refusal.explained:
                raise self._refused(refusal)
            self._batches = False
        return [self._one(text, deadline) for text in texts]

    def _one(self, text: str, deadline: Deadline) -> list[float]:
        body = msgspec.json.encode({"model": self.model, "prompt": text})
        reply = self._client.post(f"{self._api}/embeddings", body, deadline=deadline, max_bytes=room(1))
        if reply.status != 200:
            raise self._refused(refusal_of(reply))
        return decoded(self.service, reply.body, _EmbeddedOne).embedding

    def _dimension(self, deadline: Deadline) -> int | None:
        """From the model's description, so that nothing need be loaded; None where the server does not say."""
        body = msgspec.json.encode({"model": self.model})
        reply = self._client.post(f"{self._api}/show", body, deadline=deadline, max_bytes=CATALOGUE_BYTES)
        if reply.status != 200:
            return None
        told = decoded(self.service, reply.body, _Shown).model_info
        sizes = [value for key, value in told.items() if key.endswith(".embedding_length")]
        return sizes[0] if sizes and type(sizes[0]) is int else None

    def _refused(self, refusal: Refusal) -> MnemonError:
        return self._missing() if refusal.status == 404 else refused(self.service, refusal)

    def _missing(self) -> MnemonError:
        return MnemonError(
            UNAVAILABLE, f"{self.service} has no model {self.model}", hint=f"fetch it: ollama pull {self.model}"
        )


def wire(address: Address, key: str | None, model: str, _dimensions: int | None) -> OllamaWire:
    """Speaks to the Ollama at `address`, with or without "/api" at its end; vectors are shortened here, not there."""
    client = HttpClient(address, SERVICE, key)
    return OllamaWire(client, model, f"{address.path.removesuffix('/api')}/api")
