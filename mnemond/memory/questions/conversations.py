"""The engine with a language model: rules, then the model about what they left out, then rules about its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec
import trio

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
from mnemond.llm.prompts import Profile
from mnemond.llm.reader import items_of
from mnemond.llm.replies import TruncatedError, UnreadableError
from mnemond.memory.questions.asking import Answered, Model, Question
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


Ask = Callable[[Question[Accepted]], Answered[Accepted]]
"""Ask a model, and wait for the answer in a thread. Raises as `Model.ask` does."""


def engine_of(config: Config, model: Model | None) -> Engine:
    """Return the engine of a store. Without a model it is the rules; with one it is for threads of `trio.to_thread`."""
    if model is None or not config.extraction.asks_model:
        return RuleEngine()

    def ask(question: Question[Accepted]) -> Answered[Accepted]:
        return trio.from_thread.run(model.ask, question)

    return ModelEngine(ask, model.profile, everything=config.extraction.engine == "llm")


class ModelEngine:
    """Finds facts by rules and a model. `extract` blocks as the model does, twice after an unreadable answer."""

    def __init__(self, ask: Ask, profile: Profile, *, everything: bool) -> None:
        """`everything`: the model reads whole messages, not only what the rules left out."""
        self._ask, self._profile = ask, profile
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
        found = _Reading(self._ask, self._profile, seen, (user_name(messages, context), ASSISTANT), ruled).read(read)
        return msgspec.structs.replace(
            found, engine=self._name, facts=(*ruled.facts, *found.facts)[: context.most],
            dropped=(*ruled.dropped, *found.dropped),
        )  # fmt: skip


class _Reading:
    """One exchange and the questions about it."""

    def __init__(self, ask: Ask, profile: Profile, context: Context, names: tuple[str, str], ruled: Extraction) -> None:
        self._ask, self._profile = ask, profile
        self._context = context
        self._names = names
        self._ruled = [each.content for each in ruled.facts]
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
            answered = self._answered(read, existing)
        except TruncatedError:
            if len(read) < 2 or not halvings:
                raise
            half = len(read) // 2
            parts = [self._accepted(some, existing, halvings - 1) for some in (read[:half], read[half:])]
            return Accepted(
                tuple(fact for each in parts for fact in each.facts),
                tuple(part for each in parts for part in each.dropped),
            )
        marked = (
            msgspec.structs.replace(each, model=answered.model, prompt=answered.prompt) for each in answered.value.facts
        )
        return Accepted(tuple(marked), answered.value.dropped)

    def _answered(self, read: Sequence[Passage], existing: Sequence[Remembered]) -> Answered[Accepted]:
        """Ask with the whole context, then, after an unreadable answer, for texts alone. Raises MnemonError."""
        context = self._context
        date, said = format_us(max(each.said_us for each in read))[:10], _lines((each.role, each.text) for each in read)
        most = min(MAX_FACTS, context.most)
        earlier = [(each.role, each.content[:MAX_EARLIER_LENGTH]) for each in context.earlier[-MAX_EARLIER:]]
        known = "\n".join(f"{number}. {_line(each.text)}" for number, each in enumerate(existing, start=1))
        values = (_line(context.summary) or NONE, _lines(earlier), known or NONE, date, said, str(most))
        shown = Shown(existing, self._ruled, self._names, quotes=self._profile == "large")
        whole = Question(
            "extract_facts", values, schema(self._profile, most), MAX_TOKENS, partial(_accepted, read, shown, context)
        )
        try:
            return self._ask(whole)
        except TruncatedError:
            raise
        except UnreadableError:
            self._retried = True
            check = partial(_accepted, read, msgspec.structs.replace(shown, quotes=False), context)
            return self._ask(Question("extract_facts_simple", (date, said), simple_schema(most), MAX_TOKENS, check))


def _accepted(read: Sequence[Passage], shown: Shown, context: Context, value: object) -> Accepted:
    """Return what of an answer passes the rules; items that cannot be read are counted."""
    found, bad = items_of(value, "facts", Candidate)
    facts, dropped = accept(found, read, shown, context)
    unread = (Dropped(f"{bad} items of the model's answer", "not readable"),) if bad else ()
    return Accepted(facts, (*dropped, *unread))


def _lines(said: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{role}: {_line(text)}" for role, text in said) or NONE


def _line(text: str) -> str:
    """Return a text as one line that cannot be taken for a mark of the prompt."""
    return inert(" ".join(text[: MAX_EXISTING_LENGTH * 4].split()))
