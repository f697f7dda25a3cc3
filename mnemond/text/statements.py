"""Statements of a text: each short sentence in a form in which two statements can be compared.

Of a sentence: its words in order, stemmed, without those that say nothing; the change that it reports; the state that
it describes; and what is no longer true. "Ana lives in Oslo" is ana·in·oslo, where somebody lives; "Ana has moved to
Bergen" is ana·to·bergen, a move. In a long sentence the words alone do not show what is said of what.

A change is recognised by its result: who moved lives elsewhere, what was renamed has another name. So each change has a
name, and each state the names of the changes that end it (`ENDS`). Beside the change cues of `contrast`, words that
announce a change in passing count ("now", "as of May", 以后改为); they order memories, and retire none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.contrast import label_nouns, numbers, polarity
from mnemond.text.date_rules import tense
from mnemond.text.resources import on_first_use, read, regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

NOW, MOVE, SWITCH, RENAME, JOIN = "now", "move", "switch", "rename", "join"
"""Changes: of anything, of a place or a time, of what is used or chosen, of a name, of an employer."""

LIVE, USE, WORK, CALLED, REPORT, BE = "live", "use", "work", "called", "report", "be"
"""States that a thing is in one of at a time; of `USE`, one for each purpose."""

ONE_AT_A_TIME: Final = frozenset({LIVE, WORK, CALLED, REPORT})
"""States of which a subject has one, so that no other word need show what changed."""

ENDS: Final = {
    LIVE: frozenset({NOW, MOVE}),
    USE: frozenset({NOW, MOVE, SWITCH}),
    WORK: frozenset({NOW, JOIN, SWITCH}),
    CALLED: frozenset({NOW, RENAME, SWITCH}),
    REPORT: frozenset({NOW, MOVE, SWITCH}),
    BE: frozenset({NOW, MOVE, SWITCH, RENAME}),
}
"""The changes that end each state."""

PRONOUNS: Final = {
    "i": "i", "my": "i", "me": "i", "i'm": "i", "we": "we", "us": "we", "we're": "we", "you": "you",
    "your": "you", "he": "he", "his": "he", "him": "he", "she": "she", "her": "she", "they": "they", "their": "they",
    "it": "it", "its": "it", "我": "我", "你": "你", "他": "他", "她": "她", "它": "它", "咱": "我",
}  # fmt: skip
"""Pronouns in one form: "my editor" and "I" belong together."""

PERSONS: Final = frozenset(PRONOUNS.values())
"""Units of pronouns."""

PREPOSITION: Final = "…"
"""The beginning of the unit of a preposition."""

FIXED: Final = ("day:", "month:", "number:")
"""The beginnings of the units that are values by themselves."""

MAX_TEXT: Final = 600
"""Characters of a text that are read."""

MAX_SENTENCES: Final = 12
"""Sentences of a text that are read, the first ones."""

MAX_SENTENCE: Final = 160
"""Characters of a sentence that is read."""

MAX_UNITS: Final = 30
"""Units of a statement; of a longer one the first."""

CACHED_SENTENCES: Final = 1_024
"""Sentences whose statement is cached."""

_END: Final = regex(r"([!?;。！？；，\n]+|\.+(?=\s|$))")
_CONJUNCTION: Final = regex(r",\s+(?:and|but|so|which|because|while|whereas)\s+", re.IGNORECASE)
_WORD: Final = regex(r"[a-z0-9']+")
_LATIN: Final = regex(r"[a-z]+")
_ANNOUNCING_SINCE: Final = regex(r"\bas of \w|\bfrom \w+(?: \w+){0,3} on\b|\bany more\b")


class Sentence(NamedTuple):
    """A sentence of a text, and the same in small letters."""

    text: str
    small: str


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text in order, without questions and long ones. Linear time."""
    found = islice(_sentences(text[:MAX_TEXT]), MAX_SENTENCES)
    return tuple(Sentence(each, each.lower()) for each in found)


def _sentences(text: str) -> Iterator[str]:
    parts = [*_END.split(text), ""]
    for whole, end in zip(parts[::2], parts[1::2], strict=True):
        if end[:1] in ("?", "？") and end:
            continue
        for part in _CONJUNCTION.split(whole) if ", " in whole else (whole,):
            sentence = part.strip()
            if 1 < len(sentence) <= MAX_SENTENCE:
                yield sentence


def announces(text: str) -> bool:
    """Return True if a text may announce a change: far cheaper than reading its statements."""
    small = text[:MAX_TEXT].lower()
    if not _lists().announcing.isdisjoint(_LATIN.findall(small)):
        return True
    if not small.isascii() and _ANNOUNCING_CHINESE.search(small) is not None:
        return True
    return ("of " in small or " on" in small or "more" in small) and _ANNOUNCING_SINCE.search(small) is not None


def content_words(small: str) -> frozenset[str]:
    """Content words and pronouns of a sentence in small letters; its characters unless it is ASCII."""
    return frozenset(_WORD.findall(small) if small.isascii() else small) - _lists().empty


@text_cache(maxsize=CACHED_SENTENCES)
def statement(sentence: str) -> Statement:
    """The statement of one sentence. Linear time."""
    return Statement(sentence)


_CAPITAL: Final = regex(r"(?<=\s)[\"'(]?([A-Z][\w'+#./-]*\w|[A-Z])")
_SUPPOSED: Final = regex(
    r"\b(?:if|might|could|would|maybe|perhaps|whether|consider\w*|thinking|plan(?:s|ned|ning)? to|wants? to|propos\w+"
    r"|suggest\w*|discuss\w*|(?:we|you|they|he|she|it|i) may)\b|如果|可能|也许|打算|考虑|建议|想要?"
)
_RECURS: Final = regex(r"\b(?:every|each|daily|hourly|nightly|weekly|monthly|always)\b|每")
_INDEFINITE: Final = regex(r"^\W*(?:and |but )?(?:a|an|one|another|some|other)\b|^(?:一个|另一个|有)")
_ROLE: Final = regex(
    r"\b(?:is|are)(?: (?:now|currently))? (?:the|our|my|in charge of|responsible for)\b"
    r"|现在是|是(?=[\u3400-\u9fff]+的)|负责"
)


class Statement:
    """`units`: stems, single Chinese characters, numbers, days and months in one spelling; `words`: the same folded,
    not stemmed. `change`, `state`: those that the sentence reports, "" if none; `changed_at`, `stated_at`: units before
    the words that do. `gone`: units of what is no longer true. `headless`: the subject is among `gone`. `labelled`: it
    has a number that names something.

    Rarely needed features are computed on demand.
    """

    def __init__(self, sentence: str) -> None:
        read = _Reader(sentence)
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
        """Folded words that are written with a capital, except the first one."""
        return frozenset(fold(name).removesuffix("'s") for name in _CAPITAL.findall(self._sentence))

    @cached_property
    def denies(self) -> bool:
        """Return True if it negates."""
        return polarity(self._sentence) == 1

    @cached_property
    def past(self) -> bool:
        """Return True if it looks back at one event."""
        return _RECURS.search(self._folded) is None and tense(self._folded, 0, 0) == "past"

    @cached_property
    def supposed(self) -> bool:
        """Return True if it describes a possibility."""
        return _SUPPOSED.search(self._folded) is not None

    @cached_property
    def indefinite(self) -> bool:
        """Return True if its subject is one of several."""
        return _INDEFINITE.search(self._folded) is not None

    @cached_property
    def role(self) -> bool:
        """Return True if it fills a role that there is one of: "Priya is the owner of billing"."""
        return _ROLE.search(self._folded) is not None

    @cached_property
    def one_of_many(self) -> bool:
        """Return True if it has a noun of which a thing has several, so that another statement does not correct it."""
        return not _lists().one_of_many.isdisjoint(self.words)

    @cached_property
    def settles(self) -> bool:
        """Return True if it may state something that has one value at a time, now."""
        fixed = self.state != "" or any(unit.startswith(FIXED) for unit in self.units)
        return fixed and not (self.labelled or self.indefinite or self.past or self.supposed)


# ---------------------------------------------------------------- lists


class _Announcing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: frozenset[str]
    chinese: tuple[str, ...]


class _Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    english: tuple[str, ...] = ()
    chinese: str = ""


class _StatementsWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fields that data/statements.toml describes."""

    dropped: frozenset[str]
    prepositions: frozenset[str]
    origins: frozenset[str]
    being: frozenset[str]
    leads: frozenset[str]
    between: frozenset[str]
    since: frozenset[str]
    times: frozenset[str]
    one_of_many: frozenset[str]


class _StatementsFile(_StatementsWords, frozen=True, kw_only=True):
    announcing: _Announcing
    phrases: dict[str, _Phrases]


class _Lists(_StatementsWords, frozen=True, kw_only=True):
    """`phrases`: of the first word of a phrase the words behind it and the kind of the phrase, the longest first.
    `empty`: words, and characters, that are no content words."""

    announcing: frozenset[str]
    announcing_chinese: str
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    chinese: str
    empty: frozenset[str]


@on_first_use
def _lists() -> _Lists:
    file = read("statements", _StatementsFile)
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for kind, each in file.phrases.items():
        for phrase in each.english:
            first, *rest = phrase.split()
            by_first.setdefault(first, []).append((tuple(rest), kind))
    return _Lists(
        **{name: getattr(file, name) for name in _StatementsWords.__struct_fields__},
        announcing=file.announcing.words,
        announcing_chinese="|".join(file.announcing.chinese),
        phrases={first: tuple(sorted(each, key=lambda one: -len(one[0]))) for first, each in by_first.items()},
        chinese="|".join(f"(?P<zh_{kind}>{each.chinese})" for kind, each in file.phrases.items() if each.chinese),
        empty=(FUNCTION_WORDS - PRONOUNS.keys()) | file.dropped | file.prepositions | set(" ,."),
    )


# ---------------------------------------------------------------- reading a sentence

_MONTHS: Final = {
    form: name[:3]
    for name in words_of("january february march april may june july august september october november december")
    for form in (name, name[:3])
} | {"sept": "sep"}
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_PLAIN: Final = (
    r"(?P<weekday>\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:tue|wed|thu|fri)\b)"
    r"|(?P<zh_weekday>(?:周|週|星期|礼拜|禮拜)[一二三四五六日天])"
    r"|(?P<word>[a-z0-9$€£][a-z0-9_'./:+#%-]*[a-z0-9_+#%]|[a-z0-9])"
    r"|(?P<han>[\u3400-\u9fff])"
    r"|(?P<other>\w+)"
)
_ASCII_PARTS: Final = regex(_PLAIN)
_PARTS: Final = regex(lambda: f"{_lists().chinese}|{_PLAIN}")
"""The words, characters and Chinese phrases of a folded sentence; a group "zh_x" is a phrase of kind x."""

_ANNOUNCING_CHINESE: Final = regex(lambda: _lists().announcing_chinese)

_CHANGES: Final = {NOW, MOVE, SWITCH, RENAME, JOIN}
_STATES: Final = {LIVE, USE, WORK, CALLED, REPORT}
_GONE_BEFORE, _GONE_AFTER = "gone_before", "gone_after"

_LEAVING: Final = frozenset({"left", "quit", "no", "离开", "离开了"})
_REPLACING: Final = ("replac", "取代", "替代")
"""Words behind the new value: the subject of "NATS replaced RabbitMQ" is the role that RabbitMQ had."""


class _Reader:
    """Reads one sentence, part by part."""

    def __init__(self, sentence: str) -> None:
        self.folded = fold(sentence).replace("’", "'")
        self.units: list[str] = []
        self.words: list[str] = []
        self.gone: list[str] = []
        self.change = self.state = ""
        self.changed_at = self.stated_at = 0
        self.headless = self.labelled = self._in_gone = False
        self._lists = _lists()
        pattern = _ASCII_PARTS if self.folded.isascii() else _PARTS
        self._read([(found.lastgroup or "", found[0]) for found in pattern.finditer(self.folded)])

    def _read(self, parts: list[tuple[str, str]]) -> None:
        words = [word for _, word in parts]
        since = self._lists.since
        place = 0
        while place < len(parts) and len(self.units) < MAX_UNITS:
            group, word = parts[place]
            place += 1
            if group.startswith("zh_"):
                self._phrase(group.removeprefix("zh_"), word)
            elif group == "weekday":
                self._phrase(group, word)
            elif word in since and (size := self._time_size(words, place)):
                self._change(NOW)
                place += size
            elif phrase := self._phrase_at(words, place):
                rest, kind = phrase
                self._phrase(kind, word)
                place += len(rest)
            else:
                self._word(word)

    def _time_size(self, words: list[str], place: int) -> int:
        """The number of words from `place` on that give a time, behind one of `since`; behind "from", "on" must end
        them."""
        end = place
        while end < len(words) and (words[end] in self._lists.times or words[end].isdigit()):
            end += 1
        first = words[place - 1]
        if end == place or (first == "from" and words[end - 1] != "on") or (first == "as" and words[place] != "of"):
            return 0
        return end - place

    def _phrase_at(self, words: list[str], place: int) -> tuple[tuple[str, ...], str] | None:
        """The phrase that begins with the word before `place`: the words behind that one, and its kind."""
        for rest, kind in self._lists.phrases.get(words[place - 1], ()):
            if tuple(words[place : place + len(rest)]) == rest and (kind != SWITCH or self._leads(words, place)):
                return rest, kind
        return None

    def _leads(self, words: list[str], place: int) -> bool:
        """Return True if a verb of switching before `place` has an origin or a goal."""
        if place < len(words) and words[place] in self._lists.between:
            place += 1
        return place < len(words) and words[place] in self._lists.leads

    def _phrase(self, kind: str, found: str) -> None:
        if kind in _CHANGES:
            self._change(kind)
        elif kind in _STATES:
            if self.state in ("", BE):
                self.state, self.stated_at = kind, len(self.units)
        elif kind == BE:
            self._be()
        elif kind == _GONE_BEFORE:
            self.gone, self.units, self.words = self.units, [], []
            self.change, self.headless, self.labelled = SWITCH, True, False
        elif kind == _GONE_AFTER:
            self.change = JOIN if found in _LEAVING else SWITCH
            subject = self.units[0] if self.units else None
            self.headless = found.startswith(_REPLACING) and subject is not None and subject not in PERSONS
            self._in_gone = True
        elif kind == "weekday":
            self._add(f"day:{_weekday(found)}", found)

    def _change(self, kind: str) -> None:
        self._in_gone = False
        if kind != NOW or not self.change:
            self.change, self.changed_at = kind, len(self.units)

    def _be(self) -> None:
        if not self.state:
            self.state, self.stated_at = BE, len(self.units)

    def _word(self, word: str) -> None:
        lists = self._lists
        word = word.removesuffix("'s")
        if word in lists.being:
            self._be()
        elif word in lists.origins and (self.change not in ("", NOW) or not word.isascii()):
            self._in_gone = True
        elif word in lists.prepositions:
            if word == "在":
                self._be()
            if self._in_gone:
                self._in_gone = False
            elif not (self.units and self.units[-1].startswith(PREPOSITION)):
                self._add(PREPOSITION + word, word)
        elif word not in lists.dropped:
            self._content(word)

    def _content(self, word: str) -> None:
        if len(word) == 1 and not word.isascii():
            self._add(PRONOUNS.get(word, word), word)
            return
        own = () if word.isalpha() else tuple(numbers(word))
        if len(own) == 1:
            self.labelled |= bool(self.words) and self.words[-1] in label_nouns()
            self._add(f"number:{own[0]}", word)
        elif month := _MONTHS.get(word):
            self._add(f"month:{month}", word)
        else:
            self._add(PRONOUNS.get(word) or index_term(word) or word, word)

    def _add(self, unit: str, word: str) -> None:
        if self._in_gone:
            self.gone.append(unit)
        elif not (self.units and self.units[-1] == unit):
            self.units.append(unit)
            self.words.append(word)


def _weekday(found: str) -> str:
    """One spelling for a match of `weekday` or `zh_weekday`."""
    if found.isascii():
        return found[:3]
    return _WEEKDAYS["一二三四五六日".find(found[-1].replace("天", "日"))]
