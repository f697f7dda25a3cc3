"""What a sentence comes to before it is weighed, and what it is read beside."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mnemond.extract.fact import Intent
from mnemond.extract.families import Family


class Scene(msgspec.Struct, frozen=True):
    """Who speaks and when. `name` is what "I" becomes; `named_last` gives what the sentences before, of the same group,
    named last, None when they named nothing; `corrected`: the one before says that something is wrong; `itemised`: the
    sentence stands in a list."""

    name: str
    by_agent: bool
    said_us: int
    named_last: Callable[[], str | None]
    corrected: bool = False
    itemised: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A statement told so that it can be understood alone. `relation`: all that it says about its subject."""

    content: str
    family: str
    intent: Intent
    category: str
    confidence: float
    decided: bool = False
    corrects: bool = False
    relation: str | None = None


Judged = list[Finding] | str
"""What a sentence says, or why nothing is kept of it."""


def finding(family: Family, content: str, *, corrects: bool = False, dated: bool = False) -> Finding:
    """`content` as a statement of `family`; a decision that names its day is an event as well."""
    decided = family.name == "decision"
    return Finding(
        content=content,
        family=family.name,
        intent="event" if decided and dated else family.intent,
        category=family.category,
        confidence=family.confidence,
        decided=decided,
        corrects=corrects,
    )
