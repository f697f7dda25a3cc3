"""The published rankings, for comparison with the default (docs/decisions/0015).

`mnemon`: anchors, rank fusion, a beam over four kinds of links, weights by intent. `mnemosyne`: a random walk from a
few start nodes. `mem0`: fixed weights.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mnemond.config.settings import StartNodeSettings
from mnemond.embed.embedder import Embedder, try_embed
from mnemond.index.arrays import Floats, Rows, Scores
from mnemond.index.selection import at_least_kth, in_order
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import Signals, six
from mnemond.model.changes import Vector
from mnemond.model.memory import DAY_US
from mnemond.model.query import Hit
from mnemond.recall.fusion import (
    SIGNALS,
    FusedRanking,
    RankedList,
    RerankWeights,
    SignalArrays,
    available,
    final_scores,
    mem0_weights,
    reciprocal_rank_fusion,
    weights_of,
)
from mnemond.recall.profiles import Profile, label, newest_us
from mnemond.recall.question import (
    MAX_LOOKED_UP,
    can_embed,
    entity_matches,
    question_entities,
    question_terms,
    with_hypothetical,
)
from mnemond.recall.result_order import Lap, RankingRequest, RankingResult, distinct, explained
from mnemond.recall.walks import Traversed, traverse
from mnemond.text.similarity import overlap, token_set


def literal_hits(snapshot: Snapshot, request: RankingRequest, profile: Profile, lap: Lap) -> RankingResult:
    """Rank by a published profile."""
    query = request.query
    terms = list(dict.fromkeys(question_terms(query.text)))[:MAX_LOOKED_UP]
    cosines = _cosines(snapshot, request, profile)
    entities = question_entities(snapshot, query.text)
    anchors, fused = _fused_anchors(snapshot, request, terms, cosines, entities, profile)
    lap("anchors")
    mode = query.mode or profile.settings.traversal.mode
    reached = traverse(
        snapshot, query, mode, request.intent, fused.rows, fused.normalised, cosines, request.visible, profile
    )
    lap("graph")
    rows = reached.rows
    signals = _signals(snapshot, rows, terms, entities, cosines, reached)
    weights = _weights(request, signals, profile, with_entities=bool(entities))
    scores = final_scores(signals, weights)
    best = in_order(snapshot, rows, scores)
    shown_weights = {name: float(getattr(weights, name)) for name in SIGNALS}
    hits = _hits(snapshot, request, rows, best, scores, signals, shown_weights, reached, anchors, profile)
    lap("rerank")
    return RankingResult(hits, shown_weights, len(fused.rows), len(rows), mode, reached.seed, reached.draws)


def _cosines(snapshot: Snapshot, request: RankingRequest, profile: Profile) -> Floats | None:
    if request.vector is None:
        return None
    cosines = snapshot.dense.similarity_approximate(request.vector, request.visible)
    if not profile.settings.anchors.hypothetical:
        return cosines
    return with_hypothetical(snapshot, cosines, request.vector, request.embedder)


def _fused_anchors(
    snapshot: Snapshot,
    request: RankingRequest,
    terms: list[str],
    cosines: Floats | None,
    entities: dict[str, float],
    profile: Profile,
) -> tuple[dict[str, Rows], FusedRanking]:
    """Return the anchors of each signal, and their common order."""
    if profile.fusion == "start_node":
        keyword, _ = snapshot.keyword(terms, profile.bm25)
        rows, scores = start_nodes(snapshot, request, keyword, cosines, profile)
        best = scores.max() if len(scores) else 1.0
        return {"keyword" if cosines is None else "vector": rows}, FusedRanking(rows, scores, scores / best)
    anchors = _anchors(snapshot, request, terms, cosines, entities, profile)
    lists = [RankedList(rows, profile.shares.get(name, 1.0)) for name, rows in anchors.items() if len(rows)]
    return anchors, reciprocal_rank_fusion(snapshot, lists, profile.settings.anchors.rrf_k)


def _weights(request: RankingRequest, signals: SignalArrays, profile: Profile, *, with_entities: bool) -> RerankWeights:
    if profile.fusion == "mem0":
        return available(mem0_weights(profile.settings), signals)
    return weights_of(request.intent, with_vectors=signals.similarity is not None, with_entities=with_entities)


def _anchors(
    snapshot: Snapshot,
    request: RankingRequest,
    terms: list[str],
    cosines: Floats | None,
    entities: dict[str, float],
    profile: Profile,
) -> dict[str, Rows]:
    """Return the best rows of each signal in use, best first."""
    used, most = request.signals(profile), profile.settings.anchors.top_k
    found: dict[str, Rows] = {}
    if "keyword" in used:
        scores, _ = snapshot.keyword(terms, profile.bm25)
        found["keyword"] = _best(snapshot, scores, 0.0, request, most)
    if "vector" in used and cosines is not None:
        found["vector"] = _best(snapshot, cosines, profile.settings.anchors.min_cosine, request, most)
    if "entity" in used and entities:
        found["entity"] = entity_matches(snapshot, entities, request.visible, most).rows
    if "recency" in used:
        found["recency"] = snapshot.newest_rows(request.visible, most)
    return found


def _best(snapshot: Snapshot, scores: Floats, above: float, request: RankingRequest, most: int) -> Rows:
    ranked = scores if request.visible is None else np.where(request.visible, scores, np.float32(-1.0))
    rows = at_least_kth(ranked, most)
    rows = rows[ranked[rows] > above]
    best: Rows = rows[in_order(snapshot, rows, ranked[rows].astype(np.float64))[:most]]
    return best


def _signals(
    snapshot: Snapshot,
    rows: Rows,
    terms: list[str],
    entities: dict[str, float],
    cosines: Floats | None,
    reached: Traversed,
) -> SignalArrays:
    """Compute the signals in [0, 1] of every reached row."""
    words = np.zeros(snapshot.rows, dtype=np.float64)
    for term in terms:
        words[snapshot.postings(term)[0]] += 1.0
    named = np.zeros(snapshot.rows, dtype=np.float64)
    for name in entities:
        named[snapshot.holders(name)] += 1.0
    return SignalArrays(
        keyword=words[rows] / max(1, len(terms)),
        entity=named[rows] / max(1, len(entities)),
        similarity=None if cosines is None else np.maximum(cosines[rows], 0.0),
        graph=reached.scores,
    )


def _hits(
    snapshot: Snapshot,
    request: RankingRequest,
    rows: Rows,
    best: Rows,
    scores: Scores,
    signals: SignalArrays,
    weights: dict[str, float],
    reached: Traversed,
    anchors: dict[str, Rows],
    profile: Profile,
) -> list[Hit]:
    by_row: dict[int, list[str]] = {}
    for name, found in anchors.items():
        for row in found.tolist():
            by_row.setdefault(row, []).append(name)
    hits: list[Hit] = []
    ranked = best.tolist()
    kept = distinct(snapshot, rows[best].tolist(), request.query.limit)
    places = [ranked[number] for number in kept.places]
    worth = np.array([weights[name] for name in SIGNALS])
    arrays = [getattr(signals, name) for name in SIGNALS]
    for number, place in zip(kept.places, places, strict=True):
        row, path = int(rows[place]), reached.path(place)
        values = [0.0 if each is None else float(each[place]) for each in arrays]
        via = by_row.get(row) or ([path[-1].edge] if path else ["graph"])
        score = min(1.0, max(0.0, float(scores[place])))
        confidence = label(max(values[0], values[2]), profile.confidence)
        hits.append(
            Hit(
                snapshot.insight(row),
                score,
                confidence,
                tuple(via),
                Signals(*map(six, values)),
                path,
                kept.also.get(number, ()),
                explained(SIGNALS, worth * values) if request.query.explain else None,
            )
        )
    return hits


# Start nodes of Mnemosyne: memories similar to the question, the older the more by their age and keywords


CANDIDATES = 100
"""Rows whose keywords are compared, by words and by meaning each: embedding those of a whole store takes seconds."""

_keywords: WeakKeyDictionary[Snapshot, dict[tuple[str, int], Vector | None]] = WeakKeyDictionary()
"""Vectors of the keywords of rows, by generation, embedder and row. They are dropped with the generation, so that
nothing of a purged memory stays."""


class StartNodes(NamedTuple):
    """`rows`, best first, and their scores; shapes (starts,)."""

    rows: Rows
    scores: Scores


def start_nodes(
    snapshot: Snapshot,
    request: RankingRequest,
    keyword: Floats,
    cosines: Floats | None,
    profile: Profile,
) -> StartNodes:
    """Return the few memories where a walk starts. `keyword`: BM25 of all rows with the question."""
    rows = _candidates(snapshot, request, keyword, cosines)
    if not len(rows):
        return StartNodes(rows, np.zeros(0))
    now_us = newest_us(snapshot, rows) if request.query.now_us is None else request.query.now_us
    ages = (now_us - snapshot.columns.created_us[rows]) / DAY_US
    phrases = [age_phrase(age * _DAY) for age in ages.tolist()]
    question = token_set(request.query.text)
    if request.vector is None or cosines is None:
        query = np.array([overlap(token_set(snapshot.insight(row).content), question).lexical for row in rows.tolist()])
    else:
        query = np.maximum(cosines[rows], 0.0).astype(np.float64)
    embedder = request.embedder
    if request.vector is not None and embedder is not None and can_embed(embedder):
        meta = _meta_cosines(snapshot, rows, phrases, request.vector, embedder)
    else:
        pairs = zip(phrases, rows.tolist(), strict=True)
        words = [f"{phrase} {snapshot.insight(row).keywords}" for phrase, row in pairs]
        meta = np.array([overlap(token_set(each), question).lexical for each in words])
    scores = start_scores(ages, meta, query, profile.settings.start_node)
    best = start_rows(snapshot, rows, scores, profile.settings.start_node)
    of = dict(zip(rows.tolist(), scores.tolist(), strict=True))
    return StartNodes(best, np.array([of[row] for row in best.tolist()]))


def _candidates(snapshot: Snapshot, request: RankingRequest, keyword: Floats, cosines: Floats | None) -> Rows:
    found: list[Rows] = []
    for signal in (keyword, cosines):
        if signal is not None:
            seen = signal if request.visible is None else signal * request.visible
            rows = snapshot.best(seen, CANDIDATES)
            found.append(rows[seen[rows] > 0.0])
    return np.unique(np.concatenate(found))


def _meta_cosines(snapshot: Snapshot, rows: Rows, phrases: Sequence[str], vector: Vector, embedder: Embedder) -> Scores:
    """Return the cosines of the question with the metadata of each row, 0 if that has no direction."""
    texts = list(dict.fromkeys(phrases))
    of_phrase = dict(zip(texts, try_embed(embedder, texts, "document")[0], strict=True))
    about = _keyword_vectors(snapshot, rows, embedder)
    found = np.zeros(len(rows))
    for place, phrase in enumerate(phrases):
        when, what = of_phrase[phrase], about[place]
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


_HOUR = 3600
_DAY = 24 * _HOUR

AGE_PHRASES: tuple[tuple[float, str], ...] = (
    (1 * _HOUR, "just now"),
    (24 * _HOUR, "earlier today"),
    (48 * _HOUR, "yesterday"),
    (7 * _DAY, "last week"),
    (30 * _DAY, "last month"),
    (180 * _DAY, "a few months ago"),
    (float("inf"), "a while ago"),
)
"""Each phrase of Mnemosyne with the age in seconds at which it ends."""

_ENDS = [end for end, _ in AGE_PHRASES]

RAMP_DAYS = 30.0
"""Age from which metadata has its full weight."""


def age_phrase(age_seconds: float) -> str:
    """Return the phrase for an age; a negative age is just now."""
    return AGE_PHRASES[min(bisect_right(_ENDS, age_seconds), len(_ENDS) - 1)][1]


def meta_vector(phrase: Vector, domain_state: Vector | None, keywords: Vector | None) -> Vector | None:
    """Return the direction of the sum of three unit vectors, None if it has none; shapes (dimension,)."""
    total: Vector = phrase.copy()
    for part in (domain_state, keywords):
        if part is not None:
            total += part
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length > 0.0 else None


def meta_share(age_days: Scores, settings: StartNodeSettings) -> Scores:
    """Return α in [0, alpha_meta]: larger for older memories; negative ages count as 0."""
    if settings.alpha_mode == "fixed":
        return np.full_like(age_days, settings.alpha_meta)
    return settings.alpha_meta * np.clip(age_days / RAMP_DAYS, 0.0, 1.0)


def start_scores(age_days: Scores, meta: Scores, query: Scores, settings: StartNodeSettings) -> Scores:
    """S = α·S_meta + (1 − α)·S_query; shapes alike.

    `meta` and `query` are cosines of the question with the meta vectors, and with the contents or their hypothetical
    questions (the largest); without vectors shares of common words.
    """
    share = meta_share(age_days, settings)
    return share * meta + (1.0 - share) * query


def start_rows(snapshot: Snapshot, rows: Rows, scores: Scores, settings: StartNodeSettings) -> Rows:
    """Choose starts among `rows`, best first; if none is good enough, the best one above 0.

    Of equal ones the more important first, then the newer, then the smaller id.
    """
    positive = scores > 0.0
    rows, scores = rows[positive], scores[positive]
    best = in_order(snapshot, rows, scores)[: settings.top_k]
    good = best[scores[best] >= settings.min_score]
    starts: Rows = rows[good if len(good) else best[:1]]
    return starts
