"""Memories as text for the model: fenced as data, with short references, and within a limit of characters.

Nothing inside a fence can end it: its marks carry a number that no memory can contain, every "<" inside is the fence's
own (`prompt_escape.inert`), and everything outside is written here. The sentence before a fence contains
`transcripts.DATA`, by which it is recognised where it comes back. Lengths are in UTF-16 units, in which hosts count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from mnemond.model.answers import InsightView, RecallHit
from mnemond.text.prompt_escape import inert
from mnemond.text.transcripts import DATA
from mnemond.wire.hooks import first_units, units

REF: Final = 8
"""Characters of an id that are shown; `related` and other methods accept them instead of the whole id."""


def fenced(lines: Iterable[str], nonce: str) -> str:
    """Return lines, which must be inert, in a fence."""
    return "\n".join((f"<recalled-data {nonce}>", *lines, f"</recalled-data {nonce}>"))


def references(ids: Sequence[str]) -> list[str]:
    """Return a reference for each id: its beginning, or all of it if another has the same beginning."""
    counts = Counter(each[:REF] for each in ids)
    return [inert(each[:REF] if counts[each[:REF]] == 1 else each) for each in ids]


GUIDE: Final = (
    "mnemond is the long-term memory of this user and their projects. Recall (tool `recall`) when a task begins, before"
    " you choose a design, and when the past is asked for. Remember (tool `remember`) decisions with their reasons,"
    " preferences, corrections, and causes that took long to find: one or two sentences with names and dates. What you"
    " see before you goes before what is recalled.\n"
)
"""Short instructions; the skill that is installed with the hooks has all of them."""

MAX_IN_PROMPT: Final = 600
"""Characters of one memory shown for a prompt."""

MAX_IN_BRIEF: Final = 280
"""Characters of one memory in a brief: there are many."""

MIN_SHOWN: Final = 40
"""Fewest characters of a longer memory that are worth showing."""

NAME_BYTES: Final = 20
"""Bytes of a source or a tag beside a memory: ten results must not take 1,200 bytes beyond their texts."""


class Part(msgspec.Struct, frozen=True):
    """Memories under a heading."""

    heading: str
    memories: Sequence[InsightView]


class PromptText(msgspec.Struct, frozen=True):
    """A text, the memories in it, and those of them whose whole text is in it."""

    text: str
    shown: list[InsightView]
    whole: list[InsightView]


def render_prompt_memories(hits: Sequence[RecallHit], nonce: str, most: int) -> PromptText:
    """Return memories for a prompt, best first, in at most `most` characters. Empty if not even one fits."""
    head = f"mnemond remembers something about this. Between the marks stands {DATA}.\n"
    page = _Page(most - units(head) - _fence_units(nonce))
    ids = [hit.insight.id for hit in hits]
    refs = dict(zip(ids, references(ids), strict=True))
    for hit in hits:
        against = [refs[other] for other in hit.contradicts if other in refs]
        page.add(_marks(refs[hit.insight.id], hit.insight, hit.confidence, against), hit.insight, MAX_IN_PROMPT)
    return PromptText(head + fenced(page.lines, nonce) if page.lines else "", page.shown, page.whole)


def brief(parts: Sequence[Part], nonce: str, most: int) -> PromptText:
    """Return the guide and the memories of each part, none twice, in at most `most` characters.

    Each part but the last may take its share of what is left, so that none is left without room.
    """
    guide = GUIDE if units(GUIDE) <= most else ""
    parts = [part for part in parts if part.memories]
    head = f"Between the marks stands {DATA}.\n"
    page = _Page(most - units(guide) - units(head) - _fence_units(nonce))
    ids = list(dict.fromkeys(it.id for part in parts for it in part.memories))
    refs, added = dict(zip(ids, references(ids), strict=True)), set[str]()
    for number, part in enumerate(parts):
        reserved = page.left * (len(parts) - number - 1) // (len(parts) - number)
        page.heading = part.heading
        for it in part.memories:
            if it.id in added or page.left <= reserved:
                continue
            if page.add(_marks(refs[it.id], it), it, MAX_IN_BRIEF):
                added.add(it.id)
    return PromptText(guide + (head + fenced(page.lines, nonce) if added else ""), page.shown, page.whole)


class _Page:
    """Lines within a limit; `left` is the number of characters that still fit. `heading` is put before the next line
    that is added."""

    def __init__(self, room: int) -> None:
        self.left = room
        self.heading = ""
        self.lines: list[str] = []
        self.shown: list[InsightView] = []
        self.whole: list[InsightView] = []

    def add(self, marks: str, it: InsightView, most: int) -> bool:
        """Add a memory, cut if need be; return False if there was no room for it."""
        heading = f"{self.heading}\n" if self.heading else ""
        room = min(most, self.left - units(heading) - units(marks) - len("…\n"))
        if room < min(MIN_SHOWN, units(it.content)):
            return False
        content = inert(it.content[: most + 1])
        shown = first_units(content, room)
        whole = shown == content and len(it.content) <= most
        line = f"{marks}{shown}" if whole else f"{marks}{shown}…"
        self.shown.append(it)
        if whole:
            self.whole.append(it)
        self.lines += [self.heading, line] if heading else [line]
        self.left -= units(heading) + units(line) + 1
        self.heading = ""
        return True


def _fence_units(nonce: str) -> int:
    """Length of an empty fence."""
    return units(fenced([], nonce)) + 1


def _marks(ref: str, it: InsightView, confidence: str = "", against: Sequence[str] = ()) -> str:
    """The marks of a memory; `against`: references of others that it may contradict."""
    tag = next((f"#{_name(tag)}" for tag in it.tags), "")
    contradicts = f"may contradict {' '.join(f'ref:{other}' for other in against)}" if against else ""
    words = [f"ref:{ref}", it.created_at[:10], it.category, confidence, _name(it.source), tag, contradicts]
    return f"<{' '.join(filter(None, words))}> "


def _name(name: str) -> str:
    short = inert(name[:NAME_BYTES]).replace(">", "›").encode()[:NAME_BYTES]
    return short.decode("utf-8", "ignore").strip()
