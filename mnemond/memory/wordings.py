"""Two wordings of one statement, as far as words show it.

Pairs of similar memories (`memory.compare`) may speak of different things: "Squad 7 owns billing" and "Squad 8 owns
billing". Two are wordings of one statement if they have the same numbers, names, days and polarity, do not contradict
each other, and differ in more than one exchanged part: with one part exchanged, a sentence mostly says something else.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.memory.diff_frames import opposed
from mnemond.memory.diff_rules import changes_between, plain_words
from mnemond.model.memory import Insight
from mnemond.text.caches import text_cache
from mnemond.text.contrast import labels, numbers, polarity
from mnemond.text.frame_lists import lists as frame_lists
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

MAX_LENGTH: Final = 300
"""Characters of a text that is compared; a longer one says more than one thing."""

MIN_PREFIX: Final = 4
"""Letters by which a name is recognised in a longer or shorter form: Postgres, PostgreSQL."""

CACHED_PAIRS: Final = 4_096
"""Pairs of texts of which the result is kept: those that every recall of a store compares."""

_NAME = regex(r"(?<=[^.!?:]\s)[\"'(]?([A-Z][\w-]*)|\b(\w*[a-z][A-Z]\w*|[A-Z]{2,}\w*|\w*\d\w*)\b")

_CAPITAL = regex(r"\b[A-Z][\w'-]*")


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/wordings.toml: words that change nothing of a statement, and groups of those that say the same."""

    adverbs: frozenset[str]
    synonyms: tuple[str, ...]


@on_first_use
def _lists() -> _Lists:
    return read("wordings", _Lists)


@on_first_use
def _synonyms() -> dict[str, str]:
    groups = [[index_term(word) or word for word in each.split()] for each in _lists().synonyms]
    return {word: group[0] for group in groups for word in group}


def _synonym(stem: str) -> str:
    return _synonyms().get(stem, stem)


def _is_value(word: str) -> bool:
    """Return True for a folded word that is a value by itself: a number, a weekday or a month."""
    known = frame_lists()
    return word in known.numerals or word in known.weekdays or (word in known.months and word != "may")


def is_wording(one: Insight, other: Insight) -> bool:
    """Return True if two memories say the same in other words."""
    if one.category != other.category and {one.category, other.category} & {"decision", "preference"}:
        return False
    return _same_statement(one.content, other.content, _words(one.entities), _words(other.entities))


def _words(entities: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for name in entities for word in fold(name).split())


@text_cache(maxsize=CACHED_PAIRS)
def _same_statement(one: str, other: str, names: tuple[str, ...], others: tuple[str, ...]) -> bool:
    if max(len(one), len(other)) > MAX_LENGTH or polarity(one) != polarity(other):
        return False
    if numbers(one) != numbers(other) or labels(one) != labels(other):
        return False
    if not (_named_in(one, names, other) and _named_in(other, others, one)):
        return False
    if opposed(one, other) is not None:
        return False
    return not _differ_in_one_part(one, other)


def _named_in(text: str, entities: tuple[str, ...], other: str) -> bool:
    """Return True if the other text has every name, number word, day and month of the text, in whatever form."""
    words = {fold(word) for found in _NAME.findall(text) for word in found if word} | set(entities)
    low = plain_words(text)
    words |= {word for word in low if _is_value(word)}
    there = set(plain_words(other))
    return all(_is_there(word, there) for word in words if word not in FUNCTION_WORDS)


def _is_there(word: str, there: set[str]) -> bool:
    stem = index_term(word) or word
    return any(
        each == word
        or index_term(each) == stem
        or (min(len(each), len(word)) >= MIN_PREFIX and (each.startswith(word) or word.startswith(each)))
        for each in there
    )


def _differ_in_one_part(one: str, other: str) -> bool:
    """Return True if a sentence has one part exchanged, or only says more, or its names change places."""
    changes = changes_between(_plain(one), _plain(other))
    telling = [change for change in changes if {*change.gone, *change.come} - FUNCTION_WORDS]
    exchanged = [change for change in changes if change.gone and change.come]
    if len(changes) == 1 and exchanged:
        return True
    if telling and not (any(change.gone for change in telling) and any(change.come for change in telling)):
        return True
    mine, its = _capitals(one), _capitals(other)
    return [word for word in mine if word in its] != [word for word in its if word in mine]


def _plain(text: str) -> list[str]:
    """Return the stems of the words in order, one for all that mean the same, without those that change nothing."""
    words = [word for word in plain_words(text) if word not in _lists().adverbs]
    return [_synonym(index_term(word) or word) for word in words]


def _capitals(text: str) -> list[str]:
    found = [fold(word).removesuffix("'s") for word in _CAPITAL.findall(text)]
    return [word for word in dict.fromkeys(found) if word not in FUNCTION_WORDS]
