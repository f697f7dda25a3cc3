"""Signs that a contradiction is none: what was said of one thing is said otherwise of another.

"Reads do not take the lock" does not correct "Writes take the lock". A correction repeats what it corrects and changes
one thing about it; where more is exchanged, both memories are true, and retiring one of them loses it. Each rule comes
from pairs that were wrongly replaced (docs/decisions/0006).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mnemond.text.contrast import polarity
from mnemond.text.tense import tense
from mnemond.text.tokens import PAIRED_SCRIPTS, fold, index_term, tokens

_NAME_WITH_DIGITS = re.compile(r"[a-z_]+[-_]?\d[a-z0-9_-]*")
_VERSION = re.compile(r"v\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?![\d:])")
_RECURS = re.compile(r"\b(?:every|each|daily|hourly|nightly|weekly|monthly|always)\b|每")
_PAIRED = re.compile(f"[{PAIRED_SCRIPTS}]")

_CLAUSE_ENDS = re.compile(
    r"[,;.:!?](?=\s|$)|[。，；：！？]|\b(?:because|since|due to|so that|as long as)\b|因为|由于|所以", re.IGNORECASE
)

_STRICT_CUES = frozenset({"no longer", "不再", "deprecated", "取消", "放弃"})
"""Changes that negate: they say of the same thing that it is so no more."""

_BESIDE_A_NEGATION = frozenset({
    "anymore", "any", "more", "longer", "now", "currently", "again", "ever", "still", "yet", "already", "really",
    "actually", "not", "no", "never", "cannot", *"不没別别无無未再能会會可以了的已經现現在",
})  # fmt: skip
"""What a negation may bring along or leave out without speaking of anything else: words, and characters of Chinese."""


def other_names(old: str, new: str) -> bool:
    """Whether each text has a name with a digit in it that the other lacks: "H100" and "A100", "test_login_1"."""
    one, other = _names(old), _names(new)
    return bool(one - other) and bool(other - one)


def other_times(old: str, new: str, old_numbers: frozenset[str], new_numbers: frozenset[str]) -> bool:
    """Whether both texts say when, and not the same, looking back: what happened then and what happened now both
    happened. When something is due, or is done every night, can be corrected."""
    if not (_looks_back(old) and _looks_back(new)):
        return False
    days, later_days = _days(old_numbers), _days(new_numbers)
    hours, later_hours = set(_CLOCK.findall(old)), set(_CLOCK.findall(new))
    return bool(days and later_days and days != later_days) or bool(hours and later_hours and hours != later_hours)


def other_statement(old: str, new: str) -> bool:
    """Whether what the texts say first, reasons aside, is not one statement and its negation."""
    one, other = _first_clause(old), _first_clause(new)
    if not _said(one) ^ _said(other):
        return polarity(one) == polarity(other)
    return not _takes_back(_said(one) - _said(other), new[len(other) :])


def _takes_back(gone: set[str], rest: str) -> bool:
    """Whether what the new statement lacks of the old one is denied behind it: "at ten, not at nine"."""
    return bool(gone) and gone <= _said(rest) and polarity(rest) == 1


def other_beginning(old: str, new: str) -> bool:
    """Whether the texts begin with different words: nearly always they then speak of different things."""
    return _beginning(old) != _beginning(new)


def negates(cues: Iterable[str]) -> bool:
    """Whether one of these change cues says that something is so no more."""
    return not _STRICT_CUES.isdisjoint(cues)


def _looks_back(text: str) -> bool:
    folded = fold(text)
    return _RECURS.search(folded) is None and tense(folded, 0, 0) == "past"


def _beginning(text: str) -> str:
    """The first word that is no part of a negation."""
    return next((_stem(word) for word in tokens(text) if word not in _BESIDE_A_NEGATION), "")


def _names(text: str) -> set[str]:
    return {name for name in _NAME_WITH_DIGITS.findall(fold(text)) if _VERSION.match(name) is None}


def _days(numbers: frozenset[str]) -> set[str]:
    return {number for number in numbers if _DAY.fullmatch(number)}


def _first_clause(text: str) -> str:
    return next((clause for clause in _CLAUSE_ENDS.split(text) if clause.strip()), text)


def _said(text: str) -> set[str]:
    """Stems of the words, characters of scripts without spaces; without what belongs to a negation."""
    said: set[str] = set()
    for word in tokens(text):
        said.update(word if _PAIRED.match(word) else [_stem(word)])
    return said - _BESIDE_A_NEGATION


def _stem(word: str) -> str:
    return index_term(word) or word
