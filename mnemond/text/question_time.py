"""Whether a question asks how things are, or how they were: at first, before the last change, or at a time.

English, German and Chinese. A question of the past is not one of a former state: "when did Ana run" has one answer,
"who was the owner before Ana" has another one than "who is the owner". Only the latter turns the order of two
statements around, of which one took the place of the other.
"""

from __future__ import annotations

from typing import Final, Literal

from mnemond.text.prompt_words import is_german
from mnemond.text.resources import regex
from mnemond.text.tokens import fold

Former = Literal["first", "before"]
"""The first of several states, or the one before the present one."""

MAX_CUE_TEXT: Final = 600
"""Characters of a question or a memory that are searched for words of time and change."""

_PAST: Final = regex(
    r"\b(?:original(?:ly)?|initially|at first|previous(?:ly)?|used? to|before|history|order|earlier|first|did|was|were"
    r"|had|former(?:ly)?)\b"
    r"|最初|原[来來先本]|之前|以前|曾[经經]?|[当當][时時]|起初|一[开開]始"
)
_PAST_GERMAN: Final = regex(
    r"\b(?:war|waren|hatten?|wurden?|gab|lag|lagen|galt|kostete|früher\w{0,2}|zuvor|vorher\w{0,4}|ursprünglich\w{0,2}"
    r"|anfangs|anfänglich\w{0,2}|zuerst|zunächst|damals|damalig\w{0,2}|ehemalig\w{0,2}|einst|vormals|bisher\w{0,4})\b"
)
_PRESENT: Final = regex(
    r"\b(?:what(?:'s| is| are)|how (?:many|much|often|long|old)|when (?:is|are|do|does|will|am)"
    r"|where (?:is|are|do|does|am)|which|who(?:se|m)?|by what|what (?:\w{1,30} ){1,4}(?:is|are|have|has|am|do|does))\b"
    r"|[现現]在|目前|如今"
)
_TENSELESS: Final = regex(r"[谁誰哪]|多少|[什甚][么麼]|[几幾]")
_PRESENT_GERMAN: Final = regex(r"\b(?:wer|was|wo|wann|wie|wohin|woher|wem|wen|wessen|welche[mnrs]?)\b")
_NOW: Final = regex(
    r"\b(?:current(?:ly)?|now(?:adays)?|these days|at the moment|as of (?:now|today)|latest|newest|most recent(?:ly)?"
    r"|recently|up to date|today)\b|[现現]在|目前|如今|最新|眼下"
)
_NOW_GERMAN: Final = regex(
    r"\b(?:aktuell\w{0,2}|jetzt|derzeit\w{0,3}|momentan\w{0,2}|zurzeit|heute|neueste\w?|letzte\w?|inzwischen|mittlerweile"
    r"|gegenwärtig\w{0,2})\b"
)
_DECIDED: Final = regex(r"\bdid (?:\w{1,30} ){1,3}(?:decide|agree|settle|choose|pick|end up)\b")
"""A decision holds until the next one, so a question for it is about the present."""

_FIRST: Final = regex(
    r"\b(?:original(?:ly)?|initially|at first|in the beginning|to begin with|to start with|first of all)\b"
    r"|最初|起初|一[开開]始|[刚剛][开開]始"
)
_FIRST_GERMAN: Final = regex(
    r"\b(?:ursprünglich\w{0,2}|anfangs|anfänglich\w{0,2}|zuerst|zunächst|(?:am|zu) (?:anfang|beginn))\b"
)
_BEFORE: Final = regex(
    r"\b(?:used? to (?!it|this|that)|previous(?:ly)?|former(?:ly)?|in the past|back then|until recently)\b"
    r"|\bbefore(?! (?:i|we|you|he|she|they|it)\b)|\b(?:earlier|at that time|at the time|prior)\W*$"
    r"|以前|之前|原[来來先本]|曾[经經]?|[过過]去(?!了)"
)
_BEFORE_GERMAN: Final = regex(
    r"\b(?:früher\w{0,2}|zuvor|vorher\w{0,4}|damals|damalig\w{0,2}|ehemalig\w{0,2}|einst|vormals|bisherig\w{0,2}"
    r"|bis vor kurzem)\b"
)
_WAS: Final = regex(r"(?:\b(?:what|who|which|where)\b|\bhow (?:\w{1,20} ){0,2})[^?]{0,60}?\b(?:was|were)\b")
_WAS_GERMAN: Final = regex(r"\b(?:wer|was|wo|wie|welche[mnrs]?)\b[^?]{0,60}?\b(?:war|waren|lag|lagen|hiess|galt)\b")
_BEST: Final = regex(
    r"\b(?:best|worst|most|least|last|highest|lowest|longest|fastest|record|final|first|beste\w?|letzte\w?|höchste\w?)\b"
)
"""A question for these in the past is about all that is known: "what was my best time"."""


def asks_state(question: str, *, at_past_time: bool = False) -> bool:
    """Return True if a question is about the present state, not about the past.

    `at_past_time`: it names a time that is over. "What is the budget through August" is about the present all the same;
    a question in Chinese, which has no tenses, is not.
    """
    plain = _plain(question)
    asks = _is_present(plain) or (not at_past_time and _TENSELESS.search(plain) is not None)
    return asks and (not _is_past(plain) or _is_now(plain))


def asks_past(question: str) -> bool:
    """Return True if a question is about the past."""
    plain = _plain(question)
    return _is_past(_DECIDED.sub(" ", plain)) and not _is_now(plain)


def asks_former(question: str) -> Former | None:
    """Return which former state a question is about; None if it asks for none."""
    plain = _plain(question)
    if (named := _named(plain)) is not None or _is_now(plain):
        return named
    was = (_WAS_GERMAN if is_german(plain) else _WAS).search(plain)
    return "before" if was is not None and _BEST.search(plain) is None else None


def _named(plain: str) -> Former | None:
    """Return the former state for which a question has a word."""
    german = is_german(plain)
    if _FIRST.search(plain) or (german and _FIRST_GERMAN.search(plain)):
        return "first"
    return "before" if _BEFORE.search(plain) or (german and _BEFORE_GERMAN.search(plain)) else None


def _plain(question: str) -> str:
    return fold(question[:MAX_CUE_TEXT]).replace("’", "'")


def _is_past(plain: str) -> bool:
    return (_PAST_GERMAN if is_german(plain) else _PAST).search(plain) is not None


def _is_present(plain: str) -> bool:
    return _PRESENT.search(plain) is not None or (is_german(plain) and _PRESENT_GERMAN.search(plain) is not None)


def _is_now(plain: str) -> bool:
    """Return True if a question has a word for the present, and none for a former state."""
    if _named(plain) is not None:
        return False
    return _NOW.search(plain) is not None or (is_german(plain) and _NOW_GERMAN.search(plain) is not None)
