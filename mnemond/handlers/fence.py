"""The fence around what a model is shown of memories, and how they are named in it.

Nothing inside a fence can end it: its marks carry a number that no memory can know, every "<" inside is the fence's own
(`text.inert`), and what stands outside was written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from mnemond.text.inert import inert

REF: Final = 8
"""Characters of an id that are shown; `related` and the others take them for the whole of it."""


def fenced(lines: Iterable[str], nonce: str) -> str:
    """Lines as data. They must be inert."""
    return "\n".join((f"<recalled-data {nonce}>", *lines, f"</recalled-data {nonce}>"))


def references(ids: Sequence[str]) -> list[str]:
    """How each is referred to: the beginning of its id, or all of it where another begins alike."""
    begun = Counter(each[:REF] for each in ids)
    return [inert(each[:REF] if begun[each[:REF]] == 1 else each) for each in ids]
