"""Exchanges of tests/data with the facts that somebody would keep who read them, and how near the rules come."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from mnemond.extract.facts import Context, Extraction, Message
from mnemond.extract.rules import RuleEngine
from mnemond.model.memory import parse_rfc3339
from mnemond.text.secrets import redact

DATA = Path(__file__).parent.parent / "data" / "exchanges"
DAY_US = parse_rfc3339("2026-02-18T12:00:00Z")
"""Wednesday, on which all of them take place."""


class Exchange(msgspec.Struct, frozen=True):
    """`facts`: of each the words that it must contain."""

    name: str
    user: str
    assistant: str
    facts: tuple[tuple[str, ...], ...]


class Score(msgspec.Struct, frozen=True):
    """What was found beside what was to be found."""

    found: int
    junk: tuple[str, ...]
    missed: tuple[tuple[str, ...], ...]

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.junk))

    @property
    def recall(self) -> float:
        return self.found / (self.found + len(self.missed))


def exchanges(name: str) -> list[Exchange]:
    """Those of one file."""
    return msgspec.convert(tomllib.loads((DATA / f"{name}.toml").read_text())["exchange"], list[Exchange])


def extracted(*said: str | Message, observed_us: int = DAY_US, **context: object) -> Extraction:
    """What the rules make of these messages; of texts the user's and the assistant's in turn."""
    roles = ("user", "assistant")
    messages = [Message(roles[at % 2], each) if isinstance(each, str) else each for at, each in enumerate(said)]
    return RuleEngine().extract(messages, Context(observed_us=observed_us, **context))  # type: ignore[arg-type]


def contents(*said: str | Message, **context: object) -> list[str]:
    """The texts of the facts."""
    return [each.content for each in extracted(*said, **context).facts]  # type: ignore[arg-type]


def scored(all_of: list[Exchange]) -> Score:
    """Every exchange read, and each of its facts claimed by one that was found at most."""
    found, junk, missed = 0, [], []
    for exchange in all_of:
        wanted = list(exchange.facts)
        for fact in contents(redact(exchange.user).text, redact(exchange.assistant).text):
            hit = next((words for words in wanted if all(each.casefold() in fact.casefold() for each in words)), None)
            if hit is None:
                junk.append(f"{exchange.name}: {fact}")
            else:
                wanted.remove(hit)
                found += 1
        missed += wanted
    return Score(found, tuple(junk), tuple(missed))
