"""A store of a handful of rows in a list, that answers what edge builders ask by looking at each of them."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from mnemond.memory.edge_builders import HOUR_US, NewMemory
from mnemond.model.memory import Entity, Insight
from mnemond.text.similarity import token_set

NOON = 1_771_416_000_000_000
"""2026-02-18T12:00:00Z in microseconds since the epoch."""


class Row(msgspec.Struct, frozen=True):
    """A stored memory: `hours` before (negative) or after noon, and how near it is to every newcomer."""

    id: str
    content: str = ""
    hours: float = -1.0
    chain: str = "talk"
    entities: tuple[str, ...] = ()
    cosine: float | None = None
    event_us: int | None = None

    @property
    def time_us(self) -> int:
        return NOON + round(self.hours * HOUR_US)


class SmallStore:
    """Rows around a newcomer of noon; later rows of equal time count as newer."""

    def __init__(self, *rows: Row, chain: str = "talk", documents: int | None = None) -> None:
        self.rows = rows
        self.chain = chain
        self.documents = len(rows) + 1 if documents is None else documents

    def backbone(self) -> tuple[str | None, str | None]:
        in_chain = sorted((row for row in self.rows if row.chain == self.chain), key=lambda row: row.time_us)
        before = [row.id for row in in_chain if row.time_us <= NOON]
        after = [row.id for row in in_chain if row.time_us > NOON]
        return before[-1] if before else None, after[0] if after else None

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        distances = [(row.id, abs(row.time_us - NOON)) for row in self.rows if row.id not in excluding]
        return sorted((near for near in distances if near[1] <= within_us), key=lambda near: near[1])[:k]

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        found = [row.id for row in self._newest_first() if canonical in row.entities]
        return len(found) + 1, found[:k]

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        rows = [row for row in self._newest_first() if row.time_us <= NOON]
        return [(Insight(row.id, "", "", content=row.content), row.event_us) for row in rows[:k]]

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        found = [(row.id, row.cosine) for row in self.rows if row.cosine is not None and row.cosine >= at_least]
        return sorted(found, key=lambda near: -near[1])[:k]

    def _newest_first(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: (row.time_us, self.rows.index(row)), reverse=True)


def newcomer(content: str = "", *entities: str, event_us: int | None = None) -> NewMemory:
    """A memory of noon, "new"; its entities are their own canonical names."""
    named = tuple(Entity(name, name, "concept") for name in entities)
    return NewMemory("new", content, NOON, token_set(content), named, event_us)
