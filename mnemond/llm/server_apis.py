"""The APIs of chat servers: Ollama's, and /v1/chat/completions of OpenAI, llama.cpp, vLLM, LM Studio and others.

Sources: docs/api.md of the Ollama repository; the chat section of the OpenAI API reference; tools/server of llama.cpp.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.http import Reply
from mnemond.llm.reader import Schema
from mnemond.llm.replies import TruncatedError

T = TypeVar("T")

SEED: Final = 7
"""Equal questions get equal answers, as far as a server can."""

CONTEXT: Final = 8_192
"""Tokens of the context that Ollama is asked for; its own default, 2,048 to 4,096, cuts prompts unsaid."""


class Question(NamedTuple):
    """One request. `enforced`: the server is asked to enforce the schema, which not every server can."""

    model: str
    prompt: str
    schema: Schema
    max_tokens: int
    enforced: bool


class Completion(NamedTuple):
    """The text of a reply. Tokens are 0 if the server does not count them."""

    text: str
    prompt_tokens: int
    completion_tokens: int


class ChatApi(Protocol):
    """The requests and replies of one kind of server."""

    path: str

    def body(self, question: Question) -> dict[str, Any]:
        """Return the JSON of the request."""
        ...

    def completion(self, reply: Reply) -> Completion:
        """Read a reply with status 200. Raises MnemonError(UNAVAILABLE); TruncatedError if it was cut off."""
        ...


def in_words(schema: Schema) -> str:
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


def _prompt_of(question: Question) -> str:
    """Return the prompt with the shape in words, where the server does not put the schema into it."""
    return f"{question.prompt}\n\nAnswer with JSON of this shape alone, with your values:\n{in_words(question.schema)}"


class _OllamaMessage(msgspec.Struct):
    content: str = ""


class _OllamaReply(msgspec.Struct):
    message: _OllamaMessage
    done_reason: str = ""
    prompt_eval_count: int = 0
    eval_count: int = 0


class OllamaChat:
    """/api/chat of Ollama, whose `format` is the schema since version 0.5."""

    def __init__(self, base: str) -> None:
        """`base`: the path of the configured address, with or without "/api" at its end."""
        self.path = f"{base.removesuffix('/api')}/api/chat"

    def body(self, question: Question) -> dict[str, Any]:
        options = {"temperature": 0, "seed": SEED, "num_predict": question.max_tokens, "num_ctx": CONTEXT}
        return {
            "model": question.model,
            "messages": [{"role": "user", "content": _prompt_of(question)}],
            "stream": False,
            "format": question.schema if question.enforced else "json",
            "options": options,
        }

    def completion(self, reply: Reply) -> Completion:
        found = _decoded(reply, _OllamaReply)
        if found.done_reason == "length":
            raise truncated()
        return Completion(found.message.content, found.prompt_eval_count, found.eval_count)


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Used(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Choices(msgspec.Struct):
    choices: list[_Choice]
    usage: _Used | None = None


class OpenAiChat:
    """/v1/chat/completions."""

    def __init__(self, base: str) -> None:
        """`base`: the path of the configured address, which need not end in "/v1"."""
        self.path = base if base.endswith("/chat/completions") else f"{base or '/v1'}/chat/completions"

    def body(self, question: Question) -> dict[str, Any]:
        shape: dict[str, Any] = {"type": "json_object"}
        if question.enforced:
            shape = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": question.schema},
            }
        return {
            "model": question.model,
            "messages": [{"role": "user", "content": question.prompt if question.enforced else _prompt_of(question)}],
            "temperature": 0,
            "seed": SEED,
            "max_tokens": question.max_tokens,
            "stream": False,
            "response_format": shape,
        }

    def completion(self, reply: Reply) -> Completion:
        found = _decoded(reply, _Choices)
        if not found.choices:
            raise _invalid(reply)
        if found.choices[0].finish_reason == "length":
            raise truncated()
        used = found.usage or _Used()
        return Completion(found.choices[0].message.content or "", used.prompt_tokens, used.completion_tokens)


def truncated() -> TruncatedError:
    """Return the error for a reply that was cut off."""
    return TruncatedError(
        UNAVAILABLE, "the model's reply reached the maximum of tokens", hint="a shorter text needs a shorter reply"
    )


def _decoded(reply: Reply, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _invalid(reply) from None


def _invalid(reply: Reply) -> MnemonError:
    return MnemonError(
        UNAVAILABLE,
        f"the language model's server answered with {len(reply.body):,} bytes that are not the JSON it should send",
        hint="see that llm.provider and llm.endpoint name what runs there",
    )
