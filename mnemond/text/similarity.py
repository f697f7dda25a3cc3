"""Similarity of texts, as sets of words and as normalised strings."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Final

import msgspec

from mnemond.text import caches
from mnemond.text.caches import text_cache
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, latin_words, tokens

CACHED_TEXTS = 4096
"""Texts whose token sets are cached: the memories that a burst of writes is compared with."""

MAX_COUNTED = 512
"""Characters of a text that counts as one of `CACHED_TEXTS`. Longer ones are limited by size, because 4,096 long
memories in Han, with a string for nearly every character, would take a gigabyte."""

MAX_CHARACTERS = 262_144
"""Characters of all the longer texts whose token sets are cached: 40 MB if all of them are Han."""

MIN_TOKENS = 3
"""Below this many tokens on either side containment means nothing, and Jaccard decides."""

_OPENING = "\"'`‘’“”«»‹›([{<（［｛〈《「『【〔¡¿"
_CLOSING = "\"'`‘’“”«»‹›)]}>）］｝〉》」』】〕.,;:!?…。、，；：！？・"  # fold() turns some of these into ASCII
_LEADING = regex(rf"(?:[\s{re.escape(_OPENING)}]|[-*+•‣◦–—](?=\s))+")


class Overlap(msgspec.Struct, frozen=True, gc=False):
    """Common tokens of two sets: `shared` is a count, the rest lie in 0…1.

    `of_old` and `of_new` are the parts of each set found in the other, `overlap` is measured against the larger set,
    `novelty` is the part of the new set that the old one lacks, `lexical` is the figure that decisions use.
    """

    shared: int
    jaccard: float
    of_old: float
    of_new: float
    overlap: float
    novelty: float
    lexical: float


class LongTextCache:
    """Token sets of the longer texts that were used last, `most` characters together. For any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    @property
    def characters(self) -> int:
        """The sum of the lengths of the cached texts."""
        return self._characters

    def token_set(self, text: str) -> frozenset[str]:
        """The tokens of `text`."""
        with self._lock:
            if (known := self._kept.get(text)) is not None:
                self._kept.move_to_end(text)
                return known
        found = _token_set(text)
        with self._lock:
            if text not in self._kept and len(text) <= self._most:
                self._kept[text] = found
                self._characters += len(text)
            while self._characters > self._most:
                self._characters -= len(self._kept.popitem(last=False)[0])
        return found

    def clear(self) -> None:
        """Drop all of them."""
        with self._lock:
            self._kept.clear()
            self._characters = 0


_long_texts = LongTextCache(MAX_CHARACTERS)
caches.register(_long_texts.clear)


def token_set(text: str) -> frozenset[str]:
    """The tokens of `text` as a set. Cached."""
    return _cached_token_set(text) if len(text) <= MAX_COUNTED else _long_texts.token_set(text)


def normalised(text: str) -> str:
    """`text` folded, its white space single, without the punctuation around it; texts with equal forms are equal.

    A list marker counts as punctuation, a sign or a dot that begins a word does not: "-5" and ".env" stay whole. A text
    of punctuation alone is returned folded.
    """
    plain = " ".join(fold(text).split())
    bare = _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain
    return bare.rstrip(_CLOSING + " ") or plain


SAME: Final = 0.6
"""Share of the words of the shorter of two texts that are in the other, from which on a sentence is taken out of what
was said with a memory that must not stay. Low, because one that goes without need does little harm."""


def repeats(said: str, content: str) -> bool:
    """Return True if a text says what a memory says, as far as their words show it."""
    if normalised(content) in normalised(said):
        return True
    shared = overlap(token_set(content), token_set(said))
    return shared.shared > 1 and max(shared.of_old, shared.of_new) >= SAME


def overlap(old: frozenset[str], new: frozenset[str], min_tokens: int = MIN_TOKENS) -> Overlap:
    """Similarities of two token sets. If either is empty all are 0, but the novelty of a non-empty `new` is 1."""
    if not old or not new:
        return Overlap(0, 0.0, 0.0, 0.0, 0.0, 1.0 if new else 0.0, 0.0)
    shared = len(old & new)
    jaccard = shared / (len(old) + len(new) - shared)
    of_old, of_new = shared / len(old), shared / len(new)
    return Overlap(
        shared=shared,
        jaccard=jaccard,
        of_old=of_old,
        of_new=of_new,
        overlap=min(of_old, of_new),
        novelty=(len(new) - shared) / len(new),
        lexical=jaccard if min(len(old), len(new)) < min_tokens else max(of_old, of_new),
    )


def share_of_larger(old: frozenset[str], new: frozenset[str]) -> float:
    """Shared tokens as a part of the larger set, 0 if either is empty: `Overlap.overlap` alone."""
    larger = max(len(new), len(old))
    return len(old & new) / larger if old and new else 0.0


@text_cache(maxsize=CACHED_TEXTS)
def _cached_token_set(text: str) -> frozenset[str]:
    return _token_set(text)


def _token_set(text: str) -> frozenset[str]:
    return latin_words(text) - FUNCTION_WORDS if text.isascii() else frozenset(tokens(text))
