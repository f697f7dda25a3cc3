"""Which memories contain a term, and BM25 over them (Robertson and Zaragoza 2009, the form of Lucene).

All lists lie in one arena: a list that is full moves to the arena's end with twice the room, and what it leaves
behind is never reused, so a reader that holds the old place still finds the old list there. Rows within a list ascend
because memories are only appended; a reader of an older snapshot cuts each list at its own number of rows.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import grown

PostingsFloats = npt.NDArray[np.float32]
PostingsRows = npt.NDArray[np.int64]

SMALLEST_MOVED_LIST = 4
"""Room a list of one posting gets when it first moves. Half of all terms never need it."""


MAX_QUERY_TERMS = 64
"""Different terms of a query that count, the rarest first: a pasted log must not cost what a hundred questions do."""


class Bm25(msgspec.Struct, frozen=True):
    """How fast repetition saturates (`k1`), and how far length discounts it (`b`, 0…1)."""

    k1: float
    b: float


class Corpus(NamedTuple):
    """What a snapshot knows of its rows. `alive` is None when no row is dead.

    `lengths`: terms of each row, shape (rows,), float32. `live`: live rows. `total_length`: terms of the live rows.
    """

    rows: int
    alive: npt.NDArray[np.uint8] | None
    lengths: PostingsFloats
    live: int
    total_length: int


_List: TypeAlias = tuple[int, int, int]
"""Where a list lies in the arena: start, postings in use, room."""

_NOWHERE: _List = (0, 0, 0)
_NO_ROWS: PostingsRows = np.zeros(0, dtype=np.int64)
_NO_TIMES: PostingsFloats = np.zeros(0, dtype=np.float32)


class Postings:
    """Lists of (row, times) by term. One writer; each list is published in one assignment, so readers see it whole."""

    def __init__(self, lists: dict[str, _List], rows: PostingsRows, times: PostingsFloats) -> None:
        """`rows` and `times` are the arena, shape (postings,), and become the property of this object."""
        self._lists = lists
        self._arena = (rows, times)
        self._used = len(rows)

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, float]]) -> Postings:
        """Index many documents at once, rows 0, 1, 2 …: how often each of their terms counts."""
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        terms, sizes, times = array("i"), array("i"), array("f")
        for counts in documents:
            sizes.append(len(counts))
            terms.extend(map(numbers.__getitem__, counts))
            times.extend(counts.values())
        rows = np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.int64))
        of = np.array(terms, dtype=np.int64)
        order = np.argsort(of, kind="stable")
        held = np.bincount(of, minlength=len(numbers))
        starts = np.cumsum(held) - held
        lists = {
            term: (start, size, size) for term, start, size in zip(numbers, starts.tolist(), held.tolist(), strict=True)
        }
        return cls(lists, rows[order], np.array(times, dtype=np.float32)[order])

    def add(self, row: int, counts: Mapping[str, float]) -> None:
        """Append one document as `row`, which is larger than every row added before."""
        lists = self._lists
        rows, times = self._arena
        for term, repeats in counts.items():
            start, used, capacity = lists.get(term, _NOWHERE)
            if used == capacity:
                start, capacity = self._moved(start, used)
                rows, times = self._arena
            rows[start + used] = row
            times[start + used] = repeats
            lists[term] = (start, used + 1, capacity)

    def _moved(self, start: int, used: int) -> tuple[int, int]:
        """Start and capacity of the copy of a full list, at the end of the arena. Publishes nothing."""
        room = max(SMALLEST_MOVED_LIST, 2 * used) if used else 1
        new = self._used
        self._used = new + room
        if self._used > len(self._arena[0]):
            rows, times = self._arena
            self._arena = (grown(rows, new, self._used), grown(times, new, self._used))
        if used:
            rows, times = self._arena
            rows[new : new + used] = rows[start : start + used]
            times[new : new + used] = times[start : start + used]
        return new, room

    def scores(self, terms: Sequence[str], corpus: Corpus, parameters: Bm25) -> tuple[PostingsFloats, float]:
        """BM25 of every row, shape (rows,), and the bound no document can reach: above 0 if there are terms.

        Document frequencies count live rows alone, so the scores are those of an index built from them. Dead rows
        get scores too; whoever selects rows leaves them out. A repeated term counts as often as it is repeated.
        """
        k1, b, live = parameters.k1, parameters.b, corpus.live
        total = np.zeros(corpus.rows, dtype=np.float32)
        if not terms:
            return total, 0.0
        frequencies, repeats, lists, counts = zip(*self._rarest(terms, corpus), strict=True)
        most = [
            repeated * (k1 + 1.0) * math.log1p((live - found + 0.5) / (found + 0.5))
            for found, repeated in zip(frequencies, repeats, strict=True)
        ]
        # All lists as one: with few postings the calls cost more than the numbers in them.
        rows, times = np.concatenate(lists), np.concatenate(counts)
        part = corpus.lengths[rows]
        part *= k1 * b * live / corpus.total_length if corpus.total_length else 0.0
        part += k1 * (1.0 - b)
        part += times
        np.divide(times, part, out=part)
        part *= np.array(most, dtype=np.float32).repeat([len(each) for each in lists])
        np.add.at(total, rows, part)
        return total, sum(most)

    def frequencies(self, terms: Iterable[str]) -> list[int]:
        """How many rows have each term by now; rows that are dead count too."""
        known = self._lists.get
        return [known(term, _NOWHERE)[1] for term in terms]

    def live_frequency(self, term: str, corpus: Corpus) -> int:
        """How many of the rows of `corpus` have a term and are live. The list is read before the arena it lies in."""
        if corpus.alive is not None:
            return int(np.count_nonzero(corpus.alive[self.of(term, corpus.rows)[0]]))
        start, used, _ = self._lists.get(term, _NOWHERE)
        return _below(self._arena[0], start, used, corpus.rows)

    def shared(self, terms: Iterable[str], rows: int) -> PostingsRows:
        """How many of these different terms each row has, shape (rows,); rows that are dead count too."""
        lists = self.rows_of(terms, rows)
        found = np.concatenate(lists) if lists else _NO_ROWS
        counts: PostingsRows = np.bincount(found, minlength=rows)
        return counts

    def _rarest(self, terms: Sequence[str], corpus: Corpus) -> list[tuple[int, int, PostingsRows, PostingsFloats]]:
        """Live document frequency, repeats in the query, rows and times of each term worth a look."""
        repeats: dict[str, int] = {}
        for term in terms:
            repeats[term] = repeats.get(term, 0) + 1
        lists: list[tuple[int, int, PostingsRows, PostingsFloats]] = []
        alive = corpus.alive
        for term, repeated in repeats.items():
            rows, times = self.of(term, corpus.rows)
            found = len(rows) if alive is None else int(np.count_nonzero(alive[rows]))
            lists.append((found, repeated, rows, times))
        if len(lists) > MAX_QUERY_TERMS:
            lists.sort(key=lambda each: (not each[0], each[0]))  # what nobody wrote is rarest and finds nothing
            del lists[MAX_QUERY_TERMS:]
        return lists

    def of(self, term: str, rows: int) -> tuple[PostingsRows, PostingsFloats]:
        """A term's rows below `rows` and its times in each. The list is read before the arena it lies in."""
        place = self._lists.get(term)
        if place is None:
            return _NO_ROWS, _NO_TIMES
        start, used, _ = place
        arena_rows, arena_times = self._arena
        end = start + _below(arena_rows, start, used, rows)
        return arena_rows[start:end], arena_times[start:end]

    def rows_of(self, terms: Iterable[str], rows: int) -> list[PostingsRows]:
        """The rows below `rows` of each of many terms. All lists are read before the arena they lie in."""
        places = [self._lists.get(term, _NOWHERE) for term in terms]
        arena_rows, _ = self._arena
        return [arena_rows[start : start + _below(arena_rows, start, used, rows)] for start, used, _ in places]

    def compacted(self, alive: npt.NDArray[np.uint8], renumbered: PostingsRows) -> Postings:
        """The same without dead rows, packed; `renumbered[row]` is a live row's new number. Order is kept."""
        terms = list(self._lists)
        places = np.array([self._lists[term] for term in terms], dtype=np.int64).reshape(-1, 3)
        starts, sizes = places[:, 0], places[:, 1]
        at = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
        owners = np.repeat(np.arange(len(terms)), sizes)
        arena_rows, arena_times = self._arena
        rows = arena_rows[at]
        kept = alive[rows].astype(bool)
        left = np.bincount(owners[kept], minlength=len(terms))
        begins = np.cumsum(left) - left
        lists = {
            term: (start, size, size)
            for term, start, size in zip(terms, begins.tolist(), left.tolist(), strict=True)
            if size
        }
        return Postings(lists, renumbered[rows[kept]], arena_times[at[kept]])


def _below(arena_rows: PostingsRows, start: int, used: int, rows: int) -> int:
    """How many of a list's postings are of rows below `rows`: nearly always all."""
    if not used or arena_rows.item(start + used - 1) < rows:
        return used
    return int(np.searchsorted(arena_rows[start : start + used], rows))


# The k best of many scores, without sorting the others, and always in the same order.


BLOCK = 256
"""Scores a block: one pass for the largest of each place in a block, then the k-th of these bounds the k-th of all."""

FEWEST_BLOCKS = 4
"""Blocks from which on two short steps are faster than one selection among all scores (equal at 1,000 scores)."""

FEW = 48
"""Numbers up to which sorting a list takes less time than calling numpy thrice."""

SelectionFloats = npt.NDArray[np.float32]
SelectionRows = npt.NDArray[np.int64]


def at_least_kth(scores: SelectionFloats, k: int) -> SelectionRows:
    """Positions of every score not below the k-th largest, ascending; a negative score never counts.

    More than k of them exactly when scores tie at the k-th place.
    """
    found: SelectionRows = (scores >= max(at_most_kth(scores, k), 0.0)).nonzero()[0]
    if len(found) > k:
        values = scores[found]
        found = found[values >= kth(values, k)]
    return found


def at_most_kth(scores: SelectionFloats, k: int) -> float:
    """A number not above the k-th largest score, and close to it: the k-th largest maximum of disjoint groups."""
    width = max(BLOCK, FEWEST_BLOCKS * k)
    blocks = len(scores) // width
    if blocks >= FEWEST_BLOCKS:
        return kth(np.maximum.reduce(scores[: blocks * width].reshape(blocks, width)), k)
    return kth(scores, k) if len(scores) > k else 0.0


def kth(scores: SelectionFloats, k: int) -> float:
    """The k-th largest of at least k scores."""
    place = len(scores) - k
    moved = scores.copy()
    moved.partition(place)
    return float(moved[place])


def not_behind_kth(keys: Sequence[npt.NDArray[Any]], k: int) -> npt.NDArray[np.bool_]:
    """Which positions are not behind the k-th when sorted by the keys: the first counts most, large values first."""
    order = np.lexsort([-key for key in reversed(keys)])
    kth = order[min(k, len(order)) - 1]
    kept = np.ones(len(order), dtype=np.bool_)
    for key in reversed(keys):
        kept = (key > key[kth]) | ((key == key[kth]) & kept)
    return kept


def top(rows: SelectionRows, values: SelectionFloats, k: int) -> list[tuple[int, float]]:
    """The k rows with the largest values, best first, of equal ones the later row: (row, value)."""
    if len(rows) <= FEW:
        ranked = sorted(zip(values.tolist(), rows.tolist(), strict=True), reverse=True)
        return [(row, value) for value, row in ranked[:k]]
    if 0 < k < len(rows):
        kept = values >= kth(values, k)
        rows, values = rows[kept], values[kept]
    order = np.lexsort((-rows, -values))[:k]
    return list(zip(rows[order].tolist(), values[order].tolist(), strict=True))
