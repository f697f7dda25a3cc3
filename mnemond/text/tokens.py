"""Words of a text: token lists for set similarity, and stemmed terms for the keyword index.

Both fold a text the same way (NFKC, casefold) and cut runs of Han, Kana and Hangul, which are written without
spaces, into overlapping pairs of characters. ASCII text, the common case, takes one regular expression and no loop
over characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache
from itertools import pairwise
from typing import Any, Final

import Stemmer

from mnemond.text.caches import text_cache
from mnemond.text.resources import on_first_use, regex, words_of

# ---------------------------------------------------------------- runs of combining marks
#
# No language needs long runs, and they make normalisation slow: the time of putting marks into canonical order grows
# with the square of a run's length, so that 60,000 marks after one letter take seconds. Unicode's stream-safe text
# format (UAX #15, section 13) allows thirty.

MAX_MARKS = 30
"""Combining marks in a row that a text may have (UAX #15)."""

_FIRST, _END = 0x300, 0x1E95B
"""Code points between which every combining mark lies (Unicode 15)."""


def capped(text: str) -> str:
    """Cut every run of marks in `text` to `MAX_MARKS`. Linear time; the same string if there is no long run."""
    return _LONG_RUN.sub(_cut, text) if _has_long_run(text) else text


def long_run_at(text: str) -> int | None:
    """The position of the first run of marks that is longer than `MAX_MARKS`, or None."""
    found = _LONG_RUN.search(text) if _has_long_run(text) else None
    return None if found is None else found.start()


def _has_long_run(text: str) -> bool:
    """Return True if a run is too long. Every such run has a mark at a multiple of 31: checking these takes 10 µs for
    8,000 characters, and searching all of them 2 to 3 ms."""
    if text.isascii() or not any(map(unicodedata.combining, text[MAX_MARKS :: MAX_MARKS + 1])):
        return False
    places = range(MAX_MARKS, len(text), MAX_MARKS + 1)
    return any(_run_around(text, at) > MAX_MARKS for at in places if unicodedata.combining(text[at]))


def _run_around(text: str, at: int) -> int:
    """Marks in a row around a place that has one; counts no further than it takes to exceed `MAX_MARKS`."""
    before = _marks_at_start(text[max(0, at - MAX_MARKS) : at][::-1])
    return before + _marks_at_start(text[at : at + MAX_MARKS + 1])


def _marks_at_start(text: str) -> int:
    return next((place for place, char in enumerate(text) if not unicodedata.combining(char)), len(text))


def _cut(run: re.Match[str]) -> str:
    return run[0][:MAX_MARKS]


def _long_run() -> str:
    marks = "".join(chr(code) for code in range(_FIRST, _END) if unicodedata.combining(chr(code)))
    return f"[{marks}]{{{MAX_MARKS + 1},}}"


_LONG_RUN = regex(_long_run)


# ---------------------------------------------------------------- function words

FUNCTION_WORDS = words_of(
    "a an the this that these those",
    "i me my we us our you your he him his she her it its they them their",
    "am is are was were be been being do does did have has had",
    "will would shall should can could may might must",
    "and or but if then than so as",
    "of to in on at by for from with into about",
    "what which who whom whose when where why how",
    "not no there here also just any some all each both such only very too",
)
"""Dropped from token sets. Negation is judged apart from them, so "not" and "no" are among them."""

INDEX_STOP_WORDS = FUNCTION_WORDS | words_of("yes yours ours theirs hers mine")
"""Dropped from the keyword index."""

# ---------------------------------------------------------------- tokens and terms

PAIRED_SCRIPTS = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
"""Letters of the scripts whose runs become pairs of characters, as the inside of a character class."""

MARKED_RANGES = ((0x300, 0x1E00), (0x20D0, 0x2100), (0xA800, 0xAC00), (0xFE20, 0xFE30))
"""Code points with combining marks that belong to words, like the vowel signs of Hindi and Thai."""

MAX_TERM = 64
"""Characters of an index term; a longer run (a hash, base64) becomes several terms, alike in memory and query."""

CACHED_TERMS = 65_536
"""Words whose index term is cached: a few megabytes, against microseconds of stemming a word."""

MAX_UNFOLDED = 3
"""How many times longer than a text its folded form may be; if it would be longer, compatibility forms stay."""

CACHED_FOLDS = 8
"""Texts whose folded form and words are cached: a dozen rules of one write read the same text."""

_ASCII_WORD = regex(r"[a-z0-9]+")
_ASCII_LETTERS = bytes(ord(chr(code).lower()) if code < 128 and chr(code).isalnum() else 32 for code in range(256))
"""A table for `bytes.translate`: capitals become small, everything but letters and digits becomes a space."""
_ASCII_INDEX_WORD = regex(rf"[a-z0-9]{{1,{MAX_TERM}}}(?:'(?:s|t|re|ve|ll|d|m)\b)?")
_STEMMING = threading.Lock()  # a stemmer has the word it works on as state


def fold(text: str) -> str:
    """`text` with compatibility forms and letter case removed (NFKC, casefold)."""
    return text.lower() if text.isascii() else _folded(text)


@text_cache(maxsize=CACHED_FOLDS)
def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", capped(text)).casefold())
    # One Arabic ligature is decomposed to eighteen letters: a text of them would grow to eighteen times its length.
    return plain if len(plain) <= MAX_UNFOLDED * len(text) else text.casefold()


def tokens(text: str) -> list[str]:
    """Unstemmed tokens in order, with repeats, without function words."""
    if text.isascii():
        return [word for word in _ascii_words(text) if word not in FUNCTION_WORDS]
    words: list[str] = []
    for run in _RUNS.findall(fold(text)):
        if is_paired(run):
            words += _pairs(run)
        elif run not in FUNCTION_WORDS:
            words.append(run)
    return words


@text_cache(maxsize=CACHED_FOLDS)
def latin_words(text: str) -> frozenset[str]:
    """Every run of a-z and 0-9 in the folded text, function words included.

    Rules about English words skip texts by these: a word that an expression has between two `\\b` is a run of its own
    in any text."""
    return frozenset(_ascii_words(text) if text.isascii() else _ASCII_WORD.findall(fold(text)))


def _ascii_words(text: str) -> list[str]:
    """Runs of letters and digits of an ASCII text, in small letters; three times as fast as an expression."""
    return text.encode("ascii").translate(_ASCII_LETTERS).decode("ascii").split()


def index_terms(text: str) -> list[str]:
    """Terms of the keyword index in order, with repeats: English stems, other words as they are, pairs."""
    if text.isascii():
        return list(filter(None, map(_term, _ascii_index_words(text))))
    terms: list[str] = []
    for run in _INDEX_RUNS.findall(fold(text).replace("’", "'")):
        if is_paired(run):
            terms += _pairs(run)
        elif term := _term(run):
            terms.append(term)
    return terms


def _ascii_index_words(text: str) -> list[str]:
    """The words of an ASCII text that become index terms: its runs, unless it has an apostrophe or one is too long."""
    if "'" not in text:
        words = _ascii_words(text)
        if max(map(len, words), default=0) <= MAX_TERM:
            return words
    return _ASCII_INDEX_WORD.findall(text.lower())


def index_term(word: str) -> str:
    """The index term of one of `tokens`; "" for one that is left out. A pair is its own term."""
    if word.isascii():
        return _term(word)
    return word if _is_pair(word) else next(iter(index_terms(word)), "")


@text_cache(maxsize=CACHED_TERMS)
def _term(word: str) -> str:
    """The index term of a folded word; "" for one that is left out.

    A suffix after an apostrophe is dropped: 's marks the owner, the others (don't, they're) hang on function words.
    """
    head, _, suffix = word.partition("'")
    if suffix == "t" or head in INDEX_STOP_WORDS:
        return ""
    with _STEMMING:
        return str(_english().stemWord(head))


@on_first_use
def _english() -> Any:  # noqa: ANN401 - the package has no type information
    return Stemmer.Stemmer("english", 0)  # without its own cache: `_term` has one


@cache
def _marks() -> str:
    """Every combining mark of `MARKED_RANGES`, as the inside of a character class."""
    codes = (code for first, end in MARKED_RANGES for code in range(first, end))
    return "".join(re.escape(chr(code)) for code in codes if unicodedata.category(chr(code)).startswith("M"))


def _word_pattern(longest: str) -> str:
    letter = rf"[^\W_{PAIRED_SCRIPTS}]"
    return rf"[{PAIRED_SCRIPTS}]+|(?:{letter}[{_marks()}]*){longest}"


_RUNS = regex(lambda: _word_pattern("+"))
_INDEX_RUNS = regex(lambda: _word_pattern(f"{{1,{MAX_TERM}}}") + r"(?:'(?:s|t|re|ve|ll|d|m)\b)?")
_PAIRED_START = regex(f"[{PAIRED_SCRIPTS}]")


def is_paired(run: str) -> bool:
    """Return True for a run in a script that is cut into pairs of characters."""
    return run[0] >= "\u1100" and _PAIRED_START.match(run) is not None


def _is_pair(token: str) -> bool:
    """Return True for a token that `_pairs` made."""
    return len(token) <= 2 and all(map(is_paired, token))


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)] or [run]


# Words, for the length of a text.


_DENSE: Final = regex("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")
"""A character of Thai, Lao, Burmese, Khmer, Japanese or Chinese."""


def word_count(text: str) -> int:
    """Return the words of a text: what spaces separate and has a letter or a digit; of scripts without spaces two
    characters are a word."""
    dense = len(_DENSE.findall(text))
    spaced = _DENSE.sub(" ", text) if dense else text
    return sum(any(map(str.isalnum, each)) for each in spaced.split()) + (dense + 1) // 2
