"""The interface of a language model to the code that asks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import msgspec

T = TypeVar("T")

Schema = Mapping[str, Any]
"""A JSON schema: flat, without `$ref`; an enum for every decision, bounds (`maxItems`, `maxLength`) for the rest."""

MAX_ITEMS: Final = 200
"""Items of an answer that are read."""


class Answer(msgspec.Struct, frozen=True):
    """An answer of a model. `value`: a JSON value, which need not have the shape of the schema: not every server
    enforces it. `model`: its name, as configured. Tokens as the server counted them, else estimated."""

    value: Any
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ReaderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The language model: where parts of conversations and memories are `sent` to, what was used today (UTC) and,
    `answered` and `failed`, since the daemon started. Maxima of 0 are none. `waiting`: why it is not asked now, or
    why it failed last."""

    provider: Literal["ollama", "openai"]
    sent: str
    model: str
    calls_today: int
    max_calls: int
    tokens_today: int
    max_tokens: int
    answered: int
    failed: int
    waiting: str | None

    def half_used(self) -> str | None:
        """Return which daily maximum is used up by half, from where on only conversations are read; None if none is."""
        if self.max_calls and 2 * self.calls_today >= self.max_calls:
            return "half of llm.max_calls_per_day is used; the rest is for conversations"
        if self.max_tokens and 2 * self.tokens_today >= self.max_tokens:
            return "half of llm.max_tokens_per_day is used; the rest is for conversations"
        return None


class Reader(Protocol):
    """A language model that answers questions about texts."""

    @property
    def model(self) -> str:
        """The model's name, to be recorded with what it found."""
        ...

    async def ask(self, prompt: str, schema: Schema, *, max_tokens: int) -> Answer:
        """Ask the model for JSON of the shape `schema`, of at most `max_tokens` tokens. Secrets are cut out of the
        prompt. Ends within `llm.timeout_s`; may be cancelled.

        Raises MnemonError(UNAVAILABLE), whose message says why there is no answer: none is configured, a daily maximum
        is reached, the server does not answer, or its answer cannot be read (UnreadableError). The caller then goes on
        with the rules.
        """
        ...


def items_of(value: object, key: str, kind: type[T]) -> tuple[list[T], int]:
    """Return the valid items of an answer, and how many were dropped.

    `value` is a list, or an object that holds it as `key`; single items need not be in a list. An item that is no
    `kind` (a Struct that allows unknown fields) is dropped, the others stay.
    """
    found: object = value.get(key, value) if isinstance(value, dict) else value
    listed: Sequence[object] = found if isinstance(found, list) else [found]
    kept: list[T] = []
    for each in listed[:MAX_ITEMS]:
        try:
            kept.append(msgspec.convert(each, kind))
        except msgspec.ValidationError:
            continue
    return kept, len(listed) - len(kept)
