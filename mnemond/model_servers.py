"""Servers of models: what Ollama, and those with the API of OpenAI (llama.cpp, vLLM, LM Studio …), are sent and answer.

Sources: docs/api.md of the Ollama repository; embeddings and chat in the OpenAI API reference; tools/server of
llama.cpp. An answer is typed, read within bounds, and never quoted, for it may quote a memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Address, Deadline, HttpClient, Reply, refusal

T = TypeVar("T")

MAX_DIMENSION: Final = 16_384
"""Maximum length of a vector; the largest models in use have 8,192."""

BYTES_A_NUMBER: Final = 28
"""Of JSON: sign, 17 digits, point, exponent of three digits, comma and blanks."""

BYTES_AROUND: Final = 65_536
"""Of JSON around the vectors."""

CATALOGUE_BYTES: Final = 8 << 20
"""Bytes of a list of models or of the description of one; a description may hold a licence and a tokeniser."""

CHAT_BYTES: Final = 1 << 20
"""Bytes of the reply to a question; an answer of `max_tokens` tokens takes a few thousand."""

LATEST: Final = ":latest"
"""Ollama's tag of a model that is named without one."""

PROBE: Final = "dimension"
"""The word that is embedded to see that a server answers, and its dimension; not every server lists its models."""

TOO_LONG: Final = (b"context length", b"context size", b"too large to process", b"maximum context", b"too many tokens")
"""Phrases in errors about a text longer than the model can read (Ollama, llama.cpp, vLLM, OpenAI)."""

NO_EMBEDDINGS: Final = 501
"""Status of a server that was started without embeddings (llama.cpp)."""

SEED: Final = 7
"""Equal questions get equal answers, as far as a server can."""

CONTEXT: Final = 8_192
"""Tokens of the context that Ollama is asked for; its own default, 2,048 to 4,096, cuts prompts unsaid."""


class TooLongError(MnemonError):
    """UNAVAILABLE because a text has more tokens than the model takes."""


class ModelInfo(msgspec.Struct, frozen=True):
    """A server's description of its model. `digest` names the build, if the server knows it, else it is empty;
    `dimension` is None if it can only be learned by embedding."""

    digest: str
    dimension: int | None


class Question(NamedTuple):
    """A question to a chat model. `enforced`: the server is asked to enforce the schema, which not every one can."""

    prompt: str
    schema: Mapping[str, Any]
    max_tokens: int
    enforced: bool

    def in_words(self) -> str:
        """Return the prompt with the shape in words, where the server does not put the schema into it."""
        shape = in_words(self.schema)
        return f"{self.prompt}\n\nAnswer with JSON of this shape alone, with your values:\n{shape}"


class Completion(NamedTuple):
    """The text of a reply, `cut` if it ended at the maximum. Tokens are 0 if the server does not count them."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    cut: bool


def in_words(schema: Mapping[str, Any]) -> str:
    """Describe the shape of a schema by an example without values, since a model that is shown a schema repeats it."""
    match schema.get("type"):
        case "object":
            fields = (f'"{name}": {in_words(each)}' for name, each in schema.get("properties", {}).items())
            return "{" + ", ".join(fields) + "}"
        case "array":
            return f"[{in_words(schema.get('items', {}))}, ...]"
        case _:
            if "enum" in schema:
                return " or ".join("null" if each is None else f'"{each}"' for each in schema["enum"])
            kind = schema.get("type", "string")
            return f"<{' or '.join(kind) if isinstance(kind, list) else kind}>"


def decoded(reply: Reply, kind: type[T], service: str, section: str) -> T:
    """Decode an answer. Raises MnemonError(UNAVAILABLE) for anything else than `kind` (NaN included).

    `service` is the name of the server in errors, `section` the table of its settings.
    """
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MnemonError(
            UNAVAILABLE,
            f"{service} answered with {len(reply.body):,} bytes that are not the JSON it should send, or not finite"
            " numbers",
            hint=f"see that {section}.provider and {section}.endpoint name what runs there",
        ) from None


def refused(reply: Reply, service: str) -> MnemonError:
    """Return the error for an answer about embeddings that is not 200."""
    body = reply.body.lower()
    if any(phrase in body for phrase in TOO_LONG):
        return TooLongError(UNAVAILABLE, f"{service} takes no text of this length", hint="shorten it")
    what, hint = refusal(reply.status, "embedding")
    if reply.status == NO_EMBEDDINGS:
        what, hint = "does not embed", "start it with embeddings switched on"
    return MnemonError(UNAVAILABLE, f"{service} {what} (status {reply.status})", hint=hint)


def _max_bytes(texts: int) -> int:
    """Compute the maximum size of an answer to so many texts, before its dimension is known."""
    return BYTES_AROUND + texts * MAX_DIMENSION * BYTES_A_NUMBER


# ---------------------------------------------------------------- Ollama


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


class _Message(msgspec.Struct):
    content: str | None = None


class _OllamaReply(msgspec.Struct):
    message: _Message
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaServer:
    """One model of an Ollama server.

    /api/tags and /api/show describe it, /api/embed embeds, or /api/embeddings on a server older than that; /api/chat
    answers questions, with a schema since version 0.5. Vectors are shortened here, not there.
    """

    provider = "ollama"

    def __init__(self, address: Address, key: str | None, model: str, service: str, _: int | None = None) -> None:
        """`address` may end in "/api"; `service` is the name of the server in errors."""
        self._client = HttpClient(address, service, key)
        self._path = f"{address.path.removesuffix('/api')}/api"
        self._batches = True
        self.model = model.removesuffix(LATEST)
        self.service = self._client.service

    def describe(self, deadline: Deadline) -> ModelInfo:
        """Return digest and dimension of the model. Raises MnemonError(UNAVAILABLE) if the server lacks it."""
        reply = self._client.get(f"{self._path}/tags", deadline=deadline, max_bytes=CATALOGUE_BYTES)
        if reply.status != 200:
            raise refused(reply, self.service)
        models = self._decoded(reply, _Tags).models or []
        found = next((each for each in models if each.name.removesuffix(LATEST) == self.model), None)
        if found is None:
            raise self.missing()
        return ModelInfo(found.digest, self._dimension(deadline))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Send one request for all texts; one for each to a server older than /api/embed. Raises MnemonError."""
        if self._batches:
            reply = self._post("/embed", {"input": list(texts), "truncate": True}, deadline, _max_bytes(len(texts)))
            if reply.status == 200:
                return self._decoded(reply, _Embeddings).embeddings
            if reply.status != 404 or _is_explained(reply):
                raise self._error(reply)
            self._batches = False
        return [self._one(text, deadline) for text in texts]

    def _one(self, text: str, deadline: Deadline) -> list[float]:
        reply = self._post("/embeddings", {"prompt": text}, deadline, _max_bytes(1))
        if reply.status != 200:
            raise self._error(reply)
        return self._decoded(reply, _OneEmbedding).embedding

    def _dimension(self, deadline: Deadline) -> int | None:
        """Read the dimension in the model's description, so that it need not be loaded; None if it is not there."""
        reply = self._post("/show", {}, deadline, CATALOGUE_BYTES)
        if reply.status != 200:
            return None
        info = self._decoded(reply, _Shown).model_info
        sizes = [value for key, value in info.items() if key.endswith(".embedding_length")]
        return sizes[0] if sizes and type(sizes[0]) is int else None

    def _post(self, path: str, request: Mapping[str, object], deadline: Deadline, max_bytes: int) -> Reply:
        body = msgspec.json.encode({"model": self.model, **request})
        return self._client.post(f"{self._path}{path}", body, deadline=deadline, max_bytes=max_bytes)

    def _decoded(self, reply: Reply, kind: type[T]) -> T:
        return decoded(reply, kind, self.service, "embedding")

    def _error(self, reply: Reply) -> MnemonError:
        return self.missing() if reply.status == 404 else refused(reply, self.service)

    def missing(self) -> MnemonError:
        """Return the error of a server that lacks the model."""
        return MnemonError(
            UNAVAILABLE, f"{self.service} has no model {self.model}", hint=f"fetch it: ollama pull {self.model}"
        )

    async def ask(self, question: Question, deadline: Deadline) -> Reply:
        """Send a question; any status is a reply. Raises NoAnswerError, or MnemonError(UNAVAILABLE)."""
        request = {
            "model": self.model,
            "messages": [{"role": "user", "content": question.in_words()}],
            "stream": False,
            "format": question.schema if question.enforced else "json",
            "options": {"temperature": 0, "seed": SEED, "num_predict": question.max_tokens, "num_ctx": CONTEXT},
        }
        body, path = msgspec.json.encode(request), f"{self._path}/chat"
        return await self._client.request("POST", path, body, deadline=deadline, max_bytes=CHAT_BYTES)

    def completion(self, reply: Reply) -> Completion:
        """Read a reply with status 200. Raises MnemonError(UNAVAILABLE)."""
        found = decoded(reply, _OllamaReply, self.service, "llm")
        cut = found.done_reason == "length"
        return Completion(found.message.content or "", found.prompt_eval_count, found.eval_count, cut)


def _is_explained(reply: Reply) -> bool:
    """Return True if the server gave a reason of its own, in JSON."""
    try:
        return "error" in msgspec.json.decode(reply.body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


# ---------------------------------------------------------------- servers with the API of OpenAI


class _Datum(msgspec.Struct):
    embedding: list[float]
    index: int


class _Data(msgspec.Struct):
    data: list[_Datum]


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Used(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Choices(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: _Used | None = None


class OpenAiServer:
    """One model of a server with /v1/embeddings and /v1/chat/completions."""

    provider = "openai"

    def __init__(
        self, address: Address, key: str | None, model: str, service: str, dimensions: int | None = None
    ) -> None:
        """`address` need not end in "/v1"; `service` is the name of the server in errors; `dimensions` requests shorter
        vectors, which not all servers make."""
        self._client = HttpClient(address, service, key)
        self._base = address.path
        self._dimensions = dimensions
        self.model = model
        self.service = self._client.service

    def describe(self, deadline: Deadline) -> ModelInfo:
        """Return the dimension of one word's vector; these servers name no build. Raises MnemonError(UNAVAILABLE)."""
        return ModelInfo("", len(self.embeddings([PROBE], deadline)[0]))

    def embeddings(self, texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
        """Send one request for all texts, and put the vectors in their order. Raises MnemonError(UNAVAILABLE)."""
        request: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions is not None:
            request["dimensions"] = self._dimensions
        body, path = msgspec.json.encode(request), path_of(self._base, "/embeddings")
        reply = self._client.post(path, body, deadline=deadline, max_bytes=_max_bytes(len(texts)))
        if reply.status != 200:
            raise refused(reply, self.service)
        found = decoded(reply, _Data, self.service, "embedding").data
        data = sorted(found, key=lambda datum: datum.index)
        if [datum.index for datum in data] != list(range(len(texts))):
            raise MnemonError(
                UNAVAILABLE,
                f"{self.service} answered {len(texts)} texts with {len(data)} vectors of other numbers",
                hint="see which model the server runs",
            )
        return [datum.embedding for datum in data]

    async def ask(self, question: Question, deadline: Deadline) -> Reply:
        """Send a question; any status is a reply. Raises NoAnswerError, or MnemonError(UNAVAILABLE)."""
        shape: dict[str, Any] = {"type": "json_object"}
        if question.enforced:
            schema = {"name": "answer", "strict": True, "schema": question.schema}
            shape = {"type": "json_schema", "json_schema": schema}
        request = {
            "model": self.model,
            "messages": [{"role": "user", "content": question.prompt if question.enforced else question.in_words()}],
            "temperature": 0,
            "seed": SEED,
            "max_tokens": question.max_tokens,
            "stream": False,
            "response_format": shape,
        }
        body, path = msgspec.json.encode(request), path_of(self._base, "/chat/completions")
        return await self._client.request("POST", path, body, deadline=deadline, max_bytes=CHAT_BYTES)

    def completion(self, reply: Reply) -> Completion:
        """Read a reply with status 200. Raises MnemonError(UNAVAILABLE)."""
        found = decoded(reply, _Choices, self.service, "llm")
        used, first = found.usage or _Used(), found.choices[0]
        cut = first.finish_reason == "length"
        return Completion(first.message.content or "", used.prompt_tokens, used.completion_tokens, cut)


def path_of(base: str, resource: str) -> str:
    """Return the path of a resource whose API lies below `base`: /v1/embeddings for "" and "/v1"."""
    return base if base.endswith(resource) else f"{base or '/v1'}{resource}"


ModelServer: TypeAlias = OllamaServer | OpenAiServer

SERVERS: Final[Mapping[str, type[ModelServer]]] = {"ollama": OllamaServer, "openai": OpenAiServer}
"""By provider."""
