"""The index of passages: words and vectors of what was said in sessions, beside that of memories and apart from it.

A passage has one row in the postings, and one vector, the direction of the sum of those of its pieces
(`text.passages.pieces`). Terms and vectors of the pieces are compared only for the passages that a question asks for.
Snapshots are immutable; the writer
appends behind them, and copies what it changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, GrowableArray, Interner, Mask, Rows, grown
from mnemond.index.bm25 import MAX_QUERY_TERMS, Bm25, Corpus, Postings, rarity_among, saturated, term_number
from mnemond.index.columns import PREFIX_LENGTH
from mnemond.index.vectors import Codes, encode
from mnemond.model.changes import Vector
from mnemond.model.memory import is_same_project, parse_rfc3339
from mnemond.model.passages import CHATS, Passage
from mnemond.model.query import Filter
from mnemond.text.features import inner_terms
from mnemond.text.passages import spans
from mnemond.text.tokens import index_terms

PieceVectors = npt.NDArray[np.float32]
"""Embeddings of the pieces of one passage, shape (pieces, dimension); a row of zeros for a piece without words that the
embedder knows."""


class Pieces(NamedTuple):
    """The pieces of some passages, one passage after the other: their rows, and where each passage begins in them."""

    rows: Rows
    starts: Rows


LOW_BITS: Final = 0xFFFF
"""Of a term's number, by which most terms of pieces are told apart from those of a question."""


class PassageSnapshot:
    """One generation of the passages of a store, in the order of their storage. Rows are numbers from 0; dead rows keep
    theirs until the index is loaded again. `made_by`: fingerprint of the embedder of the vectors, "" for none.
    `waiting`: numbers of rows of the database that are not loaded yet."""

    __slots__ = (
        "_alive", "_by_id", "_codes", "_columns", "_corpus", "_passages", "_piece_lengths", "_postings", "_present",
        "_spans", "_sums", "_terms", "_vectors", "begins", "live", "made_by", "pieces", "rows", "waiting",
    )  # fmt: skip

    def __init__(self, index: PassageIndex) -> None:
        self._by_id, self._codes, self._postings = index.by_id, index.codes, index.postings
        self.rows = len(index.passages)
        self.pieces = len(index.piece_lengths)
        self.live = index.live
        self.made_by = index.made_by
        self.waiting = tuple(index.waiting)
        self.begins = index.begins.view()
        """The first piece of each passage, and the number of all pieces, shape (rows + 1,)."""
        self._passages = index.passages
        self._alive = index.alive.view()
        self._columns = {name: column.view() for name, column in index.columns.items()}
        marks = self._alive if self.live < self.rows else None
        self._corpus = Corpus(self.rows, marks, index.lengths.view(), self.live, index.total_length)
        self._piece_lengths = index.piece_lengths.view()
        self._present = index.present.view()
        self._spans = index.spans
        self._terms = index.terms
        self._sums = Codes(index.sums[: self.rows], index.sum_scales[: self.rows])
        self._vectors = Codes(index.vectors[: self.pieces], index.scales[: self.pieces])

    # ------------------------------------------------------------ rows

    def passage(self, row: int) -> Passage:
        """Return the passage of a row below `rows`, dead or alive."""
        return self._passages[row]

    def pieces_text(self, row: int) -> list[str]:
        """Return the pieces of a passage, verbatim."""
        text = self._passages[row].text
        return [text[start:end] for start, end in self._spans[row]]

    def share_of(self, terms: Iterable[str], passage_id: str) -> float:
        """Return the share of some index terms that a passage has; 0 for one that is not known."""
        wanted = [term_number(term) for term in terms]
        known = self._numbers(passage_id)
        return sum(number in known for number in wanted) / max(1, len(wanted))

    def overlap(self, one_id: str, other_id: str) -> float:
        """Return the share of the different terms of the shorter of two known passages that the other has."""
        one, two = self._numbers(one_id), self._numbers(other_id)
        return len(one & two) / max(1, min(len(one), len(two)))

    def _numbers(self, passage_id: str) -> set[int]:
        row = self._by_id.get(passage_id)
        return set() if row is None else set(self._terms[row].tolist())

    def row_of(self, passage_id: str) -> int | None:
        """Return the row of a passage that is not forgotten."""
        row = self._by_id.get(passage_id)
        return row if row is not None and row < self.rows and self._alive[row] else None

    def conversation_of(self, passage_id: str) -> str:
        """Return the id of the session that a passage is of; "" if it is not known."""
        row = self.row_of(passage_id)
        return "" if row is None else self._passages[row].conversation_id

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
            elif name == "session" and not wanted.all_sessions and len(self._codes[name]) > 1:
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
        return self.in_order(rows)

    def of_project(self, project: str, without: str = "") -> Rows:
        """Return the live rows of sessions of a project ("": of none); `without`: the id of one that does not count."""
        mask = (self._alive != 0) & (self._columns["user"] == 0) & (self._columns["session"] == 0)
        mask &= self._of_project(project, strict=bool(project))
        if without and (code := self._codes["conversation"].find(without)) is not None:
            mask &= self._columns["conversation"] != code
        return self.of_agents(np.flatnonzero(mask))

    def of_agents(self, rows: Rows) -> Rows:
        """Return those of some rows that are of sessions of agents: a conversation that was imported is no session that
        another one goes on from."""
        chats = [self._codes["host"].find(host) for host in CHATS]
        return rows[np.isin(self._columns["host"][rows], [code for code in chats if code is not None], invert=True)]

    def by_session(self, rows: Rows) -> Iterator[list[int]]:
        """Yield the sessions of some rows, the one that ended last first, each in the order in which it was said. A
        passage of no session is one by itself."""
        ordered = np.array(self.in_order(rows), dtype=np.int64)
        conversations = self._columns["conversation"][ordered]
        while len(ordered):
            of_last = conversations == conversations[-1]
            if not conversations[-1]:
                of_last[:-1] = False
            yield ordered[of_last].tolist()
            ordered, conversations = ordered[~of_last], conversations[~of_last]

    def in_order(self, rows: Rows) -> list[int]:
        """Return rows in the order in which their passages were said."""
        ordered: list[int] = rows[np.argsort(self._columns["said_us"][rows], kind="stable")].tolist()
        return ordered

    def said_us(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return when passages were said, in microseconds."""
        found: npt.NDArray[np.int64] = self._columns["said_us"][rows]
        return found

    def pieces_of(self, rows: Rows) -> Pieces:
        """Return the pieces of passages, in the order of `rows`; each has one at least."""
        begins = self.begins[rows]
        sizes = self.begins[rows + 1] - begins
        starts = np.cumsum(sizes) - sizes
        return Pieces(np.arange(int(sizes.sum())) + np.repeat(begins - starts, sizes), starts)

    # ------------------------------------------------------------ words and vectors

    def words(self, terms: Sequence[str], parameters: Bm25) -> Floats:
        """Return BM25 of every passage for the terms of a question, shape (rows,), as shares of what these terms can
        reach."""
        scores, bound = self._postings.scores(terms, self._corpus, parameters)
        if bound:
            scores *= np.float32(1.0 / bound)
        return scores

    def piece_words(self, terms: Sequence[str], rows: Rows, parts: Pieces, parameters: Bm25) -> Floats:
        """Return BM25 of the pieces `parts` of the passages `rows` for the different terms of a question, as shares of
        what these terms can reach. A term is rare by the passages that have it."""
        frequencies = {term_number(term): self._postings.live_frequency(term, self._corpus) for term in terms}
        rarest = sorted(frequencies.items(), key=lambda each: (not each[1], each[1]))[:MAX_QUERY_TERMS]
        wanted = np.array(sorted(number for number, _ in rarest), dtype=np.uint32)
        rarities = np.array([rarity_among(self.live, frequencies[each]) for each in wanted.tolist()], dtype=np.float32)
        flat = np.concatenate([self._terms[row] for row in rows.tolist()])
        likely = np.zeros(LOW_BITS + 1, dtype=np.bool_)
        likely[wanted & LOW_BITS] = True
        at = np.flatnonzero(likely[flat & LOW_BITS])
        terms_at = np.searchsorted(wanted, flat[at]).clip(max=len(wanted) - 1)
        exact = wanted[terms_at] == flat[at]
        lengths = self._piece_lengths[parts.rows]
        pieces = np.searchsorted(np.cumsum(lengths), at[exact], side="right")
        shape = (len(parts.rows), len(wanted))
        times = np.bincount(pieces * len(wanted) + terms_at[exact], minlength=shape[0] * shape[1]).reshape(shape)
        mean = float(self._piece_lengths.mean())
        found: Floats = saturated(times.astype(np.float32), lengths[:, None], mean, parameters) @ rarities
        found *= np.float32(1.0 / float(rarities.sum()))
        return found

    def cosines(self, vector: Vector) -> Floats:
        """Return about the cosine of every passage as a whole with `vector` (length 1), shape (rows,), off as those of
        `Codes`; 0 for one without a vector."""
        return self._sums.cosines(vector)

    def piece_cosines(self, vector: Vector, pieces_: Rows) -> Floats:
        """Return about the cosines of pieces with `vector`, shape (len(pieces_),)."""
        return Codes(self._vectors.matrix[pieces_], self._vectors.scales[pieces_]).cosines(vector)

    def without_vector(self) -> list[str]:
        """Return the ids of live passages that were not embedded, oldest row first."""
        rows = np.flatnonzero((self._alive != 0) & (self._present == 0)).tolist()
        return [self._passages[row].id for row in rows]


class PassageIndex:
    """The passages of a store. For one writer; `snapshot` is what readers see."""

    def __init__(self, dimension: int, made_by: str = "") -> None:
        self.made_by = made_by
        self.waiting: list[int] = []
        """Rows of the database that are not loaded yet, in the order in which they were said; loaded from the end."""
        self.live = self.total_length = 0
        self.passages: list[Passage] = []
        self.by_id: dict[str, int] = {}
        self.postings = Postings.build(())
        self.spans: list[list[tuple[int, int]]] = []
        self.terms: list[npt.NDArray[np.uint32]] = []
        """Numbers of the terms of each passage, with repetitions, in the order of its pieces."""
        self.begins = GrowableArray(np.zeros(1, dtype=np.int64))
        self.lengths = GrowableArray.empty(np.float32)
        self.piece_lengths = GrowableArray.empty(np.float32)
        self.alive = GrowableArray.empty(np.uint8)
        self.present = GrowableArray.empty(np.uint8)
        self.sums, self.vectors = (np.zeros((0, dimension), dtype=np.int8) for _ in range(2))
        self.sum_scales, self.scales = (np.zeros(0, dtype=np.float32) for _ in range(2))
        self.codes = {name: Interner() for name in ("project", "conversation", "host", "user", "session", "agent")}
        self.columns = {"said_us": GrowableArray.empty(np.int64)}
        self.columns |= {name: GrowableArray.empty(np.int32) for name in self.codes}
        self.snapshot = PassageSnapshot(self)

    @classmethod
    def build(
        cls,
        pairs: Iterable[tuple[Passage, PieceVectors | None]],
        dimension: int,
        made_by: str = "",
        waiting: Sequence[int] = (),
    ) -> PassageIndex:
        """Index the passages of a store; those of the rows `waiting` are added later."""
        index = cls(dimension, made_by)
        index.waiting = list(waiting)
        documents: list[dict[str, int]] = []
        vectors: list[tuple[int, PieceVectors]] = []
        for passage, embedded in pairs:
            documents.append(index._append(passage))
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
        self.postings.add(len(self.passages), self._append(passage))
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
            self.total_length -= int(self.lengths.view()[rows].sum())

    def publish(self) -> PassageSnapshot:
        """Show everything that was changed to readers from now on."""
        self.snapshot = PassageSnapshot(self)
        return self.snapshot

    def _append(self, passage: Passage) -> dict[str, int]:
        """Append everything but the postings and vectors of a passage; return how often it has each term."""
        row, text, places = len(self.passages), passage.text, spans(passage)
        texts = [text[start:end] for start, end in places]
        terms = [[*index_terms(piece), *inner_terms(piece)] for piece in texts]
        sizes = list(map(len, terms))
        self.passages.append(passage)
        self.spans.append(places)
        every = [term for each in terms for term in each]
        self.terms.append(np.array([*map(term_number, every)], dtype=np.uint32))
        self.by_id[passage.id] = row
        self.begins.append(len(self.piece_lengths) + len(texts))
        self.piece_lengths.extend(np.array(sizes, dtype=np.float32))
        self.lengths.append(len(every))
        self.total_length += len(every)
        self.alive.append(1)
        self.present.append(0)
        self.live += 1
        self.columns["said_us"].append(parse_rfc3339(passage.said_at))
        it = passage
        values = (it.project, it.conversation_id, it.host, it.user_id, it.session_id, it.agent_id)
        for (name, codes), value in zip(self.codes.items(), values, strict=True):
            self.columns[name].append(codes.encode(value or None))
        return Counter(every)

    def _make_room(self) -> None:
        """Give new passages and pieces zeros, which are no vector."""
        passages, pieces_ = len(self.passages), len(self.piece_lengths)
        for name, used in (("sums", passages), ("sum_scales", passages), ("vectors", pieces_), ("scales", pieces_)):
            array = getattr(self, name)
            if used > len(array):
                larger = grown(array, len(array), used)
                larger[len(array) :] = 0
                setattr(self, name, larger)

    def _put(self, row: int, embedded: PieceVectors) -> None:
        begin, end = self.begins.view()[row : row + 2].tolist()
        owned = slice(begin, end)
        if end - begin != len(embedded):  # made with other pieces than today's: embedded again
            return
        self.vectors[owned], self.scales[owned] = encode(embedded)
        total = embedded.sum(axis=0)
        size = float(np.linalg.norm(total))
        codes, scales = encode((total / size if size else total)[np.newaxis])
        self.sums[row], self.sum_scales[row] = codes[0], scales[0]
        self.present.view()[row] = 1
