"""How deeply a message is nested, found out before anything decodes it."""

from __future__ import annotations

import itertools
import re

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects (spec 13: caps)."""

# The end of the text ends a string too: with only a closing quote, each escaped quote of an unclosed string would be
# tried as another beginning, which takes quadratic time. Possessive repeats never go back.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS = bytes(code for code in range(256) if code not in _STEP)


def too_deep(message: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether arrays and objects nest more than `limit` levels; linear in the length of the message."""
    if message.count(b"[") + message.count(b"{") <= limit:
        return False
    brackets = _STRING.sub(b"", message).translate(None, _NOT_BRACKETS)
    return max(itertools.accumulate(map(_STEP.__getitem__, brackets)), default=0) > limit
