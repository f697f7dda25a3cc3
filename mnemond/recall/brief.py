"""Select what a session begins with: instructions and preferences, decisions in force, then what else is worth it.

Each memory is in one section, the more valuable first. Of several wordings of one statement there is one. Memories that
contradict each other are beside each other, the newer first, where the first of them belongs. For a thread: up to
`MAX_READ` texts are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from mnemond.extract import quotes
from mnemond.index.arrays import Mask, Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import (
    DAY_US,
    SUMMARIZED,
    Insight,
    contradicted,
    contradicting,
    effective_importance,
    parse_rfc3339,
)
from mnemond.model.query import Filter
from mnemond.recall.corrections import correcting_pairs
from mnemond.recall.result_order import PAIRED, distinct
from mnemond.text.caches import text_cache
from mnemond.text.resources import regex

NEVER_LOST: Final = 5
"""Importance of rules and facts that must never be lost: told however old they are, as pinned ones are."""

USUAL: Final = 3
"""Importance below which nothing but an instruction, a preference or a decision is told unasked."""

TRIFLE: Final = 1
"""Importance that is never told unasked."""

MIN_WORTH: Final = 0.25
"""Least worth of other memories: a usual one that was not used for a month has it."""

MAX_SECTION: Final = 48
"""Memories of a section: more do not fit into the largest brief, 9,000 characters."""

MAX_READ: Final = 1_000
"""Memories that are read for instructions, the most important and newest: 5 µs each, once."""

MAX_LOOKED: Final = 2 * MAX_SECTION
"""Preferences, and decisions, that are sorted."""


class Selection(NamedTuple):
    """The memories of each section, and for those that note a contradiction the ids of the older ones they are at odds
    with."""

    instructions: list[Insight]
    decisions: list[Insight]
    others: list[Insight]
    against: Mapping[str, tuple[str, ...]]

    def all(self) -> list[Insight]:
        """Return the memories of every section, in their order."""
        return [*self.instructions, *self.decisions, *self.others]


def select(snapshot: Snapshot, wanted: Filter, now_us: int, without: Collection[str] = ()) -> Selection:
    """Return what is worth telling of the memories that `wanted` admits at `now_us` (microseconds), without summaries,
    which repeat others, and without the memories `without`."""
    mask = snapshot.visible(wanted)
    if without:
        others = ~snapshot.marked(without)
        mask = others if mask is None else mask & others
    rows = np.arange(snapshot.rows) if mask is None else np.flatnonzero(mask)
    if snapshot.has_channel(SUMMARIZED):
        rows = rows[~snapshot.of_channel(SUMMARIZED)[rows]]
    rows = rows[snapshot.columns.importance[rows] > TRIFLE]
    preferences = _of_category(snapshot, rows, "preference")
    decisions = _of_category(snapshot, rows, "decision")
    decided = _best(snapshot, rows[decisions], MAX_LOOKED)
    rest = rows[(snapshot.columns.importance[rows] >= USUAL) & ~preferences & ~decisions]
    read = _best(snapshot, rest, MAX_READ)
    told = {it.id for it in read if is_instruction(it.content)}
    worth = {it.id: _worth(it, now_us) for it in (*read, *decided)}
    sections = [
        [*_best(snapshot, rows[preferences], MAX_LOOKED), *(it for it in read if it.id in told)],
        decided,
        [it for it in read if it.id not in told and (_is_kept(it) or worth[it.id] >= MIN_WORTH)],
    ]
    ordered = [
        sorted(sections[0], key=lambda it: (not _is_kept(it), -it.importance, _age_us(it, now_us))),
        *(sorted(section, key=lambda it: (not _is_kept(it), -worth[it.id])) for section in sections[1:]),
    ]
    return _with_contradictions(snapshot, mask, _once(snapshot, ordered))


def _of_category(snapshot: Snapshot, rows: Rows, category: str) -> Mask:
    code = snapshot.parts.table.names.categories.find(category)
    found: Mask = snapshot.columns.category[rows] == (-1 if code is None else code)
    return found


def _best(snapshot: Snapshot, rows: Rows, most: int) -> list[Insight]:
    """Return the most important of `rows`, of equals the newest."""
    keys = (snapshot.columns.importance[rows].astype(np.int64) << 60) + snapshot.columns.created_us[rows]
    if len(rows) > most:
        chosen = np.argpartition(keys, len(rows) - most)[len(rows) - most :]
        rows, keys = rows[chosen], keys[chosen]
    return [snapshot.insight(row) for row in rows[np.argsort(keys, kind="stable")[::-1]].tolist()]


def _is_kept(it: Insight) -> bool:
    return it.importance >= NEVER_LOST or it.pinned


def _age_us(it: Insight, now_us: int) -> int:
    return now_us - parse_rfc3339(it.last_accessed_at or it.created_at)


def _worth(it: Insight, now_us: int) -> float:
    """Return the effective importance at `now_us`, which falls with age and grows with use. Links do not count: nearly
    every memory but the newest has as many as count."""
    return effective_importance(it.importance, it.access_count, _age_us(it, now_us) / DAY_US, 0)


def _once(snapshot: Snapshot, sections: Sequence[Sequence[Insight]]) -> list[list[Insight]]:
    """Leave out other wordings of what is there, and what is beyond `MAX_SECTION`."""
    rows = [row for section in sections for it in section if (row := snapshot.row_of(it.id)) is not None]
    kept = {snapshot.insight(rows[place]).id for place in distinct(snapshot, rows, len(rows), wordings=True).places}
    return [[it for it in section if it.id in kept][:MAX_SECTION] for section in sections]


# ---------------------------------------------------------------- standing instructions

MAX_WORDED: Final = 400
"""Characters of a memory that are read for an instruction."""

MAX_SENTENCES: Final = 3
"""Sentences of these."""

_SENTENCE_END: Final = regex(r"(?<=[.!?])[ \t]+|(?<=[。！？])|[\r\n]+")


@text_cache(maxsize=4 * MAX_READ)
def is_instruction(content: str) -> bool:
    """Return True if a memory begins with a standing instruction: "Never deploy on Friday", 提交前必须运行测试."""
    pieces = _SENTENCE_END.split(content[:MAX_WORDED], MAX_SENTENCES)[:MAX_SENTENCES]
    return any(quotes.is_instruction(piece.strip()) for piece in pieces)


# ---------------------------------------------------------------- contradictions


def _with_contradictions(snapshot: Snapshot, mask: Mask | None, sections: Sequence[Sequence[Insight]]) -> Selection:
    """Put memories that are at odds beside each other, the newer first, with newer ones that no section has."""
    chosen = [it for section in sections for it in section]
    every = [*chosen, *_newer_than(snapshot, mask, chosen)]
    rank = np.argsort(np.argsort([it.created_at for it in every], kind="stable"), kind="stable").tolist()
    noted_pairs = contradicting(every)
    groups = _groups({*noted_pairs, *correcting_pairs(every, rank)})
    arranged: list[list[Insight]] = []
    placed: set[int] = set()
    begin = 0
    for section in sections:
        places = [
            at
            for place in range(begin, begin + len(section))
            for at in sorted(groups.get(place, [place]), key=rank.__getitem__, reverse=True)
        ]
        arranged.append([every[at] for at in dict.fromkeys(places) if at not in placed])
        placed.update(places)
        begin += len(section)
    against: dict[str, tuple[str, ...]] = {}
    for newer, older in noted_pairs:
        against[every[newer].id] = (*against.get(every[newer].id, ()), every[older].id)
    return Selection(arranged[0], arranged[1], arranged[2], against)


def _newer_than(snapshot: Snapshot, mask: Mask | None, chosen: Sequence[Insight]) -> list[Insight]:
    """Return memories beyond `chosen` that note a contradiction to one of them. Such pairs are alike, hence linked."""
    ids = {it.id for it in chosen}
    rows = [row for it in chosen if (row := snapshot.row_of(it.id)) is not None]
    if not rows:
        return []
    _, links = snapshot.fan(rows)
    beside = np.unique(links["row"][links["type"] == PAIRED]).tolist()
    near = [snapshot.insight(row) for row in beside if mask is None or mask[row]]
    return [it for it in near if it.id not in ids and not ids.isdisjoint(contradicted(it))]


def _groups(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the places that pairs join, by each of them."""
    group: dict[int, list[int]] = {}
    for one, other in pairs:
        joined = list(dict.fromkeys([*group.get(one, [one]), *group.get(other, [other])]))
        group.update(dict.fromkeys(joined, joined))
    return group
