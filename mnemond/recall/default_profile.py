"""The ranking the measurements speak for (docs/decisions/0015), and what it tells of each result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from mnemond.index.arrays import Floats, Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep, Signals, six
from mnemond.model.query import Confidence, Hit, Mode
from mnemond.recall.profiles import Profile, label
from mnemond.recall.question import (
    build_question,
    entity_matches,
    question_entities,
    rare_word_vector,
    scores_with_hypothetical,
)
from mnemond.recall.question_features import Question
from mnemond.recall.ranking import Ranking, VectorScores, vector_scores
from mnemond.recall.result_order import Lap, RankingRequest, RankingResult, distinct, explained
from mnemond.recall.two_stage import PARTS, STANDING, Ranked, rank
from mnemond.recall.walks import Traversed, traverse

SPARE = 10
"""More results than are wanted, so that those of equal texts, and those for which nothing speaks, can make way."""

EVERY = 1_000_000
"""More rows than a shortlist has."""

MANY_COPIES = 2_000
"""So many rows of one text are looked behind for others."""

BEHIND = 1e-3
"""By so much a row that only links lead to is behind the last that was found by itself."""

NAMED = 0.25
"""Evidence of a row that names all that the question names, and for which nothing else speaks: medium at most."""


class Extra(NamedTuple):
    """What speaks for rows besides words and meaning: `rows`, each once, and how much in [0, 1]; shapes (n,). It counts
    for `worth` units of the ranking."""

    name: str
    worth: float
    rows: Rows
    values: Floats


def measured_hits(snapshot: Snapshot, sought: RankingRequest, profile: Profile, lap: Lap) -> RankingResult:
    """Results, best first."""
    query, wanted = sought.query, sought.signals(profile)
    window = None if sought.window is None else (sought.window.start_us, sought.window.end_us)
    words = "keyword" in wanted
    question = build_question(snapshot, query.text, sought.embedder, words=words, window=window, visible=sought.visible)
    lap("terms")
    near = None if sought.vector is None else vector_scores(snapshot.parts.dense, sought.vector, sought.visible)
    if near is not None and profile.settings.anchors.hypothetical and sought.vector is not None:
        near = scores_with_hypothetical(snapshot, near, sought.vector, sought.embedder)
    lap("vector")
    mode = query.mode or profile.settings.traversal.mode
    extras = _extras(snapshot, sought, wanted, profile)
    alone = mode == "none" and not extras
    ranked = _ranked(snapshot, sought, question, near, profile, query.limit + SPARE if alone else EVERY)
    lap("rank")
    found_alone = len(ranked.rows)
    ranked = _joined(snapshot, ranked, extras, near)
    considered = ranked.considered + len(ranked.rows) - found_alone
    if mode == "none" or not len(ranked.rows):
        hits = _hits(snapshot, sought, profile, ranked, extras, None)
        return RankingResult(hits, _weights(ranked, extras), considered, trust=ranked.trust)
    reached = _reached(snapshot, sought, profile, mode, ranked, near)
    links = Extra("links", profile.graph, reached.rows, reached.scores.astype(np.float32))
    ranked, extras = _joined(snapshot, ranked, [links], near), [*extras, links]
    lap("graph")
    hits = _hits(snapshot, sought, profile, ranked, extras, reached)
    return RankingResult(
        hits, _weights(ranked, extras), considered, len(reached.rows), mode, reached.seed, reached.draws, ranked.trust
    )


def _extras(snapshot: Snapshot, sought: RankingRequest, wanted: frozenset[str], profile: Profile) -> list[Extra]:
    """What names, and being new, say where they are asked for."""
    found: list[Extra] = []
    most = profile.settings.anchors.top_k
    if "entity" in wanted:
        rows, shares = entity_matches(
            snapshot, question_entities(snapshot, sought.query.text), sought.visible, profile.settings.anchors.top_k
        )
        found.append(Extra("entity", profile.named, rows, shares))
    if "recency" in wanted:
        newest = snapshot.newest_rows(sought.visible, most)
        steps = np.arange(len(newest), dtype=np.float32) / np.float32(max(1, len(newest)))
        found.append(Extra("recency", profile.new, newest, np.float32(1.0) - steps))
    return found


def _ranked(
    snapshot: Snapshot,
    sought: RankingRequest,
    question: Question,
    near: VectorScores | None,
    profile: Profile,
    most: int,
) -> Ranked:
    """Those of the best `most` for which something speaks; of many more where these have too few different texts."""
    limit, usual = sought.query.limit, profile.ranking
    own = usual if limit + SPARE <= usual.shortlisting.rows else _wider(usual, limit + SPARE)
    ranked = rank(snapshot, question, near, sought.visible, most, own)
    speaking = _speaking(ranked, profile)
    full = len(ranked.rows) >= min(most, own.shortlisting.rows)
    if full and len(set(snapshot.text_hashes(speaking.rows.tolist()))) < limit:
        every = rank(snapshot, question, near, sought.visible, EVERY, _wider(usual, MANY_COPIES + limit))
        return _speaking(every, profile)
    return speaking


def _telling(snapshot: Snapshot, sought: RankingRequest, ranked: Ranked) -> Ranked:
    """The same order, with cosines that say by themselves how much a result has of the question."""
    vector = None if sought.vector is None else rare_word_vector(snapshot, sought.query.text, sought.embedder)
    if vector is None or not len(ranked.rows):
        return ranked
    return ranked._replace(similarity=np.maximum(snapshot.parts.dense.similarity_of(vector, ranked.rows), 0.0))


def _wider(ranking: Ranking, rows: int) -> Ranking:
    """The same over a longer shortlist."""
    return msgspec.structs.replace(ranking, shortlisting=msgspec.structs.replace(ranking.shortlisting, rows=rows))


def _weights(ranked: Ranked, extras: Sequence[Extra]) -> dict[str, float]:
    """What each signal was worth, as parts of a sum."""
    worth = {each.name: each.worth for each in extras if each.name != "recency"}  # nobody asks what being new is worth
    total = sum(ranked.weights) + sum(worth.values()) or 1.0
    keyword, similarity = (weight / total for weight in ranked.weights)
    entity, graph = (worth.get(name, 0.0) / total for name in ("entity", "links"))
    return {"keyword": keyword, "entity": entity, "similarity": similarity, "graph": graph}


# ------------------------------------------------------------ names, newness, links


def _reached(
    snapshot: Snapshot, sought: RankingRequest, profile: Profile, mode: Mode, ranked: Ranked, near: VectorScores | None
) -> Traversed:
    cosines = _every_cosine(snapshot, sought, near)
    anchors = ranked.rows[: profile.settings.anchors.top_k]
    scores = _shown(ranked, [])[: profile.settings.anchors.top_k]
    return traverse(snapshot, sought.query, mode, sought.intent, anchors, scores, cosines, sought.visible, profile)


def _every_cosine(snapshot: Snapshot, sought: RankingRequest, near: VectorScores | None) -> Floats | None:
    """Links lead anywhere, so all are needed, also where a graph had told those of the nearest alone."""
    if near is None or sought.vector is None:
        return None
    return snapshot.dense.similarity_approximate(sought.vector, sought.visible) if near.sparse else near.first


def _joined(snapshot: Snapshot, ranked: Ranked, extras: Sequence[Extra], near: VectorScores | None) -> Ranked:
    """The ranking with what `extras` say added. Rows that only they led to stand for nothing else: the best of them
    comes level with the last that was found by itself. Without anything that was, they are all there is, and as much to
    be trusted as what asked for them."""
    if not extras:
        return ranked
    known = set(ranked.rows.tolist())
    led = dict.fromkeys(row for each in extras for row in each.rows.tolist())
    new = np.array([row for row in led if row not in known], dtype=np.int64)
    rows, none = np.concatenate([ranked.rows, new]), np.zeros(len(new), dtype=np.float32)
    if not len(rows):
        return ranked
    said = [np.float32(each.worth) * _said(each, rows) for each in extras]
    least = float(ranked.scores.min()) - sum(each.worth for each in extras) - BEHIND if len(ranked.rows) else 0.0
    lowest = np.full(len(new), least, dtype=np.float32)
    scores: Floats = np.stack([np.concatenate([ranked.scores, lowest]), *said]).sum(axis=0)
    similar = none if near is None else np.maximum(near.of(new), 0.0)
    bare = np.zeros((len(ranked.parts), len(new)), dtype=np.float32)
    bare[STANDING] = lowest
    parts = np.vstack((np.concatenate([ranked.parts, bare], axis=1), *said))
    best = snapshot.best(scores - np.float32(min(float(scores.min()), 0.0)), len(rows), rows)
    return ranked._replace(
        rows=rows[best], scores=scores[best], keyword=np.concatenate([ranked.keyword, none])[best],
        similarity=np.concatenate([ranked.similarity, similar])[best], parts=parts[:, best],
        trust=ranked.trust if len(ranked.rows) else 1.0,
    )  # fmt: skip


def _said(extra: Extra, rows: Rows) -> Floats:
    """How much an extra says for each of `rows`, in [0, 1]; 0 where it says nothing."""
    order = extra.rows.argsort()
    places = np.searchsorted(extra.rows, rows, sorter=order)
    places[places == len(extra.rows)] = 0
    if not len(extra.rows):
        return np.zeros(len(rows), dtype=np.float32)
    found = order[places]
    said: Floats = np.where(extra.rows[found] == rows, extra.values[found], np.float32(0.0))
    return said


# ------------------------------------------------------------ what is told


def _shown(ranked: Ranked, extras: Sequence[Extra]) -> Scores:
    """Scores in (0, 1], in the same order: what speaks for the best by itself, and how far the others are behind it,
    as far as the answer is to be trusted at all."""
    if not len(ranked.scores):
        return np.zeros(0)
    behind = (ranked.scores[0] - ranked.scores).astype(np.float64)
    named = float(_named(extras, ranked.rows[:1])[0])
    evidence = _evidence(float(ranked.keyword[0]), float(ranked.similarity[0]), named)
    best = BASE + (1.0 - BASE) * min(1.0, evidence)
    shown: Scores = ranked.trust * best * np.exp(-np.maximum(behind, 0.0) / FALL)
    return shown


def _named(extras: Sequence[Extra], rows: Rows) -> Floats:
    """How much of what the question names each row names, where that is minded."""
    return next((_said(each, rows) for each in extras if each.name == "entity"), np.zeros(len(rows), dtype=np.float32))


BASE = 0.5
"""Score of a best result for which next to nothing speaks by itself, before trust."""

FALL = 4.0
"""Units of the ranking in which a score falls to a third: about what lies between the first result and the tenth."""


def _evidence(keyword: float, similarity: float, named: float) -> float:
    """How much speaks for one result by itself, in [0, 1], whatever the others look like."""
    return max(0.5 * (keyword + similarity), NAMED * named)


def _hits(
    snapshot: Snapshot,
    sought: RankingRequest,
    profile: Profile,
    ranked: Ranked,
    extras: Sequence[Extra],
    reached: Traversed | None,
) -> list[Hit]:
    ranked = _telling(snapshot, sought, ranked)
    shown = _shown(ranked, extras).tolist()
    rows, keywords, similarities = ranked.rows.tolist(), ranked.keyword.tolist(), ranked.similarity.tolist()
    kept = distinct(snapshot, rows, sought.query.limit)
    named = _named(extras, ranked.rows).tolist()
    names = (*PARTS, *(each.name for each in extras))
    speaking = {each.name: frozenset(each.rows.tolist()) for each in extras if each.name != "links"}
    hits: list[Hit] = []
    for place in kept.places:
        keyword, similarity = keywords[place], similarities[place]
        path, graph = _by_links(reached, rows[place])
        via = [name for name, others in speaking.items() if rows[place] in others] if speaking else []
        hits.append(
            Hit(
                snapshot.insight(rows[place]),
                shown[place],
                _confidence(ranked.trust, _evidence(keyword, similarity, named[place]), profile),
                _via(keyword, similarity, via, path, profile),
                Signals(six(min(1.0, keyword)), six(named[place]), six(min(1.0, similarity)), six(graph)),
                path,
                kept.also.get(place, ()),
                explained(names, ranked.parts[:, place]) if sought.query.explain else None,
            )
        )
    return hits


def _speaking(ranked: Ranked, profile: Profile) -> Ranked:
    """Without the rows for which nothing speaks but that they stand beside others."""
    kept = (ranked.keyword > 0.0) | (ranked.similarity > profile.settings.anchors.min_cosine)
    if kept.all():
        return ranked
    return ranked._replace(
        rows=ranked.rows[kept], scores=ranked.scores[kept], keyword=ranked.keyword[kept],
        similarity=ranked.similarity[kept], parts=ranked.parts[:, kept],
    )  # fmt: skip


def _by_links(reached: Traversed | None, row: int) -> tuple[tuple[PathStep, ...], float]:
    if reached is None:
        return (), 0.0
    position = int(np.searchsorted(reached.rows, row))
    if position == len(reached.rows) or reached.rows[position] != row:
        return (), 0.0
    return reached.path(position), float(reached.scores[position])


def _via(
    keyword: float, similarity: float, others: Sequence[str], path: Sequence[PathStep], profile: Profile
) -> tuple[str, ...]:
    found = [
        *(["keyword"] if keyword > 0.0 else []),
        *(["vector"] if similarity > profile.settings.anchors.min_cosine else []),
        *others,
    ]
    return tuple(found) or ((path[-1].edge,) if path else ("graph",))


def _confidence(trust: float, evidence: float, profile: Profile) -> Confidence:
    return label(math.sqrt(trust * evidence), profile.confidence)
