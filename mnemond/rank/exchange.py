"""Signs that a contradiction is none: what was said of one thing is said otherwise of another.

"Reads do not take the lock" does not correct "Writes take the lock". A correction repeats what it corrects and changes
one thing about it; where more is exchanged, both memories are true, and retiring one of them loses it. Each rule comes
from pairs that were wrongly replaced (docs/decisions/0006).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mnemond.text.contrast import polarity
from mnemond.text.tense import tense
from mnemond.text.tokens import PAIRED_SCRIPTS, fold, index_term, tokens

_NAME_WITH_DIGITS = re.compile(r"[a-z_]+[-_]?\d[a-z0-9_-]*")
_VERSION = re.compile(r"v\d")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    rf"\d{{4}}-\d\d(?:-\d\d)?(?![\d-])|\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b"
    r"|(?<![\d/.])\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/])|(?<![\d.])\d{1,2}\.\d{1,2}\.(?:\d{2,4})?(?![\d.])"
    r"|\d{1,2} ?月 ?\d{1,2} ?[日号號]|(?:19|20)\d\d ?年|\b(?:in|during|since|of|year) (?:19|20)\d\d\b"
    r"|\b(?:kw|cw|week|calendar week) ?\d{1,2}\b"
)
"""A day, month, week or year as people write it."""

_HEADING = 60
_FRONT = 8
"""Characters: a date before a colon within so many, or that begins within so few, says what an entry is about."""

_RELATIVE_DAY = re.compile(
    r"\b(?:today|yesterday|tonight|tomorrow|this (?:morning|afternoon|evening|week|month)|last (?:night|week|month)"
    r"|next (?:week|month)|just now|(?:an?|\d+|two|three) (?:hours?|days?|weeks?) ago)\b"
    r"|今[天日晚早]|昨[天日晚]|明[天日晚]|刚才|剛才|[上下这這本]个?[周週月]"
)
"""What means another day when it is said on another."""

_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?")
_OPTION = re.compile(r"(?<![\w-])-[a-zA-Z](?![\w-])")
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?![\d:])")
_RECURS = re.compile(r"\b(?:every|each|daily|hourly|nightly|weekly|monthly|always)\b|每")
_PAIRED = re.compile(f"[{PAIRED_SCRIPTS}]")

_QUESTION = ("?", "？")

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
    happened. When something is due, or is done every night, can be corrected. A date that a text begins with, or that
    stands in its heading, says what it is about."""
    if (one := _heading_date(old)) and (other := _heading_date(new)) and one != other:
        return True
    if not (_looks_back(old) and _looks_back(new)):
        return False
    dates, later_dates = _dates(old), _dates(new)
    if dates and later_dates and dates != later_dates:
        return True
    days, later_days = _days(old_numbers), _days(new_numbers)
    hours, later_hours = set(_CLOCK.findall(old)), set(_CLOCK.findall(new))
    return bool(days and later_days and days != later_days) or bool(hours and later_hours and hours != later_hours)


def other_occasion(old: str, new: str, said_on: str, new_said_on: str) -> str:
    """Why two texts that may be the same, letter for letter, are not one statement; "" when they may be."""
    if old.rstrip().endswith(_QUESTION) != new.rstrip().endswith(_QUESTION):
        return "one asks what the other says"
    if _OPTION.findall(old) != _OPTION.findall(new) and _OPTION.findall(fold(old)) == _OPTION.findall(fold(new)):
        return "an option differs in case"
    if said_on and new_said_on and said_on != new_said_on and _RELATIVE_DAY.search(fold(new)):
        return "they speak of different days"
    return ""


def other_subject(old: Sequence[str], new: Sequence[str]) -> str:
    """Why texts that begin with an address are not about the same thing; "" when they are. `old`, `new`: words."""
    if old and new and old[0] != new[0] and _ADDRESS.fullmatch(old[0]) and _ADDRESS.fullmatch(new[0]):
        return "they are about different addresses"
    return ""


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


def _dates(text: str) -> set[str]:
    return set(_DATE.findall(" ".join(fold(text).split())))


def _heading_date(text: str) -> str:
    """The date that says what a text is about; "" when none does."""
    folded = " ".join(fold(text).split())
    found = _DATE.search(folded)
    if found is None:
        return ""
    colon = folded.find(":", found.end(), _HEADING)
    is_heading = colon >= 0 and (colon + 1 == len(folded) or folded[colon + 1] == " ")
    return found[0] if found.start() <= _FRONT or is_heading or "：" in folded[found.end() : _HEADING] else ""


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
