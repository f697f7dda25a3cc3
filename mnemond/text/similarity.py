"""How much two texts have in common, as sets of words and as normalised strings (spec 7.1)."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict

import msgspec

from mnemond.text import caches
from mnemond.text.caches import text_cache
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, latin_words, tokens

REMEMBERED_TEXTS = 4096
"""Token sets kept: those of the memories a burst of writes is compared with."""

LONGEST_COUNTED = 512
"""Characters of a text that is kept as one of so many. Longer ones are kept by weight, or 4,096 long memories in
Han, a string for nearly every character, would keep a gigabyte."""

MAX_CHARACTERS = 262_144
"""Characters of all the longer texts whose token sets are kept: 40 MB where all of them are Han."""

MIN_TOKENS = 3
"""Below this many tokens on either side containment says nothing, and Jaccard decides (spec 7.1)."""

_OPENING = "\"'`‘’“”«»‹›([{<（［｛〈《「『【〔¡¿"
_CLOSING = "\"'`‘’“”«»‹›)]}>）］｝〉》」』】〕.,;:!?…。、，；：！？・"  # fold() turns some of these into ASCII
_LEADING = regex(rf"(?:[\s{re.escape(_OPENING)}]|[-*+•‣◦–—](?=\s))+")


class Overlap(msgspec.Struct, frozen=True, gc=False):
    """What two token sets share: `shared` is a count, the rest lie in 0…1 (spec 7.1).

    `of_old` and `of_new` are the parts of each set found in the other, `overlap` is measured against the larger set,
    `novelty` is the part of the new set that the old one lacks, `lexical` is the one figure decisions use.
    """

    shared: int
    jaccard: float
    of_old: float
    of_new: float
    overlap: float
    novelty: float
    lexical: float


class LongTexts:
    """Token sets of longer texts: those asked for lately, of so many characters together. For any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    @property
    def characters(self) -> int:
        """Of all texts that are kept."""
        return self._characters

    def token_set(self, text: str) -> frozenset[str]:
        """The tokens of `text`; cut anew where they are not kept."""
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
        """Let go of them all."""
        with self._lock:
            self._kept.clear()
            self._characters = 0


_long_texts = LongTexts(MAX_CHARACTERS)
caches.register(_long_texts.clear)


def token_set(text: str) -> frozenset[str]:
    """The tokens of `text` as a set (spec 6.1). Cached."""
    return _remembered(text) if len(text) <= LONGEST_COUNTED else _long_texts.token_set(text)


def normalised(text: str) -> str:
    """`text` folded, its white space single, without the punctuation around it; two equal ones say the same.

    A list marker counts as punctuation, a sign or a dot that begins a word does not: "-5" and ".env" stay whole. A
    text of nothing but punctuation is returned folded.
    """
    plain = " ".join(fold(text).split())
    bare = _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain
    return bare.rstrip(_CLOSING + " ") or plain


def overlap(old: frozenset[str], new: frozenset[str], min_tokens: int = MIN_TOKENS) -> Overlap:
    """Set similarities of spec 7.1. When either set is empty all are 0, but an unempty `new` is wholly novel."""
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
    """Shared tokens as a part of the larger set, 0 when either is empty: `Overlap.overlap` alone."""
    larger = max(len(new), len(old))
    return len(old & new) / larger if old and new else 0.0


@text_cache(maxsize=REMEMBERED_TEXTS)
def _remembered(text: str) -> frozenset[str]:
    return _token_set(text)


def _token_set(text: str) -> frozenset[str]:
    return latin_words(text) - FUNCTION_WORDS if text.isascii() else frozenset(tokens(text))
