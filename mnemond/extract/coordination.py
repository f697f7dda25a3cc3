"""Several statements in one sentence: taken apart where each says something about its speaker, and freed of what is
asked for at the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_SEAM: Final = re.compile(
    r"\s*(?:[,;]\s*(?:(?:and|but|so)\s+)?(?:now\s+)?|\s(?:and|but|so)\s+(?:now\s+)?)(?=(?:i|my|we)(?:['’](?:m|ve|d|ll"
    r"|re))?\s+\w)",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"\s*(?:[,;:.]|\s[–—-])\s*(?:(?:and|but|so|then|therefore)\s+)?(?=(?:please|just|can you|could you|would you|how"
    r"|what|which|why|where|don't|do not|let me|let's"
    r"|open|write|use|add|fix|make|create|give|show|tell|check|run|update|keep|put|try|help|i'm new|i can only|no"
    r" need)\b)",
    re.IGNORECASE,
)


def statements(sentence: str, says: Callable[[str], bool], is_idle: Callable[[str], bool]) -> list[str]:
    """The parts of `sentence` that say something alone, by `says`; what follows one and does not, stays with it, but
    for what `is_idle`: ", but I'm not sure"."""
    cuts = [0, *(found.end() for found in _SEAM.finditer(sentence)), len(sentence)]
    ends = [*(found.start() for found in _SEAM.finditer(sentence)), len(sentence)]
    pieces = [(start, end) for start, end in zip(cuts, ends, strict=False)]
    if len(pieces) < 2:
        return [sentence]
    kept: list[tuple[int, int]] = []
    for start, end in pieces:
        if says(sentence[start:end]) or not kept:
            kept.append((start, end))
        elif not is_idle(sentence[start:end]):
            kept[-1] = (kept[-1][0], end)
    return [sentence[start:end] for start, end in kept]


def without_request(sentence: str, says: Callable[[str], bool]) -> str:
    """`sentence` up to where it begins to ask for something, if it has said something by then."""
    for found in _TAIL.finditer(sentence):
        head = sentence[: found.start()].rstrip(" ,;:")
        if says(head):
            return head
    return sentence
