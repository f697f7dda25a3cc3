"""A memory's text as it may stand in a prompt: on one line, nothing hidden in it, nothing that looks like a frame.

A memory is hostile until shown otherwise. Every mark of a frame begins with "<", and no text made here has one: so no
memory can open or close a fence, carry a date or a reference that is not its own, or write a token by which chat
templates tell who speaks. What is changed stays readable.
"""

from __future__ import annotations

import re
import unicodedata

from mnemond.text.marks import capped

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of what does not show: controls, formats (bidi, zero-width, tags), surrogates, private, unassigned."""

_IGNORABLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that do not show either (Default_Ignorable_Code_Point, Unicode 15): 256 variation selectors carry a
hidden text, a byte each."""

_OPENING = str.maketrans(dict.fromkeys("<\uff1c\ufe64", "‹"))
"""What begins a tag, and what is read as such."""

_SPEAKERS = "system|developer|assistant|human|user|tool|instructions?|input|response|系统|系統|用户|用戶|使用者|助手"
_SPEAKER = re.compile(rf"^([ \t#>*_|({{\[-]{{0,8}})({_SPEAKERS})(?=[ *_|)}}\]]{{0,4}}[:：])", re.IGNORECASE)
"""Who speaks, where a line begins. Quoted, it is mentioned instead of meant."""

_BRACKETED = re.compile(r"\[( ?/? ?(?:INST|SYS|SYSTEM|USER|ASSISTANT|HUMAN) ?)\]", re.IGNORECASE)
_FENCES = re.compile("`{3,}|~{3,}")
"""What ends a block of code: a host may have put all of this into one."""


def inert(text: str) -> str:
    """`text` on one line, its white space single, as data that a model may be shown.

    Left out is what does not show. A "<" becomes "‹", a code fence three apostrophes, "[INST]" round, and who speaks
    at the beginning of a line is put in quotes. Linear time; what is inert already stays the same.
    """
    lines = (_speakerless(line.strip()) for line in _shown(text).splitlines())
    plain = " ".join(" ".join(lines).split()).translate(_OPENING)
    return _FENCES.sub("'''", _BRACKETED.sub(r"(\1)", plain))


def _speakerless(line: str) -> str:
    return _SPEAKER.sub(r'\1"\2"', line, count=1) if ":" in line or "：" in line else line


def _shown(text: str) -> str:
    """`text` without what does not show; white space of any kind stays."""
    if text.isprintable() and text.isascii():
        return text
    kept = (char for char in capped(text) if char.isspace() or unicodedata.category(char) not in HIDDEN)
    return _IGNORABLE.sub("", "".join(kept))
