"""One generation of a store as readers see it: immutable, consistent, and free of locks and I/O."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index import filters
from mnemond.index.arrays import Ledger
from mnemond.index.bm25 import Bm25, Corpus, Postings, PostingsFloats, SelectionRows, at_least_kth, not_behind_kth
from mnemond.index.columns import PREFIX, ColumnViews, Extent, PassageColumns, Table
from mnemond.index.conversations import Neighbours
from mnemond.index.edges import OUTWARDS, Adjacency, EdgeArrays, Links, logical
from mnemond.index.filters import Mask
from mnemond.index.vectors import Cosines, Dense, cosines_of, cosines_of_all
from mnemond.model.changes import Vector
from mnemond.model.memory import EDGE_TYPES, Insight, Scope
from mnemond.model.query import Filter

# What a store has, without a question: its newest rows, how many each category has, whom most memories name.


class Place(NamedTuple):
    """Where a memory stands in the order of a listing."""

    created_us: int
    row: int


AFTER_ALL = 1 << 62
"""The row of a memory that the index does not have: whatever was made in the same microsecond is older. That may tell
one twice, and leaves none out."""


def newest(parts: Parts, mask: Mask | None, limit: int, before: Place | None = None) -> SelectionRows:
    """The last `limit` rows of `mask` by creation time, newest first; with `before` those that are older than it.

    Of equal times the row stored later counts as newer.
    """
    created = parts.columns.created_us
    rows = np.arange(parts.corpus.rows) if mask is None else np.flatnonzero(mask)
    if before is not None:
        times = created[rows]
        rows = rows[(times < before.created_us) | ((times == before.created_us) & (rows < before.row))]
    if len(rows) > limit:
        times = created[rows]
        least = np.partition(times, len(rows) - limit)[len(rows) - limit]
        newer = rows[times > least]
        rows = np.concatenate([rows[times == least][len(newer) - limit :], newer])
    found: SelectionRows = rows[np.lexsort((rows, created[rows]))[::-1]]
    return found


def by_category(parts: Parts) -> dict[str, int]:
    """How many live rows each category has; categories without any are left out."""
    codes = parts.columns.category
    for living in filters.living(parts):
        codes = codes[living]
    counts = np.bincount(codes).tolist()
    return {name: count for name, count in zip(parts.table.names.categories.values(), counts, strict=False) if count}


def top_entities(parts: Parts, k: int) -> list[tuple[str, int]]:
    """The k entities that most live rows name, as first spelled, with their counts; ties by spelling."""
    columns = parts.columns
    codes = columns.mention_entity
    for living in filters.living(parts):
        codes = codes[living[columns.mention_row]]
    counts = np.bincount(codes)
    found = at_least_kth(np.where(counts > 0, counts, -1).astype(np.float32), k)
    spellings = parts.table.names.spellings
    ranked = sorted((-int(counts[code]), spellings[code]) for code in found.tolist())
    return [(entity, -count) for count, entity in ranked[:k]]


SnapshotMask = npt.NDArray[np.bool_]

NOWHERE = -1
"""A number that nothing has."""

MANY_TIES = 256
"""Rows tied at the k-th place from which on sorting them as arrays is faster than as tuples."""


class Parts(NamedTuple):
    """What a snapshot is made of. Containers shared with the writer only ever grow behind the snapshot's rows.

    `breadths`: different terms in the content of each row. `embedded`: live rows with a vector. `sessions`: whether any
    row, live or dead, belongs to a session. `extent`: what no row, live or dead, goes beyond. `entities`: below which
    the numbers of all entities lie that any row, live or dead, names. `made_by`: the embedder of the vectors.
    """

    table: Table
    insights: Ledger
    columns: ColumnViews
    breadths: PostingsFloats
    corpus: Corpus
    postings: Postings
    dense: Dense
    adjacency: Adjacency
    neighbours: Neighbours
    passages: PassageColumns
    embedded: int
    sessions: bool
    ordered: bool
    extent: Extent
    entities: int
    made_by: str


class Snapshot:
    """Every read of one recall goes through one of these. Rows are numbers from 0; dead rows keep theirs.

    `generation` counts the batches applied, `rows` all rows, `live` those not retired.
    """

    __slots__ = ("__weakref__", "dimension", "embedded", "generation", "live", "parts", "rows")

    def __init__(self, generation: int, parts: Parts) -> None:
        self.generation = generation
        self.rows = parts.corpus.rows
        self.live = parts.corpus.live
        self.embedded = parts.embedded
        self.dimension = int(parts.dense.matrix.shape[1])
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

    def alive(self) -> SnapshotMask:
        """Which rows are live, shape (rows,)."""
        alive = self.parts.corpus.alive
        return np.ones(self.rows, dtype=np.bool_) if alive is None else alive != 0

    def has_vector(self, row: int) -> bool:
        """Whether a row was embedded."""
        return bool(self.parts.dense.present[row])

    @property
    def made_by(self) -> str:
        """Fingerprint of the embedder whose vectors may be compared with these; "" when none was told."""
        return self.parts.made_by

    def without_vector(self) -> SelectionRows:
        """The live rows that were not embedded, ascending."""
        return np.flatnonzero(self.alive() & (self.parts.dense.present == 0))

    @property
    def importance(self) -> npt.NDArray[np.int32]:
        """1…5 of every row, shape (rows,). Not to be written to, like the four below."""
        return self.parts.columns.importance

    @property
    def passages(self) -> PassageColumns:
        """What ranking asks of the text of each row."""
        return self.parts.passages

    @property
    def lengths(self) -> PostingsFloats:
        """Index terms of each row, shape (rows,)."""
        return self.parts.corpus.lengths

    @property
    def mean_length(self) -> float:
        """Index terms of a live row on average, at least 1."""
        corpus = self.parts.corpus
        return max(1.0, corpus.total_length / corpus.live) if corpus.live else 1.0

    @property
    def breadths(self) -> PostingsFloats:
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

    def visible(self, wanted: Filter) -> SnapshotMask | None:
        """Which rows `wanted` lets a reader see, shape (rows,); None when it is all of them."""
        return filters.visible(self.parts, wanted)

    def comparable(self, scope: Scope) -> SnapshotMask | None:
        """Rows meant for nobody whom a memory of this scope is not meant for, shape (rows,); None when all are.

        What such a row says already, every reader of the new memory sees.
        """
        return filters.comparable(self.parts, scope)

    def twins(self, text: str) -> list[int]:
        """Live rows whose normalised text may be equal to this normalised text (their hashes are), ascending."""
        return [row for row in self.parts.table.twins.get(hash(text), ()) if row < self.rows and self._is_live(row)]

    def text_hashes(self, rows: Sequence[int]) -> list[int]:
        """The same number for rows of the same normalised text, as long as this process lives."""
        return list(map(self.parts.table.hashes.__getitem__, rows))

    # ------------------------------------------------------------ signals

    def keyword(self, terms: list[str], parameters: Bm25) -> tuple[PostingsFloats, float]:
        """BM25 of every row for the terms of a query, shape (rows,), and the bound no memory can reach.

        Scores of dead rows mean nothing.
        """
        return self.parts.postings.scores(terms, self.parts.corpus, parameters)

    def similarity(self, vector: Vector, first: int = 0) -> PostingsFloats:
        """Cosine of every row from `first` on with `vector` (length 1, shape (dimension,)), shape (rows - first,); 0
        where there is no vector. ValueError when the vector is of another dimension."""
        return self.parts.dense.similarity(vector, first)

    def similarity_of(self, vector: Vector, rows: SelectionRows) -> PostingsFloats:
        """Cosine of `rows` with `vector`, shape (len(rows),)."""
        return self.parts.dense.similarity_of(vector, rows)

    def similarity_approximate(self, vector: Vector, mask: SnapshotMask | None = None) -> PostingsFloats:
        """Like `similarity`, but in a large store exact for the 100 nearest rows of `mask` alone; the others are off by
        .001 on average. It takes a third of the time."""
        return self.parts.dense.similarity_approximate(vector, mask)

    def nearest(self, vector: Vector, k: int, mask: SnapshotMask | None = None) -> tuple[SelectionRows, PostingsFloats]:
        """The k rows of `mask` with the largest positive cosine, best first, and these cosines, exact; of equal ones
        the later row. With a graph (`vector.exact_limit`) a few of the k may be missed.

        `mask` is what `visible` gives: without one, dead rows count if there are any.
        """
        return self.parts.dense.nearest(vector, k, mask)

    @property
    def graph_lacking(self) -> str | None:
        """Why vectors are scanned although the store is large enough for a graph of them."""
        return self.parts.dense.graph_lacking

    def cosines(self, vector: Vector, known: Cosines | None = None) -> Cosines:
        """Cosine of every row with `vector` (length 1, shape (dimension,)), exact wherever it is asked for; `known`:
        what an earlier generation told of its rows."""
        dense = self.parts.dense
        return cosines_of(dense, vector) if known is None else known.continued(dense, vector)

    def cosines_of_all(self, vectors: npt.NDArray[np.float32]) -> list[Cosines]:
        """The same of each of `vectors`, shape (n, dimension)."""
        return cosines_of_all(self.parts.dense, vectors)

    def similarity_between(self, row: int, rows: SelectionRows) -> PostingsFloats:
        """Cosine of one row with others, shape (len(rows),); 0 where either has no vector."""
        matrix = self.parts.dense.matrix
        found: PostingsFloats = np.dot(matrix[rows], matrix[row])
        return found

    def vector(self, row: int) -> Vector | None:
        """The embedding of a row, None where there is none. Not to be written to."""
        dense = self.parts.dense
        return dense.matrix[row] if dense.present[row] else None

    def postings(self, term: str) -> tuple[SelectionRows, PostingsFloats]:
        """The rows that have an index term, ascending, dead ones included, and how often it counts in each."""
        return self.parts.postings.of(term, self.rows)

    def rows_of(self, terms: Iterable[str]) -> list[SelectionRows]:
        """The rows of each of many index terms, likewise."""
        return self.parts.postings.rows_of(terms, self.rows)

    def live_among(self, rows: SelectionRows) -> int:
        """How many of these rows are live."""
        alive = self.parts.corpus.alive
        return len(rows) if alive is None else int(np.count_nonzero(alive[rows]))

    def holders(self, canonical: str) -> SelectionRows:
        """The rows that name an entity, dead ones included, ascending."""
        columns = self.parts.columns
        code = self.parts.table.names.entities.find(canonical)
        rows: SelectionRows = columns.mention_row[columns.mention_entity == (NOWHERE if code is None else code)]
        return rows

    def last_holders(self, canonical: str, k: int) -> tuple[int, array[int]]:
        """How many these are, and the last k of them, in a time that does not grow with the store."""
        return self.parts.table.last_holders(canonical, self.rows, k)

    def speakers(self, term: str) -> tuple[int, ...]:
        """Numbers of the sources whose name has an index term; newer ones than this snapshot may be among them."""
        return self.parts.table.names.speakers.get(term, ())

    def likeness(self, terms: set[str]) -> PostingsFloats:
        """Share of its words that the smaller of two texts has in common with the other, shape (rows,): those of each
        row's content and `terms`, different index terms of a text. An estimate of containment (spec 7.1)."""
        shared: PostingsFloats = self.parts.postings.shared(terms, self.rows).astype(np.float32)
        least = np.minimum(self.parts.breadths, np.float32(len(terms)))
        np.maximum(least, np.float32(1.0), out=least)
        np.divide(shared, least, out=shared)
        return shared

    def best(self, scores: PostingsFloats, k: int, rows: SelectionRows | None = None) -> SelectionRows:
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

    def beside(self, rows: SelectionRows, step: int) -> SelectionRows:
        """For each of `rows` (-1 for none) the one before it (`step` -1) or after it (1) in its conversation, or -1."""
        column = self.parts.neighbours.before if step < 0 else self.parts.neighbours.after
        found = column[rows].astype(np.int64)
        found[(rows < 0) | (found >= self.rows)] = -1
        return found

    def in_conversation(self, rows: SelectionRows) -> npt.NDArray[np.bool_]:
        """Whether each of `rows` belongs to a conversation, shape (len(rows),)."""
        found: npt.NDArray[np.bool_] = self.parts.neighbours.of[rows] > 0
        return found

    def fan(self, rows: Sequence[int]) -> tuple[SelectionRows, npt.NDArray[np.void]]:
        """The links of several rows: which of `rows` each belongs to, and the links; see `Adjacency.fan`."""
        return self.parts.adjacency.fan(rows)

    def links_listed(self, row: int) -> list[tuple[int, float, int, int]]:
        """Of each stored link of a row the other end, weight, type and ways; see `adjacency.STORED`."""
        return self.parts.adjacency.listed(row)

    def edges(self) -> EdgeArrays:
        """Every edge between live rows, in no order that means anything."""
        rows = np.flatnonzero(self.alive())
        owners, links = self.parts.adjacency.fan(rows.tolist())
        leading = (links["ways"] & OUTWARDS) != 0
        found = links[leading]
        return EdgeArrays(rows[owners[leading]], found["row"].astype(np.int64), found["type"], found["weight"])

    def link_count(self, row: int) -> int:
        """Logical links of a row: two memories are linked once a type, a causal link once a direction."""
        return sum(logical(self.parts.adjacency.links(row)))

    def live_frequency(self, term: str) -> int:
        """How many live rows have an index term."""
        return self.parts.postings.live_frequency(term, self.parts.corpus)

    def document_frequencies(self, terms: Iterable[str]) -> list[int]:
        """How many rows have each index term; dead ones count too, and ones that came after this snapshot."""
        return self.parts.postings.frequencies(terms)

    def entity_spelling(self, canonical: str) -> str | None:
        """How the store first spelled an entity, None when it never named it."""
        parts = self.parts
        code = parts.table.names.entities.find(canonical)
        return None if code is None or code >= parts.entities else parts.table.names.spellings[code]

    def edge_counts(self) -> dict[str, int]:
        """Logical links of the store by type."""
        return dict(zip(EDGE_TYPES, self.parts.adjacency.counts, strict=True))

    # ------------------------------------------------------------ listings and figures

    def place_of(self, insight_id: str) -> Place | None:
        """Where a memory stands in a listing; None for one that the index does not have, not even as a retired one."""
        row = self._known_row(insight_id)
        return None if row is None else Place(int(self.parts.columns.created_us[row]), row)

    def newest(self, wanted: Filter, limit: int, before: Place | None = None) -> list[Insight]:
        """The last `limit` visible memories by creation time, newest first; with `before` those before it.

        Of equal times the one stored later counts as newer.
        """
        rows = newest(self.parts, self.visible(wanted), limit, before)
        return [self.insight(row) for row in rows.tolist()]

    def newest_rows(self, mask: SnapshotMask | None, limit: int) -> SelectionRows:
        """The last `limit` rows of `mask` (what `visible` gives) by creation time, newest first."""
        return newest(self.parts, mask, limit)

    def by_category(self) -> dict[str, int]:
        """How many live memories each category has; categories without any are left out."""
        return by_category(self.parts)

    def top_entities(self, k: int) -> list[tuple[str, int]]:
        """The k entities that most live memories name, as first spelled, with their counts; ties by spelling."""
        return top_entities(self.parts, k)
