"""Rules of diff on word order and exchanged words, which sets of words cannot express, and the redundancy score.

"Copy to the server" and "Copy from the server" have the same words as far as similarity counts them, and so have "Alice
reports to Bob" and "Bob reports to Alice", `x == y` and `x != y`. With such a difference both texts are kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.config.writing import EdgeSimilaritySettings, RedundancySettings
from mnemond.text.frame_lists import lists
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, PAIRED_SCRIPTS, fold, index_term

MAX_CELLS: Final = 40_000
"""Maximum number of compared word pairs, some 10 ms: texts of 200 words with nothing in common. Longer differences are
not analysed."""

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
"""Interchangeable words."""

_WORD: Final = regex(rf"[{PAIRED_SCRIPTS}]|[^\s{PAIRED_SCRIPTS}]+")
_OPENING: Final = "\"'`‘“«‹({"
_CLOSING: Final = "\"'`’”»›)}.,;:!?…。，、；：！？"
_ENDS: Final = ".!?。！？:："
_NOTHING_SAID: Final = frozenset("-–—•·….,;:!?。，、；：！？")
"""Punctuation marks that carry no meaning when isolated."""

_AROUND: Final = (("*", "*"), ("_", "_"), ("<", ">"))
"""Marks that are stripped from a word when on both sides: emphasis, and an address."""

_BRACKETS: Final = "[]()"
_LIST_MARKERS: Final = frozenset("-*+•‣◦–—")
_DIGIT: Final = regex(r"\d")


class Change(NamedTuple):
    """Removed words and the words in their place; either may be empty."""

    gone: tuple[str, ...]
    come: tuple[str, ...]


def plain_words(text: str) -> list[str]:
    """Return the folded words of a text in order, without articles and surrounding punctuation. Other characters belong
    to a word: C++ is not C#, -5 is not 5, .env is not env; and a mark that stands alone is a word: < is not >. The A of
    "room A" is no article."""
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
    """Return True if `new` occurs in `old` verbatim, and no word around it restricts its statement."""
    if not new:
        return not old
    width = len(new)
    for start in range(len(old) - width + 1):
        if old[start] == new[0] and list(old[start : start + width]) == list(new):
            return RESTRICTING.isdisjoint(old[:start]) and RESTRICTING.isdisjoint(old[start + width :])
    return False


_ALTERNATIVE: Final = frozenset({"or", "oder", "或", "或者", "per", "pro", "each"})
"""Words before another thing or case for which a statement holds as well."""


def limits(more: Sequence[str], less: Sequence[str]) -> bool:
    """Return True if the words that `more` has beyond `less` limit or widen what `less` states, so that neither text
    says what the other does: "30 seconds in staging", "approval from Ana or Ben". An exception ("unless Ana approves")
    is not meant: with it the whole older statement is said anew."""
    known = lists()
    rest = frozenset(more) - frozenset(less)
    if not rest.isdisjoint(_ALTERNATIVE):
        return True
    if any(word in known.apart for word in rest):
        return True
    if any(word in known.weekdays for word in rest):
        return True
    cases = {known.prepositions.get(word) for word in rest}
    return "for" in cases or ("in" in cases and any(_DIGIT.search(word) for word in less))


def says_otherwise(old: Sequence[str], new: Sequence[str]) -> str:
    """Return why `new` says something else than `old`, although their words are alike; "" if it may be the same."""
    changes = changes_between(old, new)
    for gone, come in changes:
        if gone and come and not _stand_for_each_other(gone, come):
            return "a word is exchanged that says something else"
        if gone and not come and not RESTRICTING.isdisjoint(gone):
            return "what restricts the old text is gone"
        if come and not gone and _displaces(come):
            return "a word has another role"
    return "words change places" if _moved(changes) else ""


_REPORTING: Final = frozenset({
    "said", "says", "told", "tells", "claims", "claimed", "thinks", "thought", "believes", "believed", "reported",
    "according", "sagte", "sagt", "meint", "meinte", "behauptet", "behauptete", "glaubt", "laut",
    "说", "認為", "认为", "据", "称",
})  # fmt: skip
"""Words by which a text tells what was said, and does not say it."""


_ADVERBS: Final = frozenset({
    "still", "always", "usually", "often", "mostly", "generally", "typically", "normally", "currently", "really",
    "immer", "meistens", "noch", "weiterhin", "oft", "normalerweise", "derzeit",
})  # fmt: skip
"""Words before a verb that belong to it."""


def reports(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if `new` tells that it was said what `old` says."""
    return not _REPORTING.isdisjoint(new) and _REPORTING.isdisjoint(old)


def narrower(old: str, new: str, verb: str) -> bool:
    """Return True if `new` says of a part, or of another thing, what `old` says: the words before the verb are the same
    and others beside them. "Production deploys need approval", after "deploys need approval". A number is no such
    word ("Postgres 16"), nor a name behind another ("Ana Costa"), nor what a comma sets apart."""
    if not verb:
        return False
    pattern = rf"(?<![\w'-]){re.escape(verb)}(?![\w'-])"
    one, other = (re.split(pattern, text, maxsplit=1, flags=re.IGNORECASE) for text in (old, new))
    if len(one) == 1 or len(other) == 1 or "," in other[0]:
        return False
    before, now_before = plain_words(one[0]), plain_words(other[0])
    if not before or not set(before) <= set(now_before):
        return False
    named = {fold(word) for word in other[0].split()[1:] if word[:1].isupper()}
    aside = named.union(before, lists().weak, lists().classes, _ADVERBS)
    added = [word for word in now_before if word not in aside and _stem(word) not in aside]
    return any(word.isalpha() and _is_content(word) for word in added)


def _displaces(come: Sequence[str]) -> bool:
    """Return True if added words put what follows them behind a preposition, and another word in its place: "cutting
    the tape on the box", after "cutting the box"."""
    return len(come) > 1 and come[-1] in lists().prepositions and _is_content(come[-2])


def changes_between(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Compute the minimal exchanges, removals and additions; empty where that would take too long."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    if len(gone) * len(come) > MAX_CELLS:
        return []
    places = [(-1, -1), *_in_common(gone, come), (len(gone), len(come))]
    found = [
        Change(tuple(gone[one + 1 : next_one]), tuple(come[other + 1 : next_other]))
        for (one, other), (next_one, next_other) in pairwise(places)
    ]
    return [change for change in found if change.gone or change.come]


def _in_common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index pairs of a longest common subsequence, ascending."""
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


def _stand_for_each_other(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Return True if only a number or a verb form is exchanged."""
    if _differ_in_brackets(gone, come):
        return False
    one = [word for word in gone if word not in _VERB_FORMS and not _DIGIT.search(word)]
    other = [word for word in come if word not in _VERB_FORMS and not _DIGIT.search(word)]
    return not one or not other or list(map(_stem, one)) == list(map(_stem, other))


def _differ_in_brackets(gone: Sequence[str], come: Sequence[str]) -> bool:
    """Return True if only the brackets of an interval differ."""
    return [word.strip(_BRACKETS) for word in gone] == [word.strip(_BRACKETS) for word in come]


def _moved(changes: Sequence[Change]) -> bool:
    """Return True if a content word moves. "There is no man who plays" denies "a man plays"."""
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


# Signs that an apparent contradiction is about another thing.
#
# "Reads do not take the lock" does not correct "Writes take the lock". A correction repeats what it corrects and
# changes one thing about it; where more is exchanged, both memories are true, and retiring one of them loses it. Each
# rule comes from pairs that were wrongly replaced (docs/decisions/0006).


_RELATIVE_DAY = regex(
    r"\b(?:today|yesterday|tonight|tomorrow|this (?:morning|afternoon|evening|week|month)|last (?:night|week|month)"
    r"|next (?:week|month)|just now|(?:an?|\d+|two|three) (?:hours?|days?|weeks?) ago)\b"
    r"|今[天日晚早]|昨[天日晚]|明[天日晚]|刚才|剛才|[上下这這本]个?[周週月]"
)
"""Expressions relative to the day of speaking."""

OTHER_DAY: Final = "they speak of different days"
"""Why texts of two days with such an expression are not one statement. One that tells a change, "we moved it last
week", still holds."""

_ADDRESS = regex(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?")
_OPTION = regex(r"(?<![\w-])-[a-zA-Z](?![\w-])")

_QUESTION = ("?", "？")


def other_occasion(old: str, new: str, said_on: str, new_said_on: str) -> str:
    """Return why two texts, even if equal letter for letter, are not one statement; "" if they may be."""
    if old.rstrip().endswith(_QUESTION) != new.rstrip().endswith(_QUESTION):
        return "one asks what the other says"
    if _OPTION.findall(old) != _OPTION.findall(new) and _OPTION.findall(fold(old)) == _OPTION.findall(fold(new)):
        return "an option differs in case"
    if said_on and new_said_on and said_on != new_said_on and _RELATIVE_DAY.search(fold(new)):
        return OTHER_DAY
    return ""


def other_subject(old: Sequence[str], new: Sequence[str]) -> str:
    """Return why texts that begin with an address have different subjects; "" if not. `old`, `new`: words."""
    if old and new and old[0] != new[0] and _ADDRESS.fullmatch(old[0]) and _ADDRESS.fullmatch(new[0]):
        return "they are about different addresses"
    return ""


# Redundancy score (Mnemosyne): from the normalised mutual information of embeddings and the Jaccard index of keywords.


Floats = npt.NDArray[np.floating]
Bins = npt.NDArray[np.int64]

BINS = 16
"""Bins of a vector's components between −3 and 3 standard deviations (Mnemosyne)."""

CLIP = 3.0
"""Standard deviations from the mean beyond which components count as the last bin."""

TEMPORAL_HALF_LIFE_HOURS = 24.0
"""Hours after which the bonus of proximity in time halves (Mnemosyne)."""


def redundancy(cosine: float | None, jaccard: float, settings: RedundancySettings) -> float:
    """Compute RS = α·NMI + (1 − α)·J in [0, 1], monotonic in both.

    `jaccard` of the keywords, in [0, 1]. Without a cosine the first term is 0 and the weights stay.
    """
    nmi = 0.0 if cosine is None else nmi_analytic(cosine, settings.bins)
    return settings.alpha_nmi * nmi + (1.0 - settings.alpha_nmi) * jaccard


def is_redundant(score: float, settings: RedundancySettings) -> bool:
    """Return True if RS lies strictly above the threshold."""
    return score > settings.threshold


def with_temporal_bonus(
    score: float, hours_apart: float, factor: float, half_life_hours: float = TEMPORAL_HALF_LIFE_HOURS
) -> float:
    """Compute RS·(1 + f·2^(−|Δh| / half-life)): repetitions within hours are more redundant (Mnemosyne)."""
    nearness: float = 2.0 ** (-abs(hours_apart) / half_life_hours)
    return score * (1.0 + factor * nearness)


def nmi_analytic(cosine: float, bins: int = BINS) -> float:
    """Compute the normalised mutual information of two vectors with jointly Gaussian components, in [0, 1].

    −½·ln(1 − ρ²) over the entropy of one binned component, ½·ln(2πe) − ln(6 / bins). 0 for cosines up to 0, because
    mutual information has no sign and an opposite is no repetition; 0 for fewer than two bins.
    """
    if bins < 2 or not cosine > 0.0:
        return 0.0
    if cosine >= 1.0:
        return 1.0
    entropy = 0.5 * math.log(2.0 * math.pi * math.e) - math.log(2.0 * CLIP / bins)
    return min(1.0, -0.5 * math.log1p(-cosine * cosine) / entropy)


def nmi_binned(one: Floats, other: Floats, bins: int = BINS, *, corrected: bool = True) -> float:
    """Compute NMI from histograms of the components, in [0, 1] (Mnemosyne); `corrected` after Miller and Madow.

    Shape (dimension,) each. Biased upwards, and meaningless for sparse vectors. 0 for vectors of different or no
    dimensions, for constant ones, for ones that are not finite, and for a cosine up to 0.
    """
    if one.shape != other.shape or not one.size or bins < 2:
        return 0.0
    first, second = _binned(one, bins), _binned(other, bins)
    if first is None or second is None or not float(np.dot(one, other)) > 0.0:
        return 0.0
    of_first = _entropy(first, corrected)
    of_second = _entropy(second, corrected)
    of_both = _entropy(first * bins + second, corrected)
    shared = max(0.0, of_first + of_second - of_both)
    return min(1.0, 2.0 * shared / (of_first + of_second))


def _binned(vector: Floats, bins: int) -> Bins | None:
    """Return the bin of each component; None if not finite or constant."""
    wide = vector.astype(np.float64)
    if not np.isfinite(wide).all():
        return None
    spread = float(wide.std())
    if not spread > 0.0:
        return None
    scores = np.clip((wide - wide.mean()) / spread, -CLIP, CLIP)
    numbers: Bins = np.minimum((scores + CLIP) * (bins / (2.0 * CLIP)), bins - 1).astype(np.int64)
    return numbers


def _entropy(numbers: Bins, corrected: bool) -> float:
    """Compute the entropy in nats from the counts of equal numbers; corrected by (occupied − 1) / 2n."""
    counts = np.unique(numbers, return_counts=True)[1]
    shares = counts / len(numbers)
    bias = (len(counts) - 1) / (2.0 * len(numbers)) if corrected else 0.0
    return float(-(shares * np.log(shares)).sum()) + bias


def edge_similarity(cosine: float | None, jaccard: float, settings: EdgeSimilaritySettings) -> float:
    """Compute (1 − α_key)·cos + α_key·J in [0, 1], which weights meaning above words (Mnemosyne).

    No cosine, or a negative one, counts as 0.
    """
    nearness = max(0.0, cosine or 0.0)
    return min(1.0, (1.0 - settings.alpha_key) * nearness + settings.alpha_key * jaccard)


def pair_weight(similarity: float, settings: EdgeSimilaritySettings) -> float:
    """Return the weight of the edge of a pair with this edge similarity."""
    return min(1.0, max(settings.threshold, similarity))
