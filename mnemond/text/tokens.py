"""Words of a text: token lists for set similarity (spec 6.1), and stemmed terms for the keyword index.

Both fold a text the same way (NFKC, casefold) and cut runs of Han, Kana and Hangul, which are written without
spaces, into overlapping pairs of characters. ASCII text, the common case, takes one regular expression and no loop
over characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import Stemmer

from mnemond.text.marks import capped
from mnemond.text.stop_words import FUNCTION_WORDS, INDEX_STOP_WORDS

PAIRED_SCRIPTS = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
"""Letters of the scripts whose runs become pairs of characters, as the inside of a character class."""

MARKED_RANGES = ((0x300, 0x1E00), (0x20D0, 0x2100), (0xA800, 0xAC00), (0xFE20, 0xFE30))
"""Code points searched for combining marks: a vowel sign of Hindi or Thai belongs to its word."""

LONGEST_TERM = 64
"""Characters of an index term; a longer run (a hash, base64) becomes several terms, alike in memory and query."""

REMEMBERED_TERMS = 65_536
"""Words whose index term is remembered: a few megabytes, against microseconds of stemming a word."""

MOST_UNFOLDED = 3
"""How much longer than a text its folded form may be; where it would be, compatibility forms stay as they are."""

REMEMBERED_FOLDS = 8
"""Texts whose folded form and words are remembered: a write reads the same one from a dozen sides."""

_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ASCII_LETTERS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))
"""A table for `bytes.translate`: capitals small, everything that is neither letter nor digit a space."""
_ASCII_INDEX_WORD = re.compile(rf"[a-z0-9]{{1,{LONGEST_TERM}}}(?:'(?:s|t|re|ve|ll|d|m)\b)?")
_STEMMING = threading.Lock()  # a stemmer keeps the word it works on in itself


def fold(text: str) -> str:
    """`text` with compatibility forms and letter case removed (NFKC, casefold)."""
    return text.lower() if text.isascii() else _folded(text)


@lru_cache(maxsize=REMEMBERED_FOLDS)
def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", capped(text)).casefold())
    # One Arabic ligature stands for eighteen letters: a text of nothing else would cost eighteen times its length.
    return plain if len(plain) <= MOST_UNFOLDED * len(text) else text.casefold()


def tokens(text: str) -> list[str]:
    """Unstemmed tokens in order, with repeats, without function words (spec 6.1)."""
    if text.isascii():
        return [word for word in _ascii_words(text) if word not in FUNCTION_WORDS]
    words: list[str] = []
    for run in _runs().findall(fold(text)):
        if _is_paired(run):
            words += _pairs(run)
        elif run not in FUNCTION_WORDS:
            words.append(run)
    return words


@lru_cache(maxsize=REMEMBERED_FOLDS)
def latin_words(text: str) -> frozenset[str]:
    """Every run of a-z and 0-9 in the folded text, function words included.

    By these, rules about English words tell the texts they need not look at: a word that an expression wants between
    two `\\b` is a run of its own, in any text.
    """
    return frozenset(_ascii_words(text) if text.isascii() else _ASCII_WORD.findall(fold(text)))


def _ascii_words(text: str) -> list[str]:
    """The runs of letters and digits of an ASCII text, in small letters; three times as fast as an expression."""
    return text.encode("ascii").translate(_ASCII_LETTERS).decode("ascii").split()


def index_terms(text: str) -> list[str]:
    """Terms of the keyword index in order, with repeats: English stems, other words as they stand, pairs."""
    if text.isascii():
        return list(filter(None, map(_term, _ascii_index_words(text))))
    terms: list[str] = []
    for run in _index_runs().findall(fold(text).replace("’", "'")):
        if _is_paired(run):
            terms += _pairs(run)
        elif term := _term(run):
            terms.append(term)
    return terms


def _ascii_index_words(text: str) -> list[str]:
    """What of an ASCII text becomes index terms. Without an apostrophe nothing but its runs, unless one is long."""
    if "'" not in text:
        words = _ascii_words(text)
        if max(map(len, words), default=0) <= LONGEST_TERM:
            return words
    return _ASCII_INDEX_WORD.findall(text.lower())


def index_term(word: str) -> str:
    """What stands in the index for one of `tokens`; "" for one that is left out. A pair stands for itself."""
    if word.isascii():
        return _term(word)
    return word if _is_pair(word) else next(iter(index_terms(word)), "")


@lru_cache(maxsize=REMEMBERED_TERMS)
def _term(word: str) -> str:
    """What stands in the index for a folded word; "" for one that is left out.

    A suffix after an apostrophe is dropped: 's marks the owner, the others (don't, they're) hang on function words.
    """
    head, _, suffix = word.partition("'")
    if suffix == "t" or head in INDEX_STOP_WORDS:
        return ""
    with _STEMMING:
        return str(_english().stemWord(head))


def forget_cached() -> None:
    """Let go of every remembered word and text, so that nothing of a purged memory stays."""
    _term.cache_clear()
    _folded.cache_clear()
    latin_words.cache_clear()


@cache
def _english() -> Any:  # noqa: ANN401 - the package has no type information
    return Stemmer.Stemmer("english", 0)  # no cache of its own: every word comes here once


@cache
def _marks() -> str:
    """Every combining mark of `MARKED_RANGES`, as the inside of a character class."""
    codes = (code for first, end in MARKED_RANGES for code in range(first, end))
    return "".join(re.escape(chr(code)) for code in codes if unicodedata.category(chr(code)).startswith("M"))


def _word_pattern(longest: str) -> str:
    letter = rf"[^\W_{PAIRED_SCRIPTS}]"
    return rf"[{PAIRED_SCRIPTS}]+|(?:{letter}[{_marks()}]*){longest}"


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(_word_pattern("+"))


@cache
def _index_runs() -> re.Pattern[str]:
    return re.compile(_word_pattern(f"{{1,{LONGEST_TERM}}}") + r"(?:'(?:s|t|re|ve|ll|d|m)\b)?")


@cache
def _paired_start() -> re.Pattern[str]:
    return re.compile(f"[{PAIRED_SCRIPTS}]")


def _is_paired(run: str) -> bool:
    return run[0] >= "\u1100" and _paired_start().match(run) is not None


def _is_pair(token: str) -> bool:
    """Whether a token is one that `_pairs` made."""
    return len(token) <= 2 and all(map(_is_paired, token))


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]
