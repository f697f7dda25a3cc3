"""What a text states, sentence by sentence, in a form in which two statements can be laid side by side.

Of each sentence: its words in order, stemmed, without those that say nothing; what it says has changed, and what is no
longer so. "Ana lives in Oslo" is ana·in·oslo, a place somebody lives in; "Ana has moved to Bergen" is ana·to·bergen, a
move. Only short sentences are read so: of a long one the words alone do not tell what is said of what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, NamedTuple

from mnemond.text.change_words import (
    ANNOUNCING,
    ANNOUNCING_CHINESE,
    ANNOUNCING_SINCE,
    BE,
    BEING,
    BETWEEN,
    CALLED,
    DROPPED,
    FROM,
    GONE_AFTER,
    GONE_BEFORE,
    INDEFINITE,
    JOIN,
    LEADS,
    LIVE,
    MOVE,
    NOW,
    PARTS,
    PHRASES,
    PLAIN_PARTS,
    PREPOSITIONS,
    PRONOUNS,
    RENAME,
    REPORT,
    ROLE,
    SINCE,
    SWITCH,
    TIMES,
    USE,
    WORK,
    month,
    weekday,
)
from mnemond.text.contrast import LABEL_NOUNS, numbers, polarity
from mnemond.text.stop_words import FUNCTION_WORDS
from mnemond.text.tense import tense
from mnemond.text.tokens import fold, index_term

READ: Final = 600
"""Characters of a text that are read."""

MOST: Final = 12
"""Sentences of a text, the first ones."""

LONGEST: Final = 160
"""Characters of a sentence that is read."""

MOST_UNITS: Final = 30
"""Units of a statement; of a longer one the first."""

REMEMBERED: Final = 1_024
"""Sentences whose statement is remembered."""

_END: Final = re.compile(r"([!?;。！？；，\n]+|\.+(?=\s|$))")
_WORD: Final = re.compile(r"[a-z0-9']+")
_WORDLESS: Final = (FUNCTION_WORDS - PRONOUNS.keys()) | DROPPED | PREPOSITIONS | set(" ,.")
_LATIN: Final = re.compile(r"[a-z]+")
_CONJUNCTION: Final = re.compile(r",\s+(?:and|but|so|which|because|while|whereas)\s+", re.IGNORECASE)
_CAPITAL: Final = re.compile(r"(?<=\s)[\"'(]?([A-Z][\w'+#./-]*\w|[A-Z])")
_SUPPOSED: Final = re.compile(
    r"\b(?:if|might|could|would|maybe|perhaps|whether|consider\w*|thinking|plan(?:s|ned|ning)? to|wants? to|propos\w+"
    r"|suggest\w*|discuss\w*|(?:we|you|they|he|she|it|i) may)\b|如果|可能|也许|打算|考虑|建议|想要?"
)
_RECURS: Final = re.compile(r"\b(?:every|each|daily|hourly|nightly|weekly|monthly|always)\b|每")

LEAVING: Final = frozenset({"left", "quit", "no", "离开", "离开了"})
REPLACING: Final = ("replac", "取代", "替代")
"""What came instead stands before these words: "NATS replaced RabbitMQ" is about whatever RabbitMQ was."""

PERSONS: Final = frozenset(PRONOUNS.values())
"""Units of pronouns."""

PREPOSITION: Final = "…"
"""What the unit of a preposition begins with."""

FIXED: Final = ("day:", "month:", "number:")
"""What the units begin with that are values by themselves."""

_CHANGES: Final = {NOW, MOVE, SWITCH, RENAME, JOIN}
_STATES: Final = {LIVE, USE, WORK, CALLED, REPORT}


class Sentence(NamedTuple):
    """A sentence of a text, and the same in small letters."""

    text: str
    small: str


class Statement:
    """`units`: stems, single Chinese characters, numbers, days and months in one spelling; `words`: the same folded,
    not stemmed. `change`: what it says has changed, `state`: what it tells of, see `change_words`. `gone`: units of
    what it says is no longer. `headless`: what it is about stands in `gone`. `labelled`: it has a number that names
    something. `changed_at`, `stated_at`: units before the words that say what changed, and what state it tells of.

    What is seldom asked for is looked for when it is.
    """

    def __init__(self, sentence: str) -> None:
        read = _Reading(sentence)
        self._sentence = sentence
        self._folded = read.folded
        self.units = tuple(read.units)
        self.words = tuple(read.words)
        self.change, self.state = read.change, read.state
        self.gone = tuple(read.gone)
        self.headless, self.labelled = read.headless, read.labelled
        self.changed_at, self.stated_at = read.changed_at, read.stated_at

    @cached_property
    def names(self) -> frozenset[str]:
        """Folded words that were written with a capital, the first one aside."""
        return frozenset(fold(name).removesuffix("'s") for name in _CAPITAL.findall(self._sentence))

    @cached_property
    def denies(self) -> bool:
        """Whether it negates."""
        return polarity(self._sentence) == 1

    @cached_property
    def past(self) -> bool:
        """Whether it looks back at one event."""
        return _RECURS.search(self._folded) is None and tense(self._folded, 0, 0) == "past"

    @cached_property
    def supposed(self) -> bool:
        """Whether it says what may be."""
        return _SUPPOSED.search(self._folded) is not None

    @cached_property
    def indefinite(self) -> bool:
        """Whether it tells of one of several."""
        return INDEFINITE.search(self._folded) is not None

    @cached_property
    def role(self) -> bool:
        """Whether it says who or what is the one that …."""
        return ROLE.search(self._folded) is not None

    @cached_property
    def settles(self) -> bool:
        """Whether it may tell of something that can only be so and not otherwise, now."""
        fixed = self.state != "" or any(unit.startswith(FIXED) for unit in self.units)
        return fixed and not (self.labelled or self.indefinite or self.past or self.supposed)


def forget_cached() -> None:
    """Let go of every text that was read, so that nothing of a purged memory stays."""
    statement.cache_clear()


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text in order, without questions and long ones. Linear time."""
    found = islice(_sentences(text[:READ]), MOST)
    return tuple(Sentence(each, each.lower()) for each in found)


def _sentences(text: str) -> Iterator[str]:
    parts = [*_END.split(text), ""]
    for whole, end in zip(parts[::2], parts[1::2], strict=True):
        if end[:1] in ("?", "？") and end:
            continue
        for part in _CONJUNCTION.split(whole) if ", " in whole else (whole,):
            sentence = part.strip()
            if 1 < len(sentence) <= LONGEST:
                yield sentence


def announces(text: str) -> bool:
    """Whether a text may say that something changed: far cheaper than to read it."""
    small = text[:READ].lower()
    if not ANNOUNCING.isdisjoint(_LATIN.findall(small)):
        return True
    if not small.isascii() and ANNOUNCING_CHINESE.search(small) is not None:
        return True
    return ("of " in small or " on" in small or "more" in small) and ANNOUNCING_SINCE.search(small) is not None


def content_words(small: str) -> frozenset[str]:
    """Words of a sentence in small letters that say something, with pronouns; unless it is ASCII its characters."""
    return frozenset(_WORD.findall(small) if small.isascii() else small) - _WORDLESS


@lru_cache(maxsize=REMEMBERED)
def statement(sentence: str) -> Statement:
    """What one sentence states. Linear time."""
    return Statement(sentence)


class _Reading:
    """One sentence, part by part."""

    def __init__(self, sentence: str) -> None:
        self.folded = fold(sentence).replace("’", "'")
        self.units: list[str] = []
        self.words: list[str] = []
        self.gone: list[str] = []
        self.change = self.state = ""
        self.changed_at = self.stated_at = 0
        self.headless = self.labelled = self._going = False
        pattern = PLAIN_PARTS if self.folded.isascii() else PARTS
        self._read([(found.lastgroup or "", found[0]) for found in pattern.finditer(self.folded)])

    def _read(self, parts: list[tuple[str, str]]) -> None:
        words = [word for _, word in parts]
        place = 0
        while place < len(parts) and len(self.units) < MOST_UNITS:
            group, word = parts[place]
            place += 1
            if group.startswith("zh_"):
                self._part(group.removeprefix("zh_").replace("_", " "), word)
            elif group == "weekday":
                self._part(group, word)
            elif word in SINCE and (told := _since(words, place)):
                self._changes(NOW)
                place += told
            elif phrase := _phrase(words, place):
                rest, kind = phrase
                self._part(kind, word)
                place += len(rest)
            else:
                self._word(word)

    def _part(self, kind: str, found: str) -> None:
        if kind in _CHANGES:
            self._changes(kind)
        elif kind in _STATES:
            if self.state in ("", BE):
                self.state, self.stated_at = kind, len(self.units)
        elif kind == BE:
            self._is()
        elif kind == GONE_BEFORE:
            self._replaced()
        elif kind == GONE_AFTER:
            self._lets_go(found)
        elif kind == "weekday":
            self._add(f"day:{weekday(found)}", found)

    def _changes(self, kind: str) -> None:
        self._going = False
        if kind != NOW or not self.change:
            self.change, self.changed_at = kind, len(self.units)

    def _is(self) -> None:
        if not self.state:
            self.state, self.stated_at = BE, len(self.units)

    def _replaced(self) -> None:
        """What stood so far is what was replaced."""
        self.gone, self.units, self.words = self.units, [], []
        self.change, self.headless, self.labelled = SWITCH, True, False

    def _lets_go(self, found: str) -> None:
        self.change = JOIN if found in LEAVING else SWITCH
        self.headless = found.startswith(REPLACING) and self.units[:1] != [] and self.units[0] not in PERSONS
        self._going = True

    def _word(self, word: str) -> None:
        word = word.removesuffix("'s")
        if word in BEING:
            self._is()
        elif word in FROM and (self.change not in ("", NOW) or not word.isascii()):
            self._going = True
        elif word in PREPOSITIONS:
            if word == "在":
                self._is()
            self._preposition(word)
        elif word not in DROPPED:
            self._content(word)

    def _preposition(self, word: str) -> None:
        if self._going:
            self._going = False
        elif not (self.units and self.units[-1].startswith(PREPOSITION)):
            self._add(PREPOSITION + word, word)

    def _content(self, word: str) -> None:
        if len(word) == 1 and not word.isascii():
            self._add(PRONOUNS.get(word, word), word)
            return
        own = () if word.isalpha() else tuple(numbers(word))
        if len(own) == 1:
            self.labelled |= bool(self.words) and self.words[-1] in LABEL_NOUNS
            self._add(f"number:{own[0]}", word)
        elif name := month(word):
            self._add(f"month:{name}", word)
        else:
            self._add(PRONOUNS.get(word) or index_term(word) or word, word)

    def _add(self, unit: str, word: str) -> None:
        if self._going:
            self.gone.append(unit)
        elif not (self.units and self.units[-1] == unit):
            self.units.append(unit)
            self.words.append(word)


def _phrase(words: list[str], place: int) -> tuple[tuple[str, ...], str] | None:
    """The phrase that begins with the word before `place`: the words behind that one, and what it is."""
    for rest, kind in PHRASES.get(words[place - 1], ()):
        if tuple(words[place : place + len(rest)]) == rest and (kind != SWITCH or _leads(words, place)):
            return rest, kind
    return None


def _leads(words: list[str], place: int) -> bool:
    """Whether a verb of switching says from what or to what."""
    if place < len(words) and words[place] in BETWEEN:
        place += 1
    return place < len(words) and words[place] in LEADS


def _since(words: list[str], place: int) -> int:
    """How many words behind one of `SINCE` tell a time; with "from" only where "on" ends them."""
    end = place
    while end < len(words) and (words[end] in TIMES or words[end].isdigit()):
        end += 1
    first = words[place - 1]
    if end == place or (first == "from" and words[end - 1] != "on") or (first == "as" and words[place] != "of"):
        return 0
    return end - place
