"""The words of memories: the terms of each, the rows that contain a term, and BM25 over them (Robertson and Zaragoza
2009, in the form of Lucene).

All lists of postings lie in one arena: a list that is full moves to the arena's end with twice the room, and the space
it leaves is never reused, so a reader that holds the old place still finds the old list there. Rows within a list
ascend because memories are only appended; a reader of an older snapshot cuts each list at its own number of rows.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.index.arrays import Floats, Marks, Rows, grown
from mnemond.model.memory import CueSource, Insight
from mnemond.text.caches import text_cache
from mnemond.text.features import inner_terms, question_share
from mnemond.text.tokens import index_terms

OPENING: Final = 120
"""Characters of the first line that may be its title (docs/decisions/0015-two-stage-ranking.md)."""
OPENING_SHARE: Final = 0.5
"""Additional count of each term of the opening."""

_CUE_COUNT: Final[dict[CueSource, float]] = {"given": 1.0, "learned": 1.0, "generated": 0.5}
"""How often each term of a cue counts. Half and one and a half of 1 change nothing for given ones on eight small stores
(docs/decisions/0042)."""

DATED: Final = "\x1f"
"""Begins the terms of the day a memory was made on, so that a plain word never matches them by chance."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MAX_TERM_NUMBER: Final = 0xFFFFFFFF

MIN_MOVED_LIST = 4
"""Room of a list of one posting when it first moves. Half of all terms never need it."""

MAX_QUERY_TERMS = 64
"""Different terms of a query that count, the rarest first: a pasted log must not cost as much as 100 questions."""


# Documents: the terms of one memory.


class Document(NamedTuple):
    """`counts`: how often each term counts; `length`: all terms with their repeats, `own` those of the content alone.

    `breadth`: number of different terms of the content. `order`: a number for each term of the content in its order,
    as bytes of uint32. `asking`: share of the content that asks. `dated`: whether the content mentions a date.
    `cued`: the terms that count only because the memory's cues have them.
    """

    counts: dict[str, float]
    length: int
    own: int
    breadth: int
    order: bytes
    asking: float
    dated: bool
    cued: tuple[str, ...] = ()


def document_of(insight: Insight) -> Document:
    """Count the terms of the content, the names inside it, its tags and entities, the day it was made on, and its
    cues.

    A name or a tag found nowhere in the content must still find the memory.
    """
    text = insight.content
    content = index_terms(text)
    inner = inner_terms(text)
    named = index_terms("\n".join((*insight.tags, *insight.entities))) if insight.tags or insight.entities else []
    day = day_terms(insight.created_at[:10])
    counts: dict[str, float] = {}
    for term in (*content, *inner, *named, *day):
        counts[term] = counts.get(term, 0) + 1
    title = text.lstrip()[:OPENING].split("\n", 1)[0]
    for term in content[: len(content) if len(title) == len(text) else len(index_terms(title))]:
        counts[term] += OPENING_SHARE
    length = len(content) + len(inner) + len(named) + len(day)
    cued: tuple[str, ...] = ()
    if insight.cues:
        by_cue = [(term, _CUE_COUNT[cue.source]) for cue in insight.cues for term in index_terms(cue.text)]
        cued = tuple(dict.fromkeys(term for term, _ in by_cue if term not in counts))
        for term, times in by_cue:
            counts[term] = counts.get(term, 0) + times
        length += len(by_cue)
    own = len(content) + len(inner)
    order = array("I", [hash(term) & MAX_TERM_NUMBER for term in content]).tobytes()
    dated = insight.event_start is not None
    return Document(counts, length, own, len(set(content)), order, question_share(text), dated, cued)


def term_number(term: str) -> int:
    """Return a number below 2³² for a term, the same for the lifetime of this process."""
    return hash(term) & MAX_TERM_NUMBER


@text_cache(maxsize=4096)
def day_terms(day: str) -> tuple[str, ...]:
    """Return the terms of a day such as "2023-05-08": its number, month, year and weekday; none for invalid days."""
    try:
        year, month, number = (int(part) for part in day.split("-"))
        weekday = WEEKDAYS[_weekday(year, month, number)]
        words = index_terms(f"{number} {MONTHS[month - 1]} {year} {weekday}")
    except (ValueError, IndexError):
        return ()
    return tuple(DATED + word for word in words)


def _weekday(year: int, month: int, day: int) -> int:
    """0 for Monday (Sakamoto 1993, Gregorian calendar)."""
    year -= month < 3
    return (
        year + year // 4 - year // 100 + year // 400 + (0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4)[month - 1] + day - 1
    ) % 7


# Postings.


class Bm25(msgspec.Struct, frozen=True):
    """How fast repetition saturates (`k1`), and how far length discounts it (`b`, 0…1)."""

    k1: float
    b: float


def saturated(times: Floats, lengths: Floats, mean: float, parameters: Bm25) -> Floats:
    """Return what `times` of a term count in rows of these `lengths`, in [0, 1); `mean`: length of a row. Changes
    `lengths`, which must have the shape of `times` or one that `times` broadcasts from."""
    k1, b = parameters.k1, parameters.b
    lengths *= k1 * b / mean if mean else 0.0
    lengths += k1 * (1.0 - b)
    found: Floats = times / (times + lengths)
    return found


def rarity_among(rows: int, having: int) -> float:
    """Return the inverse document frequency of a term that `having` of `rows` rows have."""
    return math.log1p((rows - having + 0.5) / (having + 0.5))


class Corpus(NamedTuple):
    """The rows of a snapshot as BM25 sees them. `alive` is None when no row is dead.

    `lengths`: terms of each row, shape (rows,), float32. `live`: live rows. `total_length`: terms of the live rows.
    """

    rows: int
    alive: Marks | None
    lengths: Floats
    live: int
    total_length: int


_List: TypeAlias = tuple[int, int, int]
"""Position of a list in the arena: start, postings in use, room."""

_EMPTY_LIST: _List = (0, 0, 0)
_NO_ROWS: Rows = np.zeros(0, dtype=np.int64)
_NO_TIMES: Floats = np.zeros(0, dtype=np.float32)


class Postings:
    """Lists of (row, times) by term. One writer; each list is published in one assignment, so readers see it whole."""

    def __init__(self, lists: dict[str, _List], rows: Rows, times: Floats) -> None:
        """`rows` and `times` are the arena, shape (postings,), and become the property of this object."""
        self._lists = lists
        self._arena = (rows, times)
        self._used = len(rows)

    @classmethod
    def build(cls, documents: Iterable[Mapping[str, float]]) -> Postings:
        """Index many documents at once, as rows 0, 1, 2 …; each maps its terms to how often they count."""
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
            start, used, capacity = lists.get(term, _EMPTY_LIST)
            if used == capacity:
                start, capacity = self._moved(start, used)
                rows, times = self._arena
            rows[start + used] = row
            times[start + used] = repeats
            lists[term] = (start, used + 1, capacity)

    def _moved(self, start: int, used: int) -> tuple[int, int]:
        """Copy a full list to the end of the arena, publishing nothing; the start and capacity of the copy."""
        room = max(MIN_MOVED_LIST, 2 * used) if used else 1
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

    def __len__(self) -> int:
        """Return the number of different terms."""
        return len(self._lists)

    def __contains__(self, term: str) -> bool:
        """Return True if a row has the term, or a dead one had it."""
        return term in self._lists

    def terms(self) -> list[str]:
        """Return all terms by now, also those of dead rows."""
        return list(self._lists)

    def scores(self, terms: Sequence[str], corpus: Corpus, parameters: Bm25) -> tuple[Floats, float]:
        """Return BM25 of every row, shape (rows,), and the bound no document can reach: above 0 if there are terms.

        Document frequencies count live rows alone, so the scores are those of an index built from them. Dead rows
        get scores too; the caller leaves them out. A repeated term counts as often as it is repeated.
        """
        live = corpus.live
        total = np.zeros(corpus.rows, dtype=np.float32)
        if not terms:
            return total, 0.0
        frequencies, repeats, lists, counts = zip(*self._rarest(terms, corpus), strict=True)
        most = [
            repeated * (parameters.k1 + 1.0) * rarity_among(live, found)
            for found, repeated in zip(frequencies, repeats, strict=True)
        ]
        # All lists as one: with few postings the calls cost more than the numbers in them.
        rows, times = np.concatenate(lists), np.concatenate(counts)
        part = saturated(times, corpus.lengths[rows], corpus.total_length / live if live else 0.0, parameters)
        part *= np.array(most, dtype=np.float32).repeat([len(each) for each in lists])
        np.add.at(total, rows, part)
        return total, sum(most)

    def _rarest(self, terms: Sequence[str], corpus: Corpus) -> list[tuple[int, int, Rows, Floats]]:
        """Live document frequency, repeats in the query, rows and times of each term that counts."""
        repeats: dict[str, int] = {}
        for term in terms:
            repeats[term] = repeats.get(term, 0) + 1
        lists: list[tuple[int, int, Rows, Floats]] = []
        alive = corpus.alive
        for term, repeated in repeats.items():
            rows, times = self.of(term, corpus.rows)
            found = len(rows) if alive is None else int(np.count_nonzero(alive[rows]))
            lists.append((found, repeated, rows, times))
        if len(lists) > MAX_QUERY_TERMS:
            lists.sort(key=lambda each: (not each[0], each[0]))  # a term without live rows is rarest and finds nothing
            del lists[MAX_QUERY_TERMS:]
        return lists

    def frequencies(self, terms: Iterable[str]) -> list[int]:
        """Return how many rows have each term by now; rows that are dead count too."""
        known = self._lists.get
        return [known(term, _EMPTY_LIST)[1] for term in terms]

    def live_frequency(self, term: str, corpus: Corpus) -> int:
        """Return how many of the live rows of `corpus` have a term."""
        if corpus.alive is not None:
            return int(np.count_nonzero(corpus.alive[self.of(term, corpus.rows)[0]]))
        start, used, _ = self._lists.get(term, _EMPTY_LIST)  # read before the arena it lies in, here and below
        return _below(self._arena[0], start, used, corpus.rows)

    def shared(self, terms: Iterable[str], rows: int) -> Rows:
        """Return how many of these different terms each row has, shape (rows,); rows that are dead count too."""
        lists = self.rows_of(terms, rows)
        counts: Rows = np.bincount(np.concatenate(lists) if lists else _NO_ROWS, minlength=rows)
        return counts

    def of(self, term: str, rows: int) -> tuple[Rows, Floats]:
        """Return the rows of a term below `rows`, and its times in each."""
        place = self._lists.get(term)
        if place is None:
            return _NO_ROWS, _NO_TIMES
        start, used, _ = place
        arena_rows, arena_times = self._arena
        end = start + _below(arena_rows, start, used, rows)
        return arena_rows[start:end], arena_times[start:end]

    def rows_of(self, terms: Iterable[str], rows: int) -> list[Rows]:
        """Return the rows below `rows` of each of many terms."""
        places = [self._lists.get(term, _EMPTY_LIST) for term in terms]
        arena_rows, _ = self._arena
        return [arena_rows[start : start + _below(arena_rows, start, used, rows)] for start, used, _ in places]

    def compacted(self, alive: Marks, renumbered: Rows) -> Postings:
        """The same without dead rows, packed; `renumbered[row]` is the new number of a live row. Order is kept."""
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


def _below(arena_rows: npt.NDArray[Any], start: int, used: int, rows: int) -> int:
    """How many postings of a list are of rows below `rows`: nearly always all."""
    if not used or arena_rows.item(start + used - 1) < rows:
        return used
    return int(np.searchsorted(arena_rows[start : start + used], rows))
