"""One generation of a store as readers see it: immutable, consistent, and free of locks and I/O."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index import filters
from mnemond.index.arrays import Floats, Mask, Rows, Scores, at_least_kth, not_behind_kth
from mnemond.index.bm25 import Bm25, document_of
from mnemond.index.columns import PREFIX_LENGTH
from mnemond.index.conversations import NO_ROW
from mnemond.index.edges import OUTWARDS, EdgeArrays, Links, logical
from mnemond.index.parts import Parts
from mnemond.index.vectors import Cosines, cosines_of
from mnemond.model.changes import Vector
from mnemond.model.memory import EDGE_TYPES, Insight, Scope
from mnemond.model.query import Filter

MANY_TIES = 256
"""Rows tied at the k-th place from which on sorting them as arrays is faster than as tuples."""

AFTER_ALL = 1 << 62
"""`Place.row` of a memory that the index does not have: every memory of the same microsecond is older. A listing may
then repeat one, and leaves none out."""

OBJECT_BYTES: Final = 1_000
"""Bytes of an insight besides its texts: the struct, its fields, its entry in dictionaries (measured, CPython 3.11)."""


class Place(NamedTuple):
    """Position of a memory in the order of a listing."""

    created_us: int
    row: int


class Snapshot:
    """Every read of one recall goes through one of these. Rows are numbers from 0; dead rows keep theirs.

    `generation` counts the batches applied, `rows` all rows, `live` those not retired, `embedded` those of them with a
    vector of shape (`dimension`,). `made_by`: fingerprint of the embedder of these vectors, "" for none. `columns`
    and `dense`: see their classes; not to be written to. `lengths`: index terms of each row, shape (rows,). `parts` is
    for this package.
    """

    __slots__ = (
        "__weakref__", "columns", "dense", "dimension", "embedded", "generation", "lengths", "live",
        "made_by", "parts", "rows",
    )  # fmt: skip

    def __init__(self, generation: int, parts: Parts) -> None:
        self.generation = generation
        self.parts = parts
        self.rows = parts.corpus.rows
        self.live = parts.corpus.live
        self.lengths = parts.corpus.lengths
        self.embedded = parts.embedded
        self.made_by = parts.made_by
        self.columns = parts.columns
        self.dense = parts.dense
        self.dimension = int(parts.dense.matrix.shape[1])

    # ------------------------------------------------------------ rows and ids

    def insight(self, row: int) -> Insight:
        """Return the memory of a row below `rows`, dead or alive."""
        return self.parts.insights[row]

    def row_of(self, insight_id: str) -> int | None:
        row = self._known_row(insight_id)
        return row if row is not None and self._is_live(row) else None

    def find(self, prefix: str) -> list[str]:
        """Return the ids of the live memories whose id begins with `prefix`, sorted.

        A prefix shorter than six characters finds the memory whose whole id it is, and no other.
        """
        rows = self.parts.table.prefixes.get(prefix[:PREFIX_LENGTH], ())
        ids = {self.parts.insights[row].id for row in rows if row < self.rows}
        return sorted(found for found in ids if found.startswith(prefix) and self.row_of(found) is not None)

    def _known_row(self, insight_id: str) -> int | None:
        table = self.parts.table
        row = table.rows.get(insight_id)
        while row is not None and row >= self.rows:
            row = table.earlier.get(row)
        return row

    def _is_live(self, row: int) -> bool:
        alive = self.parts.corpus.alive
        return alive is None or bool(alive[row])

    def alive(self) -> Mask:
        """Mark the live rows, shape (rows,)."""
        alive = self.parts.corpus.alive
        return np.ones(self.rows, dtype=np.bool_) if alive is None else alive != 0

    def marked(self, insight_ids: Iterable[str]) -> Mask:
        """Mark the live rows of these memories, shape (rows,)."""
        mask: Mask = np.zeros(self.rows, dtype=np.bool_)
        mask[[row for each in insight_ids if (row := self.row_of(each)) is not None]] = True
        return mask

    def live_among(self, rows: Rows) -> int:
        alive = self.parts.corpus.alive
        return len(rows) if alive is None else int(np.count_nonzero(alive[rows]))

    def visible(self, wanted: Filter) -> Mask | None:
        """Mark the rows that `wanted` lets a reader see, shape (rows,); None when it is all of them."""
        return filters.visible(self.parts, wanted)

    @property
    def projects(self) -> list[str]:
        """The ids of the projects that memories have had since the store was opened."""
        return [each for each in self.parts.table.names.projects.values() if each is not None]

    def comparable(self, scope: Scope) -> Mask | None:
        """Mark the rows that every reader of a new memory of this scope sees, shape (rows,); None when all are."""
        return filters.comparable(self.parts, scope)

    # ------------------------------------------------------------ words and names

    def keyword(self, terms: list[str], parameters: Bm25) -> tuple[Floats, float]:
        """Return BM25 of every row for the terms of a query, shape (rows,), and the bound no memory can reach.

        Scores of dead rows are meaningless.
        """
        return self.parts.postings.scores(terms, self.parts.corpus, parameters)

    @property
    def mean_length(self) -> float:
        """Index terms of a live row on average, at least 1."""
        corpus = self.parts.corpus
        return max(1.0, corpus.total_length / corpus.live) if corpus.live else 1.0

    def postings(self, term: str) -> tuple[Rows, Floats]:
        """Return the rows that have an index term, ascending, dead ones included, and how often it counts in each."""
        return self.parts.postings.of(term, self.rows)

    def rows_of(self, terms: Iterable[str]) -> list[Rows]:
        """Return the rows of each of many index terms, ascending, dead ones included."""
        return self.parts.postings.rows_of(terms, self.rows)

    def live_frequency(self, term: str) -> int:
        return self.parts.postings.live_frequency(term, self.parts.corpus)

    def document_frequencies(self, terms: Iterable[str]) -> list[int]:
        """Return how many rows have each index term in what they say, not only in cues; dead rows and rows newer than
        this snapshot count too."""
        wanted = list(terms)
        found, by_cue = self.parts.postings.frequencies(wanted), self.parts.cued.frequencies(wanted)
        return [each - cued for each, cued in zip(found, by_cue, strict=True)]

    def likeness(self, terms: set[str]) -> Floats:
        """Estimate the containment |A ∩ B| / min(|A|, |B|) of the different terms of each row's content and `terms`,
        the different index terms of a text; shape (rows,)."""
        shared: Floats = self.parts.postings.shared(terms, self.rows).astype(np.float32)
        shared -= self.parts.cued.shared(terms, self.rows)
        least = np.minimum(self.columns.breadth, np.float32(len(terms)))
        np.maximum(least, np.float32(1.0), out=least)
        np.divide(shared, least, out=shared)
        return shared

    def twins(self, text: str) -> list[int]:
        """Return the live rows whose normalised text may equal this normalised text (their hashes do), ascending."""
        return [row for row in self.parts.table.twins.get(hash(text), ()) if row < self.rows and self._is_live(row)]

    def text_hashes(self, rows: Sequence[int]) -> list[int]:
        """Return a number for each row, equal for equal normalised texts, valid for the lifetime of this process."""
        return list(map(self.parts.table.hashes.__getitem__, rows))

    def holders(self, canonical: str) -> Rows:
        """Return the rows that name an entity, dead ones included, ascending."""
        code = self.parts.table.names.entities.find(canonical)
        rows: Rows = self.columns.mention_row[self.columns.mention_entity == (-1 if code is None else code)]
        return rows

    def of_channel(self, channel: str) -> Mask:
        """Return a mask of the rows that came over a channel, dead ones included; shape (rows,)."""
        code = self.parts.table.names.channels.find(channel)
        found: Mask = self.columns.channel == (-1 if code is None else code)
        return found

    def has_channel(self, channel: str) -> bool:
        """Return True if any row, live or dead, perhaps a newer one than this snapshot's, came over a channel."""
        return self.parts.table.names.channels.find(channel) is not None

    def last_holders(self, canonical: str, k: int) -> tuple[int, array[int]]:
        """Return how many rows name an entity, and the last k of them, in a time that does not grow with the store."""
        return self.parts.table.last_holders(canonical, self.rows, k)

    def entity_spelling(self, canonical: str) -> str | None:
        """Return the first spelling of an entity in the store, None if no row names it."""
        names = self.parts.table.names
        code = names.entities.find(canonical)
        return None if code is None or code >= self.parts.entities else names.spellings[code]

    def speakers(self, term: str) -> tuple[int, ...]:
        """Return the numbers of the sources whose name has an index term, perhaps newer ones than this snapshot."""
        return self.parts.table.names.speakers.get(term, ())

    # ------------------------------------------------------------ vectors

    def has_vector(self, row: int) -> bool:
        return bool(self.dense.present[row])

    def vector(self, row: int) -> Vector | None:
        """Return the embedding of a row's text, None if it has none. Not to be written to."""
        return self.dense.matrix[row] if self.dense.present[row] else None

    def has_cued_vector(self, row: int) -> bool:
        """Return True if a row was embedded with its cues."""
        cued = self.dense.cued
        return cued is not None and len(cued.places_of(np.array([row]))[0]) > 0

    def stored_vector(self, row: int) -> Vector | None:
        """Return the embedding of a row as it is stored: with that of its cues, if it has any."""
        own = self.vector(row)
        return own if own is None or self.dense.cued is None else self.dense.cued.with_own(row, own)

    def with_triggers(self) -> list[Insight]:
        """Return the live memories that have triggers, oldest row first."""
        triggers = self.columns.triggers
        if not triggers.any():
            return []
        return [self.insight(row) for row in np.flatnonzero(self.alive() & (triggers > 0)).tolist()]

    def without_vector(self) -> Rows:
        """Return the live rows that were not embedded, or not with their cues, ascending."""
        lacking = self.dense.present == 0
        if self.columns.cues.any():
            cued = self.columns.cues > 0
            if self.dense.cued is not None:
                cued[self.dense.cued.rows] = False
            lacking |= cued
        return np.flatnonzero(self.alive() & lacking)

    def cosines(self, vector: Vector, known: Cosines | None = None) -> Cosines:
        """Compare every row with `vector` (length 1, shape (dimension,)); each cosine is exact when it is read.
        `known`: the same of an earlier generation, whose rows need not be compared again."""
        return cosines_of(self.dense, vector) if known is None else known.continued(self.dense, vector)

    def similarity_between(self, row: int, rows: Rows) -> Floats:
        """Return the cosine of one row with others, shape (len(rows),); 0 where either has no vector."""
        found: Floats = np.dot(self.dense.matrix[rows], self.dense.matrix[row])
        return found

    # ------------------------------------------------------------ links and conversations

    def neighbours(self, row: int) -> Links:
        """Return every edge of a row, in both directions. Read-only."""
        return self.parts.adjacency.links(row)

    def fan(self, rows: Sequence[int]) -> tuple[Rows, npt.NDArray[np.void]]:
        """Return the links of several rows: which of `rows` each belongs to, and the links; see `Adjacency.fan`."""
        return self.parts.adjacency.fan(rows)

    def links_listed(self, row: int) -> list[tuple[int, float, int, int]]:
        """Return the other end, weight, type and ways of each stored link of a row."""
        return self.parts.adjacency.listed(row)

    def edges(self) -> EdgeArrays:
        """Return every edge between live rows, in no order."""
        rows = np.flatnonzero(self.alive())
        owners, links = self.parts.adjacency.fan(rows.tolist())
        leading = (links["ways"] & OUTWARDS) != 0
        found = links[leading]
        return EdgeArrays(rows[owners[leading]], found["row"].astype(np.int64), found["type"], found["weight"])

    def link_count(self, row: int) -> int:
        """Return the logical links of a row: two memories are linked once per type, causally once per direction."""
        return sum(logical(self.parts.adjacency.links(row)))

    def edge_counts(self) -> dict[str, int]:
        return dict(zip(EDGE_TYPES, self.parts.adjacency.counts, strict=True))

    def beside(self, rows: Rows, step: int) -> Rows:
        """Return, for each of `rows` (-1 for none), the row before it (`step` -1) or after it (1) in its conversation,
        or -1."""
        column = self.parts.neighbours.before if step < 0 else self.parts.neighbours.after
        found = column[rows].astype(np.int64)
        found[(rows < 0) | (found >= self.rows)] = NO_ROW
        return found

    def in_conversation(self, rows: Rows) -> Mask:
        """Mark those of `rows` that belong to a conversation, shape (len(rows),)."""
        found: Mask = self.parts.neighbours.of[rows] > 0
        return found

    # ------------------------------------------------------------ listings and figures

    def best(self, scores: Floats, k: int, rows: Rows | None = None) -> Rows:
        """Return the positions in `scores` of the k best, best first; `rows`: the row of each score (else its own).

        Ties: the more important, then the newer, then the smaller id. A negative score is never chosen.
        """
        found, columns = at_least_kth(scores, k), self.columns
        of = found if rows is None else rows[found]
        if len(found) > MANY_TIES + k:
            kept = not_behind_kth((scores[found], columns.importance[of], columns.created_us[of]), k)
            found, of = found[kept], of[kept]
        return found[self.in_order(of, scores[found])[:k]]

    # Ties decided by ids, which do not depend on the order in which a store was written.

    def best_rows(self, rows: Rows, scores: Scores, k: int) -> Rows:
        """Return the positions of the k best `rows`, in no order; of equal ones those of smaller ids. k at least 1."""
        if k >= len(rows):
            return np.arange(len(rows))
        kth = np.partition(scores, -k)[-k]
        above, tied = (scores > kth).nonzero()[0], (scores == kth).nonzero()[0]
        room = k - len(above)
        if len(tied) > room:
            ids = {place: self.insight(int(rows[place])).id for place in tied.tolist()}
            tied = np.array(sorted(ids, key=ids.__getitem__)[:room], dtype=np.int64)
        return np.concatenate((above, tied))

    def best_in_order(self, rows: Rows, scores: Scores, k: int) -> Rows:
        """Return the positions of the k best `rows`, best first; of equal ones the smaller id first. k at least 1."""
        order = (-scores).argsort()
        leading = scores[order[: k + 1]]
        if (leading[1:] != leading[:-1]).all():
            return order[:k]
        kept = self.best_rows(rows, scores, k).tolist()
        keys = {place: (-scores[place], self.insight(int(rows[place])).id) for place in kept}
        return np.array(sorted(keys, key=keys.__getitem__), dtype=np.int64)

    def in_order(self, rows: Rows, scores: Scores | Floats) -> Rows:
        """Return the positions of `rows` in the order of results: the best first; of equal ones the more important, the
        newer, the smaller id. Shapes (rows,). Ids are read only where scores are equal."""
        order = (-scores).argsort(kind="stable")
        ranked = scores[order]
        if (ranked[1:] != ranked[:-1]).all():
            return order
        keys = (-scores, -self.columns.importance[rows], -self.columns.created_us[rows])
        order = np.lexsort(keys[::-1])
        alike = np.ones(len(order) - 1, dtype=np.bool_)
        for key in keys:
            alike &= key[order[1:]] == key[order[:-1]]
        if not alike.any():
            return order
        ids = [self.insight(row).id for row in rows.tolist()]
        ranks = zip(*(key.tolist() for key in keys), ids, range(len(ids)), strict=True)
        return np.array([position for *_, position in sorted(ranks)], dtype=np.int64)

    def place_of(self, insight_id: str) -> Place | None:
        """Return the place of a memory in a listing; None for one that the index does not have, even as a dead row."""
        row = self._known_row(insight_id)
        return None if row is None else Place(int(self.columns.created_us[row]), row)

    def newest(self, wanted: Filter, limit: int, before: Place | None = None) -> list[Insight]:
        """Return the last `limit` visible memories by creation time, newest first; with `before` those older than it.

        Of equal times the one stored later counts as newer.
        """
        return [self.insight(row) for row in self.newest_rows(self.visible(wanted), limit, before).tolist()]

    def newest_rows(self, mask: Mask | None, limit: int, before: Place | None = None) -> Rows:
        """The same as rows, of those in `mask` (from `visible`)."""
        created = self.columns.created_us
        rows = np.arange(self.rows) if mask is None else np.flatnonzero(mask)
        if before is not None:
            times = created[rows]
            rows = rows[(times < before.created_us) | ((times == before.created_us) & (rows < before.row))]
        if len(rows) > limit:
            times = created[rows]
            least = np.partition(times, len(rows) - limit)[len(rows) - limit]
            newer = rows[times > least]
            rows = np.concatenate([rows[times == least][len(newer) - limit :], newer])
        found: Rows = rows[np.lexsort((rows, created[rows]))[::-1]]
        return found

    def by_category(self) -> dict[str, int]:
        """Count the live memories of each category; categories without any are left out."""
        counts = np.bincount(self.columns.category[self.alive()]).tolist()
        names = self.parts.table.names.categories.values()
        return {name: count for name, count in zip(names, counts, strict=False) if count}

    def top_entities(self, k: int) -> list[tuple[str, int]]:
        """Return the k entities that most live memories name, as first spelled, with their counts; ties by spelling."""
        counts = np.bincount(self.columns.mention_entity[self.alive()[self.columns.mention_row]])
        found = at_least_kth(np.where(counts > 0, counts, -1).astype(np.float32), k)
        spellings = self.parts.table.names.spellings
        ranked = sorted((-int(counts[code]), spellings[code]) for code in found.tolist())
        return [(entity, -count) for count, entity in ranked[:k]]


# Memory use, part by part. Room that arrays keep to grow counts; small objects are estimated.


def footprint(snapshot: Snapshot) -> dict[str, int]:
    """Return the bytes of vectors, codes, words, links, passages, columns and memories. Reads every row."""
    parts, dense = snapshot.parts, snapshot.dense
    coded = [codes for codes in (dense.codes, dense.scanned) if codes is not None]
    arena: tuple[npt.NDArray[Any], ...] = ()
    if snapshot.rows:  # any list of postings is a view of the two arrays in which all lie
        arena = snapshot.postings(next(iter(document_of(snapshot.insight(0)).counts), ""))
    columns = parts.columns.all()
    texts = {"words": (columns.length, columns.breadth), "passages": (columns.own, columns.asking, columns.dated)}
    text_bytes = {name: _bytes(arrays) for name, arrays in texts.items()}
    return {
        "vectors": _bytes([dense.matrix, dense.present]),
        "codes": _bytes(array for codes in coded for array in (codes.matrix, codes.scales)),
        "words": _bytes(arena) + text_bytes["words"],
        "links": sum(sys.getsizeof(ends) for ends in parts.adjacency.ends if ends is not None),
        "passages": sum(map(len, parts.table.orders[: snapshot.rows])) + text_bytes["passages"],
        "columns": _bytes([*columns, *parts.neighbours]) - sum(text_bytes.values()),
        "memories": sum(OBJECT_BYTES + sys.getsizeof(parts.insights[row].content) for row in range(snapshot.rows)),
    }


def _bytes(arrays: Iterable[npt.NDArray[Any]]) -> int:
    """Bytes of the arrays these are views of, each counted once."""
    whole = [array.base if isinstance(array.base, np.ndarray) else array for array in arrays]
    return sum({id(array): array.nbytes for array in whole}.values())
