"""Memories found by the questions that were noted with them (spec 6.10 and 11.2): how near these are to what is asked.

The questions are told from the text again and embedded when something is asked, once a generation, and what is kept
are vectors alone, for as long as the generation. So nothing of a purged memory stays, and a store that never asks for
them pays nothing. What they are worth: docs/decisions/0018.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mnemond.embed.asked import Asked
from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import try_embed
from mnemond.index.postings import Floats
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.rank.closeness import Closeness
from mnemond.text.hypothetical import hypothetical_queries

AT_ONCE = 64
"""Questions embedded in one call."""


class _Noted(NamedTuple):
    """Vectors of questions, shape (n, dimension), and whose each is."""

    fingerprint: str
    rows: Rows
    vectors: npt.NDArray[np.float32]


_of_generations: WeakKeyDictionary[Snapshot, _Noted] = WeakKeyDictionary()


def can_embed(embedder: Embedder | None) -> bool:
    """Whether texts besides the question can be embedded while somebody waits: in this process, that is."""
    return embedder is not None and embedder.inline and not isinstance(embedder, Asked)


def raised(snapshot: Snapshot, cosines: Floats, vector: Vector, embedder: Embedder | None) -> Floats:
    """`cosines` of all rows with a question, each the largest of its own and those of the questions noted with it."""
    if embedder is None or not can_embed(embedder):
        return cosines
    noted = _noted(snapshot, embedder)
    if not len(noted.rows):
        return cosines
    best = cosines.copy()
    np.maximum.at(best, noted.rows, noted.vectors @ vector)
    return best


def nearer(snapshot: Snapshot, near: Closeness, vector: Vector, embedder: Embedder | None) -> Closeness:
    """The same of what a ranking goes by."""
    nothing = np.zeros(snapshot.rows, dtype=np.float32)
    by_questions = raised(snapshot, nothing, vector, embedder)
    if by_questions is nothing:
        return near
    return near._replace(
        first=np.maximum(near.first[: snapshot.rows], by_questions),
        of=lambda rows: np.maximum(near.of(rows), by_questions[rows]),
    )


def _noted(snapshot: Snapshot, embedder: Embedder) -> _Noted:
    known = _of_generations.get(snapshot)
    if known is None or known.fingerprint != embedder.fingerprint:
        known = _of_generations[snapshot] = _embedded(snapshot, embedder)
    return known


def _embedded(snapshot: Snapshot, embedder: Embedder) -> _Noted:
    """Those of every live row, the questions of one text as many as a memory gets unless a store says otherwise."""
    asked = [
        (row, question)
        for row in np.flatnonzero(snapshot.alive()).tolist()
        if (it := snapshot.insight(row)).trigger_type is not None
        for question in hypothetical_queries(it.trigger_type, it.content)
    ]
    rows: list[int] = []
    vectors: list[Vector] = []
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        found, _ = try_embed(embedder, [question for _, question in part], "document")
        for (row, _), vector in zip(part, found, strict=True):
            if vector is not None and vector.shape == (snapshot.dimension,):
                rows.append(row)
                vectors.append(vector)
    matrix = np.stack(vectors) if vectors else np.zeros((0, snapshot.dimension), dtype=np.float32)
    return _Noted(embedder.fingerprint, np.array(rows, dtype=np.int64), matrix)
