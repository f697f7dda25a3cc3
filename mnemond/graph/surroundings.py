"""What an edge builder is told: the new memory, and questions about the rows it may be linked to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from mnemond.model.entity import Entity
from mnemond.model.insight import Insight
from mnemond.text.causal_cues import CausalCue

HOUR_US = 3_600_000_000
"""Microseconds of an hour."""


class Newcomer(msgspec.Struct, frozen=True):
    """The memory that is being linked. `created_us` is its own time, whenever it is written; `event_us` when what it
    tells of happened, if that is known. Both in microseconds since the epoch."""

    id: str
    content: str
    created_us: int
    tokens: frozenset[str]
    entities: tuple[Entity, ...]
    cue: CausalCue | None
    event_us: int | None = None


class Around(Protocol):
    """What builders may ask about a store. Only rows the newcomer may be linked to are spoken of."""

    @property
    def documents(self) -> int:
        """Active rows in scope, the newcomer included."""
        ...

    def backbone(self) -> tuple[str | None, str | None]:
        """Ids of the rows right before and right after the newcomer in its chain."""
        ...

    def nearest_in_time(self, k: int, within_us: int, excluding: Collection[str]) -> list[tuple[str, int]]:
        """At most `k` other rows not further than `within_us` from the newcomer's time: (id, distance in
        microseconds), nearest first."""
        ...

    def holders(self, canonical: str, k: int) -> tuple[int, list[str]]:
        """Rows that name an entity: how many, the newcomer included, and the `k` newest others."""
        ...

    def recent(self, k: int) -> list[tuple[Insight, int | None]]:
        """The `k` newest rows that are not newer than the newcomer, newest first, each with the time of what it tells
        of, in microseconds since the epoch, if that is known."""
        ...

    def similar(self, at_least: float, k: int) -> list[tuple[str, float]]:
        """The `k` best of the rows whose cosine with the newcomer is not below `at_least`: (id, cosine), best first."""
        ...
