"""Lists of the words by which clauses are read, English, German and Chinese together: data/frames.toml, by word.

What a word is compared by is its group ("cap" is "limit", "prod" is "production") or its stem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from mnemond.text.entity_lists import entity_lists
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.tokens import fold, index_term

MIN_FEMALE: Final = 6
"""Letters of a German word whose ending names a woman, "Leiterin", more than which."""

BE, HAVE, USE, LOCATE, WORK, CALL, REPORT, PREFER, SCHEDULE, COST, CHANGE, OTHER = (
    "be", "have", "use", "locate", "work", "call", "report", "prefer", "schedule", "cost", "change", "other",
)  # fmt: skip
"""Relations; `OTHER` ones are compared by their verb."""

NUMBER, CLOCK, WEEKDAY, MONTH, DATE, VERSION = "number", "clock", "weekday", "month", "date", "version"

NAME, PLACE, TOOL, ORGANISATION, WORD, PRONOUN, IDENTIFIER, ADDRESS = (
    "name", "place", "tool", "organisation", "word", "pronoun", "identifier", "address",
)  # fmt: skip
"""Kinds of units; other kinds are those of `[kind]` in the list."""

AMOUNTS: Final = frozenset({NUMBER, CLOCK, DATE, VERSION, ADDRESS})
"""Kinds of quantities: of another one, said of the same thing, the newer holds."""

CADENCE: Final = "cadence"

TIMES: Final = frozenset({CLOCK, WEEKDAY, MONTH, DATE, CADENCE})

NAMES: Final = frozenset({NAME, PLACE, TOOL, ORGANISATION})


class _Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    now: tuple[str, ...]
    change: tuple[str, ...]
    end: tuple[str, ...]
    chinese_now: tuple[str, ...]
    chinese_change: tuple[str, ...]
    chinese_end: tuple[str, ...]


class _Single(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attributes: frozenset[str]
    nouns: frozenset[str]


class _FrameListsWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    filler: frozenset[str]
    chinese_filler: str
    chinese_adverbs: tuple[str, ...]
    additive: frozenset[str]
    chinese_additive: tuple[str, ...]
    supposing: frozenset[str]
    chinese_supposing: tuple[str, ...]
    negation: frozenset[str]
    several: frozenset[str]
    many: frozenset[str]
    negative: frozenset[str]
    chinese_negative: tuple[str, ...]
    chinese_denial: tuple[str, ...]
    weak: frozenset[str]
    opposite: tuple[str, ...]
    topical: tuple[str, ...]
    kin: tuple[str, ...]
    apart: tuple[str, ...]


class Senses(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words by which the sides of two clauses are compared, see `[sense]` in data/frames.toml."""

    answering: tuple[str, ...]
    handing: frozenset[str]
    requiring: frozenset[str]
    sufficing: frozenset[str]
    roles: tuple[str, ...]
    supporting: frozenset[str]
    taken: frozenset[str]
    acquiring: frozenset[str]
    becoming: frozenset[str]
    renaming: frozenset[str]
    resigning: frozenset[str]
    leaving: frozenset[str]
    switching: frozenset[str]
    moving: frozenset[str]
    groups: frozenset[str]
    never: frozenset[str]
    kin: frozenset[str]
    instead: frozenset[str]
    ways: frozenset[str]
    first: frozenset[str]
    last: frozenset[str]


class _FrameListsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/frames.toml"""

    relation: dict[str, tuple[str, ...] | str]
    chinese_relation: dict[str, tuple[str, ...]]
    attribute: dict[str, tuple[str, ...] | str]
    single: _Single
    cue: _Cues
    lists: _FrameListsWords
    phrase: dict[str, str]
    lists_of: dict[str, tuple[str, ...]]
    sense: Senses
    kind: dict[str, tuple[str, ...] | str]
    unit: dict[str, tuple[str, ...] | str]
    preposition: dict[str, str]
    chinese_preposition: dict[str, str]
    pronoun: dict[str, str]
    weekday: dict[str, str]
    month: dict[str, str]
    numeral: dict[str, str]


class Lists(msgspec.Struct, frozen=True):
    """The lists, by folded word.

    `classes`: of words that are neither subject nor value; `phrases`: of the first word of a phrase of several, the
    others and the class, the longest first; `chinese`: class of a Chinese phrase; `single`: keys of attributes that
    have one value; `ends`: of a verb of the beginning "first", of the end "last".
    """

    classes: dict[str, str]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    chinese: dict[str, str]
    relations: dict[str, str]
    attributes: dict[str, str]
    single: frozenset[str]
    several: frozenset[str]
    many: frozenset[str]
    negative: frozenset[str]
    weak: frozenset[str]
    opposites: dict[str, tuple[tuple[int, int], ...]]
    topics: dict[str, tuple[tuple[int, int], ...]]
    kin: dict[str, tuple[tuple[int, int], ...]]
    denials: frozenset[str]
    joined: frozenset[str]
    apart: dict[str, str]
    same: dict[str, str]
    kinds: dict[str, str]
    units: dict[str, str]
    prepositions: dict[str, str]
    pronouns: dict[str, str]
    weekdays: dict[str, str]
    months: dict[str, str]
    numerals: dict[str, str]
    senses: Senses
    ends: dict[str, str]

    def key(self, word: str) -> str:
        """The key by which a folded word is compared: its group, else its stem."""
        if name := self.attributes.get(word) or self.attributes.get(_PLURAL.sub("", word)):
            return f"@{name}"
        if word in self.same:
            word = self.same[word]
        elif len(word) > MIN_FEMALE and (bare := _ENDING.sub("", word)) in self.same:  # German endings
            word = self.same[bare]
        if word.endswith("erin") and len(word) > MIN_FEMALE:
            word = word.removesuffix("in")
        return self.apart.get(word) or _stem(word)


@on_first_use
def lists() -> Lists:
    """The lists of data/frames.toml."""
    file = read("frames", _FrameListsFile)
    words, cue = file.lists, file.cue
    attributes, kinds, units = (_by_word(each) for each in (file.attribute, file.kind, file.unit))
    pronouns, weekdays, months = (_by_word(each) for each in (file.pronoun, file.weekday, file.month))
    apart = {word: group[0] for group in map(_folded, words.apart) for word in group}
    same = {word: group[0] for group in map(_folded, file.lists_of["same"]) for word in group}
    opposites, topics = _sides(words.opposite), _sides(words.topical)
    kin = _sides(words.kin)
    of_class = {
        "not": words.negation, "end": cue.end, "change": cue.change, "now": cue.now, "additive": words.additive,
        "supposing": words.supposing, "filler": words.filler,
    }  # fmt: skip
    classes: dict[str, str] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name, each in of_class.items():
        for phrase in each:
            first, *rest = _folded(phrase)
            if rest:
                phrases.setdefault(first, []).append((tuple(rest), name))
            else:
                classes.setdefault(first, name)
    classes |= dict.fromkeys(words.chinese_denial, "not")
    for word, of_it in file.phrase.items():
        for phrase in of_it.split(","):
            first, *rest = _folded(phrase)
            if rest:
                phrases.setdefault(first, []).append((tuple(rest), f"word {word}"))
    names = entity_lists()
    chinese = dict.fromkeys((*names.places.names, *names.organizations.names), "word")
    chinese |= dict.fromkeys(
        (word for table in (attributes, kinds, units, apart, opposites, topics, kin, same) for word in table), "word"
    )
    chinese |= dict.fromkeys((*words.several, *words.chinese_negative, *words.chinese_denial), "word")
    chinese |= {word: f"relation {name}" for name, each in file.chinese_relation.items() for word in each}
    for name, each in (
        ("filler", (*words.chinese_filler, *words.chinese_adverbs)), ("not", _CHINESE_NOT),
        ("preposition", _by_word(file.chinese_preposition)),
        ("supposing", words.chinese_supposing), ("additive", words.chinese_additive), ("now", cue.chinese_now),
        ("change", cue.chinese_change), ("end", cue.chinese_end),
    ):  # fmt: skip
        chinese |= dict.fromkeys(each, name)
    chinese |= dict.fromkeys((word for table in (pronouns, weekdays, months) for word in table), "word")
    for word in (*opposites, *topics):
        chinese[word] = "word"
    found = Lists(
        classes=classes,
        phrases={first: tuple(sorted(each, key=lambda one: -len(one[0]))) for first, each in phrases.items()},
        chinese={word: name for word, name in chinese.items() if HAN.search(word)},
        relations=_by_word(file.relation),
        attributes=attributes,
        single=frozenset(),
        several=frozenset(index_term(fold(word)) or fold(word) for word in words.several),
        many=frozenset(fold(word) for word in words.many),
        negative=frozenset(fold(word) for word in (*words.negative, *words.chinese_negative)),
        weak=frozenset(index_term(word) or word for word in words.weak),
        opposites=opposites,
        topics={form: sides for word, sides in topics.items() for form in _forms(word)[::-1]},
        kin={form: sides for word, sides in kin.items() for form in _forms(word)[::-1]},
        denials=frozenset(words.chinese_denial),
        joined=frozenset(word for line in file.lists_of["joined"] for word in line.split()),
        apart=apart,
        same=same,
        kinds=kinds,
        units=units,
        prepositions=_by_word(file.preposition) | _by_word(file.chinese_preposition),
        pronouns=pronouns,
        weekdays=weekdays,
        months=months,
        numerals=_by_word(file.numeral),
        senses=file.sense,
        ends=dict.fromkeys(file.sense.first, "first") | dict.fromkeys(file.sense.last, "last"),
    )
    single = {f"@{name}" for name in file.single.attributes} | {found.key(fold(each)) for each in file.single.nouns}
    return msgspec.structs.replace(found, single=frozenset(single))


def _sides(pairs: tuple[str, ...]) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return of each word the pairs in which it stands, each with the side."""
    found: dict[str, dict[tuple[int, int], None]] = {}
    for number, pair in enumerate(pairs):
        for which, side in enumerate(pair.split("|")):
            for word in _folded(side):
                found.setdefault(word, {})[number, which] = None
    return {word: tuple(each) for word, each in found.items()}


def _stem(word: str) -> str:
    """Return the stem of a folded word; a Chinese word as it is."""
    return (word if HAN.search(word) else index_term(word)) or word


def _forms(word: str) -> tuple[str, str]:
    """Return a word and its stem."""
    return word, _stem(word)


def _folded(words: str) -> list[str]:
    return [fold(word) for word in words.split()]


def _by_word(groups: Mapping[str, tuple[str, ...] | str]) -> dict[str, str]:
    return {
        fold(word): name
        for name, words in groups.items()
        for word in (words.split() if isinstance(words, str) else words)
    }


_PLURAL: Final = regex("(?<=[a-z]{3})(?:(?<=[sxh])es|s)$")

_ENDING: Final = regex("(?:e|en|er|es|em|n|s)$")

_CHINESE_NOT: Final = "不没沒别未"

HAN: Final = regex("[\u3400-\u9fff]")
