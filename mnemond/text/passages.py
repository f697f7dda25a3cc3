"""The pieces of a passage: its sentences and lines in order, grouped to the length that one question asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def without_sentences(text: str, go: Callable[[str], bool]) -> str:
    """Return a text without the sentences and lines for which `go` is true; spaces around them stay."""
    return "".join(
        each.replace(sentence, "") if (sentence := each.strip()) and go(sentence) else each
        for each in _SENTENCE.findall(text)
    )


def spans(passage: Passage) -> list[tuple[int, int]]:
    """Return where the pieces of a passage stand in its text, in order, at least one: neighbouring sentences up to
    `PIECE` characters; a longer sentence is cut. The prompt and the answer share none."""
    text = passage.text
    answer = len(text) - len(passage.answer)
    return [*_grouped(text, 0, len(passage.prompt)), *_grouped(text, answer, len(text))] or [(0, 0)]


def pieces(passage: Passage) -> list[str]:
    """Return the pieces of a passage, verbatim."""
    text = passage.text
    return [text[start:end] for start, end in spans(passage)]


def _grouped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin, last = start, start
    for found in _SENTENCE.finditer(text, start, end):
        if last - begin and found.end() - begin > PIECE and text[begin:last].strip():
            yield _trimmed(text, begin, last)
            begin = last
        last = found.end()
        while last - begin > 2 * PIECE:
            yield _trimmed(text, begin, begin + PIECE)
            begin += PIECE
    if text[begin:last].strip():
        yield _trimmed(text, begin, last)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the spaces at its ends."""
    found = text[start:end]
    return start + len(found) - len(found.lstrip()), end - len(found) + len(found.rstrip())
