"""The language of a question, as far as cosines depend on it, and the share of it in Latin letters."""

from __future__ import annotations

from typing import Final, Literal

from mnemond.text.caches import text_cache
from mnemond.text.prompt_words import german_words
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, is_paired

Language = Literal["en", "de", "zh"]

HAN_SHARE: Final = 0.15
"""Share of Han, Kana and Hangul in a text from which it is taken for Chinese: a Chinese text about software is full of
Latin names."""

MAX_SEEN: Final = 300
"""Characters of a text by which its language is seen."""

_WORD: Final = regex(r"[^\W\d_]+")
_UMLAUT: Final = regex("[äöüß]")
_LAST_LATIN: Final = "\u0250"
"""The first code point behind the Latin letters of European languages."""


@text_cache(maxsize=64)
def language_of(text: str) -> Language:
    """Return German for a text that has more German function words, or words with umlauts, than English function words;
    Chinese for one of Han; English for all others. Reads the first `MAX_SEEN` characters. Cached, since one recall
    needs it of the question several times, and of its results."""
    text = text[:MAX_SEEN]
    if not text.isascii() and is_han(text):
        return "zh"
    german = english = 0
    for word in _WORD.findall(fold(text)):
        german += word in german_words() or _UMLAUT.search(word) is not None
        english += word in FUNCTION_WORDS
    return "de" if german > english else "en"


def is_han(text: str) -> bool:
    """Return True if a good part of a text is written without spaces."""
    return sum(map(is_paired, text)) > HAN_SHARE * len(text)


def latin_share(text: str) -> float:
    """Return the share of Latin letters in the letters of a text; 1 if it has none."""
    if text.isascii():
        return 1.0
    letters = list(filter(str.isalpha, text))
    return sum(letter < _LAST_LATIN for letter in letters) / len(letters) if letters else 1.0
