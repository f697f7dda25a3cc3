"""Where a walk of Mnemosyne starts (spec 7.8): at what is like the question in itself, and the older it is, in what is
known of it: how long ago it was, and its keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import try_embed
from mnemond.index.postings import Floats
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.timestamp import DAY_US
from mnemond.pipelines.hypothetical_search import can_embed
from mnemond.pipelines.sought import Sought
from mnemond.pipelines.standing import newest_us
from mnemond.rank.profiles import Profile
from mnemond.rank.start_nodes import age_phrase, meta_vector, start_rows, start_scores
from mnemond.rank.tie_order import Scores
from mnemond.text.similarity import overlap, token_set

CANDIDATES = 100
"""Rows whose keywords are looked at, by words and by meaning each: to embed those of a whole store takes seconds."""

_keywords: WeakKeyDictionary[Snapshot, dict[tuple[str, int], Vector | None]] = WeakKeyDictionary()
"""Of the generations that were asked: the vector of a row's keywords by an embedder, as far as it was looked at. What
is kept goes with the generation, and so nothing of a purged memory stays."""

DAY_S = 86_400.0


class Starts(NamedTuple):
    """`rows`, best first, and their scores; shapes (starts,)."""

    rows: Rows
    scores: Scores


def starts(snapshot: Snapshot, sought: Sought, keyword: Floats, cosines: Floats | None, profile: Profile) -> Starts:
    """The few memories a walk starts at. `keyword`: BM25 of all rows with the question."""
    rows = _candidates(snapshot, sought, keyword, cosines)
    if not len(rows):
        return Starts(rows, np.zeros(0))
    now_us = newest_us(snapshot, rows) if sought.query.now_us is None else sought.query.now_us
    ages = (now_us - snapshot.created_us[rows]) / DAY_US
    phrases = [age_phrase(age * DAY_S) for age in ages.tolist()]
    asked = token_set(sought.query.text)
    if sought.vector is None or cosines is None:
        query = np.array([overlap(token_set(snapshot.insight(row).content), asked).lexical for row in rows.tolist()])
    else:
        query = np.maximum(cosines[rows], 0.0).astype(np.float64)
    embedder = sought.embedder
    if sought.vector is not None and embedder is not None and can_embed(embedder):
        meta = _in_meaning(snapshot, rows, phrases, sought.vector, embedder)
    else:
        told = zip(phrases, rows.tolist(), strict=True)
        words = [f"{phrase} {snapshot.insight(row).keywords}" for phrase, row in told]
        meta = np.array([overlap(token_set(each), asked).lexical for each in words])
    scores = start_scores(ages, meta, query, profile.start)
    best = start_rows(snapshot, rows, scores, profile.start)
    of = dict(zip(rows.tolist(), scores.tolist(), strict=True))
    return Starts(best, np.array([of[row] for row in best.tolist()]))


def _candidates(snapshot: Snapshot, sought: Sought, keyword: Floats, cosines: Floats | None) -> Rows:
    found: list[Rows] = []
    for signal in (keyword, cosines):
        if signal is not None:
            seen = signal if sought.visible is None else signal * sought.visible
            rows = snapshot.best(seen, CANDIDATES)
            found.append(rows[seen[rows] > 0.0])
    return np.unique(np.concatenate(found))


def _in_meaning(snapshot: Snapshot, rows: Rows, phrases: Sequence[str], vector: Vector, embedder: Embedder) -> Scores:
    """Cosines of the question with what is known of each, 0 where that has no direction."""
    texts = list(dict.fromkeys(phrases))
    said = dict(zip(texts, try_embed(embedder, texts, "document")[0], strict=True))
    about = _keyword_vectors(snapshot, rows, embedder)
    found = np.zeros(len(rows))
    for place, phrase in enumerate(phrases):
        when, what = said[phrase], about[place]
        meta = what if when is None else meta_vector(when, None, what)
        if meta is not None and meta.shape == vector.shape:
            found[place] = max(0.0, float(meta @ vector))
    return found


def _keyword_vectors(snapshot: Snapshot, rows: Rows, embedder: Embedder) -> list[Vector | None]:
    known = _keywords.setdefault(snapshot, {})
    names = [(embedder.fingerprint, row) for row in rows.tolist()]
    new = [name for name in names if name not in known]
    vectors, _ = try_embed(embedder, [snapshot.insight(row).keywords for _, row in new], "document")
    known.update(zip(new, vectors, strict=True))
    return [known[name] for name in names]
