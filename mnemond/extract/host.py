"""Facts that whoever called has found by themselves: what they leave out the rules fill in (spec 9, engine `host`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from mnemond.extract.fact import Context, Dropped, Extraction, Fact, Intent, Speaker, shown
from mnemond.extract.families import BY_USER
from mnemond.extract.importance import importance
from mnemond.extract.named import entities_of
from mnemond.extract.relations import relations_of
from mnemond.extract.sentences import sentences
from mnemond.text.contrast import numbers
from mnemond.text.entities import extract, nothing_known

NAME: Final = "host"
LONGEST: Final = 8_000
"""Characters of a memory; a longer item becomes several (spec 9)."""

INTENT_OF: Final[dict[str, Intent]] = {
    "preference": "preference", "decision": "fact", "fact": "fact", "insight": "fact", "context": "event",
    "general": "fact",
}  # fmt: skip
CATEGORY_OF: Final[dict[Intent, str]] = {
    "preference": "preference", "fact": "fact", "event": "context", "relationship": "fact",
}  # fmt: skip
"""Category from intent and back where only one is given (spec 3)."""


class HostFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as it comes; None is for the rules to fill. `importance` is 1…10."""

    content: str
    intent: Intent | None = None
    category: str | None = None
    importance: int | None = None
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    attributed_to: Speaker = "user"
    said_us: int | None = None
    message_ids: tuple[str, ...] = ()


def completed(given: Sequence[HostFact], context: Context) -> Extraction:
    """The facts as they may be stored, and those that matter too little."""
    facts: list[Fact] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    for each in given:
        for content in parts(each.content):
            fact = _complete(each, content, context)
            if content in seen:
                dropped.append(Dropped(shown(content), "said before"))
            elif fact.importance < context.threshold:
                dropped.append(Dropped(shown(content), f"importance {fact.importance}"))
            else:
                facts.append(fact)
            seen.add(content)
    return Extraction(tuple(facts), tuple(dropped), NAME)


def parts(content: str, longest: int = LONGEST) -> list[str]:
    """`content` in pieces of at most `longest` characters, cut between sentences where there are any."""
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
    relations = relations_of(content)
    of_text = entities_of(content, relations, context.known)
    named = extract(content, given.entities, known=context.known or nothing_known) if given.entities else of_text
    decided = category == "decision"
    specific = len(named) >= 2 or bool(numbers(content))
    ruled = importance(content, intent, decided=decided, corrects=False, specific=specific)
    return Fact(
        content=content,
        intent=intent,
        category=category,
        importance=ruled if given.importance is None else given.importance,
        confidence=given.confidence,
        attributed_to=given.attributed_to,
        said_us=context.observed_us if given.said_us is None else given.said_us,
        entities=named,
        relations=relations,
        message_ids=given.message_ids,
        family=NAME,
    )


def _kinds(given: HostFact, content: str) -> tuple[Intent, str]:
    if given.intent is not None:
        return given.intent, given.category or CATEGORY_OF[given.intent]
    if given.category is not None:
        return INTENT_OF.get(given.category, "fact"), given.category
    family = next((each for each in BY_USER if each.pattern.match(content[:400])), None)
    return ("fact", "fact") if family is None else (family.intent, family.category)
