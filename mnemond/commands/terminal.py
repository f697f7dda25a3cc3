"""Memory text is hostile until shown otherwise: nothing in it may drive the reader's terminal.

Characters are judged by Unicode category, never by a list: a list forgets (U+206A, tag characters, the next
version of Unicode). An escaped character stays visible, as the text another program would write for it.
"""

from __future__ import annotations

import unicodedata

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats (bidi, joiners, tags), surrogates, private, unassigned, line and paragraph separators."""

JOINERS = frozenset("\u200c\u200d")
"""Zero-width non-joiner and joiner: part of how Persian, Indic scripts and emoji are spelt (Unicode 15, 23.2)."""

_JOINED = frozenset("LMS")
"""First letters of the categories between which a joiner spells something: letters, marks, symbols."""

_ASTRAL = 0x10000


def _joins(text: str, at: int) -> bool:
    """Whether the character there is a joiner with something to join. Beside ASCII it would only hide."""
    if text[at] not in JOINERS or not 0 < at < len(text) - 1:
        return False
    return all(not char.isascii() and unicodedata.category(char)[0] in _JOINED for char in (text[at - 1], text[at + 1]))


def _is_unsafe(char: str) -> bool:
    return unicodedata.category(char) in UNSAFE


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _ASTRAL else f"\\U{code:08x}"


def neutralise(text: str) -> str:
    r"""`text` with every unsafe character but "\n" and "\t" replaced by a visible escape such as "\u202e".

    A "\r\n" counts as a line break. A joiner between two letters, marks or symbols beyond ASCII stays.
    """
    text = text.replace("\r\n", "\n")
    if text.isprintable():
        return text
    return "".join(
        _visible(char) if char not in "\n\t" and _is_unsafe(char) and not _joins(text, at) else char
        for at, char in enumerate(text)
    )


def one_line(text: str) -> str:
    r"""`neutralise`, and line breaks and tabs shown as "\n" and "\t": for names, tags and other short fields."""
    return neutralise(text).replace("\n", "\\n").replace("\t", "\\t")


def escape_json(document: str) -> str:
    """A JSON document that means the same and whose strings are safe to show on a terminal.

    JSON leaves DEL, C1 controls and format characters unescaped; here they become \\uXXXX (a pair beyond the BMP).
    Outside strings JSON has no such characters, except line breaks and tabs, which stay.
    """
    if document.isprintable():
        return document
    return "".join(_json_escape(char) if char not in "\n\t" and _is_unsafe(char) else char for char in document)


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < _ASTRAL:
        return f"\\u{code:04x}"
    offset = code - _ASTRAL
    return f"\\u{0xD800 + (offset >> 10):04x}\\u{0xDC00 + (offset & 0x3FF):04x}"
