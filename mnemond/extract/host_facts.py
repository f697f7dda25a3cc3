"""Facts that a host found, completed by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemond.extract.facts import (
    MAX_SENTENCE,
    Context,
    Extraction,
    Fact,
    importance,
)
from mnemond.extract.orders import ORDER, is_instruction
from mnemond.extract.prose import sentences
from mnemond.extract.quotes import INTENTS, quote_in
from mnemond.model.answers import Dropped
from mnemond.model.memory import parse_rfc3339
from mnemond.model.outcomes import HostFact, Intent
from mnemond.text.contrast import numbers
from mnemond.text.entities import extract, nothing_known

HOST_NAME: Final = "host"

MAX_HOST_FACT: Final = 8_000
"""Characters of a memory; a longer item becomes several."""

INTENT_OF: Final[dict[str, Intent]] = {
    "preference": "preference", "decision": "fact", "fact": "fact", "insight": "fact", "context": "event",
    "general": "fact",
}  # fmt: skip
CATEGORY_OF: Final[dict[Intent, str]] = {
    "preference": "preference", "fact": "fact", "event": "context", "relationship": "fact",
}  # fmt: skip
"""Intent of a category, and category of an intent, if only one is given."""


def completed(given: Sequence[HostFact], context: Context) -> Extraction:
    """The facts that may be stored, and those that are repetitions or not important enough."""
    facts: list[Fact] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for each in given:
        for content in parts(each.content):
            fact = _complete(each, content, context)
            if is_instruction(content):
                dropped.append(Dropped(content, ORDER))
            elif content in seen:
                dropped.append(Dropped(content, "said before"))
            elif fact.importance < context.threshold:
                dropped.append(Dropped(content, f"importance {fact.importance}"))
            else:
                facts.append(fact)
            seen.add(content)
    return Extraction(tuple(facts), tuple(dropped), HOST_NAME)


def parts(content: str, longest: int = MAX_HOST_FACT) -> list[str]:
    """`content` in pieces of at most `longest` characters, cut between sentences if there are any."""
    return list(_parts(content.strip(), longest))


def _parts(rest: str, longest: int) -> Iterator[str]:
    while len(rest) > longest:
        head = rest[:longest].rstrip()
        last = sentences(head)[-1]
        cut = len(head) - len(last) if len(last) < longest // 2 else longest
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


def _complete(given: HostFact, content: str, context: Context) -> Fact:
    intent, category = _kinds(given, content)
    named = extract(content, given.names, known=context.known or nothing_known)
    decided = category == "decision"
    specific = len(named) >= 2 or bool(numbers(content))
    ruled = importance(content, intent, decided=decided, corrects=False, specific=specific)
    return Fact(
        content=content,
        intent=intent,
        category=category,
        importance=ruled if given.importance is None else given.importance,
        weighed=given.importance is not None,
        confidence=given.confidence,
        attributed_to=given.attributed_to,
        said_us=context.observed_us if given.event_time is None else parse_rfc3339(given.event_time),
        entities=named,
        message_ids=given.message_ids,
        family=HOST_NAME,
        cues=given.cues,
    )


def _kinds(given: HostFact, content: str) -> tuple[Intent, str]:
    if given.intent is not None:
        return given.intent, given.category or CATEGORY_OF[given.intent]
    if given.category is not None:
        return INTENT_OF.get(given.category, "fact"), given.category
    found = quote_in(content[:MAX_SENTENCE])
    return ("fact", "fact") if isinstance(found, str) else INTENTS[found.kind]
