"""Words that say nothing, or little, about the subject of a prompt or a question (text/data/prompt_words.toml)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mnemond.text.caches import text_cache
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.tokens import FUNCTION_WORDS, index_term


class _PromptWords(NamedTuple):
    """Words that say nothing, characters of which one or which alone make a pair say nothing, and words that say little
    about a subject."""

    nothing: frozenset[str]
    particles: frozenset[str]
    others: frozenset[str]
    little: frozenset[str]


class _Terms(NamedTuple):
    """Index terms: of German words that say nothing, those of them that are no English words, Chinese pairs, and of
    English words that say nothing in most questions."""

    german: frozenset[str]
    german_alone: frozenset[str]
    chinese: frozenset[str]
    english: frozenset[str]


@on_first_use
def _words() -> _PromptWords:
    prompt = read("prompt_words", dict[str, frozenset[str]])
    ordinary = read("ordinary_words", dict[str, frozenset[str]])
    nothing = FUNCTION_WORDS.union(
        prompt["english"], prompt["german"], prompt["chinese_pairs"], ordinary["small"], ordinary["talk"]
    )
    return _PromptWords(
        nothing, prompt["chinese_particles"], prompt["chinese_others"], prompt["general"] | ordinary["working"]
    )


@on_first_use
def _terms() -> _Terms:
    prompt = read("prompt_words", dict[str, frozenset[str]])
    english = prompt["english"] - prompt["numbers"]
    return _Terms(
        german=_terms_of(prompt["german"]),
        german_alone=_terms_of(prompt["german"] - prompt["german_or_english"] - english - FUNCTION_WORDS),
        chinese=prompt["chinese_pairs"],
        english=_terms_of(english),
    )


def _terms_of(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(index_term, words))


@on_first_use
def german_words() -> frozenset[str]:
    """Return the German words that say nothing about a subject and are no English words, folded."""
    prompt = read("prompt_words", dict[str, frozenset[str]])
    return prompt["german"] - prompt["german_or_english"] - prompt["english"] - FUNCTION_WORDS


@on_first_use
def german_function_words() -> frozenset[str]:
    """Return the words that say nothing about the subject of a German text, folded, with those of English."""
    return FUNCTION_WORDS | read("prompt_words", dict[str, frozenset[str]])["german"]


def says_nothing(word: str) -> bool:
    """Return True for a token that says nothing about the subject of a prompt."""
    if word in _words().nothing or not word.isalnum() or (len(word) == 1 and word.isascii()):
        return True
    return _is_empty_pair(word)


def says_little(word: str) -> bool:
    """Return True for a token that any prompt about software has, or that may be half of a function word in Chinese."""
    lists = _words()
    return word in lists.little or (len(word) <= 2 and not word.isascii() and not lists.others.isdisjoint(word))


def _is_empty_pair(token: str) -> bool:
    if len(token) > 2 or token.isascii():
        return False
    return not _words().particles.isdisjoint(token) or _words().others.issuperset(token)


def is_german(folded: str) -> bool:
    """Return True if a folded question has German function words, and no more English ones; or two that may be either
    ("was", "die"), and no English one."""
    german, english, either = _counts(folded)
    return german >= english if german else not english and either >= TWO


def function_words(folded: str) -> tuple[int, int]:
    """Return how many function words of German and of English a folded text has."""
    german, english, either = _counts(folded)
    return german + (0 if english else either), english


@text_cache(maxsize=64)
def _counts(folded: str) -> tuple[int, int, int]:
    found = _WORD.findall(folded)
    german, english, either = (sum(word in each for word in found) for each in _german_or_english())
    return german, english, either


@on_first_use
def _german_or_english() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the function words of German alone, of English alone, and of both."""
    prompt = read("prompt_words", dict[str, frozenset[str]])
    english = FUNCTION_WORDS | prompt["english"]
    either = prompt["german_or_english"] | (english & prompt["german"])
    return prompt["german"] - either, english - either, either


TWO: Final = 2
"""Words of both languages that together show that a text without English function words is German."""


_WORD: Final = regex(r"[^\W\d_]+")


class Empty(NamedTuple):
    """Which terms of a question are empty, in their order: German and Chinese ones, and English ones."""

    foreign: list[bool]
    english: list[bool]


def empty_terms(terms: Sequence[str]) -> Empty:
    """Return which index terms of one question say nothing about its subject.

    German words count as such where one of them is no English word as well: "die" and "war" say something in English.
    """
    lists = _terms()
    german = lists.german if any(term in lists.german_alone for term in terms) else frozenset[str]()
    return Empty(
        [term in german or term in lists.chinese or _is_empty_pair(term) for term in terms],
        [term in lists.english for term in terms],
    )
