"""What the rules make of messages, all of one day."""

from __future__ import annotations

from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.quotes import RuleEngine
from mnemond.model.memory import parse_rfc3339

DAY_US = parse_rfc3339("2026-02-18T12:00:00Z")
"""Wednesday, on which all of them take place."""


def extracted(*said: str | Message, observed_us: int = DAY_US, **context: object) -> Extraction:
    """What the rules make of these messages; of texts the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [Message(roles[at % 2], each) if isinstance(each, str) else each for at, each in enumerate(said)]
    return RuleEngine().extract(messages, Context(observed_us=observed_us, **context))  # type: ignore[arg-type]


def contents(*said: str | Message, **context: object) -> list[str]:
    """The texts of the facts."""
    return [each.content for each in extracted(*said, **context).facts]  # type: ignore[arg-type]
