"""What a rule for dates is: a pattern, and a function from its match to days."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import NamedTuple

from mnemond.text.intervals import Interval


class Scene(NamedTuple):
    """What a phrase is read against: the text around it, the time it was said, and how its writer spells dates."""

    text: str
    """As written; positions are those of `folded`."""
    folded: str
    now: datetime
    """UTC."""
    day_first: bool | None
    """What 05/08 means: 5 August, 8 May, or (None) nothing."""

    @property
    def today(self) -> date:
        return self.now.date()

    def is_capital(self, position: int) -> bool:
        return self.text[position].isupper()


Resolve = Callable[[re.Match[str], Scene], Interval | None]


class Rule(NamedTuple):
    """`pattern` is over folded text; its groups carry the name of the rule in front, as names must be unique."""

    name: str
    pattern: str
    resolve: Resolve
    explicit: bool = True


LEFT_EDGE = r"(?<![a-z0-9_/.])(?<![a-z0-9_]-)"
RIGHT_EDGE = r"(?!-?[a-z0-9_%])"
"""Where a word of Latin letters or digits may begin and end; Chinese is written without spaces around it."""


def compiled(rules: tuple[Rule, ...], left: str = "", right: str = "") -> re.Pattern[str]:
    """All rules as one expression; the last group of a match is the name of its rule. Earlier rules win."""
    return re.compile(left + "(?:" + "|".join(f"(?P<{rule.name}>{rule.pattern})" for rule in rules) + ")" + right)


def one_of(words: Iterable[str]) -> str:
    """The words as alternatives, longest first, so that none hides another that starts with it."""
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))
