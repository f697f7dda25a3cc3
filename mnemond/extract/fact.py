"""What an engine is given and what it finds; an engine is whatever turns the one into the other (spec 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from mnemond.model.entity import Entity

Speaker = Literal["user", "assistant"]
Intent = Literal["preference", "fact", "event", "relationship"]
"""The four intents of spec 3 (C9)."""

Known = Callable[[str], str | None]
"""The spelling under which a store knows an entity, by canonical name; None when it does not."""

THRESHOLD = 3
"""Importance, of ten, below which nothing is kept (S4; C32 of spec 3)."""

MOST_FACTS = 20
"""Facts of one exchange. More is a document, not a conversation."""


class Message(msgspec.Struct, frozen=True):
    """One turn. `role` is "user", "assistant", or anything else, which is context and says nothing by itself;
    `said_us` when it was said, in microseconds since 1970, None where only the time of the exchange is known."""

    role: str
    content: str
    name: str | None = None
    said_us: int | None = None
    id: str | None = None


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What an exchange is read with. `observed_us`: when it took place, for messages without a time of their own.
    `earlier`: what was said before it and is not to be kept again. `speaker`: what the person is called, where that is
    known from elsewhere."""

    observed_us: int
    threshold: int = THRESHOLD
    most: int = MOST_FACTS
    speaker: str | None = None
    earlier: Sequence[Message] = ()
    known: Known | None = None


class Relation(msgspec.Struct, frozen=True):
    """`source` —type→ `target`, as the fact names them; the types are those of spec 9."""

    source: str
    type: str
    target: str


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence that can be understood alone. `importance` is 1…10, `confidence` 0…1 that it is worth keeping."""

    content: str
    intent: Intent
    category: str
    importance: int
    confidence: float
    attributed_to: Speaker
    said_us: int
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    message_ids: tuple[str, ...] = ()
    family: str = ""


class Dropped(msgspec.Struct, frozen=True):
    """A part of the exchange that was not kept, cut to `LONGEST_SHOWN` characters, and why not."""

    text: str
    reason: str


class Extraction(msgspec.Struct, frozen=True):
    """What an engine made of an exchange, both in the order of the text. `engine` names who did it."""

    facts: tuple[Fact, ...]
    dropped: tuple[Dropped, ...]
    engine: str


class Engine(Protocol):
    """Rules, a model, or whoever called."""

    def extract(self, messages: Sequence[Message], context: Context) -> Extraction:
        """The facts of an exchange; never raises for what the messages say."""
        ...


LONGEST_SHOWN = 120
MOST_SHOWN = 50
"""How much of what was dropped is told: so many parts, so many characters of each."""


def shown(text: str) -> str:
    """The beginning of a dropped part, on one line."""
    line = " ".join(text[: 4 * LONGEST_SHOWN].split())
    return line if len(line) <= LONGEST_SHOWN else line[: LONGEST_SHOWN - 1] + "…"
