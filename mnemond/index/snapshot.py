"""One generation of a store as readers see it: immutable, consistent, and free of locks and I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.index.adjacency import Adjacency, Links, logical
from mnemond.index.ledger import Ledger
from mnemond.index.postings import Bm25, Corpus, Floats, Postings
from mnemond.index.selection import Rows, at_least_kth, not_behind_kth
from mnemond.index.table import PREFIX, Columns, Table
from mnemond.index.vectors import Matrix
from mnemond.model.changes import Vector
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.insight import Insight, Scope
from mnemond.model.recall import Filter

Mask = npt.NDArray[np.bool_]

MANY_TIES = 256
"""Rows tied at the k-th place from which on sorting them as arrays is faster than as tuples."""


class Parts(NamedTuple):
    """What a snapshot is made of. Containers shared with the writer only ever grow behind the snapshot's rows.

    `breadths`: different terms in the content of each row. `present`: 1 for each row that has a vector. `embedded`:
    live rows with a vector. `sessions`: whether any row, live or dead, belongs to a session. `entities`: below which
    the numbers of all entities lie that any row, live or dead, names. `made_by`: the embedder of the vectors.
    """

    table: Table
    insights: Ledger
    columns: Columns[npt.NDArray[Any]]
    breadths: Floats
    corpus: Corpus
    postings: Postings
    matrix: Matrix
    present: npt.NDArray[np.uint8]
    adjacency: Adjacency
    embedded: int
    sessions: bool
    ordered: bool
    entities: int
    made_by: str


class Snapshot:
    """Every read of one recall goes through one of these. Rows are numbers from 0; dead rows keep theirs.

    `generation` counts the batches applied, `rows` all rows, `live` those not retired.
    """

    __slots__ = ("dimension", "embedded", "generation", "live", "parts", "rows")

    def __init__(self, generation: int, parts: Parts) -> None:
        self.generation = generation
        self.rows = parts.corpus.rows
        self.live = parts.corpus.live
        self.embedded = parts.embedded
        self.dimension = int(parts.matrix.shape[1])
        self.parts = parts  # for this package; everybody else asks the methods

    # ------------------------------------------------------------ rows and ids

    def insight(self, row: int) -> Insight:
        """The memory of a row below `rows`, dead or alive."""
        return self.parts.insights[row]

    def row_of(self, insight_id: str) -> int | None:
        """The row of a live memory."""
        row = self._known_row(insight_id)
        return row if row is not None and self._is_live(row) else None

    def find(self, prefix: str) -> list[str]:
        """Ids of the live memories whose id begins with `prefix`, sorted.

        A prefix shorter than six characters finds the memory whose whole id it is, and no other.
        """
        table = self.parts.table
        rows = table.prefixes.get(prefix[:PREFIX], ())
        ids = {self.parts.insights[row].id for row in rows if row < self.rows}
        return sorted(found for found in ids if found.startswith(prefix) and self.row_of(found) is not None)

    def _known_row(self, insight_id: str) -> int | None:
        """The newest row of an id within this snapshot, dead or alive."""
        table = self.parts.table
        row = table.rows.get(insight_id)
        while row is not None and row >= self.rows:
            row = table.earlier.get(row)
        return row

    def _is_live(self, row: int) -> bool:
        alive = self.parts.corpus.alive
        return alive is None or bool(alive[row])

    def alive(self) -> Mask:
        """Which rows are live, shape (rows,)."""
        alive = self.parts.corpus.alive
        return np.ones(self.rows, dtype=np.bool_) if alive is None else alive != 0

    def has_vector(self, row: int) -> bool:
        """Whether a row was embedded."""
        return bool(self.parts.present[row])

    @property
    def made_by(self) -> str:
        """Fingerprint of the embedder whose vectors may be compared with these; "" when none was told."""
        return self.parts.made_by

    def without_vector(self) -> Rows:
        """The live rows that were not embedded, ascending."""
        return np.flatnonzero(self.alive() & (self.parts.present == 0))

    @property
    def importance(self) -> npt.NDArray[np.int32]:
        """1…5 of every row, shape (rows,). Not to be written to, like the four below."""
        return self.parts.columns.importance

    @property
    def breadths(self) -> Floats:
        """Different index terms in the content of each row, shape (rows,)."""
        return self.parts.breadths

    @property
    def accesses(self) -> npt.NDArray[np.int32]:
        """How often each row was recalled, shape (rows,)."""
        return self.parts.columns.accesses

    @property
    def accessed_us(self) -> npt.NDArray[np.int64]:
        """Last recall, else creation, of each row in microseconds, shape (rows,)."""
        return self.parts.columns.accessed_us

    @property
    def created_us(self) -> npt.NDArray[np.int64]:
        """Creation of each row in microseconds, shape (rows,)."""
        return self.parts.columns.created_us

    @property
    def pinned(self) -> npt.NDArray[np.uint8]:
        """1 for each row that is pinned, shape (rows,)."""
        return self.parts.columns.pinned

    @property
    def degrees(self) -> npt.NDArray[np.int32]:
        """Different pairs of neighbour and type of each row (spec 4, rules), shape (rows,)."""
        return self.parts.columns.degree

    # ------------------------------------------------------------ filters

    def visible(self, wanted: Filter) -> Mask | None:
        """Which rows `wanted` lets a reader see, shape (rows,); None when it is all of them."""
        masks = [*self._living(), *self._matching(wanted), *self._scoped(wanted)]
        if not masks:
            return None
        visible = masks[0]
        for mask in masks[1:]:
            visible &= mask
        return visible

    def _living(self) -> list[Mask]:
        alive = self.parts.corpus.alive
        return [] if alive is None else [alive != 0]

    def _matching(self, wanted: Filter) -> list[Mask]:
        table, columns = self.parts.table, self.parts.columns
        masks = []
        if wanted.category is not None:
            masks.append(_equal(columns.category, table.names.categories.find(wanted.category)))
        if wanted.source is not None:
            masks.append(_equal(columns.source, table.names.sources.find(wanted.source)))
        return masks

    def _scoped(self, wanted: Filter) -> list[Mask]:
        """The scope rule of `Filter`: a scope that is given admits its own rows and those of nobody in particular."""
        table, columns, scope = self.parts.table, self.parts.columns, wanted.scope
        masks = []
        if scope.user_id is not None:
            masks.append(_own_or_common(columns.user, table.names.users.find(scope.user_id)))
        if scope.agent_id is not None:
            masks.append(_own_or_common(columns.agent, table.names.agents.find(scope.agent_id)))
        if scope.session_id is not None:
            masks.append(_own_or_common(columns.session, table.names.sessions.find(scope.session_id)))
        elif not wanted.all_sessions and self.parts.sessions:
            masks.append(columns.session == 0)
        return masks

    def comparable(self, scope: Scope) -> Mask | None:
        """Rows meant for nobody whom a memory of this scope is not meant for, shape (rows,); None when all are.

        What such a row says already, every reader of the new memory sees.
        """
        columns, names = self.parts.columns, self.parts.table.names
        masks = self._living()
        for column, known, value in (
            (columns.user, names.users, scope.user_id),
            (columns.session, names.sessions, scope.session_id),
            (columns.agent, names.agents, scope.agent_id),
        ):
            if len(known) > 1:
                masks.append(_own_or_common(column, None if value is None else known.find(value)))
        return np.logical_and.reduce(masks) if masks else None

    def twins(self, text: str) -> list[int]:
        """Live rows whose normalised text may be equal to this normalised text (their hashes are), ascending."""
        return [row for row in self.parts.table.twins.get(hash(text), ()) if row < self.rows and self._is_live(row)]

    # ------------------------------------------------------------ signals

    def keyword(self, terms: list[str], parameters: Bm25) -> tuple[Floats, float]:
        """BM25 of every row for the terms of a query, shape (rows,), and the bound no memory can reach.

        Scores of dead rows mean nothing.
        """
        return self.parts.postings.scores(terms, self.parts.corpus, parameters)

    def similarity(self, vector: Vector, first: int = 0) -> Floats:
        """Cosine of every row from `first` on with `vector` (length 1, shape (dimension,)), shape (rows - first,); 0
        where there is no vector.

        ValueError when the vector is of another dimension.
        """
        found: Floats = np.dot(self.parts.matrix[first:], vector)
        return found

    def similarities(self, vectors: npt.NDArray[np.float32]) -> Floats:
        """Cosine of every row with each of `vectors` (shape (n, dimension)), shape (n, rows)."""
        found: Floats = np.dot(vectors, self.parts.matrix.T)
        return found

    def vector(self, row: int) -> Vector | None:
        """The embedding of a row, None where there is none. Not to be written to."""
        return self.parts.matrix[row] if self.parts.present[row] else None

    def likeness(self, terms: set[str]) -> Floats:
        """Share of its words that the smaller of two texts has in common with the other, shape (rows,): those of each
        row's content and `terms`, different index terms of a text. An estimate of containment (spec 7.1)."""
        shared = self.parts.postings.shared(terms, self.rows).astype(np.float32)
        least = np.minimum(self.parts.breadths, np.float32(len(terms)))
        found: Floats = np.divide(shared, np.maximum(least, np.float32(1.0)), dtype=np.float32)
        return found

    def best(self, scores: Floats, k: int, rows: Rows | None = None) -> Rows:
        """Positions in `scores` of the k best, best first; `rows` says which row each score belongs to (else its own).

        Ties: the more important, then the newer, then the smaller id. A negative score is never chosen.
        """
        found = at_least_kth(scores, k)
        values = scores[found]
        if len(set(values.tolist())) == len(values):
            return found[(-values).argsort()]
        columns = self.parts.columns
        of = found if rows is None else rows[found]
        if len(found) > MANY_TIES + k:
            kept = not_behind_kth((values, columns.importance[of], columns.created_us[of]), k)
            found, of, values = found[kept], of[kept], values[kept]
        insights = self.parts.insights
        keys = (-values, -columns.importance[of], -columns.created_us[of])
        ids = [insights[row].id for row in of.tolist()]
        ranked = sorted(zip(*(key.tolist() for key in keys), ids, found.tolist(), strict=True))
        return np.array([place for *_, place in ranked[:k]], dtype=np.int64)

    # ------------------------------------------------------------ links

    def neighbours(self, row: int) -> Links:
        """Every edge of a row, in both directions; see `adjacency.LINK`. Read-only."""
        return self.parts.adjacency.links(row)

    def fan(self, rows: Sequence[int]) -> tuple[Rows, npt.NDArray[np.void]]:
        """The links of several rows: which of `rows` each belongs to, and the links; see `Adjacency.fan`."""
        return self.parts.adjacency.fan(rows)

    def link_count(self, row: int) -> int:
        """Logical links of a row: two memories are linked once a type, a causal link once a direction."""
        return sum(logical(self.parts.adjacency.links(row)))

    def document_frequency(self, term: str) -> int:
        """How many rows have an index term; dead ones count too, and ones that came after this snapshot."""
        return self.parts.postings.frequency(term)

    def entity_spelling(self, canonical: str) -> str | None:
        """How the store first spelled an entity, None when it never named it."""
        names = self.parts.table.names
        code = names.entities.find(canonical)
        return None if code is None or code >= self.parts.entities else names.spellings[code]

    def edge_counts(self) -> dict[str, int]:
        """Logical links of the store by type."""
        return dict(zip(EDGE_TYPES, self.parts.adjacency.counts, strict=True))

    # ------------------------------------------------------------ listings and figures

    def newest(self, wanted: Filter, limit: int, before_id: str | None = None) -> list[Insight]:
        """The last `limit` visible memories by creation time, newest first; with `before_id` those before it.

        Of equal times the one stored later counts as newer.

        NOT_FOUND when no memory, retired ones included, has the id `before_id`.
        """
        created = self.parts.columns.created_us
        mask = self.visible(wanted)
        rows = np.arange(self.rows) if mask is None else np.flatnonzero(mask)
        if before_id is not None:
            rows = self._older(rows, before_id)
        if len(rows) > limit:
            times = created[rows]
            least = np.partition(times, len(rows) - limit)[len(rows) - limit]
            newer = rows[times > least]
            rows = np.concatenate([rows[times == least][len(newer) - limit :], newer])
        order = np.lexsort((rows, created[rows]))[::-1]
        return [self.insight(row) for row in rows[order].tolist()]

    def _older(self, rows: Rows, before_id: str) -> Rows:
        before = self._known_row(before_id)
        if before is None:
            raise MnemonError(NOT_FOUND, f'no memory has the id "{before_id[:80]}"', hint="list again from the start")
        created = self.parts.columns.created_us
        times = created[rows]
        older: Rows = rows[(times < created[before]) | ((times == created[before]) & (rows < before))]
        return older

    def by_category(self) -> dict[str, int]:
        """How many live memories each category has; categories without any are left out."""
        codes = self.parts.columns.category
        for living in self._living():
            codes = codes[living]
        counts = np.bincount(codes).tolist()
        return {
            name: count
            for name, count in zip(self.parts.table.names.categories.values(), counts, strict=False)
            if count
        }

    def top_entities(self, k: int) -> list[tuple[str, int]]:
        """The k entities that most live memories name, as first spelled, with their counts; ties by spelling."""
        columns = self.parts.columns
        codes = columns.mention_entity
        for living in self._living():
            codes = codes[living[columns.mention_row]]
        counts = np.bincount(codes)
        found = at_least_kth(np.where(counts > 0, counts, -1).astype(np.float32), k)
        spellings = self.parts.table.names.spellings
        ranked = sorted((-int(counts[code]), spellings[code]) for code in found.tolist())
        return [(entity, -count) for count, entity in ranked[:k]]


def _equal(column: npt.NDArray[np.int32], code: int | None) -> Mask:
    mask: Mask = np.zeros(len(column), dtype=np.bool_) if code is None else column == code
    return mask


def _own_or_common(column: npt.NDArray[np.int32], code: int | None) -> Mask:
    common: Mask = column == 0
    return common if code is None else common | (column == code)
