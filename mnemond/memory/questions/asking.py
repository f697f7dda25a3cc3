"""One question to a language model, and how each is asked: prompt, schema, check of the answer.

What a question is about, and the write that follows from its answer, is said beside it: in `memories`, `pairs`, `links`
and `conversations`, and in `recall/core_text` for core summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
import trio

from mnemond.llm.prompts import Profile, Prompts
from mnemond.llm.reader import Reader, Schema

T = TypeVar("T")


class Question(msgspec.Struct, Generic[T], frozen=True):
    """A question: the `key` and the values of its prompt, the schema of the answer and its most tokens. `check` returns
    what is believed of an answer, a JSON value of any shape; it raises nothing."""

    key: str
    values: tuple[str, ...]
    schema: Schema
    max_tokens: int
    check: Callable[[Any], T]


class Answered(msgspec.Struct, Generic[T], frozen=True):
    """A checked answer. `value`: what the check believes; `model`: the name of the model; `prompt`: the hash of the
    prompt's text. A write records the last two with the value."""

    value: T
    model: str
    prompt: str


class Model(msgspec.Struct, frozen=True):
    """The model of `[llm]`, and the prompts in force, which are read for each question. `busy` returns why it is not to
    be asked about memories now, None if it may be."""

    reader: Reader
    prompts: Callable[[], Prompts]
    profile: Profile = "small"
    busy: Callable[[], str | None] = lambda: None

    async def ask(self, question: Question[T]) -> Answered[T]:
        """Ask a question, and check the answer in a thread. Raises MnemonError as `Reader.ask` does."""
        prompt = (await trio.to_thread.run_sync(self.prompts))[question.key]
        text = prompt.render(*question.values)
        answer = await self.reader.ask(text, question.schema, max_tokens=question.max_tokens)
        value = await trio.to_thread.run_sync(question.check, answer.value)
        return Answered(value, answer.model, prompt.digest)


def object_schema(fields: Mapping[str, object]) -> Schema:
    """Return the schema of an object with all of these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
