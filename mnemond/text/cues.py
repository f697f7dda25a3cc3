"""Cues: words that show what a question wants, what kind of thing a text is, and what it says about cause and effect.

The words of the first two are in data/cues.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from mnemond.text.caches import register, text_cache
from mnemond.text.resources import on_first_use, read, regex, words_of
from mnemond.text.similarity import token_set
from mnemond.text.tokens import CACHED_FOLDS, fold, latin_words, tokens

# ---------------------------------------------------------------- what a question wants

Intent = Literal["WHY", "WHEN", "ENTITY"]

MAX_QUESTION: Final = 2_000
"""Characters of a question that are searched: it asks in its first sentences, and a pasted log asks nothing."""


@text_cache(maxsize=4)
def intent_of(question: str) -> Literal["WHY", "WHEN", "ENTITY", "GENERAL"]:
    """The kind with the most cues; of equal ones WHY before WHEN before ENTITY. GENERAL if there is no cue. Cached, as
    one recall needs it twice."""
    counts = cue_counts(question)
    most = max(counts.values())
    if not most:
        return "GENERAL"
    return next(kind for kind, count in counts.items() if count == most)


def cue_counts(question: str) -> dict[Intent, int]:
    """The number of cues of each kind in a question, in the order that settles ties."""
    counts: dict[Intent, int] = {"WHY": 0, "WHEN": 0, "ENTITY": 0}
    intents = _lists().intents
    for cue in _INTENT_CUES.findall(fold(question[:MAX_QUESTION]).replace("’", "'")):
        counts[intents[cue] if cue in intents else intents[" ".join(cue.split())]] += 1
    return counts


def _intent_pattern() -> str:
    """Latin cues are whole words. Their left edge is checked behind the first word: a pattern that begins with a letter
    is searched for faster."""
    alternatives = []
    for cue in _lists().intents:
        if cue.isascii():
            first, *others = cue.split()
            cue = rf"{first}(?<![a-z0-9_]{first})" + "".join(rf"\s+{word}" for word in others) + "(?![a-z0-9_])"
        alternatives.append(cue)
    return "|".join(alternatives)


_INTENT_CUES: Final = regex(_intent_pattern)

# ---------------------------------------------------------------- what kind of thing a text is
#
# A word is searched for among the tokens of a text, a phrase anywhere in its plain form. That is faster than an
# alternation of regular expressions by an order of magnitude, and its time hardly depends on the text.

CueKind = Literal["decision", "preference", "error", "fix", "works", "praise", "correction", "realised", "failed"]


class Cue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one kind; data/cues.toml describes the fields."""

    words: frozenset[str]
    phrases: tuple[str, ...] = ()
    chinese: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Reading(msgspec.Struct, frozen=True, gc=False):
    """A text prepared for `has`: `plain` is folded, its white space single, with straight apostrophes.

    `phrases` are the phrases of all cues that occur, and those of `unless`. `silent`: no cue of any kind occurs, which
    is computed once instead of for each kind.
    """

    plain: str
    words: frozenset[str]
    phrases: frozenset[str]
    silent: bool = False

    def has(self, kind: CueKind) -> bool:
        """Return True if a cue of this kind occurs outside of the phrases that only look like it."""
        if self.silent:
            return False
        cue = _lists().kinds[kind]
        if not self._has(cue):
            return False
        if not self.phrases or self.phrases.isdisjoint(cue.unless):
            return True
        bare = self.plain
        for phrase in cue.unless:
            bare = bare.replace(phrase, " ")
        left = frozenset(phrase for phrase in cue.phrases if phrase in bare)
        return Reading(bare, frozenset(tokens(bare)), left)._has(cue)

    def _has(self, cue: Cue) -> bool:
        if not cue.words.isdisjoint(self.words) or (self.phrases and not self.phrases.isdisjoint(cue.phrases)):
            return True
        return not self.plain.isascii() and any(phrase in self.plain for phrase in cue.chinese)


@text_cache(maxsize=CACHED_FOLDS)
def reading(text: str) -> Reading:
    """Prepare `text`. Linear time."""
    lists, folded = _lists(), fold(text)
    if not text.isascii():
        folded = folded.replace("’", "'")
    plain = " ".join(folded.split())
    words, phrases = token_set(text), lists.phrases.found(plain, latin_words(text))
    return Reading(plain, words, phrases, not phrases and plain.isascii() and lists.words.isdisjoint(words))


CACHED_WORDS: Final = 65_536
"""Words whose phrases `Phrases` caches."""

MAX_CACHED_WORD: Final = 64
"""Characters of a cached word: the cache takes a few megabytes at most."""

_RUN: Final = regex(r"[a-z0-9]+")
_NONE: Final[frozenset[str]] = frozenset()


class Phrases:
    """Finds which phrases of a fixed list occur in a text, without searching for each of them.

    Every phrase is filed under one of its words. The phrases that a word of a text may be part of are computed once and
    cached, so a text costs one look-up a word and one search for each phrase that is likely to occur. Phrases and texts
    are folded, with single spaces; a phrase without a Latin letter or digit occurs in no ASCII text.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        keys = {phrase: _key(phrase) for phrase in phrases}
        self._others = tuple(phrase for phrase, key in keys.items() if key is None)
        self._by_word = _PhrasesByWord({phrase: key for phrase, key in keys.items() if key is not None})

    def found(self, plain: str, words: frozenset[str]) -> frozenset[str]:
        """The phrases in `plain`, whose runs of a-z and 0-9 are `words`."""
        likely = _NONE.union(*map(self._by_word.__getitem__, words), () if plain.isascii() else self._others)
        return frozenset([phrase for phrase in likely if phrase in plain]) if likely else _NONE

    def clear_cache(self) -> None:
        """Drop every cached word."""
        self._by_word.clear()


class _Key(msgspec.Struct, frozen=True):
    """The word that a phrase is filed under. `begins`, `ends`: the phrase has more before it or behind it, so that the
    word of a text begins or ends there."""

    word: str
    begins: bool
    ends: bool

    def may_be(self, word: str) -> bool:
        """Return True if `word`, of a text, may be this one: "residue" may be the "due" of "due to"."""
        if self.begins:
            return word.startswith(self.word) and (not self.ends or word == self.word)
        return word.endswith(self.word) if self.ends else self.word in word


def _key(phrase: str) -> _Key | None:
    """The longest word of `phrase`, which is the rarest as a rule."""
    runs = list(_RUN.finditer(phrase))
    if not runs:
        return None
    run = max(runs, key=lambda each: len(each[0]))
    return _Key(run[0], begins=run.start() > 0, ends=run.end() < len(phrase))


class _PhrasesByWord(dict[str, frozenset[str]]):
    """From a word to the phrases it may be part of."""

    def __init__(self, keys: dict[str, _Key]) -> None:
        super().__init__()
        self._keys = keys
        parts = keys.values()
        self._beginnings = tuple({key.word for key in parts if key.begins})
        self._endings = tuple({key.word for key in parts if key.ends})
        self._inside = tuple({key.word for key in parts if not key.begins and not key.ends})

    def __missing__(self, word: str) -> frozenset[str]:
        found = self._phrases_of(word)
        if len(self) < CACHED_WORDS and len(word) <= MAX_CACHED_WORD:
            self[word] = found
        return found

    def _phrases_of(self, word: str) -> frozenset[str]:
        """Most words are part of no phrase, which must be fast: every text has a few new ones."""
        likely = word.startswith(self._beginnings) or word.endswith(self._endings)
        if likely or any(part in word for part in self._inside):
            return frozenset([phrase for phrase, key in self._keys.items() if key.may_be(word)])
        return _NONE


class _IntentCues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    english: tuple[str, ...]
    chinese: tuple[str, ...]


class _CuesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/cues.toml"""

    kind: dict[CueKind, Cue]
    intent: dict[Intent, _IntentCues]


class _Lists(msgspec.Struct, frozen=True):
    """`words` and `phrases` are those of all kinds; `intents` maps each cue of a question to its kind."""

    kinds: dict[CueKind, Cue]
    words: frozenset[str]
    phrases: Phrases
    intents: dict[str, Intent]


@on_first_use
def _lists() -> _Lists:
    file = read("cues", _CuesFile)
    cues = file.kind.values()
    phrases = Phrases(phrase for cue in cues for phrase in (*cue.phrases, *cue.unless))
    register(phrases.clear_cache)
    return _Lists(
        kinds=file.kind,
        words=_NONE.union(*(cue.words for cue in cues)),
        phrases=phrases,
        intents={
            cue: intent
            for language in ("english", "chinese")
            for intent, cues_of in file.intent.items()
            for cue in getattr(cues_of, language)
        },
    )


# ---------------------------------------------------------------- cause and effect
#
# Most causal cues are unambiguous. The others are judged by the words around them: "blocks" is a noun in "two blocks
# are missing", and "since" is a time in "since 2019". If that does not decide, it is no cue: a missing edge can be
# suggested later, while a wrong one misleads every search that follows it.

Role = Literal["effect", "cause"]
SubType = Literal["causes", "enables", "prevents"]


class CausalCue(msgspec.Struct, frozen=True):
    """A statement of cause and effect. `role` is the part that the memory with the cue plays; `signal` is the cue as it
    was found, folded, with single spaces."""

    role: Role
    sub_type: SubType
    signal: str


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

_CAUSAL_CUE: Final = regex(
    rf"\b(?:(?P<effect>{_EFFECT})|(?P<cause>{_CAUSE})|(?P<other>{_SUB_TYPE_ONLY}))\b(?!['’-])"
    rf"|(?P<chinese_effect>{_CHINESE_EFFECT})|(?P<chinese_cause>{_CHINESE_CAUSE})"
)
_CUE_WORDS: Final = words_of(
    "because since due owing thanks caused prevented blocked enabled result therefore thus hence consequently order",
    "decided lead leads led leading results resulted resulting causes causing enables ensures means meant",
    "prevent prevents preventing blocks",
)
_SO_THAT: Final = words_of("so that")
_CUE_CHARACTERS: Final = regex("[因由所为為以决決导導阻防]")
"""Every cue that has a role has one of `_CUE_WORDS`, both of `_SO_THAT`, or one of these characters."""

_PREVENTS = regex(r"prevent|block|despite|阻止|防止")
_ENABLES = regex(r"enabl|so that|in order to|lead|led|[为為]了|以便")

_CONTEXT: Final = 48
"""Characters on either side of an ambiguous cue that are searched: a clause of ordinary length."""

_DETERMINER_BEFORE = regex(r"\b(?:the|these|those|all|any|some|no|of|our|my|their|your|its|both|new|which)\s+$")
_OBJECT_AFTER = regex(
    r"\s+(?!(?:are|is|were|was|be|been|in|on|at|of|to|from|for|with|and|or|but|by|that|which|when|while|if|as|have|has"
    r"|had|should|must|can|could|will|would|may|might|do|does|did|not|into|per|during|after|before|than|until|since"
    r"|without|because|so|where|who)\b)[\w\"'`/.$<(-]"
)
_SUBJECT_BEFORE = regex(r"(?:^|\b(?:the|an?|this|our|my|your|their|its|that|which|it|who)\s+)(?:[\w-]+\s+){0,2}$")
_NOUN_BEFORE = regex(r"\b(?:\w+(?:ed|able)|many|few|more|most|missing|old|empty|valid|invalid|\d+)\s+$")
_OBJECT_STARTS = regex(
    r"\s+(?:the|an?|this|that|these|those|all|any|every|us|it|me|him|her|them|you|our|my|your|its|their|his|\w+ing)\b"
)
_GRATITUDE_BEFORE = regex(r"\b(?:many|special|big|huge|major|thanks|lots\s+of|give|and)\s+$")
_GRATITUDE_AFTER = regex(r"\s+(?:everyone|everybody|all\s+who|(?:\w+\s+){1,3}(?:for|who)\b)")
_SPAN_BEFORE = regex(
    r"\b(?:ever|long|been|while|time|times|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ages)\b[\s,:]*(?:now\s+)?$"
    r"|(?:\b(?:have|has|had|haven't|hasn't|hadn't)\b|'ve\b|'s\s+\w+(?:ed|en)\b)[^.!?;,\n]*$"
)
_PERSON_AFTER = regex(
    r"\s+(?:i|we|you|he|she|it|they|there|this|that|nobody|everyone|everything)\b"
    r"(?!\s+(?:last|talked|spoke|met|chatted)\b)"
)
_LIFE_AFTER = regex(r"\s+(?:i|we|you|he|she|they)\s+(?:was|were)\s+(?:\d|an?\b|little|young|born|kids|children)")
_VERB_AFTER = regex(
    r"\s+(?!(?:last|early|late|then|yesterday|today|version|v?\d|\w+ing)\b)(?:\w[\w'/-]*(?:\.\w+)?\s+){1,4}?"
    r"(?:is|are|was|were|has|have|had|does|do|did|can|can't|cannot|could|will|won't|would|should|must|may|might"
    r"|isn't|aren't|doesn't|don't|didn't|wasn't|needs?|lacks?|uses?|makes?|supports?|requires?|wants?|allows?|works?"
    r"|provides?|returns?|gives?|takes?|contains?|comes?|goes|runs?|keeps?|depends?|fails?|failed|expects?|knows?)\b"
)
_SUBJECT_AND_VERB_AFTER = regex(
    r"\s+(?:the|an?|our|my|your|its|this|that|each|every)\s+(?:\w+\s+)?\w+(?<!s)\s+\w{2,}(?<!s)s\s+"
    r"(?!(?:of|in|at|on|and|or|for|to|from|with|by)\b)\w"
)


def causal_cue(text: str) -> CausalCue | None:
    """The causal cue of `text`, None if it has none.

    If cues of both roles occur, the first in the text gives the role and the signal, as a sentence begins with its
    subject. The sub-type is the strongest of all cues, prevents before enables before causes; "despite" and other forms
    of block and enable count for it without being a cue themselves.
    """
    folded = fold(text)
    if not _may_have_causal_cue(text, folded):
        return None
    first: tuple[Role, str] | None = None
    sub_type: SubType = "causes"
    for role, signal in _causal_cues(folded):
        if first is None and role is not None:
            first = role, signal
        sub_type = _stronger(sub_type, signal)
    return None if first is None else CausalCue(role=first[0], sub_type=sub_type, signal=first[1])


def _may_have_causal_cue(text: str, folded: str) -> bool:
    """Return False if `text` has none of the words that every cue has one of: so are four of five texts."""
    words = latin_words(text)
    if not _CUE_WORDS.isdisjoint(words) or words >= _SO_THAT:
        return True
    return not folded.isascii() and _CUE_CHARACTERS.search(folded) is not None


def _causal_cues(folded: str) -> Iterator[tuple[Role | None, str]]:
    for found in _CAUSAL_CUE.finditer(folded):
        signal = " ".join(found[0].split())
        if _is_causal(signal, folded, found.start(), found.end()):
            role = (found.lastgroup or "").removeprefix("chinese_")
            yield ("effect" if role == "effect" else "cause" if role == "cause" else None), signal


def _is_causal(signal: str, folded: str, start: int, end: int) -> bool:
    """Return False if the words around a cue show that it is a noun, an adjective or a time."""
    before, after = folded[max(0, start - _CONTEXT) : start], folded[end : end + _CONTEXT]
    match signal:
        case "since":
            return opens_reason(before, after)
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
    """Return True if "blocks" or "causes" has a subject before it and an object after it."""
    is_noun = _DETERMINER_BEFORE.search(before) or _NOUN_BEFORE.search(before)
    return is_noun is None and _OBJECT_AFTER.match(after) is not None


def opens_reason(before: str, after: str) -> bool:
    """Return True if "since", between two folded texts, starts a clause that gives a reason rather than a time."""
    if _SPAN_BEFORE.search(before) or _LIFE_AFTER.match(after):
        return False
    return any(shape.match(after) for shape in (_PERSON_AFTER, _VERB_AFTER, _SUBJECT_AND_VERB_AFTER))


def _stronger(sub_type: SubType, signal: str) -> SubType:
    if sub_type == "prevents" or _PREVENTS.match(signal):
        return "prevents"
    return "enables" if _ENABLES.match(signal) else sub_type
