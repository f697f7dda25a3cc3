"""People named in a text: capitalised words after a cue or before a possessive (spec 6.3 (e)), and 同事张三."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.entity_terms import TERMS
from mnemond.text.gazetteer import SURNAMES

TITLES: Final = frozenset({"mr", "mrs", "ms", "dr", "prof"})
"""Cues that a full stop may part from the name."""

CUES: Final = TITLES | {
    *("with", "met", "by", "from", "told", "asked", "named", "cc", "hi", "hey", "hello", "dear"),
    *("colleague", "colleagues", "coworker", "coworkers", "teammate", "manager", "boss", "friend"),
    *("brother", "sister", "husband", "wife", "son", "daughter"),
}
"""Words after which a capitalised word is somebody."""

STARTS: Final = frozenset('.!?\n:;-*#>|"“”(。！？：；（•')
"""Marks after which a sentence begins, and with it a capital that says nothing."""

_NO_NAME: Final = ("tion", "tions", "sion", "ment", "ments", "ness", "ility", "ivity", "ism", "ship", "ology", "ings")
"""Endings of abstract nouns, which headings write with a capital: "Start with Gratitude, Lead with Intention"."""

_AND: Final = frozenset({"and", "&"})
_CHINESE: Final = re.compile(
    rf"(?:同事|朋友|老师|经理|老板|客户|告诉)((?:[小老][{SURNAMES}])|[{SURNAMES}][\u4e00-\u9fff]{{1,2}}?)"
    r"(?=的|说|告诉|讨论|负责|提|建议|认为|一起|和|与|跟|在|会|已|要|把|将|$)"
)


def at_start(words: Sequence[str], at: int) -> bool:
    """Whether a sentence begins at word `at`."""
    return at == 0 or words[at - 1] in STARTS


def bare(word: str) -> str:
    """`word` without a possessive or a contracted verb."""
    return word if word.isalnum() else word.replace("’", "'").partition("'")[0]


def is_name(word: str) -> bool:
    """Whether `word`, without suffix, is written like a name and is no ordinary word."""
    spelled = word.istitle() or (word.startswith("Mc") and word[2:].istitle())
    if not (spelled and len(word) > 1 and word.replace("-", "").isalpha()):
        return False
    return not (is_ordinary(word) or word.endswith(_NO_NAME))


def person_at(words: Sequence[str], at: int) -> str:
    """The person whose name begins at word `at`, of one or two words; "" where nothing says that it is one."""
    word = words[at]
    first = bare(word)
    if not is_name(first):
        return ""
    if first != word:
        is_activity = at_start(words, at) and first.endswith("ing")  # "Painting's great"
        return first if _is_cued(words, at) or (_is_possessive(word) and not is_activity) else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    second = bare(following)
    pair = f"{first} {second}" if is_name(second) and second not in TERMS else ""
    if _is_cued(words, at):
        return pair or ("" if _goes_on(following) else first)
    return pair if pair and _is_possessive(following) and not _may_be_verb(words, at) else ""


def chinese_people(run: str) -> list[str]:
    """People a run of Han names after a word such as 同事, by surname and what follows the name."""
    return _CHINESE.findall(run)


def _goes_on(following: str) -> bool:
    """Whether a capitalised word that is no name follows, as in a heading: "Start with Positive Feedback"."""
    return len(following) > 1 and following.istitle() and following.isalpha() and following not in TERMS


def _is_possessive(word: str) -> bool:
    return word.endswith(("'s", "’s"))


def _is_cued(words: Sequence[str], at: int) -> bool:
    before = words[at - 1].lower() if at else ""
    if before == "." and at > 1:
        return words[at - 2].lower() in TITLES
    if before in _AND and at > 2:  # with Alice and Bob
        return is_name(words[at - 2]) and words[at - 2] not in TERMS and _after_cue(words, at - 2)
    return before in CUES


def _after_cue(words: Sequence[str], at: int) -> bool:
    """Whether a cue stands before word `at`, or before the capitalised word before it."""
    before = words[at - 1].lower()
    return before in CUES or (at > 1 and is_name(words[at - 1]) and words[at - 2].lower() in CUES)


def _may_be_verb(words: Sequence[str], at: int) -> bool:
    """Whether word `at` may be what is done with Bob's table rather than Bob's first name: "Migrate", "Choosing"."""
    return at_start(words, at) or words[at].endswith("ing")
