"""What an operation did as a whole, read from its history, and what undoes that.

Pure: what is stored now comes in as values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mnemond.model.edge import Edge
from mnemond.model.insight import Insight
from mnemond.store.history import Record, State

Key = tuple[str, str, str]

BOOST = ("boost_days", "last_boosted_at")
"""What a memory gains by being paired."""

ELSEWHERE = (
    "updated_at", "effective_importance", "access_count", "last_accessed_at", "superseded_by", "paired_with", *BOOST
)  # fmt: skip
"""Fields that change without anybody having revised the memory: by being recalled, linked, paired with what came later,
or by what became of another one. An undo is not held up by them. That somebody said it again holds one up: what the
undo would take away was said twice."""


class Memory(msgspec.Struct):
    """One memory before and after an operation; `before` is None when the operation made it."""

    before: Insight | None
    after: Insight


class Link(msgspec.Struct):
    """One edge before and after an operation."""

    before: Edge | None
    after: Edge | None


class Effect(msgspec.Struct):
    """Everything an operation did. `purged`: memories of which nothing is kept, so that it cannot be taken back."""

    memories: dict[str, Memory]
    links: dict[Key, Link]
    purged: list[str]

    @property
    def of_links_alone(self) -> bool:
        """Whether it changed no memory."""
        return all(each.before == each.after for each in self.memories.values())


def effect_of(records: Sequence[Record]) -> Effect:
    """The rows of one operation, in order, as one effect."""
    effect = Effect({}, {}, [])
    for record in records:
        if record.after is None:
            effect.purged.append(record.memory_id)
            continue
        before = None if record.before is None else record.before.insight
        known = effect.memories.setdefault(record.memory_id, Memory(before, record.after.insight))
        known.after = record.after.insight
        _note_links(effect.links, record.before, record.after)
    made = {insight_id for insight_id, memory in effect.memories.items() if memory.before is None}
    for key, link in effect.links.items():
        if not made.isdisjoint(key[:2]):
            link.before = None  # the operation linked what it made itself, then changed that link
    return effect


def _note_links(links: dict[Key, Link], before: State | None, after: State) -> None:
    had = {key_of(edge): edge for edge in (before.edges if before is not None else [])}
    has = {key_of(edge): edge for edge in after.edges}
    for key in had | has:
        link = links.setdefault(key, Link(had.get(key), None))
        link.after = has.get(key)


def key_of(edge: Edge) -> Key:
    """What no two edges of a store have in common."""
    return edge.source_id, edge.target_id, edge.edge_type


def is_as_left(now: Insight, left: Insight) -> bool:
    """Whether a memory still says what an operation left it saying."""
    return all(
        getattr(now, field) == getattr(left, field) for field in Insight.__struct_fields__ if field not in ELSEWHERE
    )


def reverted(memory: Memory, current: Insight, now: str) -> Insight:
    """The value a memory had before, with what happened to it elsewhere since: its use counts on, what it gained by
    being paired stays, and so does its partner, who may be no more what it was (`pairing.mutual` looks)."""
    before, after = memory.before, memory.after
    assert before is not None, "it was made by the operation: there is no value to go back to"  # noqa: S101
    gained = after.access_count - before.access_count
    used = _chosen(("last_accessed_at",), before, after, current)
    boosted = _chosen(BOOST, before, after, current)
    partner = _chosen(("paired_with",), before, after, current)
    return msgspec.structs.replace(
        before,
        access_count=max(0, current.access_count - gained),
        last_accessed_at=used.last_accessed_at,
        boost_days=boosted.boost_days,
        last_boosted_at=boosted.last_boosted_at,
        paired_with=partner.paired_with,
        effective_importance=current.effective_importance,
        updated_at=now,
    )


def _chosen(fields: Sequence[str], before: Insight, after: Insight, current: Insight) -> Insight:
    """Whose value of some fields counts: what was before, unless they are not as the operation left them any more."""
    as_left = all(getattr(current, field) == getattr(after, field) for field in fields)
    return before if as_left else current


class Edges(msgspec.Struct, frozen=True):
    """Edges to take away, edges to put back, and edges that cannot be: a memory at their end is out of recall."""

    removed: list[Edge]
    restored: list[Edge]
    missing: list[Edge]


def edges_back(links: Mapping[Key, Link], current: Mapping[Key, Edge | None], absent: frozenset[str]) -> Edges:
    """How edges come back to what they were, but for those that somebody changed since. `absent`: ends of them that
    are not active once the operation is undone."""
    found = Edges([], [], [])
    for key, link in links.items():
        here = current.get(key)
        gone = not absent.isdisjoint(key[:2])
        if gone and link.before is not None:
            found.missing.append(link.before)
        if gone or here == link.before or here != link.after:
            continue
        if here is not None:
            found.removed.append(here)
        if link.before is not None:
            found.restored.append(link.before)
    return found
