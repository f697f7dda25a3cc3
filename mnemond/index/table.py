"""What is known of each row besides words, vector and links: the insight, its id, and the columns reads filter by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mnemond.index.growing import Column, Dictionary
from mnemond.index.ledger import Ledger
from mnemond.model.insight import Insight
from mnemond.model.timestamp import parse_rfc3339
from mnemond.text.entities import canonical_name
from mnemond.text.similarity import normalised

PREFIX = 6
"""Characters of the shortest id prefix that can be looked up."""

LONG_AGO_US = -(2**63)
"""Microseconds since the epoch before any time there is."""

REMEMBERED_NAMES = 16_384
"""Spellings whose canonical name is remembered: the same few name most memories of a store."""

Part = TypeVar("Part")


class Columns(NamedTuple, Generic[Part]):
    """Numbers of each row, shape (rows,); the mentions, one entity of one row each, have shape (mentions,).

    `category` to `chain` are numbers in `Names`, 0 for None. `accessed_us`: last access, else creation.
    """

    category: Part
    source: Part
    user: Part
    session: Part
    agent: Part
    chain: Part
    importance: Part
    created_us: Part
    accesses: Part
    accessed_us: Part
    pinned: Part
    degree: Part
    mention_row: Part
    mention_entity: Part


DTYPES = Columns(
    category=np.int32, source=np.int32, user=np.int32, session=np.int32, agent=np.int32, chain=np.int32,
    importance=np.int32, created_us=np.int64, accesses=np.int32, accessed_us=np.int64, pinned=np.uint8,
    degree=np.int32, mention_row=np.int64, mention_entity=np.int32,
)  # fmt: skip

MENTIONS = Columns._fields.index("mention_row")
CREATED = Columns._fields.index("created_us")


class Names:
    """Numbers for the words in columns. They only grow and outlive a renumbering of rows: a number once given stays.

    `spellings`: the first spelling of each entity, at the number of its canonical name.
    """

    def __init__(self) -> None:
        self.categories, self.sources, self.entities = Dictionary(), Dictionary(), Dictionary()
        self.users, self.sessions, self.agents = Dictionary(), Dictionary(), Dictionary()
        self.chains = Dictionary()
        self.spellings: list[str] = [""]

    def entity(self, canonical: str, spelling: str) -> int:
        """The number of an entity, whatever its spelling."""
        code = self.entities.encode(canonical)
        if code == len(self.spellings):
            self.spellings.append(spelling)
        return code


def chain_of(insight: Insight) -> tuple[str, str | None]:
    """What a memory's temporal backbone is keyed on (spec 8): who said it, and in which conversation or session."""
    return insight.source, insight.conversation_id or insight.scope.session_id


class Table:
    """One writer appends and patches rows; readers see the first n of them as they were, through `Columns`."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.insights = Ledger()
        self.rows: dict[str, int] = {}
        """The newest row of each id."""
        self.earlier: dict[int, int] = {}
        """For a row whose id was there before: the row it had then."""
        self.prefixes: dict[str, tuple[int, ...]] = {}
        self.twins: dict[int, tuple[int, ...]] = {}
        """Rows by the hash of their normalised text, dead ones included."""
        self.ordered = True
        """Whether no row is older than one stored before it."""
        self._columns: Columns[Column] = Columns(*map(_empty, DTYPES))
        self._newest_us = LONG_AGO_US

    def append(self, insight: Insight) -> None:
        """Append one row."""
        names, columns, scope = self.names, self._columns, insight.scope
        row = len(self.insights)
        created = parse_rfc3339(insight.created_at)
        columns.category.append(names.categories.encode(insight.category))
        columns.source.append(names.sources.encode(insight.source))
        columns.user.append(names.users.encode(scope.user_id))
        columns.session.append(names.sessions.encode(scope.session_id))
        columns.agent.append(names.agents.encode(scope.agent_id))
        columns.chain.append(names.chains.encode(chain_of(insight)))
        columns.importance.append(insight.importance)
        columns.created_us.append(created)
        self._note_order(created)
        columns.accesses.append(insight.access_count)
        columns.accessed_us.append(_accessed_us(insight, created))
        columns.pinned.append(insight.pinned)
        columns.degree.append(0)
        for canonical, spelling in _spelled(insight):
            columns.mention_row.append(row)
            columns.mention_entity.append(names.entity(canonical, spelling))
        self.insights.extend([insight])
        self._register(insight, row)

    def extend(self, insights: Sequence[Insight]) -> None:
        """Append a row for each insight, in order; of many, in less time than one by one."""
        names, columns = self.names, self._columns
        start = len(self.insights)
        columns.category.extend(names.categories.encode_all([insight.category for insight in insights]))
        columns.source.extend(names.sources.encode_all([insight.source for insight in insights]))
        columns.user.extend(names.users.encode_all([insight.scope.user_id for insight in insights]))
        columns.session.extend(names.sessions.encode_all([insight.scope.session_id for insight in insights]))
        columns.agent.extend(names.agents.encode_all([insight.scope.agent_id for insight in insights]))
        columns.chain.extend(names.chains.encode_all([chain_of(insight) for insight in insights]))
        columns.importance.extend(np.array([insight.importance for insight in insights], dtype=np.int32))
        created = [parse_rfc3339(insight.created_at) for insight in insights]
        columns.created_us.extend(np.array(created, dtype=np.int64))
        for each in created:
            self._note_order(each)
        columns.accesses.extend(np.array([insight.access_count for insight in insights], dtype=np.int32))
        accessed = map(_accessed_us, insights, created)
        columns.accessed_us.extend(np.fromiter(accessed, dtype=np.int64, count=len(insights)))
        columns.pinned.extend(np.array([insight.pinned for insight in insights], dtype=np.uint8))
        columns.degree.extend(np.zeros(len(insights), dtype=np.int32))
        self._mention(start, insights)
        self.insights.extend(insights)
        for row, insight in enumerate(insights, start):
            self._register(insight, row)

    def _note_order(self, created_us: int) -> None:
        self.ordered = self.ordered and created_us >= self._newest_us
        self._newest_us = created_us if self.ordered else self._newest_us

    def _register(self, insight: Insight, row: int) -> None:
        before = self.rows.get(insight.id)
        if before is None:
            prefix = insight.id[:PREFIX]
            self.prefixes[prefix] = (*self.prefixes.get(prefix, ()), row)
        else:
            self.earlier[row] = before
        self.rows[insight.id] = row
        twin = hash(normalised(insight.content))
        self.twins[twin] = (*self.twins.get(twin, ()), row)

    def _mention(self, start: int, insights: Sequence[Insight]) -> None:
        """Note every entity once a row, whatever its spelling."""
        rows: list[int] = []
        codes: list[int] = []
        for row, insight in enumerate(insights, start):
            for canonical, spelling in _spelled(insight):
                rows.append(row)
                codes.append(self.names.entity(canonical, spelling))
        self._columns.mention_row.extend(np.array(rows, dtype=np.int64))
        self._columns.mention_entity.extend(np.array(codes, dtype=np.int32))

    def patch(self, changes: Mapping[int, Insight]) -> None:
        """Give rows new insights that differ in nothing a row is found by, except use and pin."""
        self.insights = self.insights.patched(changes)
        rows = list(changes)
        created = self._columns.created_us.view()
        insights = list(changes.values())
        values: dict[str, list[int]] = {
            "accesses": [insight.access_count for insight in insights],
            "accessed_us": [_accessed_us(insight, int(created[row])) for row, insight in changes.items()],
            "pinned": [int(insight.pinned) for insight in insights],
        }
        for name, new in values.items():
            self._set(name, rows, new)

    def set_degrees(self, degrees: Mapping[int, int]) -> None:
        """Note how many pairs of neighbour and type rows have now."""
        self._set("degree", list(degrees), list(degrees.values()))

    def degrees(self) -> npt.NDArray[np.int32]:
        """How many pairs of neighbour and type rows have, shape (rows,)."""
        return self._columns.degree.view()

    def _set(self, name: str, rows: list[int], values: list[int]) -> None:
        column: Column = getattr(self._columns, name)
        if rows and column.view()[rows].tolist() != values:
            self._columns = self._columns._replace(**{name: column.patched(rows, values)})

    def columns(self) -> Columns[npt.NDArray[Any]]:
        """The rows appended so far."""
        return Columns(*(column.view() for column in self._columns))

    def compacted(self, kept: npt.NDArray[np.int64], renumbered: npt.NDArray[np.int64]) -> Table:
        """The rows `kept`, in that order, under the same names; `renumbered[row]` is a kept row's new number."""
        old = self.columns()
        alive = np.zeros(len(renumbered), dtype=np.bool_)
        alive[kept] = True
        mentions = alive[old.mention_row]
        fewer = Table(self.names)
        of_rows = [column[kept] for column in old[:MENTIONS]]
        of_mentions = [renumbered[old.mention_row[mentions]], old.mention_entity[mentions]]
        fewer._columns = Columns(*map(Column, of_rows + of_mentions))
        for created_us in of_rows[CREATED].tolist():
            fewer._note_order(created_us)
        fewer.insights = Ledger(self.insights[row] for row in kept.tolist())
        for row in range(len(kept)):
            fewer._register(fewer.insights[row], row)
        return fewer


def _spelled(insight: Insight) -> list[tuple[str, str]]:
    """Canonical name and first spelling of each entity, in order."""
    if not insight.entities:
        return []
    spelled = {_canonical(entity): entity for entity in reversed(insight.entities)}
    return list(reversed(spelled.items()))


def forget_cached() -> None:
    """Let go of every remembered name, so that nothing of a purged memory stays."""
    _canonical.cache_clear()


@lru_cache(maxsize=REMEMBERED_NAMES)
def _canonical(name: str) -> str:
    return canonical_name(name)


def _accessed_us(insight: Insight, created_us: int) -> int:
    return created_us if insight.last_accessed_at is None else parse_rfc3339(insight.last_accessed_at)


def _empty(dtype: npt.DTypeLike) -> Column:
    return Column(np.zeros(0, dtype=dtype))
