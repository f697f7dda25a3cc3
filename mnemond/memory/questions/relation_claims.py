"""Relations that a model claims to read in a memory, and why they are not believed.

A claim rests on a quote of the memory; its names are in the text, its type is one of TYPES, and its time is one that
the text says. What is left is evidence of the memory: as inferred, and never against a statement of the same time
(docs/decisions/0051).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

from mnemond.extract.acceptance import no_name, unfit
from mnemond.llm.reader import Schema, items_of
from mnemond.memory.questions.asking import object_schema
from mnemond.model.memory import Insight, format_us, parse_rfc3339
from mnemond.model.relations import MAX_QUOTE, MAX_VALUE, Granularity, PointKind
from mnemond.text.dates import begin_of, dates
from mnemond.text.entities import canonical_name
from mnemond.text.resources import regex

MAX_CLAIMS: Final = 6
"""Relations of one answer: a memory is one statement or two."""

MAX_TOKENS: Final = 500
"""Tokens of an answer: six items of some eighty."""

USER: Final = "User"
"""Name of the speaker in a claim and in a statement."""

Time = Literal["holds", "began", "ended"]

TYPES: Final[Mapping[str, Literal["name", "text"]]] = {
    "works_at": "name", "lives_in": "name", "reports_to": "name", "located_in": "name", "knows": "name",
    "uses": "text", "depends_on": "text", "part_of": "text", "owns": "text", "created": "text", "prefers": "text",
    "dislikes": "text",
}  # fmt: skip
"""Types of relations that a model is asked about, and what the target is: a name, or any word of the text."""

_SPEAKER: Final = regex(r"\b(?:i|we|ich|wir)\b|我", re.IGNORECASE)
_SUPPOSED: Final = regex(
    r"\b(?:if|unless|whether|maybe|perhaps|might|may|could|would|should|will|plans|wants|hopes|falls|vielleicht|könnte"
    r"|würde)\b",
    re.IGNORECASE,
)


class Claim(msgspec.Struct, frozen=True):
    """An accepted claim. `at` is RFC 3339."""

    source: str
    type: str
    target: str
    kind: PointKind
    at: str
    granularity: Granularity
    quote: str


class _Item(msgspec.Struct, frozen=True):
    source: str
    type: str
    target: str
    quote: str
    time: Time = "holds"
    when: str | None = None


def speaks(content: str) -> bool:
    """Return True if a text says something about its speaker."""
    return _SPEAKER.search(content) is not None


_ITEM: Final = object_schema({
    "source": {"type": "string", "maxLength": MAX_VALUE},
    "type": {"type": "string", "enum": list(TYPES)},
    "target": {"type": "string", "maxLength": MAX_VALUE},
    "time": {"type": "string", "enum": list(get_args(Time))},
    "when": {"type": ["string", "null"], "maxLength": 60},
    "quote": {"type": "string", "maxLength": MAX_QUOTE},
})  # fmt: skip
SCHEMA: Final[Schema] = object_schema({"relations": {"type": "array", "maxItems": MAX_CLAIMS, "items": _ITEM}})


def accepted(value: object, it: Insight) -> tuple[list[Claim], dict[str, None]]:
    """Return the claims of an answer about a memory that are believed, and the reasons why others are not."""
    items, bad = items_of(value, "relations", _Item)
    said_us = parse_rfc3339(it.created_at)
    found: dict[tuple[str, ...], Claim] = {}
    refused: dict[str, None] = dict.fromkeys(["not readable"] if bad else [])
    for each in items[:MAX_CLAIMS]:
        claim = _claim(each, it.content, said_us)
        if isinstance(claim, str):
            refused[claim] = None
        else:
            found.setdefault((claim.source, claim.type, claim.target, claim.kind, claim.at), claim)
    return list(found.values()), refused


def _claim(item: _Item, content: str, said_us: int) -> Claim | str:
    """Return the claim of an item, or why it is refused."""
    source, target, quote = (" ".join(each.split()) for each in (item.source, item.target, item.quote))
    if item.type not in TYPES:
        return "type"
    if why := _not_said(quote, content) or _no_source(source, quote, content) or _no_target(target, item.type, quote):
        return why
    if canonical_name(source) == canonical_name(target):
        return "source and target are one"
    when = _moment(item, quote, said_us)
    if when is None:
        return "date not said"
    kind: PointKind = {"holds": "seen", "began": "start", "ended": "end"}[item.time]  # type: ignore[assignment]
    if kind == "seen" and item.when is not None:
        kind = "start"
    return Claim(source, item.type, target, kind, when[0], when[1], quote)


def _not_said(quote: str, content: str) -> str | None:
    if not quote or len(quote) > MAX_QUOTE or quote not in " ".join(content.split()):
        return "quote not said"
    return "not stated" if quote.rstrip().endswith(("?", "？")) or _SUPPOSED.search(quote) else None


def _no_source(source: str, quote: str, content: str) -> str | None:
    if source == USER:
        return None if speaks(quote) else "name not said"
    return no_name(source, content.lower())


def _no_target(target: str, kind: str, quote: str) -> str | None:
    if why := no_name(target, quote.lower()):
        return why if TYPES[kind] == "name" or why != "no name" else _no_value(target, quote)
    return None


def _no_value(target: str, quote: str) -> str | None:
    """Return why a text is none that a quote says, word by word."""
    if why := unfit(target, MAX_VALUE):
        return why
    return None if f" {target} " in f" {quote.rstrip('.!;, ')} " else "target not said"


def _moment(item: _Item, quote: str, said_us: int) -> tuple[str, Granularity] | None:
    """Return the time of a claim: a date of the quote, or that of the memory; None for a date that is not said."""
    if item.when is None or not item.when.strip():
        return format_us(said_us), "exact"
    found = [each for each in dates(item.when, said_us) if each.explicit]
    return begin_of(found[0]) if found and item.when.strip() in quote else None
