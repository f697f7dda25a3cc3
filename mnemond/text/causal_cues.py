"""Words by which a memory says that it is the effect, or the cause, of something else (spec 6.4).

Most cues speak for themselves. The others are looked at again in their place: "blocks" is a noun in "two blocks are
missing", and "since" tells a time in "since 2019". What stays undecided is no cue, because an edge that is missing
can be suggested later while a wrong one misleads every search that walks along it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from mnemond.text.cue_words import words_of
from mnemond.text.tokens import fold, latin_words

Role = Literal["effect", "cause"]
SubType = Literal["causes", "enables", "prevents"]
Direction = Literal["new_to_previous", "previous_to_new"]


class CausalCue(msgspec.Struct, frozen=True):
    """What one text says about cause and effect."""

    role: Role
    """The part that the memory with the cue plays."""
    sub_type: SubType
    signal: str
    """The cue as it was found, folded, with single spaces."""


_EFFECT = (
    r"because|since|(?:due|owing|thanks)\s+to|(?:caused|prevented|blocked|enabled)\s+by|as\s+a\s+result(?:\s+of)?"
    r"|therefore|thus|hence|consequently|so\s+that|in\s+order\s+to|decided\s+to"
)
_CAUSE = (
    r"(?:leads?|led|leading)\s+to|result(?:s|ed|ing)?\s+in|caus(?:es|ed|ing)|enables|ensures|mean[st]\s+that"
    r"|prevent(?:s|ed|ing)?|block(?:s|ed)"
)
_SUB_TYPE_ONLY = r"despite|block(?:ing)?|enabl(?:e|ed|ing)"
_CHINESE_EFFECT = "因[为為]|由[于於]|所以(?!然)|因此|[为為]了|以便|[决決]定(?!性)"
_CHINESE_CAUSE = "[导導]致|阻止|防止"

_CUE = re.compile(
    rf"\b(?:(?P<effect>{_EFFECT})|(?P<cause>{_CAUSE})|(?P<other>{_SUB_TYPE_ONLY}))\b(?!['’-])"
    rf"|(?P<chinese_effect>{_CHINESE_EFFECT})|(?P<chinese_cause>{_CHINESE_CAUSE})"
)
_TELLING = words_of(
    "because since due owing thanks caused prevented blocked enabled result therefore thus hence consequently order",
    "decided lead leads led leading results resulted resulting causes causing enables ensures means meant",
    "prevent prevents preventing blocks",
)
_SO_THAT = words_of("so that")
_TELLING_CHINESE = re.compile("[因由所为為以决決导導阻防]")
"""Every cue that has a role has one of these words, both of the next, or one of these characters."""

_PREVENTS = re.compile(r"prevent|block|despite|阻止|防止")
_ENABLES = re.compile(r"enabl|so that|in order to|lead|led|[为為]了|以便")

_SEEN_AROUND = 48
"""Characters on either side that decide about an ambiguous cue: a clause of ordinary length."""

_DETERMINER_BEFORE = re.compile(r"\b(?:the|these|those|all|any|some|no|of|our|my|their|your|its|both|new|which)\s+$")
_OBJECT_AFTER = re.compile(
    r"\s+(?!(?:are|is|were|was|be|been|in|on|at|of|to|from|for|with|and|or|but|by|that|which|when|while|if|as|have|has"
    r"|had|should|must|can|could|will|would|may|might|do|does|did|not|into|per|during|after|before|than|until|since"
    r"|without|because|so|where|who)\b)[\w\"'`/.$<(-]"
)
_SUBJECT_BEFORE = re.compile(r"(?:^|\b(?:the|an?|this|our|my|your|their|its|that|which|it|who)\s+)(?:[\w-]+\s+){0,2}$")
_NOUN_BEFORE = re.compile(r"\b(?:\w+(?:ed|able)|many|few|more|most|missing|old|empty|valid|invalid|\d+)\s+$")
_OBJECT_STARTS = re.compile(
    r"\s+(?:the|an?|this|that|these|those|all|any|every|us|it|me|him|her|them|you|our|my|your|its|their|his|\w+ing)\b"
)
_GRATITUDE_BEFORE = re.compile(r"\b(?:many|special|big|huge|major|thanks|lots\s+of|give|and)\s+$")
_GRATITUDE_AFTER = re.compile(r"\s+(?:everyone|everybody|all\s+who|(?:\w+\s+){1,3}(?:for|who)\b)")
_SPAN_BEFORE = re.compile(
    r"\b(?:ever|long|been|while|time|times|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ages)\b[\s,:]*(?:now\s+)?$"
    r"|(?:\b(?:have|has|had|haven't|hasn't|hadn't)\b|'ve\b|'s\s+\w+(?:ed|en)\b)[^.!?;,\n]*$"
)
_PERSON_AFTER = re.compile(
    r"\s+(?:i|we|you|he|she|it|they|there|this|that|nobody|everyone|everything)\b"
    r"(?!\s+(?:last|talked|spoke|met|chatted)\b)"
)
_LIFE_AFTER = re.compile(r"\s+(?:i|we|you|he|she|they)\s+(?:was|were)\s+(?:\d|an?\b|little|young|born|kids|children)")
_VERB_AFTER = re.compile(
    r"\s+(?!(?:last|early|late|then|yesterday|today|version|v?\d|\w+ing)\b)(?:\w[\w'/-]*(?:\.\w+)?\s+){1,4}?"
    r"(?:is|are|was|were|has|have|had|does|do|did|can|can't|cannot|could|will|won't|would|should|must|may|might"
    r"|isn't|aren't|doesn't|don't|didn't|wasn't|needs?|lacks?|uses?|makes?|supports?|requires?|wants?|allows?|works?"
    r"|provides?|returns?|gives?|takes?|contains?|comes?|goes|runs?|keeps?|depends?|fails?|failed|expects?|knows?)\b"
)
_SUBJECT_AND_VERB_AFTER = re.compile(
    r"\s+(?:the|an?|our|my|your|its|this|that|each|every)\s+(?:\w+\s+)?\w+(?<!s)\s+\w{2,}(?<!s)s\s+"
    r"(?!(?:of|in|at|on|and|or|for|to|from|with|by)\b)\w"
)


def causal_cue(text: str) -> CausalCue | None:
    """What `text` says about cause and effect; None when it says nothing.

    When cues of both roles occur, the first in the text decides the role and is the signal: a sentence opens with
    what it is about. The sub-type is the strongest of all cues, prevents before enables before causes; "despite" and
    other forms of block and enable count for it without being a cue themselves.
    """
    folded = fold(text)
    if not _may_have_one(text, folded):
        return None
    first: tuple[Role, str] | None = None
    sub_type: SubType = "causes"
    for role, signal in _cues(folded):
        if first is None and role is not None:
            first = role, signal
        sub_type = _stronger(sub_type, signal)
    return None if first is None else CausalCue(role=first[0], sub_type=sub_type, signal=first[1])


def direction(new: CausalCue | None, previous: CausalCue | None) -> Direction | None:
    """Which of two memories causes the other: the cue of the new one decides, else that of the previous one."""
    if new is not None:
        return "previous_to_new" if new.role == "effect" else "new_to_previous"
    if previous is not None:
        return "new_to_previous" if previous.role == "effect" else "previous_to_new"
    return None


def deciding(new: CausalCue | None, previous: CausalCue | None) -> CausalCue | None:
    """The cue that `direction` goes by, whose sub-type and signal belong to the edge."""
    return new if new is not None else previous


def _may_have_one(text: str, folded: str) -> bool:
    """Whether `text` has a word that no cue goes without: of five texts four have none."""
    words = latin_words(text)
    if not _TELLING.isdisjoint(words) or words >= _SO_THAT:
        return True
    return not folded.isascii() and _TELLING_CHINESE.search(folded) is not None


def _cues(folded: str) -> Iterator[tuple[Role | None, str]]:
    for found in _CUE.finditer(folded):
        signal = " ".join(found[0].split())
        if _is_meant(signal, folded, found.start(), found.end()):
            role = (found.lastgroup or "").removeprefix("chinese_")
            yield ("effect" if role == "effect" else "cause" if role == "cause" else None), signal


def _is_meant(signal: str, folded: str, start: int, end: int) -> bool:
    """Whether a cue that may also be a noun, an adjective or a time is one here."""
    before, after = folded[max(0, start - _SEEN_AROUND) : start], folded[end : end + _SEEN_AROUND]
    match signal:
        case "since":
            return _opens_reason(before, after)
        case "blocks":
            return _is_verb(before, after) and (
                _OBJECT_STARTS.match(after) is not None or _SUBJECT_BEFORE.search(before) is not None
            )
        case "causes":
            return _is_verb(before, after)
        case "blocked" | "block" | "blocking":
            return _OBJECT_STARTS.match(after) is not None
        case "results in" | "result in" | "leads to" | "lead to":
            return _DETERMINER_BEFORE.search(before) is None
        case "thanks to":
            return _GRATITUDE_BEFORE.search(before) is None and _GRATITUDE_AFTER.match(after) is None
        case "so that":
            return not after.startswith((" is ", " was ", " means ", " makes "))
        case "enabled by":
            return not after.startswith(" default")
        case _:
            return True


def _is_verb(before: str, after: str) -> bool:
    """Whether "blocks" or "causes" has something before it that can do so, and something after it to be done to."""
    is_noun = _DETERMINER_BEFORE.search(before) or _NOUN_BEFORE.search(before)
    return is_noun is None and _OBJECT_AFTER.match(after) is not None


def _opens_reason(before: str, after: str) -> bool:
    """Whether "since" starts a clause that gives a reason rather than telling from when."""
    if _SPAN_BEFORE.search(before) or _LIFE_AFTER.match(after):
        return False
    return any(shape.match(after) for shape in (_PERSON_AFTER, _VERB_AFTER, _SUBJECT_AND_VERB_AFTER))


def _stronger(known: SubType, signal: str) -> SubType:
    if known == "prevents" or _PREVENTS.match(signal):
        return "prevents"
    return "enables" if _ENABLES.match(signal) else known
