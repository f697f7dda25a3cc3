"""What is known of the people and things that a question names, in short: beside memories, and in a context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemond.memory import entity_pages
from mnemond.model.memory import Scope
from mnemond.model.relations import EntityBrief, When, relation_text
from mnemond.store import relations
from mnemond.store.connection import Connection
from mnemond.text.entities import Known, canonical_name
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS

MAX_NAMED: Final = 3
"""Things of one answer."""

MAX_RELATIONS: Final = 12
"""Relations of one thing; `entity show` has all."""

MAX_ALIASES: Final = 5
"""Other names of one thing."""

MAX_WORDS: Final = 40
"""Words of a question that are looked up as names."""

MAX_NAME_WORDS: Final = 3
"""Words in a row that are looked up as one name."""

_WORD: Final = regex(r"[^\s,;:!?¿¡\"“”«»()\[\]{}]+")


def names_in(question: str) -> list[str]:
    """Return the canonical names that parts of a question may be, longer ones first."""
    words = [each.strip(".'’").removesuffix("'s").removesuffix("’s") for each in _words(question)]
    found: dict[str, None] = {}
    for size in range(MAX_NAME_WORDS, 0, -1):
        for at in range(len(words) - size + 1):
            part = words[at : at + size]
            if part[0] and part[-1] and not {part[0].casefold(), part[-1].casefold()} & FUNCTION_WORDS:
                found[canonical_name(" ".join(part))] = None
    return list(found)


def may_name(question: str, known: Known) -> bool:
    """Return True if a question has a capital behind its first letter, or a name that memories have."""
    if any(char.isupper() for char in question.strip()[1:]):
        return True
    return any(known(each) is not None for each in names_in(question))


def _words(question: str) -> list[str]:
    found: list[str] = []
    for match in _WORD.finditer(question):
        found.append(match[0])
        if len(found) == MAX_WORDS:
            break
    return found


def facts_about(connection: Connection, question: str, when: When, now: str, scope: Scope) -> list[EntityBrief]:
    """Return what is known of the things that a question names by a name or an alias: those of the longest names, and
    of each the relations that hold at `when.as_of`, the latest first. `now` (RFC 3339) without that."""
    rows = relations.entities_named(connection, names_in(question))
    gone = relations.hidden(connection, rows, scope)
    rows = [each for each in rows if each not in gone]
    if not rows:
        return []
    found = relations.roots(connection)
    at = when.as_of or when.known_at or now
    briefs = []
    for root in list(dict.fromkeys(found.of(row) for row in rows))[:MAX_NAMED]:
        members = found.members(root)
        memories = relations.count_naming(connection, members, when.known_at, scope)
        current = entity_pages.rows_at(connection, members, when, at, scope).now
        if not memories and not current:
            continue
        it = entity_pages.known(connection, members, scope)
        latest = sorted(current, key=lambda each: (each.valid_from or "", each.created_at, each.id), reverse=True)
        shown = relations.views(connection, latest[:MAX_RELATIONS], at, scope)
        briefs.append(
            EntityBrief(
                it.name, it.kind, it.aliases[:MAX_ALIASES], shown, len(current), memories,
            )
        )  # fmt: skip
    return briefs


def lines_of(briefs: Sequence[EntityBrief]) -> Iterator[str]:
    """Yield the relations of things as lines, with the other names of each. Names are as they were written."""
    for it in briefs:
        if it.aliases:
            yield f"{it.name} is also {', '.join(it.aliases)}"
        yield from (relation_text(each) for each in it.relations)
