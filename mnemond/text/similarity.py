"""How much two texts have in common, as sets of words and as normalised strings (spec 7.1)."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from mnemond.text.stop_words import FUNCTION_WORDS
from mnemond.text.tokens import fold, latin_words, tokens

REMEMBERED_TEXTS = 4096
"""Token sets kept: those of the memories a burst of writes is compared with."""

LONGEST_REMEMBERED = 512
"""Characters of a text whose token set is kept. Longer ones are cut again each time, or 4,096 long memories in Han,
a string for nearly every character, would keep a gigabyte."""

LEAST_TOKENS = 3
"""Below this many tokens on either side containment says nothing, and Jaccard decides (spec 7.1)."""

_OPENING = "\"'`‘’“”«»‹›([{<（［｛〈《「『【〔¡¿"
_CLOSING = "\"'`‘’“”«»‹›)]}>）］｝〉》」』】〕.,;:!?…。、，；：！？・"  # fold() turns some of these into ASCII
_LEADING = re.compile(rf"(?:[\s{re.escape(_OPENING)}]|[-*+•‣◦–—](?=\s))+")


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


def token_set(text: str) -> frozenset[str]:
    """The tokens of `text` as a set (spec 6.1). Remembered for short texts; `forget_cached` empties that memory."""
    return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _token_set(text)


def forget_cached() -> None:
    """Let go of every remembered text, so that nothing of a purged memory stays."""
    _remembered.cache_clear()


def normalised(text: str) -> str:
    """`text` folded, its white space single, without the punctuation around it; two equal ones say the same.

    A list marker counts as punctuation, a sign or a dot that begins a word does not: "-5" and ".env" stay whole. A
    text of nothing but punctuation is returned folded.
    """
    plain = " ".join(fold(text).split())
    bare = _LEADING.sub("", plain, count=1) if _LEADING.match(plain) else plain
    return bare.rstrip(_CLOSING + " ") or plain


def overlap(old: frozenset[str], new: frozenset[str], min_tokens: int = LEAST_TOKENS) -> Overlap:
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
    return len(old & new) / max(len(old), len(new)) if old and new else 0.0


@lru_cache(maxsize=REMEMBERED_TEXTS)
def _remembered(text: str) -> frozenset[str]:
    return _token_set(text)


def _token_set(text: str) -> frozenset[str]:
    return latin_words(text) - FUNCTION_WORDS if text.isascii() else frozenset(tokens(text))
