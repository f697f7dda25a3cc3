"""How much room a text takes in a prompt: an estimate that needs no tokenizer (spec 12).

Counted in quarters of a token, which add up: the parts of a text take together what the whole takes.
"""

from __future__ import annotations

import re
import unicodedata

QUARTERS = 4
"""Letters of an alphabet a token (spec 12)."""

_LETTERS = re.compile("[\u0000-\u10ff\u1e00-\u2bff]+")
"""The alphabets of Europe and Western Asia, Latin and Greek supplements, punctuation and symbols. Everything else is a
token each: Han, Kana, Hangul and what stands with them, emoji. Runs, because each match takes longer than 100 letters:
8,000 characters of Chinese took 1.1 ms one by one and take .13 ms so."""

ELLIPSIS = "…"


def quarters(text: str) -> int:
    """The size of `text`: 1 for a letter of an alphabet, 4 for a CJK character."""
    if text.isascii():
        return len(text)
    return len(text) + (QUARTERS - 1) * len(_LETTERS.sub("", text))


def tokens(size: int) -> int:
    """Tokens, rounded up, of a text of that many quarters."""
    return -(-size // QUARTERS)


def cut(text: str, size: int) -> str:
    """`text`, or its beginning and "…" in at most `size` quarters (1 at least); no mark loses its letter."""
    if quarters(text) <= size:
        return text
    room = size - quarters(ELLIPSIS)
    end = 0
    while room > 0:
        room -= quarters(text[end])
        end += room >= 0
    while end and unicodedata.combining(text[end]):
        end -= 1
    return text[:end].rstrip() + ELLIPSIS
