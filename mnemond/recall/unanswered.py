"""Find what a question asks for and a memory lacks: a name, a kind of answer (a time, a number, a person), or in talk
the noun that it asks for.

Words of a question that match are no evidence of an answer: "when does the office in Lima open" shares all words but
one with a note on the office in Lisbon. So the best memories are read one by one: what of the question does this one
have by itself, or with its neighbours in a conversation? The weights were chosen among round numbers on the development
halves (docs/decisions/0060-what-is-so-now-and-what-is-not-known.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import numpy as np

from mnemond.index.arrays import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.recall.ranking import nearby_turns
from mnemond.recall.unasked import SMALLEST, Weigher
from mnemond.text.caches import text_cache
from mnemond.text.entities import extract
from mnemond.text.prompt_words import is_german
from mnemond.text.resources import regex, words_of
from mnemond.text.tokens import fold, index_term, index_terms, tokens

Kind = Literal["time", "number", "person"]

READ: Final = 10
"""Best memories that are read."""

DECIDE: Final = 3
"""Best memories of which the one that lacks least lowers the score of the answer."""

MAX_READ: Final = 2_000
"""Characters of a question and of a memory that are read."""

OF_NAMES: Final = 1.0
"""Part of the score lost if the names that a memory lacks were all words of the question."""

OF_KIND: Final = 0.2
"""Part of the score lost if a memory has no answer of the kind."""

OF_NOUN: Final = 0.1
"""Part of the score lost if a turn of a conversation lacks the noun behind "what": "what arguments did Ana make"."""

MOST_LOST: Final = 0.9

SURE: Final = 0.2
"""Share of the question's words that missing names have at least in a memory that is no answer."""


class Asked(NamedTuple):
    """What a question asks for: the kind of the answer, the names in it with their index terms, the noun after "what"
    as index terms, and the weight of each word that says something, by index term."""

    kind: Kind | None
    names: tuple[tuple[str, frozenset[str]], ...]
    noun: frozenset[str]
    weights: Mapping[str, float]


class Lack(NamedTuple):
    """What one memory lacks. `share`: that of missing names in the weight of the question's words; `talk`: it is a turn
    of a conversation; `noun`: one without the noun."""

    names: tuple[str, ...] = ()
    share: float = 0.0
    kind: Kind | None = None
    noun: bool = False
    talk: bool = False

    @property
    def lost(self) -> float:
        """Part of the score that is lost."""
        lost = OF_NAMES * self.share + OF_KIND * (self.kind is not None) + OF_NOUN * self.noun
        return min(MOST_LOST, lost)

    @property
    def excludes(self) -> bool:
        """Return True if the memory is surely no answer. Talk answers without a date or a number in the same turn."""
        return self.share >= SURE or (self.kind is not None and not self.talk)


class Doubt(NamedTuple):
    """`lost`: part of the score of every result; `excluded`: which of the read results, the best first, are no answer;
    `missing`: what the first of them lacks, in words, if it is excluded."""

    lost: float = 0.0
    excluded: tuple[bool, ...] = ()
    missing: tuple[str, ...] = ()

    def excludes(self, place: int) -> bool:
        """Return True if the result at `place` is no answer; one that was not read, if all that were are none."""
        return self.excluded[place] if place < len(self.excluded) else bool(self.excluded) and all(self.excluded)


_KINDS: Final[Mapping[Kind, str]] = {"time": "a time", "number": "a number", "person": "a person"}


def doubt(snapshot: Snapshot, text: str, rows: Rows) -> Doubt:
    """Return what the best results of a question lack."""
    read = rows[:READ]
    if not len(read):
        return Doubt()
    asked = asked_for(text, Weigher(snapshot), talk=bool(snapshot.in_conversation(read).any()))
    if asked.kind is None and not asked.names and not asked.noun:
        return Doubt()
    lacks = _lacks(snapshot, asked, read)
    best = lacks[0]
    kinds = [_KINDS[best.kind]] if best.kind is not None and not best.talk else []
    return Doubt(
        min(each.lost for each in lacks[:DECIDE]),
        tuple(each.excludes for each in lacks),
        (*best.names, *kinds) if best.excludes else (),
    )


def _lacks(snapshot: Snapshot, asked: Asked, rows: Rows) -> list[Lack]:
    talk = snapshot.in_conversation(rows)
    beside = nearby_turns(snapshot, rows)[:2] if talk.any() else np.full((2, len(rows)), -1, dtype=np.int64)
    around = np.vstack((rows, beside))  # -1 for no neighbour
    source = snapshot.parts.columns.source
    of_names = np.zeros((len(asked.names), len(rows)), dtype=np.bool_)
    for number, (_, parts) in enumerate(asked.names):
        holders = np.concatenate(snapshot.rows_of(parts))
        speakers = [speaker for term in parts for speaker in snapshot.speakers(term)]
        named = np.isin(around, holders) | np.isin(source[around], speakers)
        of_names[number] = (named & (around >= 0)).any(axis=0)
    has_noun = (
        np.isin(rows, np.concatenate(snapshot.rows_of(asked.noun))) if asked.noun else np.ones(len(rows), np.bool_)
    )
    weights = [sum(asked.weights.get(term, 0.0) for term in parts) for _, parts in asked.names]
    total = max(sum(asked.weights.values()), SMALLEST)
    found: list[Lack] = []
    for place, row in enumerate(rows.tolist()):
        missing = [number for number, has in enumerate(of_names[:, place].tolist()) if not has]
        has_kind = asked.kind is None or _has_kind(asked.kind, snapshot.insight(row).content)
        found.append(
            Lack(
                tuple(asked.names[number][0] for number in missing),
                min(1.0, sum(weights[number] for number in missing) / total),
                None if has_kind else asked.kind,
                bool(talk[place]) and not has_noun[place],
                bool(talk[place]),
            )
        )
    return found


# The question


_TIME: Final = regex(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|by what (?:date|time)|at what time|how long ago)\b"
    r"|[什甚][么麼][时時]候|何[时時]|[几幾][号號月年点點]|哪[天年]"
)
_TIME_GERMAN: Final = regex(r"\b(?:wann|wie spät|(?:welche[mnrs]?|an welchem) (?:tag|datum|monat|jahr|uhrzeit))\b")
_NUMBER: Final = regex(
    r"\bhow (?:many|much|often|long|old|far|large|big|tall|high|fast|heavy)\b|多少|[几幾](?![号號月年点點])"
)
_NUMBER_GERMAN: Final = regex(r"\bwie ?(?:viele?r?|oft|lange|hoch|gross|teuer|alt|weit|schnell|schwer)\b")
_PERSON: Final = regex(r"\b(?:who|whom|whose)\b")
_PERSON_GERMAN: Final = regex(r"\b(?:wer|wem|wen|wessen)\b")
_RULES: Final[tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...]] = (
    ("time", _TIME, _TIME_GERMAN), ("number", _NUMBER, _NUMBER_GERMAN), ("person", _PERSON, _PERSON_GERMAN),
)  # fmt: skip

_NOUN: Final = regex(
    r"\b(?:what|which)(?: (?:specific|exact|particular|other|kinds? of|types? of|sorts? of|are|is|were|was|the|my|our"
    r"|his|her|their)){0,4} (?:(\w{1,40}) or )?(\w{1,40})"
    r"|\b(?:share|provide|give|tell|describe|explain)\b[^?]{0,12}? (?:the |any )?(?:(\w{1,40}) or )?(\w{1,40})"
    r" (?:of|about|on|for)\b"
)
_NO_NOUNS: Final = words_of(
    "summary overview list order way ways step steps some different date day year time much many"
)
"""Words behind "what" that no memory need have."""


def asked_for(text: str, weigher: Weigher, *, talk: bool = True) -> Asked:
    """Read a question; its noun only if there is talk among the results."""
    text = text[:MAX_READ]
    plain = fold(text)
    names = _names(text)
    noun = _noun_asked(plain, weigher) if talk else frozenset[str]()
    return Asked(_kind_asked(plain), names, noun, weigher.weighed(tokens(text)) if names else {})


@text_cache(maxsize=8)
def _names(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    names = ((each.name, frozenset(index_terms(each.name))) for each in extract(text))
    return tuple((name, terms) for name, terms in names if terms)


def _kind_asked(plain: str) -> Kind | None:
    german = is_german(plain)
    for kind, rule, rule_german in _RULES:
        if rule.search(plain) is not None or (german and rule_german.search(plain) is not None):
            return kind
    return None


def _noun_asked(plain: str, weigher: Weigher) -> frozenset[str]:
    found = _NOUN.search(plain.replace("'s", ""))
    words = [] if found is None else [word for word in found.groups() if word and word not in _NO_NOUNS]
    return frozenset(index_term(word) for word in words if weigher.of(word) > 0.0)


# A memory


_CLOCK: Final = regex(
    r"[0-9]{1,2}(?::[0-9]{2})? ?(?:[ap]\.?m\b|uhr\b|o'clock)|[0-9]{1,2}:[0-9]{2}"
    r"|\b(?:noon|midnight|mittag|mitternacht)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai"
    r"|juni|juli|oktober|dezember|jan|feb|apr|aug|sept?|oct|nov|dec)\b|\b(?:19|20)[0-9]{2}\b|[0-9]{1,2}\.[0-9]{1,2}\."
    r"|\b(?:yesterday|today|tomorrow|tonight|ago|last|next|weekends?|weeks?|months?|years?|days?|hours?|minutes?|morning"
    r"|evening|night|nightly|daily|weekly|monthly|every|since|after|before|until|once|as soon as|gestern|heute|morgen"
    r"|tage?|woche|monate?|jahre?|stunden?|minuten?|täglich|wöchentlich|jede[nrsm]?|immer|seit|nach|vor|bis|sobald|wenn)\b"
    r"|[周週]|星期|[月日号號点點年时時]|[今明昨]天|[上下]午|晚上|之?[前后後]"
)
_WORDED: Final = regex(
    r"[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred|thousand"
    r"|once|twice|half|dozen|several|daily|weekly|monthly|nightly|every|always|never|free|no|none|all|both|ein\w{0,2}"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|hundert|tausend|einmal|zweimal|täglich"
    r"|wöchentlich|monatlich|jede[nrsm]?|immer|nie|kein\w{0,2}|alle)\b"
    r"|[一二两兩三四五六七八九十百千万萬半每]"
)
_CAPITAL: Final = regex(
    r"(?<=[\w,;:)] )[\"'(]?[A-ZÄÖÜ][\w'-]+|^[A-ZÄÖÜ][\w'-]+ (?:and|is|has|was|will|\w+s|\w+ed|hat|ist|\w+t)\b"
)
_SOMEBODY: Final = regex(
    r"\b(?:i|we|my|our|you|your|he|she|they|team|ich|wir|mein\w{0,2}|unser\w{0,2}|er|sie|boss|manager|owner|mother|father"
    r"|sister|brother|friend|uncle|aunt|wife|husband|colleague|company)\b"
)


@text_cache(maxsize=1024)
def _has_kind(kind: Kind, text: str) -> bool:
    """Return True if a text has an answer of a kind."""
    text = text[:MAX_READ]
    plain = fold(text)
    if kind == "time":
        return _CLOCK.search(plain) is not None
    if kind == "number":
        return _WORDED.search(plain) is not None
    # Names of people in scripts without capitals are not told from other words.
    if _SOMEBODY.search(plain) is not None or _CAPITAL.search(text) is not None or not text.isascii():
        return True
    return any(each.kind in ("person", "organization") for each in extract(text))
