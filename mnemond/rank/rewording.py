"""What is said otherwise from one text to the next, word by word: what sets of words cannot see.

"Copy to the server" and "Copy from the server" have the same words as far as similarity counts them, and so have "Alice
reports to Bob" and "Bob reports to Alice", `x == y` and `x != y`. Where such a thing is exchanged, both texts are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from mnemond.text.contrast import polarity
from mnemond.text.stop_words import FUNCTION_WORDS
from mnemond.text.tokens import PAIRED_SCRIPTS, fold, index_term

MOST_CELLS: Final = 40_000
"""Pairs of words that are compared, some 10 ms: texts of 200 words that have nothing in common. Of longer ones that
differ in more than that nothing is said here."""

ARTICLES: Final = frozenset({"a", "an", "the"})
"""Words whose absence changes nothing. All other function words may: from and to, all and some, may and must."""

RESTRICTING: Final = frozenset({
    "only", "unless", "except", "if", "when", "whenever", "while", "until", "till", "before", "after", "whether",
    "without", "almost", "nearly", "sometimes", "maybe", "perhaps", "never", "not", "no", "cannot",
    "只", "仅", "僅", "除", "若", "当", "當", "不", "没", "未",
})  # fmt: skip
"""Words without which a text says more than with them: "only admins", "unless Ana approves"; characters of Chinese."""

_VERB_FORMS: Final = frozenset({
    "is", "are", "was", "were", "be", "been", "being", "am", "has", "have", "had", "do", "does", "did", "having",
    "是", "为", "為", "有",
})  # fmt: skip
"""Words that stand for each other without another thing being said."""

_WORD: Final = re.compile(rf"[{PAIRED_SCRIPTS}]|[^\s{PAIRED_SCRIPTS}]+")
_OPENING: Final = "\"'`‘“«‹({"
_CLOSING: Final = "\"'`’”»›)}.,;:!?…。，、；：！？"
_ENDS: Final = ".!?。！？:："
_NOTHING_SAID: Final = frozenset("-–—•·….,;:!?。，、；：！？")
"""Marks that may stand alone and say nothing."""

_AROUND: Final = (("*", "*"), ("_", "_"), ("<", ">"))
"""Marks that are taken off a word where they stand on both sides: emphasis, and an address."""

_BRACKETS: Final = "[]()"
_LIST_MARKERS: Final = frozenset("-*+•‣◦–—")
_DIGIT: Final = re.compile(r"\d")


class Change(NamedTuple):
    """Words that went, and those that came in their place; either may be none."""

    gone: tuple[str, ...]
    come: tuple[str, ...]


def plain_words(text: str) -> list[str]:
    """The words of a text in order, folded, without articles and punctuation around them. What else there is belongs to
    a word: C++ is not C#, -5 is not 5, .env is not env; and a mark that stands alone is one: < is not >. The A of "room
    A" is no article."""
    words: list[str] = []
    before = "."
    for at, raw in enumerate(_WORD.findall(text)):
        bare = "" if at == 0 and raw in _LIST_MARKERS else _bare(raw)
        word = fold(bare)
        if word and (word not in ARTICLES or (bare == "A" and before[-1] not in _ENDS)):
            words.append(word)
        before = raw
    return words


def _bare(raw: str) -> str:
    if not any(map(str.isalnum, raw)):
        return "" if _NOTHING_SAID.issuperset(raw) else raw
    word = raw.lstrip(_OPENING).rstrip(_CLOSING)
    for first, last in _AROUND:
        if len(word) > len(first + last) and word.startswith(first) and word.endswith(last):
            word = word[1:-1]
    # Beside a digit a square bracket may say that an interval is closed.
    return word if _DIGIT.search(word) else word.lstrip("[").rstrip("]").rstrip(_CLOSING)


def is_part(new: Sequence[str], old: Sequence[str]) -> bool:
    """Whether `new` stands in `old`, word for word, and no word around it restricts what it says there."""
    if not new:
        return True
    width = len(new)
    for start in range(len(old) - width + 1):
        if old[start] == new[0] and list(old[start : start + width]) == list(new):
            return RESTRICTING.isdisjoint(old[:start]) and RESTRICTING.isdisjoint(old[start + width :])
    return False


def says_otherwise(old: Sequence[str], new: Sequence[str], *, denies: bool, contrast: bool) -> str:
    """Why `new` says something else than `old`, although their words are alike; "" when it may be the same thing.

    `contrast`: a number or a denial is expected to differ; `denies`: it is the denial, and words may then go with it.
    """
    changes = changes_between(old, new)
    for gone, come in changes:
        if gone and come and not _stand_for_each_other(gone, come, denies=denies):
            return "a word is exchanged that says something else"
        if gone and not come and not contrast and not RESTRICTING.isdisjoint(gone):
            return "what restricts the old text is gone"
    return "words change places" if not denies and _moved(changes) else ""


def changes_between(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What has to be exchanged, taken away and added, as little as possible; none where that takes too long to find."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if len(gone) * len(come) > MOST_CELLS:
        return []
    places = [(-1, -1), *_in_common(gone, come), (len(gone), len(come))]
    found = [
        Change(tuple(gone[one + 1 : next_one]), tuple(come[other + 1 : next_other]))
        for (one, other), (next_one, next_other) in pairwise(places)
    ]
    return [change for change in found if change.gone or change.come]


def _in_common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Places of a longest common subsequence, ascending."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for at in range(len(one) - 1, -1, -1):
        row, below, word = lengths[at], lengths[at + 1], one[at]
        for to in range(len(other) - 1, -1, -1):
            row[to] = below[to + 1] + 1 if word == other[to] else max(below[to], row[to + 1])
    found: list[tuple[int, int]] = []
    at = to = 0
    while at < len(one) and to < len(other):
        if one[at] == other[to]:
            found.append((at, to))
            at, to = at + 1, to + 1
        elif lengths[at + 1][to] >= lengths[at][to + 1]:
            at += 1
        else:
            to += 1
    return found


def _stand_for_each_other(gone: Sequence[str], come: Sequence[str], *, denies: bool) -> bool:
    """Whether nothing but a number, a denial or a form of a verb is exchanged."""
    if polarity(" ".join(gone)) != polarity(" ".join(come)):
        return True
    if _differ_in_brackets(gone, come):
        return False
    one = [word for word in gone if word not in _VERB_FORMS and not _DIGIT.search(word)]
    other = [word for word in come if word not in _VERB_FORMS and not _DIGIT.search(word)]
    if not one or not other:
        return True
    if denies and any(_is_content(word) for word in one + other):
        return True  # a statement and its denial are told apart clause by clause (rank/exchange)
    return list(map(_stem, one)) == list(map(_stem, other))


def _differ_in_brackets(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Whether nothing differs but whether an interval is closed."""
    return [word.strip(_BRACKETS) for word in gone] == [word.strip(_BRACKETS) for word in come]


def _moved(changes: Sequence[Change]) -> bool:
    """Whether a word goes at one place and comes at another. "There is no man who plays" denies "a man plays"."""
    return any(
        _is_content(word) and word in later.come
        for at, change in enumerate(changes)
        for word in change.gone
        for later in (*changes[:at], *changes[at + 1 :])
    )


def _is_content(word: str) -> bool:
    return word not in FUNCTION_WORDS and any(map(str.isalnum, word))


def _stem(word: str) -> str:
    return index_term(word) or word
