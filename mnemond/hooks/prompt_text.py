"""Memories as text for the model: fenced as data, with short references, and within a limit of characters.

Nothing inside a fence can end it: its marks carry a number that no memory can contain, no text inside has a mark
(`prompt_escape.inert`), and everything outside is written here. The sentence before a fence contains
`transcripts.DATA`, by which it is recognised where it comes back. Lengths are in UTF-16 units, in which hosts count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from mnemond.model.answers import InsightView, RecallHit
from mnemond.recall.passages import EXCERPT
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


class Block(msgspec.Struct, frozen=True):
    """Lines of a text under a heading, which have room for a `share` of the characters at most. `memories`: for each
    line the memories that it says, which no part repeats; empty if no line says one. `marks`: for each line what stands
    before it, as it is."""

    heading: str
    lines: Sequence[str]
    share: float
    memories: Sequence[Sequence[InsightView]] = ()
    marks: Sequence[str] = ()


class PromptText(msgspec.Struct, frozen=True):
    """A text, the memories in it, those of them whose whole text is in it, and how many of `shown`, the first ones, are
    in its blocks."""

    text: str
    shown: list[InsightView]
    whole: list[InsightView]
    in_blocks: int = 0


def render_prompt_memories(hits: Sequence[RecallHit], nonce: str, most: int) -> PromptText:
    """Return memories for a prompt, best first, in at most `most` characters. Empty if not even one fits."""
    head = f"mnemond remembers something about this. Between the marks stands {DATA}.\n"
    page = _Page(most - units(head) - _fence_units(nonce))
    ids = [hit.insight.id for hit in hits]
    refs = dict(zip(ids, references(ids), strict=True))
    for hit in hits:
        ref = refs[hit.insight.id]
        if hit.kind == "passage":
            page.add(f"<ref:{ref} {inert(hit.session)}> ", hit.insight, EXCERPT)
        else:
            page.add(_marks(hit.insight, refs, hit.contradicts, hit.confidence), hit.insight, MAX_IN_PROMPT)
    return PromptText(head + fenced(page.lines, nonce) if page.lines else "", page.shown, page.whole)


def brief(
    opening: str,
    parts: Sequence[Part],
    nonce: str,
    most: int,
    against: Mapping[str, Sequence[str]] | None = None,
    blocks: Sequence[Block] = (),
) -> PromptText:
    """Return the opening, the blocks, and the memories of each part, none twice, in at most `most` characters.

    Each part has room for an equal share; what the others need less is filled in the order of the parts. `against`: for
    the ids of memories those of older ones that they may contradict.
    """
    opening = opening if units(opening) <= most else ""
    head = f"Between the marks stands {DATA}.\n"
    page = _Page(most - units(opening) - units(head) - _fence_units(nonce))
    for block in blocks:
        page.add_block(block, int(block.share * most))
    in_blocks = len(page.shown)
    parts = _without_repetitions(parts, {it.id for it in page.shown})
    ids = [it.id for part in parts for it in part.memories]
    refs = dict(zip(ids, references(ids), strict=True))
    others = against or {}
    lines = [[(_marks(it, refs, others.get(it.id, ())), it) for it in part.memories] for part in parts]
    needs = [
        units(part.heading)
        + len("\n…")
        + sum(units(marks) + units(it.content[:MAX_IN_BRIEF]) + 1 for marks, it in each)
        for part, each in zip(parts, lines, strict=True)
    ]
    rooms = _rooms(needs, page.left) if parts else []
    page.left = 0
    for part, each, room in zip(parts, lines, rooms, strict=True):
        page.left += room  # and what the parts before did not use
        page.heading = part.heading
        for marks, it in each:
            if not page.add(marks, it, MAX_IN_BRIEF):
                break
    text = opening + (head + fenced(page.lines, nonce) if page.lines else "")
    return PromptText(text, page.shown, page.whole, in_blocks)


def _without_repetitions(parts: Sequence[Part], told: AbstractSet[str]) -> list[Part]:
    """Leave out of each part what was `told` before or an earlier one has, and parts without memories."""
    seen = set(told)
    found: list[Part] = []
    for part in parts:
        memories = [it for it in part.memories if it.id not in seen]
        seen.update(it.id for it in memories)
        if memories:
            found.append(Part(part.heading, memories))
    return found


def _rooms(needs: Sequence[int], room: int) -> list[int]:
    """Divide `room` characters among parts that need so many: each gets an equal share, the first ones more if the
    others need less."""
    given = [min(need, room // len(needs)) for need in needs]
    left = room - sum(given)
    for place, need in enumerate(needs):
        more = min(need - given[place], left)
        given[place] += more
        left -= more
    return given


class _Page:
    """Lines within a limit; `left` is the number of characters that still fit. `heading` is put before the next line
    that is added."""

    def __init__(self, room: int) -> None:
        self.left = room
        self.heading = ""
        self.lines: list[str] = []
        self.shown: list[InsightView] = []
        self.whole: list[InsightView] = []

    def add_block(self, block: Block, most: int) -> None:
        """Add the heading and the first lines that fit into `most` characters; nothing if not even one does."""
        room = min(most, self.left) - units(block.heading) - 1
        lines: list[str] = []
        for place, text in enumerate(block.lines):
            said = [it.id for it in block.memories[place]] if block.memories else []
            marks = f"<{' '.join(f'ref:{each}' for each in references(said))}> " if said else ""
            line = f"{block.marks[place] if block.marks else marks}{inert(text)}"
            if units(line) + 1 > room:
                break
            room -= units(line) + 1
            lines.append(line)
        for line, memories in zip(lines, block.memories, strict=False):
            new = [it for it in memories if it not in self.shown]
            self.shown += new
            self.whole += [it for it in new if len(it.content) <= len(line) and inert(it.content) in line]
        if lines:
            self.lines += [block.heading, *lines]
            self.left -= sum(units(line) + 1 for line in (block.heading, *lines))

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


def contradiction(against: Sequence[str], refs: Mapping[str, str]) -> str:
    """Return the mark of a memory that may contradict those with the ids `against`, as far as they have a reference."""
    others = [f"ref:{refs[other]}" for other in against if other in refs]
    return f"may contradict {' '.join(others)}" if others else ""


def _marks(it: InsightView, refs: Mapping[str, str], against: Sequence[str], confidence: str = "") -> str:
    tag = next((f"#{_name(tag)}" for tag in it.tags), "")
    name, against_others = _name(it.source), contradiction(against, refs)
    words = [f"ref:{refs[it.id]}", it.created_at[:10], it.category, confidence, name, tag, against_others]
    return f"<{' '.join(filter(None, words))}> "


def _name(name: str) -> str:
    short = inert(name[:NAME_BYTES]).replace("<", "‹").replace(">", "›").encode()[:NAME_BYTES]
    return short.decode("utf-8", "ignore").strip()
