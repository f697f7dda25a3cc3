"""The writer's side of the index: applies changes one operation after another, then publishes the next snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.adjacency import Adjacency, EdgeArrays, degrees_of
from mnemond.index.conversations import Conversations
from mnemond.index.dense import VectorPolicy
from mnemond.index.document import document_of
from mnemond.index.growing import Column
from mnemond.index.passages import Passages
from mnemond.index.postings import Corpus, Postings
from mnemond.index.shortcuts import Shortcuts
from mnemond.index.snapshot import Parts, Snapshot
from mnemond.index.staging import EDGE_CODES, Staging
from mnemond.index.table import Table
from mnemond.index.vectors import Vectors
from mnemond.model.changes import Change, Vector
from mnemond.model.edge import Edge
from mnemond.model.insight import Insight


class Compaction(msgspec.Struct, frozen=True):
    """Dead rows are dropped when there are more than `dead_rows` of them and they are more than `dead_share` of all.

    A quarter wastes at most a third of every scan, and spreads the cost of renumbering over as many retirements.
    """

    dead_rows: int = 1024
    dead_share: float = 0.25


class MemoryIndex:
    """Owned by the one writer of a store; readers on any thread take `snapshot` once and keep it for a whole recall.

    `stage` shows an operation to the writer alone, in `working`; `publish` shows everything staged to the readers.
    When `stage` raises, or what was staged is not to be, the index no longer matches its store and must be built
    again; the published snapshot stays what it was. `begun` counts the operations since the last publication that
    were staged, or of which perhaps a part was.
    """

    def __init__(
        self,
        dimension: int,
        compaction: Compaction | None = None,
        made_by: str = "",
        search: VectorPolicy | None = None,
    ) -> None:
        """An empty index for vectors of shape (dimension,), searched as `search` says; `made_by`: fingerprint of the
        embedder they come from."""
        self.made_by = made_by
        self._compaction = compaction or Compaction()
        self.table = Table()
        self.postings = Postings({}, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        self.lengths = Column(np.zeros(0, dtype=np.float32))
        self.breadths = Column(np.zeros(0, dtype=np.float32))
        self.passages = Passages()
        self.alive = Column(np.zeros(0, dtype=np.uint8))
        self.vectors = Vectors(dimension)
        self.shortcuts = Shortcuts(search or VectorPolicy(), dimension)
        self.adjacency = Adjacency([], 0)
        self.conversations = Conversations()
        self.live = self.embedded = self.total_length = 0
        self.begun = 0
        self._snapshot = self._state(0)
        self._working: Snapshot | None = self._snapshot

    @classmethod
    def build(
        cls,
        rows: Iterable[tuple[Insight, Vector | None]],
        edges: Iterable[Edge] | EdgeArrays,
        dimension: int,
        compaction: Compaction | None = None,
        made_by: str = "",
        search: VectorPolicy | None = None,
    ) -> MemoryIndex:
        """The index of a whole store: its active insights, and its edges as far as both ends are among these; arrays of
        edges go by the places of the rows."""
        index = cls(dimension, compaction, made_by, search)
        pairs = list(rows)
        insights = [insight for insight, _ in pairs]
        index.table.extend(insights)
        documents = [document_of(insight) for insight in insights]
        index.postings = Postings.build(document.counts for document in documents)
        index.lengths = Column(np.array([document.length for document in documents], dtype=np.float32))
        index.breadths = Column(np.array([document.breadth for document in documents], dtype=np.float32))
        index.passages.extend(documents)
        index.alive = Column(np.ones(len(insights), dtype=np.uint8))
        index.conversations.extend(insights)
        index.embedded = index.vectors.extend([vector for _, vector in pairs])
        index._link_all(edges)
        index.live = len(insights)
        index.total_length = int(index.lengths.view().sum(dtype=np.int64))
        index.shortcuts.keep_up(index.vectors, index.alive.view())
        index._snapshot = index._working = index._state(0)
        return index

    def _link_all(self, edges: Iterable[Edge] | EdgeArrays) -> None:
        self.relink(edges if isinstance(edges, EdgeArrays) else self._edge_arrays(edges))

    def relink(self, edges: EdgeArrays) -> None:
        """Give all rows these edges and no others; readers see them with the next publication."""
        rows = len(self.table.insights)
        self.adjacency = Adjacency.build(edges, rows)
        degrees = degrees_of(edges, rows).tolist() if len(edges.source) else [0] * rows
        self.table.set_degrees(dict(enumerate(degrees)))
        self._working = None

    @property
    def search(self) -> VectorPolicy:
        """How vectors are searched."""
        return self.shortcuts.policy

    @property
    def snapshot(self) -> Snapshot:
        """The newest published state."""
        return self._snapshot

    @property
    def working(self) -> Snapshot:
        """Everything staged so far, for the writer alone."""
        if self._working is None:
            self._working = self._state(self._snapshot.generation + 1)
        return self._working

    def row_of(self, insight_id: str) -> int | None:
        """The row of a memory that is live by what is staged so far."""
        row = self.table.rows.get(insight_id)
        return row if row is not None and self.alive.view()[row] else None

    def apply(self, changes: Sequence[Change]) -> Snapshot:
        """Carry out changes that are committed already, and publish them as one new snapshot."""
        self.stage(changes)
        return self.publish()

    def stage(self, changes: Sequence[Change]) -> dict[int, tuple[int, int]]:
        """Carry out the changes of one operation, in order; of each row whose edges they touched, its degree
        before (`link_editor.NEW` for a new row) and now.

        INTERNAL when a change does not fit: an id that is live already is added, or one that is not is changed. An
        edge with an end that is not live is left out, as it is from a store that is loaded.
        """
        if not changes:
            return {}
        self.begun += 1
        degrees = Staging(self).carry_out(changes)
        self._working = None
        return degrees

    def publish(self) -> Snapshot:
        """Show what was staged to every reader that comes from now on."""
        if self._is_due():
            self._compact()
            self._working = None
        if self.shortcuts.keep_up(self.vectors, self.alive.view()) or self._working is self._snapshot:
            self._working = None
        self.begun = 0
        self._snapshot = self.working
        self.table.shown()
        return self._snapshot

    def _edge_arrays(self, edges: Iterable[Edge]) -> EdgeArrays:
        rows = self.table.rows
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

    def _state(self, generation: int) -> Snapshot:
        rows = len(self.table.insights)
        alive: npt.NDArray[np.uint8] | None = self.alive.view() if self.live < rows else None
        return Snapshot(
            generation,
            Parts(
                table=self.table,
                insights=self.table.insights,
                columns=self.table.columns(),
                breadths=self.breadths.view(),
                corpus=Corpus(rows, alive, self.lengths.view(), self.live, self.total_length),
                postings=self.postings,
                dense=self.shortcuts.view(self.vectors),
                adjacency=self.adjacency,
                neighbours=self.conversations.neighbours(),
                passages=self.passages.view(),
                embedded=self.embedded,
                sessions=len(self.table.names.sessions) > 1,
                ordered=self.table.ordered,
                extent=self.table.extent,
                entities=len(self.table.names.spellings),
                made_by=self.made_by,
            ),
        )

    def _is_due(self) -> bool:
        rows = len(self.table.insights)
        dead = rows - self.live
        return dead > self._compaction.dead_rows and dead > self._compaction.dead_share * rows

    def _compact(self) -> None:
        """Renumber without the dead rows, into new containers: older snapshots keep the old ones."""
        alive = self.alive.view()
        kept = np.flatnonzero(alive)
        renumbered = np.cumsum(alive, dtype=np.int64) - 1
        self.table = self.table.compacted(kept, renumbered)
        self.postings = self.postings.compacted(alive, renumbered)
        self.lengths = Column(self.lengths.view()[kept])
        self.breadths = Column(self.breadths.view()[kept])
        self.passages = self.passages.compacted(kept)
        self.vectors = self.vectors.compacted(kept)
        self.shortcuts = self.shortcuts.compacted(kept, renumbered)
        self.adjacency = self.adjacency.compacted(renumbered, len(kept))
        self.conversations = self.conversations.compacted(kept)
        self.alive = Column(np.ones(len(kept), dtype=np.uint8))
