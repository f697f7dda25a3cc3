"""What is known of each row besides words, vector and links: the insight, its id, and the columns reads filter by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from mnemond.index.growing import Column, Dictionary
from mnemond.model.insight import Insight
from mnemond.model.timestamp import parse_rfc3339

PREFIX = 6
"""Characters of the shortest id prefix that can be looked up."""

Part = TypeVar("Part")


class Columns(NamedTuple, Generic[Part]):
    """Numbers of each row, shape (rows,); the mentions, one entity of one row each, have shape (mentions,).

    `category` to `agent` are numbers in `Names`, 0 for None.
    """

    category: Part
    source: Part
    user: Part
    session: Part
    agent: Part
    importance: Part
    created_us: Part
    mention_row: Part
    mention_entity: Part


DTYPES = (np.int32, np.int32, np.int32, np.int32, np.int32, np.int32, np.int64, np.int64, np.int32)
"""Of the columns, in order."""

MENTIONS = Columns._fields.index("mention_row")


class Names:
    """Numbers for the words in columns. They only grow and outlive a renumbering of rows: a number once given stays.

    `spellings`: the first spelling of each entity, at the number of its folded form.
    """

    def __init__(self) -> None:
        self.categories, self.sources, self.entities = Dictionary(), Dictionary(), Dictionary()
        self.users, self.sessions, self.agents = Dictionary(), Dictionary(), Dictionary()
        self.spellings: list[str] = [""]

    def entity(self, folded: str, spelling: str) -> int:
        """The number of an entity, whatever its letter case."""
        code = self.entities.encode(folded)
        if code == len(self.spellings):
            self.spellings.append(spelling)
        return code


class Table:
    """One writer appends rows; readers see the first n of them through `Columns`."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.insights: list[Insight] = []
        self.rows: dict[str, int] = {}
        """The newest row of each id."""
        self.earlier: dict[int, int] = {}
        """For a row whose id was there before: the row it had then."""
        self.prefixes: dict[str, tuple[int, ...]] = {}
        self._columns: Columns[Column] = Columns(*map(_empty, DTYPES))

    def extend(self, insights: Sequence[Insight]) -> None:
        """Append a row for each insight, in order."""
        names, columns = self.names, self._columns
        start = len(self.insights)
        columns.category.extend(names.categories.encode_all([insight.category for insight in insights]))
        columns.source.extend(names.sources.encode_all([insight.source for insight in insights]))
        columns.user.extend(names.users.encode_all([insight.scope.user_id for insight in insights]))
        columns.session.extend(names.sessions.encode_all([insight.scope.session_id for insight in insights]))
        columns.agent.extend(names.agents.encode_all([insight.scope.agent_id for insight in insights]))
        columns.importance.extend(np.array([insight.importance for insight in insights], dtype=np.int32))
        created = [parse_rfc3339(insight.created_at) for insight in insights]
        columns.created_us.extend(np.array(created, dtype=np.int64))
        self._mention(start, insights)
        self.insights.extend(insights)
        for row, insight in enumerate(insights, start):
            self._register(insight.id, row)

    def _register(self, insight_id: str, row: int) -> None:
        before = self.rows.get(insight_id)
        if before is None:
            prefix = insight_id[:PREFIX]
            self.prefixes[prefix] = (*self.prefixes.get(prefix, ()), row)
        else:
            self.earlier[row] = before
        self.rows[insight_id] = row

    def _mention(self, start: int, insights: Sequence[Insight]) -> None:
        """Note every entity once a row, whatever its letter case."""
        rows: list[int] = []
        codes: list[int] = []
        for row, insight in enumerate(insights, start):
            if insight.entities:
                spelled = {entity.casefold(): entity for entity in reversed(insight.entities)}
                rows += [row] * len(spelled)
                codes += [self.names.entity(folded, entity) for folded, entity in reversed(spelled.items())]
        self._columns.mention_row.extend(np.array(rows, dtype=np.int64))
        self._columns.mention_entity.extend(np.array(codes, dtype=np.int32))

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
        fewer.insights = [self.insights[row] for row in kept.tolist()]
        for row, insight in enumerate(fewer.insights):
            fewer._register(insight.id, row)
        return fewer


def _empty(dtype: npt.DTypeLike) -> Column:
    return Column(np.zeros(0, dtype=dtype))
