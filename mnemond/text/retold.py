"""A memory as others write it down again: quoted, in a list or a table, as JSON, in bold, introduced, beside another.

Only what says nothing of its own is taken off. A sign before a number, a date or a word that is no introduction makes
another statement of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_PIECES = 16
"""Memories that one line may consist of."""

_DRESS = re.compile(
    r"(?:[\s\"'`“”‘’«»|•‣·✅✔☑\ufe0f]"
    r"|>(?=\s*[^\s\d])|[-+*–—#]+(?=\s)|\d{1,3}[.)](?=\s)|\(?[a-z]\)(?=\s)|\[[ xX]?\](?=\s)"
    r"|[0-9a-f]{8}\s*\||[\[(]?ref:[0-9a-f]{4,8}\b[^\])\n]{0,80}[\])]"
    r"|\{?\s*\"?(?:content|text|memory|fact)\"?\s*:\s*\")*"
)
"""What may stand before a memory. A quotation mark before a number is no "more than"."""

_BEHIND = " \t*`|\"'}],"
_INTRODUCED = re.compile(
    r"(?:as (?:i|we) (?:recall|remember|noted)|(?:from|according to) (?:my |our |the |long-term )?memor(?:y|ies)"
    r"|(?:i|we) (?:recall|remember)(?: that)?"
    r"|you (?:once )?(?:told|mentioned to) me(?: earlier| before| once)?(?: that)?"
    r"|(?:my |the )?memory (?:says|has|tells me)(?: that)?|mnemond (?:says|remembers|has)(?: that)?"
    r"|(?:recalled|remembered|known|memory|remembers?))[,:]?\s+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|[,;]\s+and\s+|;\s+|,\s+also\s+")


def bare(line: str) -> Iterator[str]:
    """What a line says without its dress, and without an introduction where it has one. Linear time."""
    text = _undressed(line)
    yield text
    introduced = _INTRODUCED.match(text)
    if introduced is not None:
        yield _undressed(text[introduced.end() :])


def pieces(text: str) -> list[str]:
    """The statements that stand beside each other in a text; none where it is one, or where they are too many."""
    found = _BETWEEN.split(text, MOST_PIECES)
    return found if 1 < len(found) <= MOST_PIECES else []


def _undressed(line: str) -> str:
    text = line.replace("**", "").replace("__", "").replace("‹", "<")
    dress = _DRESS.match(text)
    return text[0 if dress is None else dress.end() :].rstrip(_BEHIND)
