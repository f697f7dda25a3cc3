"""The ranking the measurements speak for (docs/decisions/0015), and what it tells of each result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from mnemond.index.postings import Floats
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall import Confidence, Hit, Mode, Signals, Step
from mnemond.pipelines.asking import asked
from mnemond.pipelines.explanation import explained
from mnemond.pipelines.result_order import distinct
from mnemond.pipelines.sought import Found, Lap, Sought
from mnemond.pipelines.traversal import Scores, Traversed, traverse
from mnemond.rank.closeness import Closeness, closeness
from mnemond.rank.confidence import label
from mnemond.rank.profiles import Profile
from mnemond.rank.question import Question
from mnemond.rank.ranking import Ranking
from mnemond.rank.two_stage import PARTS, STANDING, Ranked, rank

SPARE = 10
"""More results than are wanted, so that those of equal texts, and those for which nothing speaks, can make way."""

EVERY = 1_000_000
"""More rows than a shortlist has."""

MANY_COPIES = 2_000
"""So many rows of one text are looked behind for others."""

BEHIND = 1e-3
"""By so much a row that only links lead to is behind the last that was found by itself."""

MOST_ANCHORS = 20
"""Results that links are followed from."""

EVERY_PART: tuple[str, ...] = (*PARTS, "links")
"""Of a score where links were followed; without them there is no last part."""


def measured_hits(snapshot: Snapshot, sought: Sought, profile: Profile, lap: Lap) -> Found:
    """Results, best first."""
    query = sought.query
    window = None if sought.window is None else (sought.window.start_us, sought.window.end_us)
    words = "keyword" in query.anchors
    question = asked(snapshot, query.text, sought.embedder, words=words, window=window, visible=sought.visible)
    lap("terms")
    near = None if sought.vector is None else closeness(snapshot.parts.dense, sought.vector, sought.visible)
    lap("vector")
    mode = query.mode or profile.mode
    ranked = _ranked(snapshot, sought, question, near, profile, EVERY if mode != "none" else query.limit + SPARE)
    lap("rank")
    if mode == "none" or not len(ranked.rows):
        hits = _hits(snapshot, sought, profile, ranked, None)
        return Found(hits, _weights(ranked), ranked.considered, trust=ranked.trust)
    reached = _reached(snapshot, sought, profile, mode, ranked, near)
    joined = _joined(snapshot, ranked, reached, near, profile)
    lap("graph")
    hits = _hits(snapshot, sought, profile, joined, reached)
    return Found(
        hits, _weights(joined, profile.graph), ranked.considered, len(reached.rows), mode, reached.seed, reached.draws,
        joined.trust,
    )  # fmt: skip


def _ranked(
    snapshot: Snapshot, sought: Sought, question: Question, near: Closeness | None, profile: Profile, most: int
) -> Ranked:
    """Those of the best `most` for which something speaks; of many more where these have too few different texts."""
    limit, usual = sought.query.limit, profile.ranking
    own = usual if limit + SPARE <= usual.shortlisting.rows else _wider(usual, limit + SPARE)
    ranked = rank(snapshot, question, near, sought.visible, most, own)
    speaking = _speaking(ranked, profile)
    if len(ranked.rows) >= min(most, own.shortlisting.rows):
        texts = {snapshot.text_hash(row) for row in speaking.rows.tolist()}
        if len(texts) < limit:
            every = rank(snapshot, question, near, sought.visible, EVERY, _wider(usual, MANY_COPIES + limit))
            return _speaking(every, profile)
    return speaking


def _wider(ranking: Ranking, rows: int) -> Ranking:
    """The same over a longer shortlist."""
    return msgspec.structs.replace(ranking, shortlisting=msgspec.structs.replace(ranking.shortlisting, rows=rows))


def _weights(ranked: Ranked, graph: float = 0.0) -> dict[str, float]:
    """What each signal was worth, as parts of a sum."""
    total = sum(ranked.weights) + graph or 1.0
    keyword, similarity = (weight / total for weight in ranked.weights)
    return {"keyword": keyword, "entity": 0.0, "similarity": similarity, "graph": graph / total}


# ------------------------------------------------------------ links


def _reached(
    snapshot: Snapshot, sought: Sought, profile: Profile, mode: Mode, ranked: Ranked, near: Closeness | None
) -> Traversed:
    cosines = _every_cosine(snapshot, sought, near)
    anchors = ranked.rows[:MOST_ANCHORS]
    scores = _shown(ranked)[:MOST_ANCHORS]
    return traverse(snapshot, sought.query, mode, sought.intent, anchors, scores, cosines, sought.visible, profile.path)


def _every_cosine(snapshot: Snapshot, sought: Sought, near: Closeness | None) -> Floats | None:
    """Links lead anywhere, so all are needed, also where a graph had told those of the nearest alone."""
    if near is None or sought.vector is None:
        return None
    return snapshot.similarity_approximate(sought.vector, sought.visible) if near.sparse else near.first


def _joined(snapshot: Snapshot, ranked: Ranked, reached: Traversed, near: Closeness | None, profile: Profile) -> Ranked:
    """The ranking with what links say added. Rows that only they led to stand for nothing else: the best of them comes
    level with the last that was found by itself."""
    known = set(ranked.rows.tolist())
    new = np.array([row for row in reached.rows.tolist() if row not in known], dtype=np.int64)
    rows, none = np.concatenate([ranked.rows, new]), np.zeros(len(new), dtype=np.float32)
    links = np.float32(profile.graph) * _linked(reached, rows)
    lowest = np.full(len(new), float(ranked.scores.min()) - profile.graph - BEHIND, dtype=np.float32)
    scores = np.concatenate([ranked.scores, lowest]) + links
    similar = none if near is None else np.maximum(near.of(new), 0.0)
    bare = np.zeros((len(PARTS), len(new)), dtype=np.float32)
    bare[STANDING] = lowest
    parts = np.concatenate([ranked.parts, bare], axis=1)
    best = snapshot.best(scores - np.float32(min(float(scores.min()), 0.0)), len(rows), rows)
    return ranked._replace(
        rows=rows[best], scores=scores[best], keyword=np.concatenate([ranked.keyword, none])[best],
        similarity=np.concatenate([ranked.similarity, similar])[best], parts=np.vstack((parts, links))[:, best],
    )  # fmt: skip


def _linked(reached: Traversed, rows: Rows) -> Floats:
    """How well links lead to each of `rows`, in [0, 1]; 0 where none do."""
    places = np.searchsorted(reached.rows, rows)
    places[places == len(reached.rows)] = 0
    linked: Floats = np.where(reached.rows[places] == rows, reached.scores[places], 0.0).astype(np.float32)
    return linked


# ------------------------------------------------------------ what is told


def _shown(ranked: Ranked) -> Scores:
    """Scores in (0, 1], in the same order: what speaks for the best by itself, and how far the others are behind it,
    as far as the answer is to be trusted at all."""
    if not len(ranked.scores):
        return np.zeros(0)
    behind = (ranked.scores[0] - ranked.scores).astype(np.float64)
    best = BASE + (1.0 - BASE) * min(1.0, _evidence(float(ranked.keyword[0]), float(ranked.similarity[0])))
    shown: Scores = ranked.trust * best * np.exp(-np.maximum(behind, 0.0) / FALL)
    return shown


BASE = 0.5
"""Score of a best result for which next to nothing speaks by itself, before trust."""

FALL = 4.0
"""Units of the ranking in which a score falls to a third: about what lies between the first result and the tenth."""


def _evidence(keyword: float, similarity: float) -> float:
    """How much speaks for one result by itself, in [0, 1], whatever the others look like."""
    return 0.5 * (keyword + similarity)


def _hits(snapshot: Snapshot, sought: Sought, profile: Profile, ranked: Ranked, reached: Traversed | None) -> list[Hit]:
    shown = _shown(ranked).tolist()
    rows, keywords, similarities = ranked.rows.tolist(), ranked.keyword.tolist(), ranked.similarity.tolist()
    kept = distinct(snapshot, rows, sought.query.limit)
    names = EVERY_PART[: len(ranked.parts)]
    hits: list[Hit] = []
    for place in kept.places:
        keyword, similarity = keywords[place], similarities[place]
        path, graph = _by_links(reached, rows[place])
        hits.append(
            Hit(
                snapshot.insight(rows[place]),
                shown[place],
                _confidence(ranked.trust, keyword, similarity, profile),
                _via(keyword, similarity, path, profile),
                Signals(min(1.0, keyword), 0.0, min(1.0, similarity), graph),
                path,
                kept.also.get(place, ()),
                explained(names, ranked.parts[:, place]) if sought.query.explain else None,
            )
        )
    return hits


def _speaking(ranked: Ranked, profile: Profile) -> Ranked:
    """Without the rows for which nothing speaks but that they stand beside others."""
    kept = (ranked.keyword > 0.0) | (ranked.similarity > profile.similarity_floor)
    if kept.all():
        return ranked
    return ranked._replace(
        rows=ranked.rows[kept], scores=ranked.scores[kept], keyword=ranked.keyword[kept],
        similarity=ranked.similarity[kept], parts=ranked.parts[:, kept],
    )  # fmt: skip


def _by_links(reached: Traversed | None, row: int) -> tuple[tuple[Step, ...], float]:
    if reached is None:
        return (), 0.0
    position = int(np.searchsorted(reached.rows, row))
    if position == len(reached.rows) or reached.rows[position] != row:
        return (), 0.0
    return reached.path(position), float(reached.scores[position])


def _via(keyword: float, similarity: float, path: Sequence[Step], profile: Profile) -> tuple[str, ...]:
    if keyword > 0.0:
        return ("keyword", "vector") if similarity > profile.similarity_floor else ("keyword",)
    if similarity > profile.similarity_floor:
        return ("vector",)
    return (path[-1].edge_type,) if path else ("graph",)


def _confidence(trust: float, keyword: float, similarity: float, profile: Profile) -> Confidence:
    return label(math.sqrt(trust * _evidence(keyword, similarity)), profile.confidence)
