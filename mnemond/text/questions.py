"""What a prompt may be asking, sentence by sentence.

A question that stands among instructions is not found by all of them together: of prompts of 150 words whose question a
memory answers, it was found for 6 in 100 by the whole text and for 71 by sentences, as many as by the question alone
(docs/decisions/0024).
"""

from __future__ import annotations

import re
from typing import Final

from mnemond.text.prompt_size import quarters

FIRST: Final = 3
LAST: Final = 5
"""Sentences at the beginning and at the end that are searched with: what stands between them was pasted."""

LEAST: Final = 12
"""Quarters of a token of a sentence that asks something without a question mark: "ok, go on" asks nothing."""

LONGEST: Final = 500
"""Characters of a sentence that are searched with."""

READ: Final = 4_000
"""Characters of either end of a prompt that are looked at."""

_END: Final = re.compile(r"(?<=[.!?…])[ \t]+|(?<=[。！？])|[\r\n]+")


def questions(text: str) -> list[str]:
    """The sentences to search with, in their order, each once; none where nothing is asked or said."""
    read = text if len(text) <= 2 * READ else f"{text[:READ]}\n{text[-READ:]}"
    pieces = [piece.strip()[:LONGEST].strip() for piece in _END.split(read)]
    asking = list(dict.fromkeys(piece for piece in pieces if _asks(piece)))
    return asking if len(asking) <= FIRST + LAST else [*asking[:FIRST], *asking[-LAST:]]


def _asks(piece: str) -> bool:
    return any(map(str.isalpha, piece)) and (quarters(piece) >= LEAST or piece.endswith(("?", "？")))
