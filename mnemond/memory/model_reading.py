"""The engine with a language model: rules, then the model about what they left out, then rules about its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from mnemond.config.settings import Config
from mnemond.errors import MnemonError
from mnemond.extract.acceptance import (
    Accepted,
    Candidate,
    Passage,
    Shown,
    accept,
    passages,
    schema,
    simple_schema,
)
from mnemond.extract.facts import Context, Engine, Extraction, Message, Remembered
from mnemond.extract.orders import ORDER, is_attack, is_order
from mnemond.extract.quotes import ASSISTANT, SPEAKERS, RuleEngine, user_name
from mnemond.llm.budget import SpentError
from mnemond.llm.prompts import Prompts
from mnemond.llm.reader import Answer, Schema, items_of
from mnemond.llm.replies import TruncatedError, UnreadableError
from mnemond.model.answers import Dropped
from mnemond.model.memory import format_us
from mnemond.text.prompt_escape import inert

MAX_FACTS: Final = 10
"""Facts of one answer."""

MAX_TOKENS: Final = 800
"""Tokens of an answer: ten facts of fifty and their JSON."""

MAX_EARLIER: Final = 10
MAX_EARLIER_LENGTH: Final = 300
"""Messages before the exchange that a model gets as context, and characters of each."""

MAX_EXISTING: Final = 10
MAX_EXISTING_LENGTH: Final = 300
"""Memories that a model gets, and characters of each."""

HALVINGS: Final = 2
"""The times that passages are halved whose answer was cut off."""

NONE: Final = "(none)"


class BlockingReader(Protocol):
    """A `Reader` for a thread; `ask` blocks. Raises as `Reader.ask` does."""

    @property
    def model(self) -> str: ...

    def ask(self, prompt: str, schema: Schema, *, max_tokens: int) -> Answer: ...


class Model(NamedTuple):
    """A language model for a thread, and the prompts in force, which are read for each exchange."""

    reader: BlockingReader
    prompts: Callable[[], Prompts]
    profile: Literal["small", "large"]

    def prompt(self, key: str, *values: str) -> str:
        """Return the prompt in force of a key, with `values` in place of its tokens."""
        return self.prompts()[key].render(*values)


class _Asked(NamedTuple):
    """The valid items of an answer, its bad ones, the hash of the prompt, and whether it asks for quotes."""

    found: list[Candidate]
    bad: int
    prompt: str
    quotes: bool


def engine_of(config: Config, model: Model | None) -> Engine:
    """Return the engine of a store. Without a model it is the rules."""
    if model is None or not config.extraction.asks_model:
        return RuleEngine()
    return ModelEngine(model, everything=config.extraction.engine == "llm")


class ModelEngine:
    """Finds facts by rules and a model. `extract` blocks as the model does, twice after an unreadable answer."""

    def __init__(self, model: Model, *, everything: bool) -> None:
        """`everything`: the model reads whole messages, not only what the rules left out."""
        self._model = model
        self._everything = everything
        self._name = "llm" if everything else "auto"

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        """The facts of `messages`; those of the rules first. Never raises for their content, nor for the model."""
        attacks = [each for each in messages if each.role in SPEAKERS and is_attack(each.content)]
        messages = [each for each in messages if each not in attacks]
        ruled = RuleEngine().extract(messages, context)
        orders = tuple(Dropped(each.content, ORDER) for each in attacks)
        ruled = msgspec.structs.replace(ruled, dropped=(*ruled.dropped, *orders))
        read = passages(ruled, messages, context, everything=self._everything)
        if not read:
            return msgspec.structs.replace(ruled, engine=self._name)
        around = [
            each for each in (*context.earlier, *messages) if each.role in SPEAKERS and not is_order(each.content)
        ]
        seen = msgspec.structs.replace(context, earlier=tuple(around))
        found = _Reading(self._model, seen, (user_name(messages, context), ASSISTANT), ruled).read(read)
        return msgspec.structs.replace(
            found, engine=self._name, facts=(*ruled.facts, *found.facts)[: context.most],
            dropped=(*ruled.dropped, *found.dropped),
        )  # fmt: skip


class _Reading:
    """One exchange and the questions about it."""

    def __init__(self, model: Model, context: Context, names: tuple[str, str], ruled: Extraction) -> None:
        self._model = model
        self._context = context
        self._names = names
        self._ruled = [each.content for each in ruled.facts]
        self._prompts = model.prompts()
        self._retried = False

    def read(self, read: Sequence[Passage]) -> Extraction:
        """Return what the model finds in some passages."""
        said = " ".join(each.text for each in read)
        existing = list(self._context.existing(said) if self._context.existing else ())[:MAX_EXISTING]
        try:
            accepted = self._accepted(read, existing, HALVINGS)
        except MnemonError as error:
            lasting = isinstance(error, SpentError | UnreadableError)
            return Extraction((), (), "", self._retried, error.message, not lasting)
        return Extraction(accepted.facts, accepted.dropped, "", self._retried)

    def _accepted(self, read: Sequence[Passage], existing: Sequence[Remembered], halvings: int) -> Accepted:
        """Ask about passages and judge the answer; halve them if it was cut off. Raises MnemonError."""
        try:
            asked = self._asked(read, existing)
        except TruncatedError:
            if len(read) < 2 or not halvings:
                raise
            half = len(read) // 2
            parts = [self._accepted(some, existing, halvings - 1) for some in (read[:half], read[half:])]
            return Accepted(
                tuple(fact for each in parts for fact in each.facts),
                tuple(part for each in parts for part in each.dropped),
            )
        shown = Shown(existing, self._ruled, self._names, quotes=asked.quotes)
        facts, dropped = accept(asked.found, read, shown, self._context)
        marked = (msgspec.structs.replace(each, model=self._model.reader.model, prompt=asked.prompt) for each in facts)
        bad = (Dropped(f"{asked.bad} items of the model's answer", "not readable"),) if asked.bad else ()
        return Accepted(tuple(marked), (*dropped, *bad))

    def _asked(self, read: Sequence[Passage], existing: Sequence[Remembered]) -> _Asked:
        """Ask with the whole context, then, after an unreadable answer, for texts alone. Raises MnemonError."""
        context = self._context
        date, said = format_us(max(each.said_us for each in read))[:10], _lines((each.role, each.text) for each in read)
        most = min(MAX_FACTS, context.most)
        earlier = [(each.role, each.content[:MAX_EARLIER_LENGTH]) for each in context.earlier[-MAX_EARLIER:]]
        known = "\n".join(f"{number}. {_line(each.text)}" for number, each in enumerate(existing, start=1))
        try:
            return self._ask(
                "extract_facts", schema(self._model.profile, most), _line(context.summary) or NONE, _lines(earlier),
                known or NONE, date, said, str(most),
            )  # fmt: skip
        except TruncatedError:
            raise
        except UnreadableError:
            self._retried = True
            return self._ask("extract_facts_simple", simple_schema(most), date, said)

    def _ask(self, key: str, shape: Schema, *values: str) -> _Asked:
        prompt = self._prompts[key]
        answer = self._model.reader.ask(prompt.render(*values), shape, max_tokens=MAX_TOKENS)
        found, bad = items_of(answer.value, "facts", Candidate)
        return _Asked(found, bad, prompt.digest, quotes=self._model.profile == "large" and key == "extract_facts")


def _lines(said: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{role}: {_line(text)}" for role, text in said) or NONE


def _line(text: str) -> str:
    """Return a text as one line that cannot be taken for a mark of the prompt."""
    return inert(" ".join(text[: MAX_EXISTING_LENGTH * 4].split()))
