"""Halves of characters: programs that cut a text by UTF-16 units send the escape of half of one, which no decoder
takes."""

from __future__ import annotations

import re

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(_HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW)


def without_halves(message: bytes) -> bytes:
    """The same JSON with U+FFFD in the place of each escape of half a character."""
    return _HALF.sub(_replaced, message)


def _replaced(found: re.Match[bytes]) -> bytes:
    """An escape behind an odd number of backslashes is none."""
    message, begin = found.string, found.start()
    while message[begin - 1 : begin] == b"\\":
        begin -= 1
    return found[0] if (found.start() - begin) % 2 else rb"\ufffd"
