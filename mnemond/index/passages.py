"""The index of passages: words and vectors of what was said in sessions, beside that of memories and apart from it.

A passage is indexed in pieces (`text.passages.pieces`), each a row of the postings and of the vectors, and found as a
whole: its words are those of all its pieces, its vector the direction of their sum. Snapshots are immutable; the writer
appends behind them, and copies what it changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, GrowableArray, Interner, Mask, Rows, grown
from mnemond.index.bm25 import MAX_QUERY_TERMS, Bm25, Postings, term_number
from mnemond.index.columns import PREFIX_LENGTH
from mnemond.model.changes import Vector
from mnemond.model.memory import is_same_project, parse_rfc3339
from mnemond.model.passages import Passage
from mnemond.model.query import Filter
from mnemond.text.features import inner_terms
from mnemond.text.passages import spans
from mnemond.text.tokens import index_terms

PieceVectors = npt.NDArray[np.float32]
"""Embeddings of the pieces of one passage, shape (pieces, dimension); a row of zeros for a piece without words that the
embedder knows."""


class Words(NamedTuple):
    """BM25 of each passage as a whole, shape (passages,), and of each piece, shape (pieces,), both as shares of the
    bound that nothing can reach."""

    passages: Floats
    pieces: Floats


class PassageSnapshot:
    """One generation of the passages of a store, in the order of their storage. Rows are numbers from 0; dead rows keep
    theirs until the index is loaded again. `made_by`: fingerprint of the embedder of the vectors, "" for none."""

    __slots__ = (
        "_alive", "_by_id", "_codes", "_columns", "_lengths", "_passages", "_piece_lengths", "_postings", "_present",
        "_spans", "_sums", "_terms", "_vectors", "live", "made_by", "owners", "pieces", "rows",
    )  # fmt: skip

    def __init__(self, index: PassageIndex) -> None:
        self._by_id, self._codes, self._postings = index.by_id, index.codes, index.postings
        self.rows = len(index.passages)
        self.pieces = len(index.owners)
        self.live = index.live
        self.made_by = index.made_by
        self.owners = index.owners.view()
        """The passage of each piece, shape (pieces,), ascending."""
        self._passages = index.passages
        self._alive = index.alive.view()
        self._columns = {name: column.view() for name, column in index.columns.items()}
        self._lengths = index.lengths.view()
        self._piece_lengths = index.piece_lengths.view()
        self._present = index.present.view()
        self._spans = index.spans
        self._terms = index.terms
        self._sums = index.sums[: self.rows]
        self._vectors = index.vectors[: self.pieces]

    # ------------------------------------------------------------ rows

    def passage(self, row: int) -> Passage:
        """Return the passage of a row below `rows`, dead or alive."""
        return self._passages[row]

    def pieces_text(self, row: int) -> list[str]:
        """Return the pieces of a passage, verbatim."""
        text = self._passages[row].text
        return [text[start:end] for start, end in self._spans[row]]

    def share_of(self, terms: Iterable[str], passage_id: str) -> float:
        """Return the share of some index terms that a known passage has."""
        wanted, known = (
            np.array([term_number(term) for term in terms], dtype=np.uint32),
            self._terms[self._by_id[passage_id]],
        )
        if not len(wanted) or not len(known):
            return 0.0
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return float(np.count_nonzero(known[at] == wanted)) / len(wanted)

    def overlap(self, one_id: str, other_id: str) -> float:
        """Return the share of the different terms of the shorter of two known passages that the other has."""
        one, two = (self._terms[self._by_id[each]] for each in (one_id, other_id))
        return len(np.intersect1d(one, two, assume_unique=True)) / max(1, min(len(one), len(two)))

    def row_of(self, passage_id: str) -> int | None:
        """Return the row of a passage that is not forgotten."""
        row = self._by_id.get(passage_id)
        return row if row is not None and row < self.rows and self._alive[row] else None

    def find(self, prefix: str) -> list[str]:
        """Return the ids that begin with `prefix`, sorted; of one shorter than `PREFIX_LENGTH` only the id itself."""
        if len(prefix) < PREFIX_LENGTH:
            return [prefix] if self.row_of(prefix) is not None else []
        known = list(self._by_id)
        return sorted(each for each in known if each.startswith(prefix) and self.row_of(each) is not None)

    def visible(self, wanted: Filter) -> Mask:
        """Mark the passages of an audience, a project and a span of time, shape (rows,).

        Unlike a memory, a passage is of no use in another project than its own: with a project, passages of that one
        and of none are visible.
        """
        mask: Mask = self._alive != 0
        scope = wanted.scope
        for name, value in (("user", scope.user_id), ("agent", scope.agent_id), ("session", scope.session_id)):
            column = self._columns[name]
            code = -1 if value is None else self._codes[name].find(value)
            if value is not None:
                mask &= (column == code) if wanted.strict_scope else (column == code) | (column == 0)
            elif name == "session" and not wanted.all_sessions:
                mask &= column == 0
        if scope.project is not None:
            mask &= self._of_project(scope.project, strict=wanted.strict_project or wanted.strict_scope)
        said = self._columns["said_us"]
        for span in (wanted.created, wanted.window):
            if span is not None:
                mask &= said >= (span.since_us or -math.inf)
                mask &= said < (math.inf if span.until_us is None else span.until_us)
        return mask

    def _of_project(self, project: str, *, strict: bool) -> Mask:
        codes = [
            code
            for code, known in enumerate(self._codes["project"].values())
            if (known is None and not (strict and project)) or (known and project and is_same_project(known, project))
        ]
        found: Mask = np.isin(self._columns["project"], codes)
        return found

    def of_conversation(self, conversation_id: str) -> list[int]:
        """Return the live rows of a session, in the order in which they were said."""
        code = self._codes["conversation"].find(conversation_id or None)
        if code is None:
            return []
        rows = np.flatnonzero((self._columns["conversation"] == code) & (self._alive != 0))
        return self._in_order(rows)

    def of_project(self, project: str, without: str = "") -> Rows:
        """Return the live rows of a project ("": of none); `without`: the id of a session that does not count."""
        mask = (self._alive != 0) & (self._columns["user"] == 0) & (self._columns["session"] == 0)
        mask &= self._of_project(project, strict=bool(project))
        if without and (code := self._codes["conversation"].find(without)) is not None:
            mask &= self._columns["conversation"] != code
        return np.flatnonzero(mask)

    def by_session(self, rows: Rows) -> Iterator[list[int]]:
        """Yield the sessions of some rows, the one that ended last first, each in the order in which it was said. A
        passage of no session is one by itself."""
        ordered = np.array(self._in_order(rows), dtype=np.int64)
        conversations = self._columns["conversation"][ordered]
        while len(ordered):
            of_last = conversations == conversations[-1]
            if not conversations[-1]:
                of_last[:-1] = False
            yield ordered[of_last].tolist()
            ordered, conversations = ordered[~of_last], conversations[~of_last]

    def _in_order(self, rows: Rows) -> list[int]:
        ordered: list[int] = rows[np.argsort(self._columns["said_us"][rows], kind="stable")].tolist()
        return ordered

    def said_us(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return when passages were said, in microseconds."""
        found: npt.NDArray[np.int64] = self._columns["said_us"][rows]
        return found

    def pieces_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the pieces of passages, and for each of them the place of its passage in `rows`."""
        starts, ends = np.searchsorted(self.owners, rows), np.searchsorted(self.owners, rows, side="right")
        sizes = ends - starts
        places: Rows = np.repeat(np.arange(len(rows)), sizes)
        found: Rows = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[places]
        return found, places

    # ------------------------------------------------------------ words and vectors

    def words(self, terms: Sequence[str], of_passages: Bm25, of_pieces: Bm25) -> Words:
        """Return BM25 of every passage and piece for the different terms of a question, as shares of what these terms
        can reach. A term is rare by the passages that have it, dead ones included."""
        whole, parts = np.zeros(self.rows, dtype=np.float32), np.zeros(self.pieces, dtype=np.float32)
        lists = [self._postings.of(term, self.pieces) for term in dict.fromkeys(terms)]
        lists.sort(key=lambda each: (not len(each[0]), len(each[0])))
        long: Floats = self._lengths * np.float32(1.0 / max(1.0, self._lengths.mean() if self.rows else 0.0))
        long_pieces: Floats = self._piece_lengths * np.float32(
            1.0 / max(1.0, self._piece_lengths.mean() if self.rows else 0.0)
        )
        bound = 0.0
        for rows, times in lists[:MAX_QUERY_TERMS]:
            owners = self.owners[rows]
            first = np.flatnonzero(np.diff(owners, prepend=-1))
            rarity = math.log1p((self.rows - len(first) + 0.5) / (len(first) + 0.5))
            bound += rarity
            if not len(rows):
                continue
            together: Floats = np.add.reduceat(times, first)
            whole[owners[first]] += rarity * _saturated(together, long[owners[first]], of_passages)
            parts[rows] += rarity * _saturated(times, long_pieces[rows], of_pieces)
        if not bound:
            return Words(whole, parts)
        return Words(whole / np.float32(bound), parts / np.float32(bound))

    def cosines(self, vector: Vector) -> Floats:
        """Compare every passage as a whole with `vector` (length 1), shape (rows,); 0 for one without a vector."""
        found: Floats = np.dot(self._sums, vector)
        return found

    def piece_cosines(self, vector: Vector, pieces_: Rows) -> Floats:
        """Compare pieces with `vector`, shape (len(pieces_),)."""
        found: Floats = np.dot(self._vectors[pieces_].astype(np.float32), vector)
        return found

    def without_vector(self) -> list[str]:
        """Return the ids of live passages that were not embedded, oldest row first."""
        rows = np.flatnonzero((self._alive != 0) & (self._present == 0)).tolist()
        return [self._passages[row].id for row in rows]


def _saturated(times: Floats, long: Floats, parameters: Bm25) -> Floats:
    k1, b = parameters.k1, parameters.b
    norm: Floats = long * np.float32(k1 * b)
    norm += np.float32(k1 * (1.0 - b))
    norm += times
    np.divide(times, norm, out=norm)
    return norm


class PassageIndex:
    """The passages of a store. For one writer; `snapshot` is what readers see."""

    def __init__(self, dimension: int, made_by: str = "") -> None:
        self.made_by = made_by
        self.live = 0
        self.passages: list[Passage] = []
        self.by_id: dict[str, int] = {}
        self.postings = Postings.build(())
        self.spans: list[list[tuple[int, int]]] = []
        self.terms: list[npt.NDArray[np.uint32]] = []
        self.owners = GrowableArray.empty(np.int64)
        self.lengths = GrowableArray.empty(np.float32)
        self.piece_lengths = GrowableArray.empty(np.float32)
        self.alive = GrowableArray.empty(np.uint8)
        self.present = GrowableArray.empty(np.uint8)
        self.sums = np.zeros((0, dimension), dtype=np.float32)
        self.vectors = np.zeros((0, dimension), dtype=np.float16)  # half the memory; a cosine differs by less than .001
        self.codes = {name: Interner() for name in ("project", "conversation", "user", "session", "agent")}
        self.columns = {"said_us": GrowableArray.empty(np.int64)}
        self.columns |= {name: GrowableArray.empty(np.int32) for name in self.codes}
        self.snapshot = PassageSnapshot(self)

    @classmethod
    def build(
        cls, pairs: Iterable[tuple[Passage, PieceVectors | None]], dimension: int, made_by: str = ""
    ) -> PassageIndex:
        """Index all passages of a store."""
        index = cls(dimension, made_by)
        documents: list[dict[str, int]] = []
        vectors: list[tuple[int, PieceVectors]] = []
        for passage, embedded in pairs:
            documents += index._append(passage)
            if embedded is not None:
                vectors.append((len(index.passages) - 1, embedded))
        index.postings = Postings.build(documents)
        index._make_room()
        for row, embedded in vectors:
            index._put(row, embedded)
        index.publish()
        return index

    def add(self, passage: Passage, vectors: PieceVectors | None = None) -> None:
        """Append a passage; one whose id is known replaces it."""
        self.drop([passage.id])
        first = len(self.owners)
        for number, counts in enumerate(self._append(passage)):
            self.postings.add(first + number, counts)
        self._make_room()
        if vectors is not None:
            self._put(len(self.passages) - 1, vectors)

    def set_vectors(self, passage_id: str, vectors: PieceVectors) -> None:
        """Give a passage its vectors; nothing happens if it is gone. Readers of earlier snapshots see them as well,
        which does no harm."""
        row = self.by_id.get(passage_id)
        if row is not None and self.alive.view()[row]:
            self._put(row, vectors)

    def drop(self, passage_ids: Iterable[str]) -> None:
        """Forget passages; unknown ids are passed over."""
        known = [row for each in passage_ids if (row := self.by_id.get(each)) is not None]
        rows = [row for row in known if self.alive.view()[row]]
        if rows:
            self.alive = self.alive.patched(rows, [0] * len(rows))
            self.live -= len(rows)

    def publish(self) -> PassageSnapshot:
        """Show everything that was changed to readers from now on."""
        self.snapshot = PassageSnapshot(self)
        return self.snapshot

    def _append(self, passage: Passage) -> list[dict[str, int]]:
        row, text, places = len(self.passages), passage.text, spans(passage)
        texts = [text[start:end] for start, end in places]
        terms = [[*index_terms(piece), *inner_terms(piece)] for piece in texts]
        sizes = list(map(len, terms))
        self.passages.append(passage)
        self.spans.append(places)
        different = {term_number(term) for each in terms for term in each}
        self.terms.append(np.array(sorted(different), dtype=np.uint32))
        self.by_id[passage.id] = row
        self.owners.extend(np.full(len(texts), row, dtype=np.int64))
        self.piece_lengths.extend(np.array(sizes, dtype=np.float32))
        self.lengths.append(sum(sizes))
        self.alive.append(1)
        self.present.append(0)
        self.live += 1
        self.columns["said_us"].append(parse_rfc3339(passage.said_at))
        values = (passage.project, passage.conversation_id, passage.user_id, passage.session_id, passage.agent_id)
        for (name, codes), value in zip(self.codes.items(), values, strict=True):
            self.columns[name].append(codes.encode(value or None))
        return [dict(Counter(each)) for each in terms]

    def _make_room(self) -> None:
        """Give new passages and pieces zeros, which are no vector."""
        for name, used in (("sums", len(self.passages)), ("vectors", len(self.owners))):
            array = getattr(self, name)
            if used > len(array):
                larger = grown(array, len(array), used)
                larger[len(array) :] = 0
                setattr(self, name, larger)

    def _put(self, row: int, embedded: PieceVectors) -> None:
        owned = np.flatnonzero(self.owners.view() == row)
        if len(owned) != len(embedded):  # made with other pieces than today's: embedded again
            return
        self.vectors[owned] = embedded
        total = embedded.sum(axis=0)
        size = float(np.linalg.norm(total))
        self.sums[row] = total / size if size else total
        self.present.view()[row] = 1
