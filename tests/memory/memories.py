"""Memories decided one after another over an index of their own, and what was decided, by kind of change."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from mnemond.config.settings import Config
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory.diff import Safeguards
from mnemond.memory.draft import Draft
from mnemond.memory.edge_builders import edges_of
from mnemond.memory.remember import Prepared, decide, prepare
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    ChangeSet,
    PutInsight,
    RemoveEdge,
    RetireInsight,
    Vector,
)
from mnemond.model.memory import Edge, Insight
from mnemond.model.outcomes import RememberResult
from mnemond.store.meta import EmbedderRecord

DIMENSION = 4
NOW_US = 1_771_405_200_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
REFERENCE = EmbedderRecord("reference", DIMENSION, "reference-1")

Kind = TypeVar("Kind", bound=Change)


def name(number: int) -> str:
    """The id of the memory decided as that number, from 1."""
    return f"{number:08x}-0000-4000-8000-000000000000"


def leaning(cosine: float, axis: int = 1) -> Vector:
    """A unit vector of that cosine with the first axis; the rest of it lies on another one."""
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[0], vector[axis] = cosine, np.sqrt(1.0 - cosine * cosine)
    return vector


class Decided:
    """A change set of remember, taken apart."""

    def __init__(self, change_set: ChangeSet) -> None:
        self.change_set = change_set
        assert isinstance(change_set.outcome, RememberResult)
        self.outcome: RememberResult = change_set.outcome

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [change for change in self.change_set.changes if isinstance(change, kind)]

    @property
    def added(self) -> Insight:
        [change] = self.all(AddInsight)
        return change.insight

    @property
    def put(self) -> dict[str, PutInsight]:
        return {change.insight.id: change for change in self.all(PutInsight)}

    @property
    def retired(self) -> dict[str, RetireInsight]:
        return {change.id: change for change in self.all(RetireInsight)}

    @property
    def unlinked(self) -> list[tuple[str, str, str]]:
        return [(change.source_id, change.target_id, change.edge_type) for change in self.all(RemoveEdge)]

    def edges(self, edge_type: str) -> list[Edge]:
        related = [edge for one in self.all(AddRelations) for each in one.relations for edge in edges_of(one.id, each)]
        return [e for e in [*related, *(one.edge for one in self.all(AddEdge))] if e.edge_type == edge_type]

    def linked(self, edge_type: str) -> set[tuple[str, str]]:
        return {(edge.source_id, edge.target_id) for edge in self.edges(edge_type)}


class Memories:
    """An index that remembers. Each memory is an hour younger than the one before, unless it says otherwise."""

    def __init__(
        self, config: Config | None = None, *, with_vectors: bool = False, safeguards: Safeguards | None = None
    ) -> None:
        self.config = config or Config()
        self.rules = write_rules(REFERENCE, self.config, safeguards)
        self.index = MemoryIndex(DIMENSION)
        self.with_vectors = with_vectors
        self.made = 0

    @property
    def snapshot(self) -> Snapshot:
        return self.index.snapshot

    def insight(self, number: int) -> Insight:
        row = self.snapshot.row_of(name(number))
        assert row is not None
        return self.snapshot.insight(row)

    def alive(self, number: int) -> bool:
        return self.snapshot.row_of(name(number)) is not None

    def prepared(self, text: str, now_us: int, **fields: Any) -> Prepared:
        return prepare(Draft(content=text, **fields), now_us, self.snapshot.entity_spelling, self.config)

    def decided(self, text: str, vector: Vector | None = None, after_us: int | None = None, **fields: Any) -> Decided:
        """What comes of a text, which is not carried out."""
        now_us = NOW_US + (HOUR_US * (self.made + 1) if after_us is None else after_us)
        who = WriteContext(
            id=name(self.made + 1), op_id=f"op-{self.made + 1}", client_op_id=False, now_us=now_us, store="default",
            request_digest="",
        )  # fmt: skip
        prepared = msgspec.structs.replace(self.prepared(text, now_us, **fields), vector=vector)
        similarity = None if vector is None else self.snapshot.cosines(vector)
        return Decided(decide(prepared, who, self.rules, self.snapshot, similarity))

    def remember(self, text: str, vector: Vector | None = None, after_us: int | None = None, **fields: Any) -> Decided:
        """What comes of a text, carried out."""
        decided = self.decided(text, vector, after_us, **fields)
        self.index.apply(decided.change_set.changes)
        self.made += 1
        return decided

    def change(self, number: int, **fields: Any) -> None:
        """Give a memory other values, as some other operation would."""
        self.index.apply([PutInsight(msgspec.structs.replace(self.insight(number), **fields))])
