"""Memories as text for the model: fenced as data, with short references, and within a limit of characters.

Nothing inside a fence can end it: its marks carry a number that no memory can contain, no text inside has a mark
(`prompt_escape.inert`), and everything outside is written here. The sentence before a fence contains
`transcripts.DATA`, by which it is recognised where it comes back. Lengths are in UTF-16 units, in which hosts count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from mnemond.config.settings import HookSettings
from mnemond.model.answers import InsightView, RecallHit
from mnemond.recall.passages import EXCERPT
from mnemond.text.prompt_escape import inert, quarters, token_count
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


# ---------------------------------------------------------------- the budget of a session
#
# Divide the budget of a session among what it is shown, so that the best memories win it.
#
# Prompts come one after another, and no later one is known yet: an online knapsack. The rule is the threshold of Zhou,
# Chakrabarty and Lukose (Budget constrained bidding in keyword auctions and online knapsack problems, 2008): where
# values lie between L and 1, a memory with which the share z of the room for prompts is used needs the value (e/L)^z ·
# L/e. Up to z = 1/(1 + ln(1/L)) everything passes, then the bar rises, to 1 at the end. Where each takes little of the
# room, at least 1/(1 + ln(1/L)) of the greatest value possible is shown, and no rule guarantees more. See
# docs/decisions/0045.


BRIEF_SHARE: Final = 2 / 3
"""Share of the budget for what a session begins with; prompts have what it leaves. 1,000 of 1,500 tokens are 4,000
Latin letters; `hooks.max_characters` allows 2,400 by default: only scripts of a token a letter are cut by this."""

WEAKEST: Final = 0.1
"""L: a memory that the settings just admit counts a tenth of the surest one, so that it may use three tenths of the
room for prompts (1/(1 + ln 10)). Chosen by hand: with plain values, from .62, the first prompts of fifty took two
thirds whatever they were; between .05 and .2 it makes no difference."""

BRIEF_TRIES: Final = 4
"""Times a brief is rendered: a text of one script fits at the second."""

MARGIN: Final = 0.97
"""Part of the room for a brief that the next try aims at, as scripts are mixed unevenly."""

TRIED: Final = 2
"""Results that are tried for each that may be shown: rendering a hostile one takes .5 ms."""

NO_PROMPT_TEXT: Final = PromptText("", [], [])


class Candidate(NamedTuple):
    """A result of recall with the probability, in [0, 1], that the prompt needs it; its explanation has the reasons."""

    hit: RecallHit
    probability: float


class Fitted(NamedTuple):
    """The text to show with its estimated size, and for each memory that is left out the reason."""

    rendered: PromptText
    chosen: list[Candidate]
    tokens: int
    refused: list[tuple[Candidate, str]]


def bar(used: float, least: float) -> float:
    """Return the probability that a memory needs where the share `used` of the room is used, in [`least`, 1]. Values
    are probabilities from `least` to 1, stretched to L to 1."""
    value: float = WEAKEST / math.e * (math.e / WEAKEST) ** used
    return least + (1.0 - least) * max(0.0, value - WEAKEST) / (1.0 - WEAKEST)


def fit(
    found: Sequence[Candidate],
    render: Callable[[Sequence[RecallHit]], PromptText],
    settings: HookSettings,
    spent: int,
    begun: int = 0,
) -> Fitted:
    """Choose memories for a prompt, of those `found` in their order, in a session that used `spent` tokens of its
    budget, `begun` of them for what it began with."""
    limit, least = settings.session_tokens, settings.min_probability
    fitted = Fitted(NO_PROMPT_TEXT, [], 0, [])
    for place, each in enumerate(found):
        if len(fitted.chosen) == settings.prompt_results or place >= TRIED * settings.prompt_results:
            fitted.refused.append((each, f"{settings.prompt_results} others come first"))
            continue
        rendered = render([candidate.hit for candidate in (*fitted.chosen, each)])
        tokens = size(rendered)
        needed = bar((spent + tokens - begun) / max(1, limit - begun), least) if limit else least
        if len(rendered.shown) <= len(fitted.chosen):
            fitted.refused.append((each, "no room in hooks.max_characters"))
        elif limit and spent + tokens > limit:
            fitted.refused.append((each, "no room in the session's budget"))
        elif each.probability < needed and (needed > least or not fitted.chosen):
            # One beside a surer memory may have less than `least`: it is shown only with that one, with room to spare.
            left = f"what is left of the session's budget is for {needed:.2f} and more"
            fitted.refused.append((each, f"probability {each.probability:.2f}; {left}"))
        else:
            fitted = fitted._replace(rendered=rendered, chosen=[*fitted.chosen, each], tokens=tokens)
    return fitted


def fit_brief(render: Callable[[int], PromptText], settings: HookSettings, spent: int) -> Fitted:
    """Render what a session begins with within its share of the budget; `render` takes the most characters."""
    most, limit = settings.max_characters, settings.session_tokens
    room = min(int(limit * BRIEF_SHARE), limit - spent) if limit else 0
    for _ in range(BRIEF_TRIES):
        rendered = render(most)
        tokens = size(rendered)
        if not limit or tokens <= room:
            return Fitted(rendered, [], tokens, [])
        most = max(0, int(most * MARGIN * room / tokens))
    return Fitted(NO_PROMPT_TEXT, [], 0, [])


def size(rendered: PromptText) -> int:
    """Return the estimated tokens of a text."""
    return token_count(quarters(rendered.text))
