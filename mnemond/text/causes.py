"""Cause and effect in a text: the clauses on both sides of its connectives, and which of them another text repeats.

"Chose SQLite because the team lacks Redis experience" states two things, the effect before "because" and the cause
behind it. A memory that says "Team lacks Redis experience" repeats the second, hence is the cause of the first. The
direction of a causal link depends on this comparison alone: a connective that joins two other things links nothing, and
in doubt there is no link, since a wrong one misleads every search that follows it.

The connectives are in data/causes.toml.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Final, Literal

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.connectives import is_connective
from mnemond.text.cues import causal_cue
from mnemond.text.resources import on_first_use, one_of, read, regex, words_of
from mnemond.text.tokens import capped, fold, index_term, tokens

Role = Literal["cause", "effect"]
SubType = Literal["causes", "enables", "prevents"]

MAX_READ: Final = 8_000
"""Characters of a text that are searched for connectives: the longest memory."""

MAX_CLAUSE: Final = 400
"""Characters of a clause that are compared, next to the connective: more than any sentence has."""

MAX_MARKS: Final = 24
"""Connectives of a sentence that are looked at."""

MAX_SENTENCES: Final = 64
"""Sentences with connectives that are looked at."""

MAX_CLAIMS: Final = 16
"""Connectives of a text that are read, which limits the time for a text of nothing but "because"."""

ENOUGH: Final = ((0.8, 0.0), (0.7, 0.7), (0.5, 0.85))
"""Pairs of shares: of the clause's words that the other text has, and of its words that the clause has. One pair must
be reached: a subject in common, with another predicate, reaches none. They were chosen on pairs of sentences in three
languages (docs/decisions/0030)."""

ENOUGH_CHINESE: Final = (0.6, 0.55)
"""As `ENOUGH`, if more than one run of characters is shared: in another order of words, fewer pairs of characters are
the same."""

LIKELY: Final = 0.5
"""Share of a clause's words for a suggestion."""

MARGIN: Final = 0.2
"""Distance of the shares of both clauses below which neither of them is clearly the repeated one."""

MIN_SHARED: Final = 2
"""Shared words that make a match: one is a common topic."""


class Clause(msgspec.Struct, frozen=True):
    """The content words of a clause, in order; those of them that are written with a capital; and if it is negated."""

    words: tuple[str, ...]
    names: frozenset[str] = frozenset()
    is_negated: bool = False


class Claim(msgspec.Struct, frozen=True):
    """One connective and its two clauses. `signal` is the connective, folded, with single spaces.

    `subject`: the word that the sentence begins with, which the clauses may leave out or replace by a pronoun.
    `reached`: the effect was the purpose, which is the cause if another text states it as a wish. `is_noun`: the cause
    is a noun phrase, which leaves no subject out.
    """

    cause: Clause
    effect: Clause
    sub_type: SubType
    signal: str
    subject: str = ""
    reached: bool = False
    is_noun: bool = False


class _CausesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/causes.toml"""

    reason: tuple[str, ...]
    reason_noun: tuple[str, ...]
    result: tuple[str, ...]
    enables: tuple[str, ...]
    prevents: tuple[str, ...]
    purpose: tuple[str, ...]
    reached: tuple[str, ...]
    wishes: frozenset[str]
    wishes_chinese: tuple[str, ...]
    dropped: frozenset[str]
    dropped_chinese: tuple[str, ...]
    endings: frozenset[str]
    irregular: dict[str, str]


@on_first_use
def _lists() -> _CausesFile:
    return read("causes", _CausesFile)


_KINDS: Final = ("reason", "reason_noun", "result", "enables", "prevents", "purpose", "reached")


@on_first_use
def _kind_of() -> dict[str, str]:
    return {phrase: kind for kind in _KINDS for phrase in getattr(_lists(), kind)}


_COMMON: Final = words_of(
    "that this the which with is was are were has had have for to of on in by it us es ist war sind hat"
)
"""Words of connectives that most texts have."""


@on_first_use
def _key_words() -> frozenset[str]:
    """A word of each Latin connective, the longest that is not common, and the nouns of `_REASON_IS`."""
    phrases = [phrase.split() for phrase in _kind_of() if phrase[0] < "\u2e80"]
    keys = {max(words, key=lambda word: (word not in _COMMON, len(word))) for words in phrases}
    return frozenset(keys - {"to"} | {"reason", "cause", "grund", "ursache"})


def _pattern() -> str:
    """Longest first, so that "as a result of" is not read as "as a result"."""
    phrases = list(_kind_of())
    latin = one_of(phrase for phrase in phrases if phrase[0] < "\u2e80")
    chinese = one_of(phrase for phrase in phrases if phrase[0] >= "\u2e80")
    return rf"\b(?:{latin})\b(?!['-])|{chinese}|(?:(?<=[,;。!?])|^)\s*[因故](?![为為此而素公子地人])"


_CONNECTIVE: Final = regex(_pattern, re.IGNORECASE)
_SENTENCE_END: Final = regex(
    r"(?<!\b[A-Za-z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bNr)[.!?](?=\s|$)|[。!?\n]"
)
_WORD: Final = regex(r"[^\W_]+(?:['.-][^\W_]+)*")


def claims(text: str) -> tuple[Claim, ...]:
    """Return what `text` states about causes and effects, in order; empty for most texts. Linear time."""
    if not _may_claim(text):
        return ()
    plain = _plain(text[:MAX_READ])
    strongest = causal_cue(text)
    found: list[Claim] = []
    before, looked_at = "", 0
    for sentence in _sentences(plain):
        looked_at += _may_claim(sentence)
        if looked_at > MAX_SENTENCES:
            break
        for claim in _claims_of(sentence, before):
            if strongest is not None and strongest.sub_type == "prevents" and claim.sub_type == "causes":
                claim = msgspec.structs.replace(claim, sub_type=strongest.sub_type)
            found.append(claim)
            if len(found) == MAX_CLAIMS:
                return tuple(found)
        before = sentence
    return tuple(found)


def _may_claim(text: str) -> bool:
    """Return False if `text` has no connective: so are most texts."""
    plain = text if text.isascii() else text.replace("’", "'")
    if "To " in text or not _key_words().isdisjoint(_LETTERS.findall(plain.lower())):
        return True
    return not text.isascii() and _CHINESE_CUE.search(text) is not None


_LETTERS: Final = regex(r"[^\W\d_]+(?:'s\b)?")
_CHINESE_CUE: Final = regex(
    lambda: one_of({phrase for phrase in _kind_of() if phrase[0] >= "\u2e80"} | {"因", "故", "原因"})
)


def _plain(text: str) -> str:
    """Compatibility forms removed, so that commas are commas; letter case kept, which shows German nouns."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", capped(text)).replace("’", "'")
    return plain.replace("、", ",").replace(" – ", ", ").replace(" — ", ", ").replace("—", ", ").replace(" - ", ", ")


def _sentences(plain: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(plain):
        if sentence := plain[start : end.start()].strip():
            yield sentence
        start = end.end()
    if sentence := plain[start:].strip():
        yield sentence


def _claims_of(sentence: str, previous: str) -> Iterator[Claim]:
    """Yield the claims of a sentence; `previous` is the sentence before it, the cause of "Therefore …"."""
    if (reason := _reason_named(sentence)) is not None:
        yield reason
        return
    marks = [mark for mark in islice(_CONNECTIVE.finditer(sentence), MAX_MARKS) if is_connective(sentence, mark)]
    edges = [0, *(mark.start() for mark in marks), len(sentence)]
    ends = [0, *(mark.end() for mark in marks)]
    for place, mark in enumerate(marks):
        before = sentence[max(ends[place], mark.start() - MAX_CLAUSE) : mark.start()]
        after = sentence[mark.end() : min(edges[place + 2], mark.end() + MAX_CLAUSE)]
        if not content_words(after):  # "because it prevents races"
            after = sentence[mark.end() : mark.end() + MAX_CLAUSE]
        if _is_denied(before):
            continue
        signal = " ".join(fold(mark[0]).split())
        kind = _kind_of().get(signal, "reason" if signal == "因" else "result")
        if signal in _PAIRED and (middle := _PAIRED[signal].search(after)) is not None:
            kind, before, after = "result", after[: middle.start()], before + after[middle.end() :]
        sides = _sides(kind, before, after, "" if place else previous)
        if sides is None:
            continue
        cause, effect = map(clause_of, sides)
        if cause.words and effect.words:
            subject = (
                content_words(sentence[: min(edges[1], MAX_CLAUSE)])[:1] or content_words(previous[:MAX_CLAUSE])[:1]
            )
            yield Claim(
                cause,
                effect,
                _sub_type(kind, signal),
                _SPOKEN.get(signal, signal),
                subject[0] if subject else "",
                reached=kind in ("reached", "enables"),
                is_noun=kind == "reason_noun",
            )


_REASON_IS: Final = (
    regex(
        r"(?:the|one|der|die)\s+(?:\w+\s+)?(?P<signal>reason|cause|grund|ursache)\s+(?:for|of|why|that|behind|für|dafür)?"
        r"(?P<effect>.{3,200}?),?\s(?:is|was|ist|war)(?:\s+that|\s+because|,\s+dass)\s(?P<cause>.{3,400})",
        re.IGNORECASE,
    ),
    regex(
        r"(?:the|one|der|die)\s+(?:\w+\s+)?(?P<signal>reason|cause|grund|ursache)\s+(?:for|of|why|that|behind|für|dafür)?"
        r"(?P<effect>.{3,200}),?\s(?:is|was|were|are|ist|war|waren)\s(?!not|nicht|kein|un(?:clear|known))(?P<cause>.{3,400})",
        re.IGNORECASE,
    ),
    regex("(?P<cause>.{2,100}?)是(?!因)(?P<effect>.{2,100}?)的(?:主要|根本)?(?P<signal>原因)$"),
)
"""A sentence that names a reason first: "The reason for the delay is a missing form"."""


def _reason_named(sentence: str) -> Claim | None:
    for pattern in _REASON_IS:
        if (found := pattern.match(sentence)) is not None:
            cause, effect = clause_of(found["cause"]), clause_of(found["effect"])
            return Claim(cause, effect, "causes", fold(found["signal"])) if cause.words and effect.words else None
    return None


_PAIRED: Final[dict[str, re.Pattern[str]]] = {"是由": regex("(?:引起|造成|导致|引发|决定)的?")}
"""Connectives whose second half stands behind the cause."""


def _sub_type(kind: str, signal: str) -> SubType:
    if kind == "prevents" or signal in ("prevented by", "blocked by"):
        return "prevents"
    is_enabling = kind in ("enables", "purpose", "reached") or signal in _ENABLING
    return "enables" if is_enabling else "causes"


_ENABLING: Final = frozenset(("leads to", "lead to", "led to", "leading to", "enabled by", "made possible by"))
"""As text/cues has them."""


_SPOKEN: Final = {"because of": "because"}
"""Signals that are reported in a shorter form."""


def _sides(kind: str, before: str, after: str, previous: str) -> tuple[str, str] | None:
    """Return the texts of cause and effect, or None if one of them is missing."""
    is_first = not content_words(before)
    if kind in ("result", "enables", "prevents"):
        cause = previous if is_first else before
        return cause[-MAX_CLAUSE:], after[:MAX_CLAUSE]
    if is_first:
        halves = _leading_clause(after) if kind != "reason_noun" else _leading_phrase(after)
        if halves is None:
            return (after[:MAX_CLAUSE], previous[-MAX_CLAUSE:]) if previous else None
        return halves[0][:MAX_CLAUSE], halves[1][:MAX_CLAUSE]
    if kind == "reason_noun":
        phrase, rest = _phrase(after)
        return phrase[:MAX_CLAUSE], f"{before[-MAX_CLAUSE:]} {rest[:MAX_CLAUSE]}"
    return after[:MAX_CLAUSE], before[-MAX_CLAUSE:]


_MAIN_CLAUSE: Final = regex(
    r",(?!\s*(?:wie|dass|die|der|das|den|dem|was|weil|wenn|ob|als|und|oder|aber|which|who|where|and|or|but|as)\b)\s*"
)


def _leading_clause(after: str) -> tuple[str, str] | None:
    """Cut "A, B" behind "Because": at the first comma that no subordinate clause or list follows."""
    cut = _MAIN_CLAUSE.search(after) or _COMMA.search(after) or _PRONOUN.search(after)
    return None if cut is None else (after[: cut.start()], after[cut.end() :])


_COMMA: Final = regex(r",\s*")
_PRONOUN: Final = regex(
    r"(?<!\b(?:of|to|at|on))(?<!\b(?:for|and))(?<!\bwith)(?<=\w)\s+(?=(?:we|I|he|she|they)\b(?!\s*$))"
)
_LINKING: Final = words_of(
    "von vom des der dem den die das im in am an auf zu zum zur bei mit für aus und eines einer einem einen of in on",
    "at to from with for and or between by",
)
_STARTERS: Final = words_of(
    "the we our i my he she it they you a an all every no this that these those his her their there most some"
)


def _leading_phrase(after: str) -> tuple[str, str] | None:
    """Cut "A B" behind "Due to": at a comma; else before the subject of an English main clause, or the verb of a German
    one, which is the first small word behind a noun."""
    if (comma := _COMMA.search(after)) is not None:
        return after[: comma.start()], after[comma.end() :]
    words = list(_WORD.finditer(after))
    for (earlier, word), number in zip(pairwise(words), range(1, len(words)), strict=True):
        is_start = word[0].lower() in _STARTERS and number > 1
        is_verb = earlier[0][:1].isupper() and word[0].islower() and _GERMAN.search(after) is not None
        if (is_start or is_verb) and earlier[0].lower() not in _LINKING and word[0].lower() not in _LINKING:
            return after[: word.start()], after[word.start() :]
    return None


_GERMAN: Final = regex(r"\b(?:der|die|das|des|dem|den|ein|eine|eines|einer|einem|ist|wird|hat|wir|sich|nicht|und|im)\b")


def _phrase(after: str) -> tuple[str, str]:
    """Cut the noun phrase off that begins `after`, inside a sentence: at a comma, or behind its last German noun."""
    if (comma := _COMMA.search(after)) is not None:
        return after[: comma.start()], after[comma.end() :]
    halves = _leading_phrase(after) if _GERMAN.search(after) else None
    return halves or (after, "")


_DENIED: Final = regex(
    r"(?:\b(?:not|n't|never|nicht|kein|keine|keinen|neither|nor|hardly|cannot)|n't|不是|并非|不|没有|并不是|没|非)"
    r"\s*(?:simply|merely|just|actually|directly|only\s+just|etwa|an|die|der|das|be|have|has|been|really)?\s*$",
    re.IGNORECASE,
)


def _is_denied(before: str) -> bool:
    """Return True if a negation stands right before a connective: "not because", "did not lead to", "nicht wegen"."""
    return _DENIED.search(before[-40:]) is not None or _DENIED_NOUN.search(before[-40:]) is not None


_DENIED_NOUN: Final = regex(r"\b(?:if|whether|ob|falls|unless)\b[^,;]{0,30}$", re.IGNORECASE)


# ---------------------------------------------------------------- comparison


def content_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of `text` that say what it is about, in order, in their base forms as far as known."""
    lists = _lists()
    plain = _NAMED_BY_LETTER.sub(r" 0\1", text if text.isascii() else _DROPPED_CHINESE.sub("", text))
    words = (lists.irregular.get(word, word) for word in tokens(plain) if word not in lists.dropped)
    words = (_SEPARABLE.sub("", word, count=1) if len(word) > MIN_SEPARABLE else word for word in words)
    return tuple(dict.fromkeys(term for word in words if (term := index_term(word)) and term not in lists.dropped))


MIN_SEPARABLE: Final = 8
"""Letters of the shortest participle of a German verb whose prefix stands apart elsewhere: "abgeschaltet"."""

_SEPARABLE: Final = regex(r"^(?:ab|an|auf|aus|ein|mit|nach|vor|zu|um|weg|zurück|los|hin|her)(?:ge|zu)(?=\w{4})")

_NAMED_BY_LETTER: Final = regex(r"(?<=[a-zäöüß]) ([A-HJ-Z])(?=[\s.,;:!?)]|$)")
"""The letter of "hall A", which is no article and counts as a number."""

_DROPPED_CHINESE: Final = regex(lambda: one_of(_lists().dropped_chinese))

_BEGINNING: Final = 4
"""Letters that two forms of a word share at least."""


def clause_of(text: str) -> Clause:
    """Read a clause, or a whole text."""
    words = content_words(text)
    names = frozenset(content_words(" ".join(_CAPITALISED.findall(text))))
    return Clause(words, names, _NEGATED.search(text) is not None)


_CAPITALISED: Final = regex(r"\b[A-ZÄÖÜ][\w-]+")
_NEGATED: Final = regex(
    r"\b(?:not|no|never|nobody|nothing|cannot|without|nor|missing|lack\w{0,3}|nicht|kein\w{0,2}|nie|niemand|nichts|ohne"
    r"|fehl(?:t|te|en|ten|end\w{0,2}))\b|n't\b|[不没沒無无未缺]",
    re.IGNORECASE,
)


MAX_LOOKED_UP: Final = 512
"""Words whose look-up one text caches."""


class _CausesWords:
    """The content words of a text, found by any form of theirs."""

    def __init__(self, words: Iterable[str]) -> None:
        self.all = tuple(words)
        self._exact = frozenset(self.all)
        self._looked_up: dict[str, bool] = {}
        self._by_beginning: defaultdict[str, list[str]] = defaultdict(list)
        for word in self.all:
            if len(word) >= _BEGINNING:
                self._by_beginning[word[:_BEGINNING]].append(word)
        self.beginnings = frozenset(word[:_BEGINNING] for word in self.all)
        self.looked_for = self.beginnings | {word[2 : 2 + _BEGINNING] for word in self.all if word.startswith("ge")}

    def has(self, word: str) -> bool:
        """Return True if a form of `word` occurs."""
        known = self._looked_up.get(word)
        if known is None:
            if len(self._looked_up) >= MAX_LOOKED_UP:
                self._looked_up.clear()
            known = self._looked_up[word] = word in self._exact or self._has_form(word)
        return known

    def _has_form(self, word: str) -> bool:
        if len(word) < _BEGINNING:
            return False
        bare = word[2:] if word.startswith("ge") and len(word) > 2 + _BEGINNING else word
        near = self._by_beginning.get(word[:_BEGINNING], ())
        return any(_are_forms(word, other) for other in near) or (
            bare != word and any(_are_forms(bare, other) for other in self._by_beginning.get(bare[:_BEGINNING], ()))
        )


def _are_forms(one: str, other: str) -> bool:
    """Return True if two words differ only in endings of `_lists().endings`."""
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if shared < _BEGINNING:
        return False
    endings = _lists().endings
    rests = (one[shared:], other[shared:])
    return all(not rest or rest in endings for rest in rests)


MAX_NOTE: Final = 512
"""Characters of a text that is a note, not a page."""

CACHED_NOTES: Final = 256
"""Notes whose words are cached: a burst of writes is compared with the same few recent rows."""


class _Read:
    """A whole text as a clause, and its words to look up."""

    def __init__(self, text: str) -> None:
        self.clause = clause_of(_plain(text[:MAX_READ]))
        self.words = _CausesWords(self.clause.words)


@text_cache(maxsize=CACHED_NOTES)
def _read_note(text: str) -> _Read:
    return _Read(text)


class Match(msgspec.Struct, frozen=True):
    """What another text is to a text with claims: its `role`, and the claim that says so."""

    role: Role
    claim: Claim


def role_of(stated: tuple[Claim, ...], text: str, *, likely: bool = False) -> Match | None:
    """Return if `text` is the cause or the effect of the one that states `stated`; None without a clear match, and
    where two claims disagree. `likely`: half of a clause is a match, as for what is suggested to a reader."""
    if not stated:
        return None
    other = _read_note(text) if len(text) <= MAX_NOTE else _Read(text)
    wishes: bool | None = None
    decided: Match | None = None
    for claim in stated:
        role = _matched(claim, other, likely=likely)
        if role == "cause" and claim.signal in _lists().purpose and _NOW.search(text):
            continue  # a purpose that was reached may be the effect as well
        if role == "cause" and claim.reached:
            wishes = _states_wish(text) if wishes is None else wishes
            role = "cause" if wishes else "effect"
        if role is None:
            continue
        if decided is not None and decided.role != role:
            return None
        decided = decided or Match(role, claim)
    return decided


_NOW: Final = regex(
    r"\b(?:now|already|finally|meanwhile|jetzt|nun|inzwischen|bereits|endlich)\b|现在|已经|終於|终于", re.IGNORECASE
)


def _states_wish(text: str) -> bool:
    return not _lists().wishes.isdisjoint(_LETTERS.findall(fold(text))) or any(
        each in text for each in _lists().wishes_chinese
    )


def _matched(claim: Claim, other: _Read, *, likely: bool) -> Role | None:
    cause = _share(claim.cause.words, claim.subject, other.words)
    effect = _share(claim.effect.words, claim.subject, other.words)
    if abs(cause - effect) < MARGIN or max(cause, effect) < LIKELY:
        return None
    role: Role = "cause" if cause > effect else "effect"
    if likely:
        return role
    clause = claim.cause if role == "cause" else claim.effect
    subject = "" if role == "cause" and claim.is_noun else claim.subject
    is_repeated = _is_repeated(claim, clause.words, subject, other.words)
    return role if is_repeated and not _differ(clause, other, claim.sub_type) else None


def _share(side: tuple[str, ...], subject: str, other: _CausesWords) -> float:
    """Return the share of a clause's words that another text has; a subject in common belongs to both clauses."""
    own = side
    if subject and other.has(subject):
        own = tuple(word for word in side if word != subject) or side
    return sum(map(other.has, own)) / len(own)


def _is_repeated(claim: Claim, side: tuple[str, ...], subject: str, other: _CausesWords) -> bool:
    words = side if not subject or subject in side or not other.has(subject) else (subject, *side)
    shared = sum(map(other.has, words))
    if shared == len(words) == 1:
        return all(map(_CausesWords((*claim.cause.words, *claim.effect.words)).has, other.all))
    if shared < MIN_SHARED:
        return False
    share, back = shared / len(words), sum(map(_CausesWords(words).has, other.all)) / len(other.all)
    least: tuple[tuple[float, float], ...] = ENOUGH
    if words[-1] >= "\u2e80":
        least = (ENOUGH[0], ENOUGH_CHINESE) if _runs(words, other) > 1 else ENOUGH[:1]
    return any(share >= of_side and back >= of_other for of_side, of_other in least)


def _differ(clause: Clause, other: _Read, sub_type: SubType) -> bool:
    """Return True if the clause and the other text say the contrary, or the same about another thing: each has a number
    or a name of its own next to the same word ("v1 API" and "v2 API", "Berlin office" and "Lisbon office")."""
    if clause.is_negated != other.clause.is_negated and sub_type != "prevents":
        return True
    sides = ((clause, other.words), (other.clause, _CausesWords(clause.words)))
    own, others = (
        {
            (neighbour, word not in known.names)
            for pair in pairwise(known.words)
            for word, neighbour in (pair, pair[::-1])
            if (word in known.names or any(map(str.isdigit, word))) and not lacking.has(word)
        }
        for known, lacking in sides
    )
    return not own.isdisjoint(others)


def _runs(words: tuple[str, ...], other: _CausesWords) -> int:
    """Count the runs of shared words: one noun of four characters has three pairs, all in one run."""
    shared = [other.has(word) for word in words]
    return sum(here and not before for before, here in pairwise([False, *shared]))


def share_of_forms(one: str, other: str) -> float:
    """Return the content words of the larger text that the other has in any form, as a share in [0, 1]; 0 for longer
    texts than `MAX_NOTE`, and where one has none."""
    if max(len(one), len(other)) > MAX_NOTE:
        return 0.0
    smaller, larger = sorted((_read_note(one).words, _read_note(other).words), key=lambda words: len(words.all))
    if smaller.beginnings.isdisjoint(larger.looked_for):
        return 0.0  # true of most, and one look-up
    return sum(map(smaller.has, larger.all)) / len(larger.all) if smaller.all else 0.0


class Decided(msgspec.Struct, frozen=True):
    """The direction of a causal link between two texts, and the claim that says so."""

    new_is_cause: bool
    claim: Claim


def claims_between(
    new: tuple[Claim, ...], new_text: str, old: tuple[Claim, ...], old_text: str, *, likely: bool = False
) -> Decided | None:
    """Return the direction by the claims of both texts; None without a clear match (see `role_of` for `likely`), and
    where the two disagree."""
    by_new, by_old = role_of(new, old_text, likely=likely), role_of(old, new_text, likely=likely)
    if by_new is None:
        return None if by_old is None else Decided(by_old.role == "cause", by_old.claim)
    decided = Decided(by_new.role == "effect", by_new.claim)
    return None if by_old is not None and (by_old.role == "cause") != decided.new_is_cause else decided
