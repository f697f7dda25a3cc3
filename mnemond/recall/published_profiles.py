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

from mnemond.config.reading import StartNodeSettings
from mnemond.embed.embedder import Embedder, try_embed
from mnemond.index.arrays import Floats, Rows, Scores, at_least_kth
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
    return _Ranking(snapshot, request, profile).run(lap)


class _Ranking:
    """One ranking: the terms, entities and cosines of the question, shared by all its steps."""

    def __init__(self, snapshot: Snapshot, request: RankingRequest, profile: Profile) -> None:
        self._snapshot, self._request, self._profile = snapshot, request, profile
        self._terms = list(dict.fromkeys(question_terms(request.query.text)))[:MAX_LOOKED_UP]
        self._cosines: Floats | None = None
        if request.vector is not None:
            self._cosines = snapshot.dense.searched(request.vector, request.visible)
            if profile.settings.anchors.hypothetical:
                self._cosines = with_hypothetical(snapshot, self._cosines, request.vector, request.embedder)
        self._entities = question_entities(snapshot, request.query.text)

    def run(self, lap: Lap) -> RankingResult:
        snapshot, request, profile = self._snapshot, self._request, self._profile
        anchors, fused = self._fused_anchors()
        lap("anchors")
        mode = request.query.mode or profile.settings.traversal.mode
        reached = traverse(snapshot, request, mode, fused.rows, fused.normalised, self._cosines, profile)
        lap("graph")
        signals = self._signals(reached)
        if profile.fusion == "mem0":
            weights = available(mem0_weights(profile.settings), signals)
        else:
            with_vectors = signals.similarity is not None
            weights = weights_of(request.intent, with_vectors=with_vectors, with_entities=bool(self._entities))
        hits = self._hits(reached, final_scores(signals, weights), signals, weights, anchors)
        lap("rerank")
        by_name = {name: float(getattr(weights, name)) for name in SIGNALS}
        return RankingResult(hits, by_name, len(fused.rows), len(reached.rows), mode, reached.seed, reached.draws)

    def _fused_anchors(self) -> tuple[dict[str, Rows], FusedRanking]:
        """Return the anchors of each signal, and their common order."""
        snapshot, profile = self._snapshot, self._profile
        if profile.fusion == "start_node":
            keyword, _ = snapshot.keyword(self._terms, profile.bm25)
            rows, scores = start_nodes(snapshot, self._request, keyword, self._cosines, profile)
            best = scores.max() if len(scores) else 1.0
            return {"keyword" if self._cosines is None else "vector": rows}, FusedRanking(rows, scores, scores / best)
        anchors = self._anchors()
        lists = [RankedList(rows, profile.shares.get(name, 1.0)) for name, rows in anchors.items() if len(rows)]
        return anchors, reciprocal_rank_fusion(snapshot, lists, profile.settings.anchors.rrf_k)

    def _anchors(self) -> dict[str, Rows]:
        """Return the best rows of each signal in use, best first."""
        used, settings = self._request.signals(self._profile), self._profile.settings.anchors
        found: dict[str, Rows] = {}
        if "keyword" in used:
            scores, _ = self._snapshot.keyword(self._terms, self._profile.bm25)
            found["keyword"] = self._best(scores, 0.0)
        if "vector" in used and self._cosines is not None:
            found["vector"] = self._best(self._cosines, settings.min_cosine)
        if "entity" in used and self._entities:
            matches = entity_matches(self._snapshot, self._entities, self._request.visible, settings.top_k)
            found["entity"] = matches.rows
        if "recency" in used:
            found["recency"] = self._snapshot.newest_rows(self._request.visible, settings.top_k)
        return found

    def _best(self, scores: Floats, above: float) -> Rows:
        visible, most = self._request.visible, self._profile.settings.anchors.top_k
        ranked = scores if visible is None else np.where(visible, scores, np.float32(-1.0))
        rows = at_least_kth(ranked, most)
        rows = rows[ranked[rows] > above]
        best: Rows = rows[self._snapshot.in_order(rows, ranked[rows].astype(np.float64))[:most]]
        return best

    def _signals(self, reached: Traversed) -> SignalArrays:
        """Compute the signals in [0, 1] of every reached row."""
        snapshot, rows = self._snapshot, reached.rows
        words = np.zeros(snapshot.rows, dtype=np.float64)
        for term in self._terms:
            words[snapshot.postings(term)[0]] += 1.0
        named = np.zeros(snapshot.rows, dtype=np.float64)
        for name in self._entities:
            named[snapshot.holders(name)] += 1.0
        return SignalArrays(
            keyword=words[rows] / max(1, len(self._terms)),
            entity=named[rows] / max(1, len(self._entities)),
            similarity=None if self._cosines is None else np.maximum(self._cosines[rows], 0.0),
            graph=reached.scores,
        )

    def _hits(
        self,
        reached: Traversed,
        scores: Scores,
        signals: SignalArrays,
        weights: RerankWeights,
        anchors: dict[str, Rows],
    ) -> list[Hit]:
        snapshot, query, rows = self._snapshot, self._request.query, reached.rows
        by_row: dict[int, list[str]] = {}
        for name, found in anchors.items():
            for row in found.tolist():
                by_row.setdefault(row, []).append(name)
        best = snapshot.in_order(rows, scores)
        ranked = best.tolist()
        kept = distinct(snapshot, rows[best].tolist(), query.limit)
        worth = np.array([getattr(weights, name) for name in SIGNALS])
        arrays = [getattr(signals, name) for name in SIGNALS]
        hits: list[Hit] = []
        for number in kept.places:
            place = ranked[number]
            row, path = int(rows[place]), reached.path(place)
            values = [0.0 if each is None else float(each[place]) for each in arrays]
            via = by_row.get(row) or ([path[-1].edge] if path else ["graph"])
            hits.append(
                Hit(
                    snapshot.insight(row),
                    min(1.0, max(0.0, float(scores[place]))),
                    label(max(values[0], values[2]), self._profile.confidence),
                    tuple(via),
                    Signals(*map(six, values)),
                    path,
                    kept.also.get(number, ()),
                    explained(SIGNALS, worth * values) if query.explain else None,
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
    best = snapshot.in_order(rows, scores)[: settings.top_k]
    good = best[scores[best] >= settings.min_score]
    starts: Rows = rows[good if len(good) else best[:1]]
    return starts
