"""The writer's side of the index: applies changes operation by operation, then publishes the next snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.reading import VectorSettings
from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.arrays import GrowableArray
from mnemond.index.bm25 import Corpus, Postings, document_of
from mnemond.index.columns import Table
from mnemond.index.conversations import Conversations
from mnemond.index.edges import BOTH, EDGE_CODES, INWARDS, OUTWARDS, Adjacency, EdgeArrays, Editor, degrees_of
from mnemond.index.parts import Parts
from mnemond.index.passages import PassageIndex, PieceVectors
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import VectorAccelerators, Vectors, own_vector
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
from mnemond.model.memory import Edge, Insight
from mnemond.model.passages import DropPassage, EmbedPassage, KeepPassage, Passage, PassageChange

FOUND_BY = (
    "content", "category", "importance", "tags", "entities", "source", "conversation_id", "scope", "created_at",
    "channel", "intent", "valid_from", "invalid_at", "expires_at", "event_start", "event_end", "quarantined", "cues",
    "when",
)  # fmt: skip
"""Fields a row is found by. A row of which one changes is buried, and the memory gets a new one."""


class Compaction(msgspec.Struct, frozen=True):
    """Dead rows are dropped when there are more than `dead_rows` of them and they are more than `dead_share` of all.

    A quarter wastes at most a third of every scan, and spreads the cost of renumbering over as many retirements.
    """

    dead_rows: int = 1024
    dead_share: float = 0.25


class MemoryIndex:
    """Owned by the one writer of a store; readers on any thread take `snapshot` once and keep it for a whole recall.

    `stage` shows an operation to the writer alone, in `working`; `publish` shows everything staged to the readers.
    When `stage` raises, or what was staged is rolled back, the index no longer matches its store and must be built
    again; the published snapshot stays as it was. `begun` counts the operations since the last publication that were
    staged, completely or in part.
    """

    def __init__(
        self,
        dimension: int,
        compaction: Compaction | None = None,
        made_by: str = "",
        search: VectorSettings | None = None,
    ) -> None:
        """An empty index for vectors of shape (dimension,); `made_by`: fingerprint of their embedder."""
        self.made_by = made_by
        self._compaction = compaction or Compaction()
        self.table = Table()
        self.postings = Postings({}, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        self.cued = Postings({}, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
        self.alive = GrowableArray.empty(np.uint8)
        self.vectors = Vectors(dimension)
        self.accelerators = VectorAccelerators(search or VectorSettings(), dimension)
        self.adjacency = Adjacency([], 0)
        self.conversations = Conversations()
        self.passages = PassageIndex(dimension, made_by)
        self.live = self.embedded = self.total_length = 0
        self.begun = 0
        self._passages_staged = False
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
        search: VectorSettings | None = None,
        passages: PassageIndex | None = None,
    ) -> MemoryIndex:
        """Index a whole store: its active insights, and its edges as far as both ends are among these; arrays of edges
        refer to positions in `rows`. `passages`: what is kept of sessions."""
        index = cls(dimension, compaction, made_by, search)
        if passages is not None:
            index.passages = passages
        pairs = list(rows)
        insights = [insight for insight, _ in pairs]
        documents = [document_of(insight) for insight in insights]
        index.table.extend(insights, documents)
        index.postings = Postings.build(document.counts for document in documents)
        index.cued = Postings.build(dict.fromkeys(document.cued, 1.0) for document in documents)
        index.alive = GrowableArray(np.ones(len(insights), dtype=np.uint8))
        index.conversations.extend(insights)
        index.embedded = index.vectors.extend([vector for _, vector in pairs])
        index.relink(edges if isinstance(edges, EdgeArrays) else index._edge_arrays(edges))
        index.live = len(insights)
        index.total_length = sum(document.length for document in documents)
        index.accelerators.keep_up(index.vectors, index.alive.view())
        index._snapshot = index._working = index._state(0)
        return index

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

    def relink(self, edges: EdgeArrays) -> None:
        """Give all rows these edges and no others; readers see them with the next publication."""
        rows = len(self.table.insights)
        self.adjacency = Adjacency.build(edges, rows)
        degrees = degrees_of(edges, rows).tolist() if len(edges.source) else [0] * rows
        self.table.set_degrees(dict(enumerate(degrees)))
        self._working = None

    @property
    def search(self) -> VectorSettings:
        return self.accelerators.settings

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def working(self) -> Snapshot:
        """Everything staged so far, for the writer alone."""
        if self._working is None:
            self._working = self._state(self._snapshot.generation + 1)
        return self._working

    def row_of(self, insight_id: str) -> int | None:
        """Return the row of a memory that is live, including what is staged so far."""
        row = self.table.rows.get(insight_id)
        return row if row is not None and self.alive.view()[row] else None

    def apply(self, changes: Sequence[Change]) -> Snapshot:
        """Apply changes that are committed already, and publish them as one new snapshot."""
        self.stage(changes)
        return self.publish()

    def stage(self, changes: Sequence[Change]) -> dict[int, tuple[int, int]]:
        """Apply the changes of one operation, in order; return the degree of each row whose edges they touched before
        (`edges.NEW` for a new row) and now.

        Raises MnemonError(INTERNAL) when a change does not fit: an id that is live already is added, or one that is not
        is changed. An edge with an end that is not live is left out, as it is when a store is loaded.
        """
        if not changes:
            return {}
        self.begun += 1
        degrees = Staging(self).run(changes)
        self._working = None
        return degrees

    def stage_passages(self, changes: Sequence[PassageChange]) -> None:
        """Apply changes to passages that a write made; readers see them with the next publication."""
        if not changes:
            return
        self.begun += 1
        self._passages_staged = True
        for change in changes:
            match change:
                case KeepPassage():
                    self.passages.add(change.passage, change.vectors)
                case DropPassage():
                    self.passages.drop([change.id])
                case EmbedPassage(vectors=None):
                    pass
                case EmbedPassage():
                    self.passages.set_vectors(change.id, change.vectors)

    def add_passages(self, loaded: Iterable[tuple[Passage, PieceVectors | None]]) -> None:
        """Add passages of which the rows were read; those that are known stay as they are."""
        self._passages_staged = True
        for passage, vectors in loaded:
            if passage.id not in self.passages.by_id:
                self.passages.add(passage, vectors)

    def publish(self) -> Snapshot:
        """Show everything staged to every reader that takes a snapshot from now on."""
        rows = len(self.table.insights)
        dead = rows - self.live
        if dead > self._compaction.dead_rows and dead > self._compaction.dead_share * rows:
            self._compact()
            self._working = None
        if self.accelerators.keep_up(self.vectors, self.alive.view()) or self._working is self._snapshot:
            self._working = None
        if self._passages_staged:
            self.passages.publish()
            self._passages_staged, self._working = False, None
        self.begun = 0
        self._snapshot = self.working
        self.table.mark_shown()
        return self._snapshot

    def _state(self, generation: int) -> Snapshot:
        rows = len(self.table.insights)
        alive: npt.NDArray[np.uint8] | None = self.alive.view() if self.live < rows else None
        return Snapshot(
            generation,
            Parts(
                table=self.table,
                insights=self.table.insights,
                columns=self.table.views(),
                corpus=Corpus(rows, alive, self.table.columns.length.view(), self.live, self.total_length),
                postings=self.postings,
                cued=self.cued,
                dense=self.accelerators.view(self.vectors),
                adjacency=self.adjacency,
                neighbours=self.conversations.neighbours(),
                embedded=self.embedded,
                sessions=len(self.table.names.sessions) > 1,
                ordered=self.table.ordered,
                extent=self.table.extent,
                entities=len(self.table.names.spellings),
                made_by=self.made_by,
                passages=self.passages.snapshot,
            ),
        )

    def _compact(self) -> None:
        """Renumber without the dead rows, into new containers: older snapshots keep the old ones."""
        alive = self.alive.view()
        kept = np.flatnonzero(alive)
        renumbered = np.cumsum(alive, dtype=np.int64) - 1
        self.table = self.table.compacted(kept, renumbered)
        self.postings = self.postings.compacted(alive, renumbered)
        self.cued = self.cued.compacted(alive, renumbered)
        self.vectors = self.vectors.compacted(kept)
        self.accelerators = self.accelerators.compacted(kept, renumbered)
        self.adjacency = self.adjacency.compacted(renumbered, len(kept))
        self.conversations = self.conversations.compacted(kept)
        self.alive = GrowableArray(np.ones(len(kept), dtype=np.uint8))


class Staging:
    """Changes of one operation: rows appended, buried and patched, edges edited."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index
        self._editor = Editor(index.adjacency, len(index.table.insights))
        self._retiring: set[int] = set()
        self._adding: list[tuple[Insight, Vector | None]] = []
        self._patches: dict[int, Insight] = {}
        self._alive = index.alive.view()
        self._all_alive = index.live == len(self._alive)
        self._ends: dict[str, int | None] = {}
        """Results of `_find`, until a row comes or goes: edges of one memory look it up again and again."""

    def run(self, changes: Sequence[Change]) -> dict[int, tuple[int, int]]:
        """Change the index; return the degrees before and now of each row whose edges were touched and that is still
        live; see `Editor.degrees`."""
        for change in changes:
            if isinstance(change, AddEdge):  # most changes are
                if self._adding:
                    self._add()
                self._link(change.edge)
                continue
            if isinstance(change, AddInsight | RestoreInsight):
                self._adding.append((change.insight, change.vector))
                continue
            self._add()
            match change:
                case AddRelations():
                    self._relate(change)
                    continue
                case PutInsight():
                    self._put(change)
                case RetireInsight():
                    self._drop(self._live_row(change.id))  # edges that move to a successor are changes of their own
                case PurgeInsight():
                    if (row := self._find(change.id)) is not None:
                        self._drop(row)
                case RemoveEdge():
                    source, target = self._find(change.source_id), self._find(change.target_id)
                    if source is not None and target is not None:
                        self._editor.remove(source, target, EDGE_CODES[change.edge_type])
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
            self._ends.clear()
        self._add()
        return self._finish()

    def _add(self) -> None:
        if not self._adding:
            return
        waiting, self._adding = self._adding, []
        self._ends.clear()
        insights = [insight for insight, _ in waiting]
        known = [insight.id for insight in insights if self._find(insight.id) is not None]
        if known or len({insight.id for insight in insights}) < len(insights):
            raise MnemonError(INTERNAL, f"the index holds memory {known[0] if known else insights[-1].id} already")
        index = self._index
        for insight, vector in waiting:
            document = document_of(insight)
            index.postings.add(len(index.table.insights), document.counts)
            if document.cued:
                index.cued.add(len(index.table.insights), dict.fromkeys(document.cued, 1.0))
            index.alive.append(1)
            index.embedded += index.vectors.append(vector)
            index.table.append(insight, document)
            index.conversations.append(insight)
            index.live += 1
            index.total_length += document.length

    def _put(self, change: PutInsight) -> None:
        row = self._live_row(change.insight.id)
        old, new = self._insight(row), change.insight
        if change.embedded:
            self._renumber(row, new, change.vector)
        elif any(getattr(old, field) != getattr(new, field) for field in FOUND_BY):
            vector = self._index.vectors.stored(row)
            self._renumber(row, new, vector if vector is None or old.cues == new.cues else own_vector(vector))
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

    def _insight(self, row: int) -> Insight:
        return self._patches.get(row) or self._index.table.insights[row]

    def _find(self, insight_id: str) -> int | None:
        row = self._index.table.rows.get(insight_id)
        if row is None or row in self._retiring:
            return None
        return row if row >= len(self._alive) or self._alive[row] else None  # beyond: added by this operation

    def _row(self, insight_id: str) -> int | None:
        """`_find`, cached."""
        try:
            return self._ends[insight_id]
        except KeyError:
            found = self._ends[insight_id] = self._find(insight_id)
            return found

    def _live_row(self, insight_id: str) -> int:
        row = self._find(insight_id)
        if row is None:
            raise MnemonError(INTERNAL, f"the index holds no live memory {insight_id}")
        return row

    def _finish(self) -> dict[int, tuple[int, int]]:
        index = self._index
        degrees = self._editor.degrees(index.table.columns.degree.view())
        for row in self._retiring:
            degrees.pop(row, None)
        index.adjacency = self._editor.done(len(index.table.insights))
        index.table.patch(self._patches)
        index.table.set_degrees({row: now for row, (_, now) in degrees.items()})
        if self._retiring:
            rows = sorted(self._retiring)
            alive = index.alive.view().copy()  # snapshots that still see them alive keep the old marks
            alive[rows] = 0
            index.alive = GrowableArray(alive)
            index.conversations.leave(rows)
            index.live -= len(rows)
            index.embedded -= int(np.count_nonzero(index.vectors.present.view()[rows]))
            index.total_length -= int(index.table.columns.length.view()[rows].sum(dtype=np.int64))
        return degrees
