"""The wire of Ollama: /api/tags and /api/show to look, /api/embed to embed, /api/embeddings where that is missing.

Source: docs/api.md of the Ollama repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from mnemond.embed.http import Address, Deadline, HttpClient, Reply
from mnemond.embed.remote import LARGEST_DIMENSION, Described, TooLongError
from mnemond.errors import UNAVAILABLE, MnemonError

# Reading what an embedding server answers: typed, within bounds, and without quoting it.


T = TypeVar("T")

BYTES_A_NUMBER: Final = 28
"""Of JSON: sign, 17 digits, point, exponent of three digits, comma and blanks."""

BYTES_AROUND: Final = 65_536
"""Of JSON around the vectors."""

TOO_LONG: Final = ("context length", "context size", "too large to process", "maximum context", "too many tokens")
"""How servers say that a text is longer than their model can read (Ollama, llama.cpp, vLLM, OpenAI)."""

EXPLAINED: Final = {
    401: ("refused the key", "set the variable named by embedding.api_key_env"),
    403: ("refused the key", "set the variable named by embedding.api_key_env"),
    404: ("has no such address or model", "see embedding.endpoint and embedding.model"),
    429: ("has had too many requests", "it is asked again later"),
    501: ("does not embed", "start it with embeddings switched on"),
}
"""What to say and what to do, by status."""


class Refusal(NamedTuple):
    """An answer that is not 200. `explained`: the server gave a reason of its own, in JSON."""

    status: int
    explained: bool
    too_long: bool


def room(texts: int) -> int:
    """Bytes the answer to so many texts may have, before its dimension is believed."""
    return BYTES_AROUND + texts * LARGEST_DIMENSION * BYTES_A_NUMBER


def decoded(service: str, body: bytes, kind: type[T]) -> T:
    """`body` as `kind`. Raises MnemonError(UNAVAILABLE), which does not quote it, for anything else (NaN included)."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MnemonError(
            UNAVAILABLE,
            f"{service} answered with {len(body):,} bytes that are not the JSON it should send, or not finite numbers",
            hint="see that embedding.provider names what runs there",
        ) from None


def refusal_of(reply: Reply) -> Refusal:
    """What can be told from an answer that is not 200; its text is looked at and not kept, for it may quote ours."""
    said = reply.body.lower()
    try:
        explained = "error" in msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        explained = False
    return Refusal(reply.status, explained, any(sign.encode() in said for sign in TOO_LONG))


def refused(service: str, refusal: Refusal) -> MnemonError:
    """The error for a refusal."""
    if refusal.too_long:
        return TooLongError(UNAVAILABLE, f"{service} takes no text of this length", hint="shorten it")
    what, hint = EXPLAINED.get(refusal.status, ("failed", "see its log"))
    return MnemonError(UNAVAILABLE, f"{service} {what} (status {refusal.status})", hint=hint)


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


# The wire of every server that speaks /v1/embeddings: OpenAI, llama.cpp, vLLM, LM Studio, Ollama as well.
#
# Source: the embeddings section of the OpenAI API reference.


OPENAI_COMPATIBLE_SERVICE: Final = "the embedding server at"

PROBE: Final = "dimension"
"""The word whose vector tells that the server lives and what its dimension is; not every server lists its models."""


class _Datum(msgspec.Struct):
    embedding: list[float]
    index: int


class _OpenaiCompatibleEmbedded(msgspec.Struct):
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
        data = sorted(decoded(self.service, reply.body, _OpenaiCompatibleEmbedded).data, key=lambda datum: datum.index)
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


def wire_openai_compatible(address: Address, key: str | None, model: str, dimensions: int | None) -> OpenAiWire:
    """Speaks to the server at `address`, which need not say "/v1"."""
    return OpenAiWire(
        HttpClient(address, OPENAI_COMPATIBLE_SERVICE, key), model, embeddings_path(address.path), dimensions
    )
