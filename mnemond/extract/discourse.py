"""The things and people that a conversation has mentioned, as antecedents of pronouns. For every language."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from typing import Final, Literal

import msgspec

Kind = Literal["he", "she", "person", "thing", "several", "name"]
"""A man, a woman, a person of unknown sex; one thing; several things or people; a name of anything."""

MAX_MENTIONS: Final = 24
"""Mentions that are kept, the latest ones."""

MAX_AGE: Final = 8
"""Clauses after which a mention is no antecedent any more."""


class Mention(msgspec.Struct, frozen=True):
    """`text` can stand in a sentence in place of a pronoun. `is_subject`: its clause is about it."""

    text: str
    kind: Kind
    is_subject: bool = False


class Discourse:
    """The mentions of a conversation so far. A clause is added when it was read; a pronoun looks back from there."""

    def __init__(self) -> None:
        self._mentions: deque[tuple[int, Mention]] = deque(maxlen=MAX_MENTIONS)
        self._clause = 0

    def add(self, mentions: list[Mention]) -> None:
        """Add the mentions of one clause, in its order."""
        self._clause += 1
        self._mentions.extend((self._clause, each) for each in mentions)

    def last(self, kinds: Container[str]) -> str | None:
        """The antecedent of a pronoun for one of `kinds`: of the latest clause that has one the subject, else the first
        mention in it, which is the object: "I bought a bike from a shop"."""
        fitting = [(clause, mention) for clause, mention in self._recent() if mention.kind in kinds]
        nearest = [mention for clause, mention in fitting if clause == fitting[0][0]]
        subject = next((mention for mention in nearest if mention.is_subject), None)
        return subject.text if subject is not None else nearest[-1].text if nearest else None

    def both(self, kinds: Container[str]) -> str | None:
        """The antecedent of a plural: the two mentions of `kinds` in the latest clause that has any, or the only
        one."""
        fitting = [(clause, mention) for clause, mention in self._recent() if mention.kind in kinds]
        nearest = [mention.text for clause, mention in fitting if clause == fitting[0][0]]
        return " and ".join(reversed(nearest)) if len(nearest) == 2 else nearest[0] if nearest else None

    def _recent(self) -> Iterator[tuple[int, Mention]]:
        for clause, mention in reversed(self._mentions):
            if self._clause - clause >= MAX_AGE:
                return
            yield clause, mention
