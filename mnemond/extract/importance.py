"""How much a fact matters, by the rubric of spec 9, and on the scale of memories."""

from __future__ import annotations

import re
from typing import Final, Literal

from mnemond.extract.fact import Intent
from mnemond.text.cue_words import words_of
from mnemond.text.tokens import fold, latin_words

LEAST, MOST = 1, 10
BASE: Final[dict[Intent, int]] = {"preference": 6, "event": 5, "relationship": 6, "fact": 5}
DECISION: Final = 8
"""Base of what was decided, whatever its intent."""

EMPHASISED: Final = words_of("important critical crucial essential must always never mandatory forbidden")
HEDGES: Final = words_of("maybe might perhaps possibly probably guess seems unsure")
SMALL_TALK: Final = words_of("weather lunch coffee weekend haha lol")
_EMPHASISED_CHINESE: Final = re.compile("重要|关键|必须|务必|总是|始终|永远|从不|禁止|一定要|千万")
_HEDGES_CHINESE: Final = re.compile("也许|可能|大概|或许|说不定")

Band = Literal["trivial", "useful", "important", "critical"]


def importance(text: str, intent: Intent, *, decided: bool, corrects: bool, specific: bool) -> int:
    """1…10. `specific`: it names a number, a date or two things."""
    words, folded = latin_words(text), fold(text)
    points = DECISION if decided else BASE[intent]
    points += not EMPHASISED.isdisjoint(words) or _EMPHASISED_CHINESE.search(folded) is not None
    points += corrects + specific
    points -= 2 * is_hedged(text)
    points -= 2 * (not SMALL_TALK.isdisjoint(words))
    return max(LEAST, min(MOST, points))


def is_hedged(text: str) -> bool:
    """Whether its speaker is not sure of it."""
    return not HEDGES.isdisjoint(latin_words(text)) or _HEDGES_CHINESE.search(text) is not None


def of_five(importance_of_ten: int) -> int:
    """The importance of a memory, 1…5 (C1 of spec 3)."""
    return (importance_of_ten + 1) // 2


def band(importance_of_ten: int) -> Band:
    """What the number means (spec 9)."""
    if importance_of_ten <= 3:
        return "trivial"
    if importance_of_ten <= 6:
        return "useful"
    return "important" if importance_of_ten <= 8 else "critical"
