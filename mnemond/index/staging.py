"""One operation on its way into the index: rows appended, buried and patched, edges edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec
import numpy as np

from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.adjacency import BOTH, INWARDS, OUTWARDS
from mnemond.index.document import document_of
from mnemond.index.growing import Column
from mnemond.index.link_editor import Editor
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    AddRelations,
    Change,
    CountUse,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
    SetVector,
    Vector,
)
from mnemond.model.edge import EDGE_TYPES, Edge
from mnemond.model.insight import Insight

if TYPE_CHECKING:
    from mnemond.index.memory_index import MemoryIndex

EDGE_CODES = {name: code for code, name in enumerate(EDGE_TYPES)}

FOUND_BY = (
    "content", "category", "importance", "tags", "entities", "source", "conversation_id", "scope", "created_at",
    "channel", "intent", "valid_from", "invalid_at", "expires_at", "event_start", "event_end", "quarantined",
)  # fmt: skip
"""Fields a row is found by. A row of which one changes is buried, and the memory gets a new one."""


class Staging:
    """Changes of one operation."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._editor = Editor(index.adjacency, len(index.table.insights))
        self._retiring: set[int] = set()
        self._adding: list[tuple[Insight, Vector | None]] = []
        self._patches: dict[int, Insight] = {}
        self._alive = index.alive.view()
        self._all_alive = index.live == len(self._alive)
        self._ends: dict[str, int | None] = {}
        """Rows of ids as `_find` knows them, as long as no row comes or goes: edges of one memory ask for it again."""

    def carry_out(self, changes: Sequence[Change]) -> dict[int, tuple[int, int]]:
        """Change the index; of each row whose edges were touched and that is still live, its degree before and now; see
        `Editor.degrees`."""
        for change in changes:
            if isinstance(change, AddEdge):  # most changes are
                if self._adding:
                    self._add()
                self._link(change.edge)
            elif isinstance(change, AddRelations):
                self._add()
                self._relate(change)
            elif isinstance(change, AddInsight | RestoreInsight):
                self._adding.append((change.insight, change.vector))
            else:
                if self._adding:
                    self._add()
                self._change(change)
                self._ends.clear()
        if self._adding:
            self._add()
        return self._finish()

    def _change(
        self, change: PutInsight | RetireInsight | PurgeInsight | RemoveEdge | SetVector | CountUse | SetImportance
    ) -> None:
        match change:
            case PutInsight():
                self._put(change)
            case RetireInsight():
                self._drop(self._live_row(change.id))  # edges that move to a successor are changes of their own
            case PurgeInsight():
                if (row := self._find(change.id)) is not None:
                    self._drop(row)
            case RemoveEdge():
                self._unlink(change)
            case SetVector():
                if (row := self._find(change.id)) is not None:
                    self._renumber(row, self._insight(row), change.vector)
            case CountUse():
                if (row := self._find(change.id)) is not None:
                    old = self._insight(row)
                    self._patches[row] = msgspec.structs.replace(
                        old, access_count=old.access_count + change.times, last_accessed_at=change.at
                    )
            case SetImportance():
                row = self._live_row(change.id)
                value = change.effective_importance
                self._patches[row] = msgspec.structs.replace(self._insight(row), effective_importance=value)
            case _:
                assert_never(change)

    # ------------------------------------------------------------ rows

    def _add(self) -> None:
        """Append a row for each memory that waits for one."""
        waiting, self._adding = self._adding, []
        self._ends.clear()
        insights = [insight for insight, _ in waiting]
        known = [insight.id for insight in insights if self._find(insight.id) is not None]
        if known or len({insight.id for insight in insights}) < len(insights):
            raise MnemonError(INTERNAL, f"the index holds memory {known[0] if known else insights[-1].id} already")
        for insight, vector in waiting:
            self._append(insight, vector)

    def _append(self, insight: Insight, vector: Vector | None) -> None:
        index, document = self._index, document_of(insight)
        index.postings.add(len(index.table.insights), document.counts)
        index.passages.append(document)
        index.lengths.append(document.length)
        index.breadths.append(document.breadth)
        index.alive.append(1)
        index.embedded += index.vectors.append(vector)
        index.table.append(insight)
        index.conversations.append(insight)
        index.live += 1
        index.total_length += document.length

    def _put(self, change: PutInsight) -> None:
        row = self._live_row(change.insight.id)
        old, new = self._insight(row), change.insight
        if change.embedded or any(getattr(old, field) != getattr(new, field) for field in FOUND_BY):
            self._renumber(row, new, change.vector if change.embedded else self._vector(row))
        else:
            self._patches[row] = new

    def _renumber(self, row: int, insight: Insight, vector: Vector | None) -> None:
        """Bury a row and give its memory, with all its edges, a new one."""
        self._retiring.add(row)
        self._patches.pop(row, None)
        self._adding.append((insight, vector))
        self._add()
        self._editor.move(row, len(self._index.table.insights) - 1)

    def _drop(self, row: int) -> None:
        self._editor.isolate(row)
        self._patches.pop(row, None)
        self._retiring.add(row)

    def _vector(self, row: int) -> Vector | None:
        vectors = self._index.vectors
        found: Vector | None = vectors.view()[row] if vectors.present.view()[row] else None
        return found

    def _insight(self, row: int) -> Insight:
        return self._patches.get(row) or self._index.table.insights[row]

    def _find(self, insight_id: str) -> int | None:
        row = self._index.table.rows.get(insight_id)
        if row is None or row in self._retiring:
            return None
        return row if row >= len(self._alive) or self._alive[row] else None  # beyond: brought by this operation

    def _live_row(self, insight_id: str) -> int:
        row = self._find(insight_id)
        if row is None:
            raise MnemonError(INTERNAL, f"the index holds no live memory {insight_id}")
        return row

    # ------------------------------------------------------------ edges

    def _link(self, edge: Edge) -> None:
        source, target = self._row(edge.source_id), self._row(edge.target_id)
        if source is not None and target is not None:
            self._editor.put(source, target, EDGE_CODES[edge.edge_type], edge.weight)

    def _relate(self, change: AddRelations) -> None:
        newer, row_of = self._live_row(change.id), self._index.table.rows.get
        gone, alive, known = self._retiring, self._alive, 0 if self._all_alive else len(self._alive)
        links = [
            (older, EDGE_CODES[kind], weight, INWARDS if there is None else OUTWARDS if back is None else BOTH)
            for other, kind, weight, there, back in change.relations
            if (older := row_of(other)) is not None and older not in gone and (older >= known or alive[older])
        ]
        self._editor.begin(newer, links)

    def _row(self, insight_id: str) -> int | None:
        """`_find`, remembered."""
        try:
            return self._ends[insight_id]
        except KeyError:
            found = self._ends[insight_id] = self._find(insight_id)
            return found

    def _unlink(self, edge: RemoveEdge) -> None:
        source, target = self._find(edge.source_id), self._find(edge.target_id)
        if source is not None and target is not None:
            self._editor.remove(source, target, EDGE_CODES[edge.edge_type])

    # ------------------------------------------------------------ the end

    def _finish(self) -> dict[int, tuple[int, int]]:
        before = self._index.table.degrees()
        degrees = self._editor.degrees(before)
        for row in self._retiring:
            degrees.pop(row, None)
        self._index.adjacency = self._editor.done(len(self._index.table.insights))
        self._index.table.patch(self._patches)
        self._index.table.set_degrees({row: now for row, (_, now) in degrees.items()})
        self._bury(sorted(self._retiring))
        return degrees

    def _bury(self, rows: list[int]) -> None:
        """Mark rows dead in a copy: snapshots that still see them alive keep the old marks."""
        if not rows:
            return
        index = self._index
        alive = index.alive.view().copy()
        alive[rows] = 0
        index.alive = Column(alive)
        index.conversations.leave(rows)
        index.live -= len(rows)
        index.embedded -= int(np.count_nonzero(index.vectors.present.view()[rows]))
        index.total_length -= int(index.lengths.view()[rows].sum(dtype=np.int64))
