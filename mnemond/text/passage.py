"""What ranking asks of a text by itself: the words inside its names, and how much of it asks."""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.tokens import index_terms

SHORTEST_PART: Final = 2
"""Letters of a part of a name that is a word of its own."""

_CAMEL: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NAME: Final = re.compile(r"[A-Za-z]{2,64}")
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SENTENCE: Final = re.compile(r"[^.!?？。！\n]+[.!?？。！\n]*|[.!?？。！\n]+")


def inner_terms(text: str) -> list[str]:
    """Index terms of the parts of every name in camel case, in order: "SetOption" has "set" and "option"."""
    # What has no capital but at its beginning has no parts: told of a word three times as fast as by an expression.
    likely = " ".join([word for word in text.split() if not (word.islower() or word.istitle())])
    if not _CAMEL.search(likely):
        return []
    parts = [
        part
        for name in _NAME.findall(likely)
        if not (name[1:].islower() or name.isupper()) and len(found := _PART.findall(name)) > 1
        for part in found
        if len(part) >= SHORTEST_PART
    ]
    return index_terms(" ".join(parts)) if parts else []


def asking(text: str) -> float:
    """Share of the characters that stand in sentences ending with a question mark, in [0, 1]."""
    if "?" not in text and "？" not in text:
        return 0.0
    every = asked = 0
    for sentence in _SENTENCE.findall(text):
        bare = sentence.strip()
        every += len(bare)
        if bare.endswith(("?", "？")):
            asked += len(bare)
    return asked / every if every else 0.0
