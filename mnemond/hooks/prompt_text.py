"""The fence around what a model is shown of memories, and how they are named in it.

Nothing inside a fence can end it: its marks carry a number that no memory can know, every "<" inside is the fence's own
(`text.inert`), and what stands outside was written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from mnemond.model.answers import InsightView, RecallHit
from mnemond.text.prompt_escape import inert
from mnemond.text.transcripts import DATA
from mnemond.wire.hooks import units

REF: Final = 8
"""Characters of an id that are shown; `related` and the others take them for the whole of it."""


def fenced(lines: Iterable[str], nonce: str) -> str:
    """Lines as data. They must be inert."""
    return "\n".join((f"<recalled-data {nonce}>", *lines, f"</recalled-data {nonce}>"))


def references(ids: Sequence[str]) -> list[str]:
    """How each is referred to: the beginning of its id, or all of it where another begins alike."""
    begun = Counter(each[:REF] for each in ids)
    return [inert(each[:REF] if begun[each[:REF]] == 1 else each) for each in ids]


# What an agent is told by itself: a brief, or what a prompt brings up. Fenced as data, and never too long.
#
# Lengths are those of UTF-16, in which hosts count. The sentence before a fence says `echoes.DATA`, by which it is
# recognised where it comes back.


GUIDE: Final = (
    "mnemond is the long-term memory of this user and their projects. Recall (tool `recall`) when a task begins, before"
    " you choose a design, and when the past is asked for. Remember (tool `remember`) decisions with their reasons,"
    " preferences, corrections, and causes that took long to find: one or two sentences with names and dates. What you"
    " see before you goes before what is recalled.\n"
)
"""What memory is for, in short. The whole of it is the skill that is installed with the hooks."""

LONGEST: Final = 600
"""Characters of one memory that a prompt brings up."""

LONGEST_IN_BRIEF: Final = 280
"""Characters of one memory in a brief: there are many."""

LEAST: Final = 40
"""Characters of a memory that are worth showing."""

NAME_BYTES: Final = 20
"""Bytes of a source or a tag beside a memory: ten results are not to take 1,200 bytes beyond their texts."""


class Part(NamedTuple):
    """Memories under a heading, which is written here."""

    heading: str
    memories: Sequence[InsightView]


class PromptText(NamedTuple):
    """A text, the memories that stand in it, and those of them whose whole text does."""

    text: str
    shown: list[InsightView]
    whole: list[InsightView]


def render_prompt_memories(hits: Sequence[RecallHit], nonce: str, most: int) -> PromptText:
    """What a prompt brings up, best first, in at most `most` characters. Empty where not even one fits."""
    head = f"mnemond remembers something about this. Between the marks stands {DATA}.\n"
    page = _Page(most - units(head) - _around(nonce))
    refs = references([hit.insight.id for hit in hits])
    for ref, hit in zip(refs, hits, strict=True):
        page.add(_marks(ref, hit.insight, hit.confidence), hit.insight, LONGEST)
    return PromptText(head + fenced(page.lines, nonce) if page.lines else "", page.shown, page.whole)


def brief(parts: Sequence[Part], nonce: str, most: int) -> PromptText:
    """The guide, and what there is of each part, no memory twice, in at most `most` characters.

    Each part but the last may take its share of what is left, so that none is left without room.
    """
    guide = GUIDE if units(GUIDE) <= most else ""
    shown = [part for part in parts if part.memories]
    head = f"Between the marks stands {DATA}.\n"
    room = most - units(guide) - units(head) - _around(nonce)
    page = _Page(room)
    ids = list(dict.fromkeys(it.id for part in shown for it in part.memories))
    refs, known = dict(zip(ids, references(ids), strict=True)), set[str]()
    for number, part in enumerate(shown):
        reserved = page.left * (len(shown) - number - 1) // (len(shown) - number)
        page.begin(part.heading)
        for it in part.memories:
            if it.id in known or page.left <= reserved:
                continue
            if page.add(_marks(refs[it.id], it), it, LONGEST_IN_BRIEF):
                known.add(it.id)
    return PromptText(guide + (head + fenced(page.lines, nonce) if known else ""), page.shown, page.whole)


class _Page:
    """Lines that fill up. `left`: characters that there is room for."""

    def __init__(self, room: int) -> None:
        self.left = room
        self.lines: list[str] = []
        self.shown: list[InsightView] = []
        self.whole: list[InsightView] = []
        self._heading = ""

    def begin(self, heading: str) -> None:
        """What comes now stands under this, if anything does."""
        self._heading = heading

    def add(self, marks: str, it: InsightView, most: int) -> bool:
        """Show a memory, cut where it has to be; whether there was room for it."""
        heading = f"{self._heading}\n" if self._heading else ""
        room = min(most, self.left - units(heading) - units(marks) - len("…\n"))
        if room < min(LEAST, units(it.content)):
            return False
        content = inert(it.content[: most + 1])
        shown = _beginning(content, room)
        whole = shown == content and len(it.content) <= most
        line = f"{marks}{shown}" if whole else f"{marks}{shown}…"
        self.shown.append(it)
        self.whole += [it] if whole else []
        self.lines += [*([self._heading] if heading else []), line]
        self.left -= units(heading) + units(line) + 1
        self._heading = ""
        return True


def _around(nonce: str) -> int:
    """Characters of an empty fence."""
    return units(fenced([], nonce)) + 1


def _beginning(text: str, most: int) -> str:
    """As much of a text as has at most so many units."""
    if units(text) <= most:
        return text
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def _marks(ref: str, it: InsightView, confidence: str = "") -> str:
    """Where a memory comes from, and how sure it is to be meant."""
    tag = next((f"#{_name(tag)}" for tag in it.tags), "")
    words = [f"ref:{ref}", it.created_at[:10], it.category, confidence, _name(it.source), tag]
    return f"<{' '.join(filter(None, words))}> "


def _name(name: str) -> str:
    short = inert(name[:NAME_BYTES]).replace(">", "›").encode()[:NAME_BYTES]
    return short.decode("utf-8", "ignore").strip()
