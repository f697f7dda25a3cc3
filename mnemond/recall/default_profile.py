"""The default profile: the two-stage ranking, optional entity, recency and link signals, and the results shown.

Chosen by measurement (docs/decisions/0015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.index.arrays import Floats, Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep, Signals, six
from mnemond.model.query import CONFIDENCES, Confidence, Hit, Mode
from mnemond.recall import unasked
from mnemond.recall.profiles import Profile, label
from mnemond.recall.question import (
    build_question,
    entity_matches,
    question_entities,
    rare_word_vector,
    scores_with_hypothetical,
)
from mnemond.recall.ranking import Question, Ranking, VectorScores, vector_scores
from mnemond.recall.result_order import Lap, RankingRequest, RankingResult, distinct, explained, matching_cue
from mnemond.recall.two_stage import PARTS, STANDING, Ranked, rank
from mnemond.recall.unanswered import Doubt, doubt
from mnemond.recall.walks import Traversed, traverse
from mnemond.text.languages import Language, language_of

SPARE = 10
"""Results beyond the limit, to replace duplicates and rows without evidence."""

EVERY = 1_000_000
"""More rows than any shortlist."""

MANY_COPIES = 2_000
"""Length of the shortlist if equal texts fill the usual one."""

BEHIND = 1e-3
"""Distance of a row found only by an extra signal to the last row of the ranking."""

NAMED = 0.25
"""Evidence of a row that only shares all entities with the question: medium at most."""

BASE = 0.5
"""Score of a best result with next to no evidence, before trust."""

FITTING = 4.0
"""Worth of a memory that surely fits, where memories have cues: of the first five, the right one comes first. From 2 to
16 units it does in .77 to .80 of the prompts with cues, without in .74 (docs/decisions/0042)."""

FALL = 4.0
"""Units of the ranking in which a score falls to 1/e: about the distance of the first result to the tenth."""

UNREPORTED = ("recency", unasked.FITNESS)
"""Signals that are not among the weights of an answer."""


class Extra(NamedTuple):
    """A signal besides words and meaning: distinct `rows`, and `values` in [0, 1]; shapes (n,). `worth`: weight in
    units of the ranking."""

    name: str
    worth: float
    rows: Rows
    values: Floats


def measured_hits(snapshot: Snapshot, request: RankingRequest, profile: Profile, lap: Lap) -> RankingResult:
    """Rank by the default profile."""
    query, used = request.query, request.signals(profile)
    window = None if request.window is None else (request.window.start_us, request.window.end_us)
    question = build_question(
        snapshot,
        query.text,
        request.embedder,
        words="keyword" in used,
        window=window,
        now_us=query.now_us,
        visible=request.visible,
    )
    lap("terms")
    cosines = None if request.vector is None else vector_scores(snapshot.parts.dense, request.vector, request.visible)
    if cosines is not None and profile.settings.anchors.hypothetical and request.vector is not None:
        cosines = scores_with_hypothetical(snapshot, cosines, request.vector, request.embedder)
    scale = _scale(request)
    vectors = None if cosines is None else _on_scale(cosines, scale)
    lap("vector")
    mode = query.mode or profile.settings.traversal.mode
    extras = _extras(snapshot, request, used, profile)
    most = query.limit + SPARE if mode == "none" and not extras else EVERY
    ranked = _ranked(snapshot, request, question, vectors, _with_thresholds(profile, request, scale), most)
    lap("rank")
    extras += _fitness(snapshot, request, ranked)
    count = len(ranked.rows)
    ranked = _add_extras(snapshot, ranked, extras, vectors)
    considered = ranked.considered + len(ranked.rows) - count
    if mode == "none" or not len(ranked.rows):
        doubted = doubt(snapshot, query.text, ranked.rows)
        hits = _hits(snapshot, request, profile, question, ranked, extras, None, doubted)
        return RankingResult(
            hits, _weights(ranked, extras), considered, trust=ranked.trust, missing=doubted.missing,
            known_share=question.latin,
        )  # fmt: skip
    reached = _reached(snapshot, request, profile, mode, ranked, cosines)
    links = Extra("links", profile.graph, reached.rows, reached.scores.astype(np.float32))
    ranked, extras = _add_extras(snapshot, ranked, [links], vectors), [*extras, links]
    lap("graph")
    doubted = doubt(snapshot, query.text, ranked.rows)
    hits = _hits(snapshot, request, profile, question, ranked, extras, reached, doubted)
    return RankingResult(
        hits, _weights(ranked, extras), considered, len(reached.rows), mode, reached.seed, reached.draws, ranked.trust,
        doubted.missing, question.latin,
    )  # fmt: skip


def _scale(request: RankingRequest) -> Scale | None:
    """Return the scale of the cosines of a question (mnemond/embed/background.py); None if they stay as they are."""
    name = None if request.embedder is None else request.embedder.name
    return scale_of(name, language_of(request.query.text))


def _on_scale(cosines: VectorScores, scale: Scale | None) -> VectorScores:
    if scale is None:
        return cosines
    return cosines._replace(first=scale.of(cosines.first), of=lambda rows: scale.of(cosines.of(rows)))


def _with_thresholds(profile: Profile, request: RankingRequest, scale: Scale | None) -> Profile:
    """Return a profile whose threshold for the cosine of two memories is one of the embedder."""
    if scale is None:
        return profile
    updating = profile.ranking.updating
    least = scale.threshold(updating.cosine, language_of(request.query.text))
    updating = msgspec.structs.replace(updating, cosine=least)
    return msgspec.structs.replace(profile, ranking=msgspec.structs.replace(profile.ranking, updating=updating))


def _extras(snapshot: Snapshot, request: RankingRequest, used: frozenset[str], profile: Profile) -> list[Extra]:
    found: list[Extra] = []
    most = profile.settings.anchors.top_k
    if "entity" in used:
        names = question_entities(snapshot, request.query.text)
        rows, shares = entity_matches(snapshot, names, request.visible, most)
        found.append(Extra("entity", profile.named, rows, shares))
    if "recency" in used:
        newest = snapshot.newest_rows(request.visible, most)
        steps = np.arange(len(newest), dtype=np.float32) / np.float32(max(1, len(newest)))
        found.append(Extra("recency", profile.new, newest, np.float32(1.0) - steps))
    return found


def _fitness(snapshot: Snapshot, request: RankingRequest, ranked: Ranked) -> list[Extra]:
    """Return how well the best rows fit the question by the traits that decide what is told unasked, if one of them has
    cues (docs/decisions/0042)."""
    rows = ranked.rows[: unasked.JUDGED]
    if request.reader is None or not len(rows) or not snapshot.columns.cues[rows].any():
        return []
    results = unasked.Results(rows, ranked.scores[: unasked.JUDGED].tolist())
    fits = unasked.fitness(results, request.reader)
    return [Extra(unasked.FITNESS, FITTING, rows, np.array(fits, dtype=np.float32))]


def _ranked(
    snapshot: Snapshot,
    request: RankingRequest,
    question: Question,
    vectors: VectorScores | None,
    profile: Profile,
    most: int,
) -> Ranked:
    """Return the best `most` rows with evidence. If they have too few different texts, search a longer
    shortlist."""
    limit, usual = request.query.limit, profile.ranking
    own = usual if limit + SPARE <= usual.shortlisting.rows else _wider(usual, limit + SPARE)
    ranked = rank(snapshot, question, vectors, request.visible, most, own)
    kept = _with_evidence(ranked, profile)
    full = len(ranked.rows) >= min(most, own.shortlisting.rows)
    if full and len(set(snapshot.text_hashes(kept.rows.tolist()))) < limit:
        every = rank(snapshot, question, vectors, request.visible, EVERY, _wider(usual, MANY_COPIES + limit))
        return _with_evidence(every, profile)
    return kept


def _with_rare_word_cosines(snapshot: Snapshot, request: RankingRequest, ranked: Ranked) -> Ranked:
    """Replace cosines by those of the rare words, which show by themselves if a result is about the question; and take
    from each what is usual for its language."""
    scale, rows = _scale(request), ranked.rows
    vector = None if request.vector is None else rare_word_vector(snapshot, request.query.text, request.embedder)
    if not len(rows) or (vector is None and (scale is None or request.vector is None)):
        return ranked
    similar = ranked.similarity
    if vector is not None:
        cosines = snapshot.parts.dense.searched_of(vector, rows)
        similar = cosines if scale is None else scale.of(cosines)
    if scale is not None:
        texts = (snapshot.insight(row).content for row in rows.tolist())
        similar = scale.similarity(similar, [language_of(text) for text in texts])
    return ranked._replace(similarity=np.maximum(similar, 0.0))


def _wider(ranking: Ranking, rows: int) -> Ranking:
    return msgspec.structs.replace(ranking, shortlisting=msgspec.structs.replace(ranking.shortlisting, rows=rows))


def _weights(ranked: Ranked, extras: Sequence[Extra]) -> dict[str, float]:
    """Return the weight of each signal as a share of the sum."""
    worth = {each.name: each.worth for each in extras if each.name not in UNREPORTED}
    total = sum(ranked.weights) + sum(worth.values()) or 1.0
    keyword, similarity = (weight / total for weight in ranked.weights)
    entity, graph = (worth.get(name, 0.0) / total for name in ("entity", "links"))
    return {"keyword": keyword, "entity": entity, "similarity": similarity, "graph": graph}


def _reached(
    snapshot: Snapshot,
    request: RankingRequest,
    profile: Profile,
    mode: Mode,
    ranked: Ranked,
    vectors: VectorScores | None,
) -> Traversed:
    cosines = None if vectors is None else vectors.first
    if vectors is not None and vectors.sparse and request.vector is not None:
        # Links lead to any row, so the cosines of all are needed.
        cosines = snapshot.dense.searched(request.vector, request.visible)
    anchors = ranked.rows[: profile.settings.anchors.top_k]
    scores = _shown(ranked, [])[: profile.settings.anchors.top_k]
    return traverse(snapshot, request, mode, anchors, scores, cosines, profile)


def _add_extras(snapshot: Snapshot, ranked: Ranked, extras: Sequence[Extra], vectors: VectorScores | None) -> Ranked:
    """Add `extras` to the ranking. The best of the rows that only extras found ties with the last row of the ranking.
    If the ranking is empty, they are the answer, and trusted fully."""
    if not extras:
        return ranked
    known = set(ranked.rows.tolist())
    by_extras = dict.fromkeys(row for each in extras for row in each.rows.tolist())
    new = np.array([row for row in by_extras if row not in known], dtype=np.int64)
    rows, none = np.concatenate([ranked.rows, new]), np.zeros(len(new), dtype=np.float32)
    if not len(rows):
        return ranked
    added = [np.float32(each.worth) * _values_at(each, rows) for each in extras]
    least = float(ranked.scores.min()) - sum(each.worth for each in extras) - BEHIND if len(ranked.rows) else 0.0
    lowest = np.full(len(new), least, dtype=np.float32)
    scores: Floats = np.stack([np.concatenate([ranked.scores, lowest]), *added]).sum(axis=0)
    similar = none if vectors is None else np.maximum(vectors.of(new), 0.0)
    bare = np.zeros((len(ranked.parts), len(new)), dtype=np.float32)
    bare[STANDING] = lowest
    parts = np.vstack((np.concatenate([ranked.parts, bare], axis=1), *added))
    best = snapshot.best(scores - np.float32(min(float(scores.min()), 0.0)), len(rows), rows)
    return ranked._replace(
        rows=rows[best], scores=scores[best], keyword=np.concatenate([ranked.keyword, none])[best],
        similarity=np.concatenate([ranked.similarity, similar])[best], parts=parts[:, best],
        trust=ranked.trust if len(ranked.rows) else 1.0,
    )  # fmt: skip


def _values_at(extra: Extra, rows: Rows) -> Floats:
    """Return the value of an extra for each of `rows`, in [0, 1]; 0 if it has none."""
    order = extra.rows.argsort()
    places = np.searchsorted(extra.rows, rows, sorter=order)
    places[places == len(extra.rows)] = 0
    if not len(extra.rows):
        return np.zeros(len(rows), dtype=np.float32)
    found = order[places]
    values: Floats = np.where(extra.rows[found] == rows, extra.values[found], np.float32(0.0))
    return values


# Results


def _shown(ranked: Ranked, extras: Sequence[Extra]) -> Scores:
    """Return scores in (0, 1] in the same order: the trust in the answer, times a base by the evidence of the best row,
    times a decay by the distance to it."""
    if not len(ranked.scores):
        return np.zeros(0)
    behind = (ranked.scores[0] - ranked.scores).astype(np.float64)
    named = float(_named(extras, ranked.rows[:1])[0])
    evidence = _evidence(float(ranked.keyword[0]), float(ranked.similarity[0]), named)
    best = BASE + (1.0 - BASE) * min(1.0, evidence)
    shown: Scores = ranked.trust * best * np.exp(-np.maximum(behind, 0.0) / FALL)
    return shown


def _named(extras: Sequence[Extra], rows: Rows) -> Floats:
    """Return the share of the question's entities that each row names; 0 if the signal is not used."""
    return next(
        (_values_at(each, rows) for each in extras if each.name == "entity"), np.zeros(len(rows), dtype=np.float32)
    )


def _evidence(keyword: float, similarity: float, named: float) -> float:
    """Return the evidence for one result in [0, 1], independent of the others."""
    return max(0.5 * (keyword + similarity), NAMED * named)


def _hits(
    snapshot: Snapshot,
    request: RankingRequest,
    profile: Profile,
    question: Question,
    ranked: Ranked,
    extras: Sequence[Extra],
    reached: Traversed | None,
    doubted: Doubt,
) -> list[Hit]:
    ranked = _with_rare_word_cosines(snapshot, request, ranked)
    shown = ((1.0 - doubted.lost) * _shown(ranked, extras)).tolist()
    rows, keywords, similarities = ranked.rows.tolist(), ranked.keyword.tolist(), ranked.similarity.tolist()
    kept = distinct(snapshot, rows, request.query.limit, wordings=True)
    named = _named(extras, ranked.rows).tolist()
    names = (*PARTS, *(each.name for each in extras))
    others = {
        each.name: frozenset(each.rows.tolist()) for each in extras if each.name not in ("links", unasked.FITNESS)
    }
    weights = dict(zip(question.terms, question.weights.tolist(), strict=True))
    hits: list[Hit] = []
    for place in kept.places:
        keyword, similarity = keywords[place], similarities[place]
        meaning = similarity if request.vector is not None else keyword  # without vectors words decide alone
        path, graph = _path_and_score(reached, rows[place])
        via = [name for name, found in others.items() if rows[place] in found]
        it = snapshot.insight(rows[place])
        hits.append(
            Hit(
                it,
                shown[place],
                CONFIDENCES[0]
                if doubted.excludes(place)
                else _confidence(ranked.trust, _evidence(keyword, meaning, named[place]), profile),
                _via(keyword, similarity, via, path, profile),
                Signals(six(min(1.0, keyword)), six(named[place]), six(min(1.0, similarity)), six(graph)),
                path,
                kept.also.get(place, ()),
                explained(names, ranked.parts[:, place], matching_cue(it, weights)) if request.query.explain else None,
                wordings=kept.wordings.get(place, 1),
            )
        )
    return hits


def _with_evidence(ranked: Ranked, profile: Profile) -> Ranked:
    """Drop rows that are candidates only as neighbours of others."""
    kept = (ranked.keyword > 0.0) | (ranked.similarity > profile.settings.anchors.min_cosine)
    if kept.all():
        return ranked
    return ranked._replace(
        rows=ranked.rows[kept], scores=ranked.scores[kept], keyword=ranked.keyword[kept],
        similarity=ranked.similarity[kept], parts=ranked.parts[:, kept],
    )  # fmt: skip


def _path_and_score(reached: Traversed | None, row: int) -> tuple[tuple[PathStep, ...], float]:
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


# ---------------------------------------------------------------- cosines of unrelated texts
#
# What the cosine of unrelated texts is, by embedder and language; and cosines of all of them on one scale.
#
# A cosine of .5 says much of two English notes by the built-in table, and nothing of two German ones, which share their
# function words. So cosines are compared with those of questions and memories that have nothing to do with each other:
# as many spreads above their mean is as similar, whatever the embedder and the language.


class Background(msgspec.Struct, frozen=True):
    """Cosines of unrelated questions of one language and memories: `means` by the language of the memory, and the
    standard deviation of those of the question's own language."""

    means: dict[Language, float]
    spread: float


REFERENCE_MEAN: Final = 0.186

REFERENCE_SPREAD: Final = 0.113
"""The scale on which confidence and thresholds are stated: that of the built-in table in English."""

BACKGROUNDS: Final[dict[str, dict[Language, Background]]] = {
    "minilm_static_256_int8": {
        "en": Background({"en": REFERENCE_MEAN, "de": 0.116, "zh": -0.001}, REFERENCE_SPREAD),
        "de": Background({"en": 0.116, "de": 0.490, "zh": 0.149}, 0.122),
        "zh": Background({"en": -0.001, "de": 0.149, "zh": 0.381}, 0.150),
    },
    "minilm_l6_v2_int8": {
        "en": Background({"en": 0.068, "de": 0.027, "zh": 0.027}, 0.085),
        "de": Background({"en": 0.027, "de": 0.346, "zh": 0.162}, 0.092),
        "zh": Background({"en": 0.027, "de": 0.162, "zh": 0.565}, 0.087),
    },
    "multilingual_e5_small_q4": {
        "en": Background({"en": 0.742, "de": 0.765, "zh": 0.766}, 0.028),
        "de": Background({"en": 0.768, "de": 0.812, "zh": 0.782}, 0.022),
        "zh": Background({"en": 0.764, "de": 0.791, "zh": 0.840}, 0.018),
    },
}
"""By embedder and language of the question; measured by `python -m benchmarks.background`."""


class Scale(msgspec.Struct, frozen=True):
    """Converts the cosines of one embedder with a question of one language to those of the table in English.

    `factor`: of a cosine. `means`: of unrelated memories, by their language. `least`: the mean that is subtracted where
    the language of the memories is not known: that of the question's language, or of English if that is smaller, so
    that no memory in another language than the question seems less than unrelated.
    """

    factor: float
    means: dict[Language, float]
    least: float

    def of(self, cosines: Floats) -> Floats:
        """Convert cosines of memories whose language is not known, any shape. Those of exactly 0 stay so: they belong
        to rows without a vector."""
        found: Floats = np.where(
            cosines == 0.0, np.float32(0.0), (cosines - np.float32(self.least)) * np.float32(self.factor)
        ).astype(np.float32)
        found[cosines != 0.0] += np.float32(REFERENCE_MEAN)
        return found

    def similarity(self, converted: Floats, languages: Sequence[Language]) -> Floats:
        """Return what `of` returned as it is for memories of these languages, in [0, 1]; shapes (n,)."""
        beyond = [self.factor * (self.means[language] - self.least) for language in languages]
        found: Floats = np.clip(converted - np.array(beyond, dtype=np.float32), 0.0, 1.0)
        return found

    def threshold(self, cosine: float, language: Language) -> float:
        """Return the embedder's cosine of two memories of one language for one of the reference."""
        return self.means[language] + (cosine - REFERENCE_MEAN) / self.factor


def scale_of(embedder: str | None, language: Language) -> Scale | None:
    """Return the scale for the name of an embedder; None where cosines stay as they are: with the table in English, and
    with an embedder that was not measured."""
    background = BACKGROUNDS.get(embedder or "", {}).get(language)
    if background is None or (background.spread, background.means[language]) == (REFERENCE_SPREAD, REFERENCE_MEAN):
        return None
    least = min(background.means[language], background.means["en"])
    return Scale(REFERENCE_SPREAD / background.spread, background.means, least)
