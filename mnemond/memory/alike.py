"""Find which memories of a store are alike, in bounded steps: by the cosine of their vectors, or by common words.

A memory is compared with the earlier ones that the caller keeps, and with no pair twice, so that the work is half of
all pairs at most: 10,000 memories take a matrix product of seconds, in parts of milliseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from mnemond.index.arrays import Floats, Rows
from mnemond.index.snapshot import Snapshot
from mnemond.text.similarity import token_set

BLOCK: Final = 256
"""Memories that are compared together."""

CHUNK: Final = 8_192
"""Earlier memories that a block is compared with in one step: 8 MB of cosines, some 30 ms with 256 dimensions."""

MAX_NEAR: Final = 32
"""Nearest earlier memories of one memory and step: texts made from one template are near thousands of others."""

MAX_COMPARED: Final = 20_000
"""Newest memories of a group that are compared with all earlier ones: the work grows with both numbers, and a
comparison within 100,000 memories would take minutes. What is older was compared when it was new."""

MAX_HOLDERS: Final = 200
"""Memories looked at for one rare word of another: only texts made from one template share a rare word so often."""

MAX_TOKENS: Final = 1_000_000
"""Words whose frequencies are counted: those of some 100,000 memories."""


class Limits(NamedTuple):
    """The least cosine, on the scale of the store's embedder, and the least Jaccard index of the words."""

    cosine: float
    jaccard: float


class Alike(NamedTuple):
    """An earlier row that is like another one; `cosine` is None if one of them has no vector."""

    row: int
    cosine: float | None
    jaccard: float

    @property
    def most(self) -> float:
        return max(self.jaccard, self.cosine or 0.0)


class Found(NamedTuple):
    """A row, and the earlier kept rows that are like it, the most similar first, ties by row."""

    row: int
    alike: tuple[Alike, ...]


class Group:
    """Memories of one kind, earliest first. The caller `keep`s the rows with which later ones are to be compared. Used
    by one thread at a time."""

    def __init__(self, snapshot: Snapshot, rows: Sequence[int], limits: Limits) -> None:
        self._snapshot = snapshot
        self._rows = np.array(rows, dtype=np.int64)
        self._limits = limits
        self._kept = np.zeros(len(rows), dtype=np.bool_)
        self._place = {row: place for place, row in enumerate(rows)}
        self._words: list[tuple[str, ...]] = []
        self._sets: list[frozenset[str]] = []
        self._holders: dict[str, list[int]] = {}

    def keep(self, row: int) -> None:
        """Compare later memories with this one as well."""
        place = self._place[row]
        self._kept[place] = True
        for word in self._rarest(place):
            self._holders.setdefault(word, []).append(place)

    def compared(self) -> Iterator[Found | None]:
        """Yield the memories in order, and None after each step without one. The caller keeps a row, or does not,
        before it takes the next."""
        yield from self._prepared()
        first = max(0, len(self._rows) - MAX_COMPARED)
        for place in range(first):
            self.keep(int(self._rows[place]))
            if place % BLOCK == BLOCK - 1:
                yield None
        for start in range(first, len(self._rows), BLOCK):
            yield from self._block(start, min(start + BLOCK, len(self._rows)))

    def _prepared(self) -> Iterator[None]:
        """Read the words of all texts, and put the rarest of each first."""
        frequency: Counter[str] = Counter()
        for start in range(0, len(self._rows), BLOCK):
            for row in self._rows[start : start + BLOCK].tolist():
                words = token_set(self._snapshot.insight(row).content)
                self._sets.append(words)
                if len(frequency) < MAX_TOKENS:
                    frequency.update(words)
            yield None
        for start in range(0, len(self._rows), BLOCK):
            for words in self._sets[start : start + BLOCK]:
                self._words.append(tuple(sorted(words, key=lambda word: (frequency[word], word))))
            yield None

    def _block(self, start: int, end: int) -> Iterator[Found | None]:
        matrix = self._snapshot.dense.matrix
        mine: Floats = matrix[self._rows[start:end]]
        near: list[dict[int, float]] = [{} for _ in range(start, end)]
        for low in range(0, start, CHUNK):
            kept = low + np.flatnonzero(self._kept[low : min(low + CHUNK, start)])
            self._note_near(mine @ matrix[self._rows[kept]].T, kept, near)
            yield None
        own = mine @ mine.T
        for at in range(end - start):
            kept = np.flatnonzero(self._kept[start : start + at])
            self._note_near(own[at : at + 1, kept], start + kept, near[at : at + 1])
            yield Found(int(self._rows[start + at]), self._alike(start + at, near[at]))

    def _note_near(self, cosines: Floats, places: Rows, near: list[dict[int, float]]) -> None:
        """Note the places whose cosine, of shape (len(near), len(places)), reaches the limit."""
        for at in np.flatnonzero((cosines >= self._limits.cosine).any(axis=1)).tolist():
            close = np.flatnonzero(cosines[at] >= self._limits.cosine)
            if len(close) > MAX_NEAR:
                close = close[np.argsort(-cosines[at, close], kind="stable")[:MAX_NEAR]]
            near[at].update(zip(places[close].tolist(), cosines[at, close].tolist(), strict=True))

    def _rarest(self, place: int) -> tuple[str, ...]:
        """Return the words of which two texts with a Jaccard index of at least the limit share one: all but the most
        frequent ones, which may be the part that they need not share (prefix filter, Bayardo et al. 2007)."""
        words = self._words[place]
        return words[: len(words) - math.ceil(self._limits.jaccard * len(words)) + 1] if words else ()

    def _alike(self, place: int, near: dict[int, float]) -> tuple[Alike, ...]:
        mine, by_words = self._sets[place], self._by_words(place)
        alike = [
            Alike(
                int(self._rows[other]),
                near[other] if other in near else self._cosine(place, other),
                by_words[other] if other in by_words else _jaccard(mine, self._sets[other]),
            )
            for other in near.keys() | by_words.keys()
        ]
        return tuple(sorted(alike, key=lambda each: (-each.most, each.row)))

    def _cosine(self, place: int, other: int) -> float | None:
        rows = self._rows[[place, other]].tolist()
        if not all(map(self._snapshot.has_vector, rows)):
            return None
        return float(self._snapshot.similarity_between(rows[0], self._rows[other : other + 1])[0])

    def _by_words(self, place: int) -> dict[int, float]:
        """Return the kept places whose words are like those of this one, and their Jaccard indices."""
        mine, least = self._sets[place], self._limits.jaccard
        candidates = {other for word in self._rarest(place) for other in self._holders.get(word, ())[-MAX_HOLDERS:]}
        found: dict[int, float] = {}
        for other in sorted(candidates):
            theirs = self._sets[other]
            if min(len(mine), len(theirs)) >= least * max(len(mine), len(theirs)):
                jaccard = _jaccard(mine, theirs)
                if jaccard >= least:
                    found[other] = jaccard
        return found


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
