"""search: memories by their words alone, on one snapshot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mnemond.index.postings import Bm25
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight
from mnemond.model.recall import Filter
from mnemond.rank.profiles import MNEMOND
from mnemond.text.tokens import index_terms


class Match(NamedTuple):
    """A memory and its BM25, as a part of what no memory can reach for these words: in (0, 1)."""

    insight: Insight
    score: float


def search(
    snapshot: Snapshot, text: str, wanted: Filter, limit: int, parameters: Bm25 = MNEMOND.bm25
) -> tuple[Match, ...]:
    """The `limit` best visible memories that have a word of `text`, best first; ties as in `Snapshot.best`."""
    terms = index_terms(text)
    if not terms:
        return ()
    scores, bound = snapshot.keyword(terms, parameters)
    mask = snapshot.visible(wanted)
    rows = None if mask is None else np.flatnonzero(mask)
    if rows is not None:
        scores = scores[rows]
    scores = np.where(scores > 0.0, scores, np.float32(-1.0))  # a negative score is never chosen
    places = snapshot.best(scores, limit, rows)
    found = places if rows is None else rows[places]
    return tuple(
        Match(snapshot.insight(row), score / bound)
        for row, score in zip(found.tolist(), scores[places].tolist(), strict=True)
    )
