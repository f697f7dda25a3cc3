"""The pieces of a passage: its sentences and lines in order, grouped to the length that one question asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemond.model.passages import Passage
from mnemond.text.resources import regex

PIECE: Final = 400
"""Characters of a piece. With 250, 400 and 700 the exchange that answers is among the first three for .636, .659 and
.580 of 88 questions of BEAM, ranked by its best piece; with one piece an exchange for .523."""

_SENTENCE: Final = regex(r"[^\n.!?。！？]*(?:[.!?](?!\s)[^\n.!?。！？]*)*(?:[.!?]+(?=\s)[ \t]*|[。！？]+|\n+|$)")
"""A sentence or a line with the marks and spaces that end it; a full stop inside a word ends none. Linear: each
character is read once."""


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, verbatim, without the spaces around them."""
    return [each for found in _SENTENCE.findall(text) if (each := found.strip())]


def pieces(passage: Passage) -> list[str]:
    """Return the pieces of a passage in order, at least one: neighbouring sentences up to `PIECE` characters; a longer
    sentence is cut. The prompt and the answer share none."""
    return [each for text in (passage.prompt, passage.answer) for each in _grouped(text)] or [""]


def _grouped(text: str) -> Iterator[str]:
    group = ""
    for sentence in sentences(text):
        if group and len(group) + len(sentence) > PIECE:
            yield group
            group = ""
        group = f"{group} {sentence}" if group else sentence
        while len(group) > 2 * PIECE:
            yield group[:PIECE]
            group = group[PIECE:]
    if group:
        yield group
