"""The writer's side of the index: applies committed changes and publishes the next snapshot in one assignment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.adjacency import Adjacency, EdgeArrays, Editor
from mnemond.index.document import document_terms
from mnemond.index.growing import Column
from mnemond.index.postings import Corpus, Postings
from mnemond.index.snapshot import Parts, Snapshot
from mnemond.index.table import Table
from mnemond.index.vectors import Vectors
from mnemond.model.changes import AddEdge, AddInsight, Change, RemoveEdge, RetireInsight, Vector
from mnemond.model.edge import EDGE_TYPES, Edge
from mnemond.model.insight import Insight


class Compaction(msgspec.Struct, frozen=True):
    """Dead rows are dropped when there are more than `dead_rows` of them and they are more than `dead_share` of all.

    A quarter wastes at most a third of every scan, and spreads the cost of renumbering over as many retirements.
    """

    dead_rows: int = 1024
    dead_share: float = 0.25


EDGE_CODES = {name: code for code, name in enumerate(EDGE_TYPES)}


class MemoryIndex:
    """Owned by the one writer of a store; readers on any thread take `snapshot` once and keep it for a whole recall.

    When `apply` raises, the index no longer matches its store and must be built again; the published snapshot stays
    what it was.
    """

    def __init__(self, dimension: int, compaction: Compaction | None = None) -> None:
        """An empty index for vectors of shape (dimension,)."""
        self._compaction = compaction or Compaction()
        self._table = Table()
        self._postings = Postings({}, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        self._lengths = Column(np.zeros(0, dtype=np.float32))
        self._alive = Column(np.zeros(0, dtype=np.uint8))
        self._vectors = Vectors(dimension)
        self._adjacency = Adjacency()
        self._live = self._embedded = self._total_length = 0
        self._publish(0)

    @classmethod
    def build(
        cls,
        rows: Iterable[tuple[Insight, Vector | None]],
        edges: Iterable[Edge],
        dimension: int,
        compaction: Compaction | None = None,
    ) -> MemoryIndex:
        """The index of a whole store: its active insights, and its edges as far as both ends are among these."""
        index = cls(dimension, compaction)
        pairs = list(rows)
        insights = [insight for insight, _ in pairs]
        index._table.extend(insights)
        index._postings, lengths = Postings.build(map(document_terms, insights))
        index._lengths = Column(lengths)
        index._alive = Column(np.ones(len(insights), dtype=np.uint8))
        index._embedded = index._vectors.extend([vector for _, vector in pairs])
        index._adjacency = Adjacency.build(index._edge_arrays(edges))
        index._live = len(insights)
        index._total_length = int(lengths.sum(dtype=np.int64))
        index._publish(0)
        return index

    @property
    def snapshot(self) -> Snapshot:
        """The newest published state."""
        return self._snapshot

    def apply(self, changes: Sequence[Change]) -> Snapshot:
        """Carry out a batch of committed changes, in order, and publish it as one new snapshot.

        INTERNAL when a change does not fit: an id that is live already is added, or one that is not is retired. An
        edge with an end that is not live is left out, as it is from a store that is loaded.
        """
        editor = self._adjacency.edit()
        retiring: set[int] = set()
        adding: list[AddInsight] = []
        for change in changes:
            if isinstance(change, AddInsight):
                adding.append(change)
                continue
            self._add(adding, retiring)
            adding = []
            match change:
                case RetireInsight():
                    row = self._live_row(change.id, retiring)
                    editor.isolate(row)
                    retiring.add(row)
                case AddEdge(edge):
                    self._link(editor, edge, retiring)
                case RemoveEdge():
                    self._unlink(editor, change, retiring)
                case _:
                    assert_never(change)
        self._add(adding, retiring)
        self._adjacency = editor.done()
        self._bury(sorted(retiring))
        if self._is_due():
            self._compact()
        self._publish(self._snapshot.generation + 1)
        return self._snapshot

    # ------------------------------------------------------------ single changes

    def _add(self, changes: list[AddInsight], retiring: set[int]) -> None:
        """Append a row for each; together, because most of the cost is per call and not per row."""
        if not changes:
            return
        insights = [change.insight for change in changes]
        known = [insight.id for insight in insights if self._find(insight.id, retiring) is not None]
        if known or len({insight.id for insight in insights}) < len(insights):
            raise MnemonError(INTERNAL, f"the index holds memory {known[0] if known else insights[-1].id} already")
        documents = [document_terms(insight) for insight in insights]
        lengths = np.fromiter(map(len, documents), dtype=np.float32, count=len(documents))
        self._postings.add(len(self._table.insights), documents)
        self._lengths.extend(lengths)
        self._alive.extend(np.ones(len(documents), dtype=np.uint8))
        self._embedded += self._vectors.extend([change.vector for change in changes])
        self._table.extend(insights)
        self._live += len(documents)
        self._total_length += int(lengths.sum(dtype=np.int64))

    def _bury(self, rows: list[int]) -> None:
        """Mark rows dead in a copy: snapshots that still see them alive keep the old marks."""
        if not rows:
            return
        alive = self._alive.view().copy()
        alive[rows] = 0
        self._alive = Column(alive)
        self._live -= len(rows)
        self._embedded -= int(np.count_nonzero(self._vectors.present.view()[rows]))
        self._total_length -= int(self._lengths.view()[rows].sum(dtype=np.int64))

    def _link(self, editor: Editor, edge: Edge, retiring: set[int]) -> None:
        source, target = self._find(edge.source_id, retiring), self._find(edge.target_id, retiring)
        if source is not None and target is not None:
            editor.add(source, target, EDGE_CODES[edge.edge_type], edge.weight)

    def _unlink(self, editor: Editor, edge: RemoveEdge, retiring: set[int]) -> None:
        source, target = self._find(edge.source_id, retiring), self._find(edge.target_id, retiring)
        if source is not None and target is not None:
            editor.remove(source, target, EDGE_CODES[edge.edge_type])

    def _find(self, insight_id: str, retiring: set[int]) -> int | None:
        row = self._table.rows.get(insight_id)
        return row if row is not None and self._alive.view()[row] and row not in retiring else None

    def _live_row(self, insight_id: str, retiring: set[int]) -> int:
        row = self._find(insight_id, retiring)
        if row is None:
            raise MnemonError(INTERNAL, f"the index holds no live memory {insight_id} to retire")
        return row

    def _edge_arrays(self, edges: Iterable[Edge]) -> EdgeArrays:
        rows = self._table.rows
        flat = [
            (source, target, EDGE_CODES[edge.edge_type], edge.weight)
            for edge in edges
            if (source := rows.get(edge.source_id)) is not None and (target := rows.get(edge.target_id)) is not None
        ]
        parts = list(zip(*flat, strict=True)) if flat else [(), (), (), ()]
        return EdgeArrays(
            np.array(parts[0], dtype=np.int64),
            np.array(parts[1], dtype=np.int64),
            np.array(parts[2], dtype=np.uint8),
            np.array(parts[3], dtype=np.float32),
        )

    # ------------------------------------------------------------ whole states

    def _publish(self, generation: int) -> None:
        rows = len(self._table.insights)
        columns = self._table.columns()
        alive: npt.NDArray[np.uint8] | None = self._alive.view() if self._live < rows else None
        self._snapshot = Snapshot(
            generation,
            Parts(
                table=self._table,
                columns=columns,
                corpus=Corpus(rows, alive, self._lengths.view(), self._live, self._total_length),
                postings=self._postings,
                matrix=self._vectors.view(),
                adjacency=self._adjacency,
                embedded=self._embedded,
                sessions=len(self._table.names.sessions) > 1,
            ),
        )

    def _is_due(self) -> bool:
        rows = len(self._table.insights)
        dead = rows - self._live
        return dead > self._compaction.dead_rows and dead > self._compaction.dead_share * rows

    def _compact(self) -> None:
        """Renumber without the dead rows, into new containers: older snapshots keep the old ones."""
        alive = self._alive.view()
        kept = np.flatnonzero(alive)
        renumbered = np.cumsum(alive, dtype=np.int64) - 1
        self._table = self._table.compacted(kept, renumbered)
        self._postings = self._postings.compacted(alive, renumbered)
        self._lengths = Column(self._lengths.view()[kept])
        self._vectors = self._vectors.compacted(kept)
        self._adjacency = self._adjacency.compacted(renumbered)
        self._alive = Column(np.ones(len(kept), dtype=np.uint8))
