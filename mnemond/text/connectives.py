"""Connectives of cause and effect that are other words as well: judged by the words before and behind them.

"so" is a degree in "so tired", "since" a time in "since 2019", "as" a role in "as the owner", "da" a place. In doubt a
word is no connective: a missing link can be suggested later.
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.cues import opens_reason
from mnemond.text.resources import regex, words_of

_VERB: Final = (
    r"(?:is|are|was|were|has|have|had|does|did|do|can|could|will|would|must|should|may|might|kept|keeps|went|got|ran"
    r"|lost|broke|came|left|fell|made|took|gave|grew|became|needs?|wants?|says?|said|\w{2,}ed|\w+n't)"
)
_CLAUSE_AFTER: Final = regex(
    rf"\s+(?:(?:the|our|my|his|her|their|its|this|that|every|each|all|no|both|two|three|some|most|an?)\s+(?:[\w'-]+\s+)"
    rf"{{1,5}}?{_VERB}\b|(?:it|we|they|he|she|i|you|nobody|everyone|everybody|there)\s+[\w'-]+)",
    re.IGNORECASE,
)
_SO_OTHERWISE: Final = regex(
    r"\s+(?:much|many|far|long|called|that|as|on|forth|do|did|does|is|are|am|was|were|good|bad|tired|happy|very|little"
    r"|few|often|soon|well|hard|glad|sorry|to|what|and|or|be|it\s+goes)\b|\s*$|\s*[,.!?]",
    re.IGNORECASE,
)
_SO_BEFORE: Final = regex(r"(?:^|[,;:(]|\b(?:and|und)|, ?)\s*$", re.IGNORECASE)
_SO_SUBJECT: Final = regex(
    r"\s+(?:the|we|our|i|my|he|she|it|they|you|all|no|there|this|these|those|his|her|their|every|now)\b", re.IGNORECASE
)
_NO_SO_BEFORE: Final = regex(
    r"\b(?:do|did|does|doing|done|think|thinks|hope|say|says|said|or|ever|even|if|how|why|just|not|is|are|was|am|been)"
    r"\s*$",
    re.IGNORECASE,
)
_GERMAN_VERB: Final = regex(
    r"\s+(?:ist|sind|war|waren|hat|haben|hatte|kann|können|wird|werden|wurde|steht|stehen|liegt|liegen|kommt|kommen|sitzt"
    r"|gibt|gab|geht|drüben|drin|vorne|hinten|oben|unten|draußen|muss|soll|war's|lässt|lassen)\b",
    re.IGNORECASE,
)
_AT_CLAUSE_START: Final = regex(r"(?:^|[,;:(])\s*(?:(?:and|but|und|aber|doch)\s+)?$", re.IGNORECASE)
_PARTICIPLE_OF_CAUSE: Final = regex(
    r"\b(?:verursacht|ausgelöst|bedingt|hervorgerufen|entstanden|zerstört|beschädigt|blockiert|verhindert|unterbrochen)\b",
    re.IGNORECASE,
)
_ADJECTIVE_BEFORE: Final = regex(
    r"\b(?:the|a|an|this|that|no|any|my|our|his|her|their|its|main|root|der|die)\s+$", re.IGNORECASE
)
_BE_BEFORE: Final = regex(
    r"\b(?:is|are|was|were|be|been|being|get|gets|got|getting|'s|have|has|wird|werden|wurde|wurden|worden|ist|sind|war)"
    r"\s+(?:\w+ly\s+)?$",
    re.IGNORECASE,
)


_PURPOSE_BEFORE: Final = regex(r"\b(?:in\s+order|so\s+as)\s+to\s+$", re.IGNORECASE)


def is_connective(sentence: str, mark: re.Match[str]) -> bool:
    """Return False if a word that is sometimes a connective is something else here: "since 2019", "so much", "as
    of"."""
    word = " ".join(mark[0].lower().split())
    before, after = sentence[max(0, mark.start() - 60) : mark.start()], sentence[mark.end() : mark.end() + 90]
    check = _CHECKS.get(word)
    if check is not None:
        return check(before, after)
    if word in _VERBS:
        # "the blocked queue", "the causes of": an adjective or a noun; "was caused" has its cause elsewhere.
        return not any(shape.search(before) for shape in (_ADJECTIVE_BEFORE, _BE_BEFORE, _PURPOSE_BEFORE))
    return not (word == "thanks to" and _GRATITUDE.search(before + "|" + after) is not None)


_VERBS: Final = words_of(
    "cause causes caused causing triggered triggers force forces forced enable enables enabled prevents prevented",
    "allow allows allowed let lets prevent preventing blocks blocked blocking stops stopped hinders hindered ensures",
    "ensured verursacht bewirkt blockiert hindert verhindert erlaubt ermöglicht zwingt",
)
_GRATITUDE: Final = regex(
    r"\b(?:many|special|big|huge|give|and)\s+\||\|\s*(?:everyone|everybody|all\s+who|you|(?:\w+\s+){1,3}(?:for|who)\b)",
    re.IGNORECASE,
)


def _is_so(before: str, after: str) -> bool:
    if _SO_OTHERWISE.match(after) or _NO_SO_BEFORE.search(before):
        return False
    return _SO_BEFORE.search(before) is not None or _SO_SUBJECT.match(after) is not None


def _is_as(before: str, after: str) -> bool:
    if not before.strip():
        return "," in after and (_CLAUSE_AFTER.match(after) or _S_AFTER.match(after)) is not None
    return _CLAUSE_AFTER.match(after) is not None and not _AS_BEFORE.search(before)


_S_AFTER: Final = regex(
    r"\s+(?:the|our|my|his|her|their|its|this|that|every|each)\s+(?:[\w-]+\s+)?\w+\s+\w{3,}(?<!s)s\s"
)


def _is_to(before: str, after: str) -> bool:
    return not before.strip() and "," in after and _BE_HONEST.match(after) is None


_BE_HONEST: Final = regex(r"\s+(?:be|sum|my|our|the|me|us|whom|date|this|that|put|start|begin)\b", re.IGNORECASE)


_AS_BEFORE: Final = regex(
    r"\b(?:such|same|so|well|soon|long|far|just|as\s+\w+|exactly|known|works?|act|acts|used|be|treat|see)\s*$"
)


def _is_for(before: str, after: str) -> bool:
    return before.rstrip().endswith((",", ";")) and _CLAUSE_AFTER.match(after) is not None


_TIME_AFTER: Final = regex(
    r"\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|last|early|late|mid|then|yesterday|spring|summer|autumn|winter|\d)\b",
    re.IGNORECASE,
)


def _is_since(before: str, after: str) -> bool:
    if _TIME_AFTER.match(after):
        return False
    return opens_reason(before.lower(), after.lower()) or (
        _CLAUSE_AFTER.match(after) is not None and not _HAS_PERFECT.search(before) and _PRESENT.match(after) is not None
    )


_HAS_PERFECT: Final = regex(r"\b(?:has|have|had|ever|long|been)\b[^,;]*$|'ve\b[^,;]*$", re.IGNORECASE)
_PRESENT: Final = regex(r"(?:\s+[\w'-]+){1,5}?\s+(?:is|are|has|have|does|can|must|needs?|don't|doesn't|can't|cannot)\b")


def _is_da(before: str, after: str) -> bool:
    if _GERMAN_VERB.match(after) or not _AT_CLAUSE_START.search(before):
        return False
    return bool(before.strip()) or "," in after


def _is_denn(before: str, after: str) -> bool:
    return _AT_CLAUSE_START.search(before) is not None


def _is_um(before: str, after: str) -> bool:
    return _AT_CLAUSE_START.search(before) is not None and _ZU.search(after) is not None


_ZU: Final = regex(r"\bzu\s+\w+en\b|\w{2,8}zu\w{3,}en\b")


def _is_durch(before: str, after: str) -> bool:
    return not before.strip() or _PARTICIPLE_OF_CAUSE.search(after) is not None


def _is_result_word(before: str, after: str) -> bool:
    return _BE_BEFORE.search(before) is None and not _DAHER.search(before)


_DAHER: Final = regex(r"\b(?:von|bis|kommt|kommen|kam|rührt)\s*$", re.IGNORECASE)


def _is_yin(before: str, after: str) -> bool:
    return "," in after or "而" in after


def _is_meaning(before: str, after: str) -> bool:
    return before.rstrip().endswith((",", ";"))


def _is_keeping(before: str, after: str) -> bool:
    return _FROM_DOING.search(after) is not None


_FROM_DOING: Final = regex(r"\bfrom\s+\w+ing\b|\bdavon\s+ab\b", re.IGNORECASE)


def _is_suoyi(before: str, after: str) -> bool:
    return not before.endswith("之") and not after.startswith("然")


def _is_jieguo(before: str, after: str) -> bool:
    return before.rstrip().endswith((",", ";")) or (not before.strip() and not after.startswith("是"))


def _is_ling(before: str, after: str) -> bool:
    return not before.endswith(("命", "指", "即")) and not after.startswith(("牌", "人"))


def _is_shi(before: str, after: str) -> bool:
    return not before.endswith(("即", "大", "天", "为了", "為了")) and not after.startswith(("用", "命"))


_CHECKS: Final = {
    "so": _is_so,
    "as": _is_as,
    "for": _is_for,
    "to": _is_to,
    "since": _is_since,
    "da": _is_da,
    "denn": _is_denn,
    "damit": _is_da,
    "um": _is_um,
    "durch": _is_durch,
    **dict.fromkeys(("meaning", "meaning that"), _is_meaning),
    **dict.fromkeys(("keep", "keeps", "kept", "hält", "hielt", "halten"), _is_keeping),
    "daher": _is_result_word,
    "因": _is_yin,
    "故": _is_yin,
    "所以": _is_suoyi,
    "结果": _is_jieguo,
    "令": _is_ling,
    "使": _is_shi,
    "让": _is_shi,
    "讓": _is_shi,
}
"""Conditions by connective: functions of the text before it and behind it."""
