"""The APIs of embedding servers: Ollama's, and /v1/embeddings of OpenAI, llama.cpp, vLLM, LM Studio and others.

Sources: docs/api.md of the Ollama repository; the embeddings section of the OpenAI API reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from mnemond.embed.remote import MAX_DIMENSION, ModelInfo, TooLongError
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Address, Deadline, HttpClient, Reply, refusal

T = TypeVar("T")

BYTES_A_NUMBER: Final = 28
"""Of JSON: sign, 17 digits, point, exponent of three digits, comma and blanks."""

BYTES_AROUND: Final = 65_536
"""Of JSON around the vectors."""

CATALOGUE_BYTES: Final = 8 << 20
"""Bytes of a list of models or of the description of one; a description may hold a licence and a tokeniser."""

LATEST: Final = ":latest"
"""Ollama's tag of a model that is named without one."""

PROBE: Final = "dimension"
"""The word that is embedded to see that a server answers, and its dimension; not every server lists its models."""

TOO_LONG: Final = (b"context length", b"context size", b"too large to process", b"maximum context", b"too many tokens")
"""Phrases in errors about a text longer than the model can read (Ollama, llama.cpp, vLLM, OpenAI)."""

NO_EMBEDDINGS: Final = 501
"""Status of a server that was started without embeddings (llama.cpp)."""


class _Model(msgspec.Struct):
    name: str
    digest: str = ""


class _Tags(msgspec.Struct):
    models: list[_Model] | None


class _Shown(msgspec.Struct):
    model_info: dict[str, Any] = {}


class _Embeddings(msgspec.Struct):
    embeddings: list[list[float]]


class _OneEmbedding(msgspec.Struct):
    embedding: list[float]


class OllamaApi:
    """One model of an Ollama server; see `ServerApi`.

    /api/tags and /api/show describe it, /api/embed embeds, or /api/embeddings on a server older than that.
    """

    provider = "ollama"

    def __init__(self, client: HttpClient, model: str, path: str = "/api") -> None:
        """`path` is where the API lies on the server."""
        self._client = client
        self._path = path
        self._batches = True
        self.model = model.removesuffix(LATEST)
        self.service = client.service

    def describe(self, deadline: Deadline) -> ModelInfo:
        """Return digest and dimension of the model. Raises MnemonError(UNAVAILABLE) if the server lacks it."""
        reply = self._client.get(f"{self._path}/tags", deadline=deadline, max_bytes=CATALOGUE_BYTES)
        if reply.status != 200:
            raise _refused(self.service, reply)
        models = _decoded(self.service, reply, _Tags).models or []
        found = next((each for each in models if each.name.removesuffix(LATEST) == self.model), None)
        if found is None:
            raise self._missing()
        return ModelInfo(found.digest, self._dimension(deadline))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Send one request for all texts; one for each to a server older than /api/embed."""
        if self._batches:
            body = msgspec.json.encode({"model": self.model, "input": list(texts), "truncate": True})
            reply = self._client.post(f"{self._path}/embed", body, deadline=deadline, max_bytes=_max_bytes(len(texts)))
            if reply.status == 200:
                return _decoded(self.service, reply, _Embeddings).embeddings
            if reply.status != 404 or _is_explained(reply):
                raise self._error(reply)
            self._batches = False
        return [self._one(text, deadline) for text in texts]

    def _one(self, text: str, deadline: Deadline) -> list[float]:
        body = msgspec.json.encode({"model": self.model, "prompt": text})
        reply = self._client.post(f"{self._path}/embeddings", body, deadline=deadline, max_bytes=_max_bytes(1))
        if reply.status != 200:
            raise self._error(reply)
        return _decoded(self.service, reply, _OneEmbedding).embedding

    def _dimension(self, deadline: Deadline) -> int | None:
        """Read the dimension in the model's description, so that it need not be loaded; None if it is not there."""
        body = msgspec.json.encode({"model": self.model})
        reply = self._client.post(f"{self._path}/show", body, deadline=deadline, max_bytes=CATALOGUE_BYTES)
        if reply.status != 200:
            return None
        info = _decoded(self.service, reply, _Shown).model_info
        sizes = [value for key, value in info.items() if key.endswith(".embedding_length")]
        return sizes[0] if sizes and type(sizes[0]) is int else None

    def _error(self, reply: Reply) -> MnemonError:
        return self._missing() if reply.status == 404 else _refused(self.service, reply)

    def _missing(self) -> MnemonError:
        return MnemonError(
            UNAVAILABLE, f"{self.service} has no model {self.model}", hint=f"fetch it: ollama pull {self.model}"
        )


def ollama_api(address: Address, key: str | None, model: str, _dimensions: int | None) -> OllamaApi:
    """Connect to the Ollama at `address`, with or without "/api" at its end; vectors are shortened here, not there."""
    client = HttpClient(address, "Ollama at", key)
    return OllamaApi(client, model, f"{address.path.removesuffix('/api')}/api")


class _Datum(msgspec.Struct):
    embedding: list[float]
    index: int


class _Data(msgspec.Struct):
    data: list[_Datum]


class OpenAiApi:
    """One model of a server with /v1/embeddings; see `ServerApi`."""

    provider = "openai"

    def __init__(self, client: HttpClient, model: str, path: str, dimensions: int | None = None) -> None:
        """`path` is where embeddings are made; `dimensions` requests shorter vectors, which not all servers make."""
        self._client = client
        self._path = path
        self._dimensions = dimensions
        self.model = model
        self.service = client.service

    def describe(self, deadline: Deadline) -> ModelInfo:
        """Return the dimension of one word's vector; these servers name no build."""
        return ModelInfo("", len(self.embeddings([PROBE], deadline)[0]))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Send one request for all texts, and put the vectors in their order."""
        request: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            request["dimensions"] = self._dimensions
        body, max_bytes = msgspec.json.encode(request), _max_bytes(len(texts))
        reply = self._client.post(self._path, body, deadline=deadline, max_bytes=max_bytes)
        if reply.status != 200:
            raise _refused(self.service, reply)
        data = sorted(_decoded(self.service, reply, _Data).data, key=lambda datum: datum.index)
        if [datum.index for datum in data] != list(range(len(texts))):
            raise MnemonError(
                UNAVAILABLE,
                f"{self.service} answered {len(texts)} texts with {len(data)} vectors of other numbers",
                hint="see which model the server runs",
            )
        return [datum.embedding for datum in data]


def openai_api(address: Address, key: str | None, model: str, dimensions: int | None) -> OpenAiApi:
    """Connect to the server at `address`, which need not end in "/v1"."""
    client = HttpClient(address, "the embedding server at", key)
    return OpenAiApi(client, model, embeddings_path(address.path), dimensions)


def embeddings_path(base: str) -> str:
    """Return where a server whose API lies below `base` makes embeddings: /v1/embeddings for "" and "/v1"."""
    return base if base.endswith("/embeddings") else f"{base or '/v1'}/embeddings"


# Reading an answer: typed, within bounds, and never quoted, for it may quote a memory.


def _max_bytes(texts: int) -> int:
    """Compute the maximum size of an answer to so many texts, before its dimension is known."""
    return BYTES_AROUND + texts * MAX_DIMENSION * BYTES_A_NUMBER


def _decoded(service: str, reply: Reply, kind: type[T]) -> T:
    """Decode an answer. Raises MnemonError(UNAVAILABLE) for anything else than `kind` (NaN included)."""
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        size = len(reply.body)
        raise MnemonError(
            UNAVAILABLE,
            f"{service} answered with {size:,} bytes that are not the JSON it should send, or not finite numbers",
            hint="see that embedding.provider names what runs there",
        ) from None


def _is_explained(reply: Reply) -> bool:
    """Return True if the server gave a reason of its own, in JSON."""
    try:
        return "error" in msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _refused(service: str, reply: Reply) -> MnemonError:
    """Build the error for an answer that is not 200."""
    body = reply.body.lower()
    if any(phrase in body for phrase in TOO_LONG):
        return TooLongError(UNAVAILABLE, f"{service} takes no text of this length", hint="shorten it")
    what, hint = refusal(reply.status, "embedding")
    if reply.status == NO_EMBEDDINGS:
        what, hint = "does not embed", "start it with embeddings switched on"
    return MnemonError(UNAVAILABLE, f"{service} {what} (status {reply.status})", hint=hint)
