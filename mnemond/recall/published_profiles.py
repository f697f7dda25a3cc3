"""Where a walk of Mnemosyne starts (spec 7.8): at what is like the question in itself, and the older it is, in what is
known of it: how long ago it was, and its keywords."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.config.settings import RerankRulesSettings, RerankSettings, TraversalSettings
from mnemond.embed.embedder import Embedder, try_embed
from mnemond.errors import MnemonError
from mnemond.index.arrays import Floats, Mask, Rows, Scores
from mnemond.index.selection import at_least_kth, in_order
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep, Signals, six
from mnemond.model.changes import Vector
from mnemond.model.memory import DAY_US, EDGE_TYPES, Scope, parse_rfc3339
from mnemond.model.query import Hit, Intent, Mode, Query
from mnemond.recall.beam import BEAM_LIMITS, EDGE_WEIGHTS, Beam, min_max, search
from mnemond.recall.profiles import Profile, label, newest_us, vigour
from mnemond.recall.question import (
    MAX_LOOKED_UP,
    can_embed,
    entity_matches,
    question_entities,
    question_terms,
    rarity,
    with_hypothetical,
)
from mnemond.recall.rerank import (
    SIGNALS,
    Ranking,
    Ranks,
    RerankWeights,
    age_phrase,
    available,
    final_scores,
    mem0_weights,
    meta_vector,
    reciprocal_rank_fusion,
    start_rows,
    start_scores,
    weights_of,
)
from mnemond.recall.rerank import Signals as SignalArrays
from mnemond.recall.result_order import Lap, RankingRequest, RankingResult, distinct, explained
from mnemond.recall.walks import draws_of, personalised_pagerank, seed_of, walk
from mnemond.text.entity_lists import entity_lists
from mnemond.text.similarity import overlap, token_set
from mnemond.text.tokens import fold, index_term, tokens

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


def starts(
    snapshot: Snapshot,
    sought: RankingRequest,
    keyword: Floats,
    cosines: Floats | None,
    profile: Profile,
) -> Starts:
    """The few memories a walk starts at. `keyword`: BM25 of all rows with the question."""
    rows = _candidates(snapshot, sought, keyword, cosines)
    if not len(rows):
        return Starts(rows, np.zeros(0))
    now_us = newest_us(snapshot, rows) if sought.query.now_us is None else sought.query.now_us
    ages = (now_us - snapshot.columns.created_us[rows]) / DAY_US
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
    scores = start_scores(ages, meta, query, profile.settings.start_node)
    best = start_rows(snapshot, rows, scores, profile.settings.start_node)
    of = dict(zip(rows.tolist(), scores.tolist(), strict=True))
    return Starts(best, np.array([of[row] for row in best.tolist()]))


def _candidates(snapshot: Snapshot, sought: RankingRequest, keyword: Floats, cosines: Floats | None) -> Rows:
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


# Following links from what was found, in whichever mode: rows reached, how good they are, and on which path.


TraversalScores = npt.NDArray[np.float64]


class Traversed(NamedTuple):
    """`rows` ascending, those it began at included, and their `scores` in [0, 1]; shapes (rows,). `path` leads to the
    row at a position. `seed` and `draws` are those of a probabilistic walk."""

    rows: Rows
    scores: TraversalScores
    path: Callable[[int], tuple[PathStep, ...]]
    seed: int | None = None
    draws: int = 0


def traverse(
    snapshot: Snapshot,
    query: Query,
    mode: Mode,
    intent: Intent,
    anchors: Rows,
    scores: TraversalScores,
    cosines: Floats | None,
    visible: Mask | None,
    profile: Profile,
) -> Traversed:
    """What is reached from `anchors` (best first, different rows) over visible rows. `cosines`: of all rows, None
    without a vector."""
    match mode:
        case "beam":
            return _beam(snapshot, intent, anchors, scores, cosines, visible, profile.settings.traversal)
        case "ppr":
            spread = personalised_pagerank(snapshot, anchors, scores, visible)
            return Traversed(spread.rows, spread.scores, _no_path)
        case "probabilistic":
            return _walk(snapshot, query, anchors, visible, profile)
        case "none":
            return Traversed(np.sort(anchors), np.ones(len(anchors)), _no_path)


def _no_path(position: int) -> tuple[PathStep, ...]:
    return ()


def _beam(
    snapshot: Snapshot,
    intent: Intent,
    anchors: Rows,
    scores: TraversalScores,
    cosines: Floats | None,
    visible: Mask | None,
    settings: TraversalSettings,
) -> Traversed:
    beam = Beam(BEAM_LIMITS[intent], EDGE_WEIGHTS[intent], settings, cosines, visible)
    reached = search(snapshot, anchors, scores, beam)

    def path(position: int) -> tuple[PathStep, ...]:
        return tuple(
            PathStep(snapshot.insight(hop.row).id, EDGE_TYPES[hop.kind], round(hop.weight, 6))
            for hop in reached.path(position)
        )

    return Traversed(reached.rows, min_max(reached.scores), path)


def _walk(snapshot: Snapshot, query: Query, anchors: Rows, visible: Mask | None, profile: Profile) -> Traversed:
    """The walk of Mnemosyne: memories that fade are passed by more often (spec 7.17, 11.3). It starts from the best few
    anchors (7.8, top-K)."""
    seed = seed_of(query.text) if query.seed is None else query.seed
    if not len(anchors):
        return Traversed(anchors, np.zeros(0), _no_path, seed)
    now_us = newest_us(snapshot, anchors) if query.now_us is None else query.now_us

    def fading(rows: Rows) -> tuple[TraversalScores, TraversalScores]:
        return vigour(snapshot, rows, now_us, profile.settings.temporal_decay)

    starts = anchors[: profile.settings.start_node.top_k].tolist()
    walked = walk(snapshot, starts, draws_of(seed), fading, profile.settings.traversal, visible)
    chances = {visit.row: visit.probability for visit in walked.visits}
    rows = np.array(sorted(chances), dtype=np.int64)

    def path(position: int) -> tuple[PathStep, ...]:
        return tuple(_heaviest(snapshot, *hop) for hop in pairwise(walked.path(int(rows[position]))))

    scores = np.array([min(1.0, chances[row]) for row in rows.tolist()], dtype=np.float64)
    return Traversed(rows, scores, path, seed, len(walked.offers))


def _heaviest(snapshot: Snapshot, here: int, there: int) -> PathStep:
    """The link between two rows that a walk goes by."""
    links = snapshot.neighbours(here)
    links = links[links["row"] == there]
    best = links[np.lexsort((links["type"], -links["weight"]))[0]]
    return PathStep(snapshot.insight(here).id, EDGE_TYPES[best["type"]], round(float(best["weight"]), 6))


# The published rankings to the letter: four anchors, rank fusion, a beam over four graphs, weights by intent (spec
# 11); the same from the few memories that a walk starts at; or with fixed weights.
#
# Kept to be measured beside the default (docs/decisions/0015), and for whoever wants what the papers describe.


Floating = npt.NDArray[np.floating]


def literal_hits(snapshot: Snapshot, sought: RankingRequest, profile: Profile, lap: Lap) -> RankingResult:
    """Results, best first."""
    query = sought.query
    terms = list(dict.fromkeys(question_terms(query.text)))[:MAX_LOOKED_UP]
    cosines = _cosines(snapshot, sought, profile)
    entities = question_entities(snapshot, query.text)
    anchors, begun = _begun(snapshot, sought, terms, cosines, entities, profile)
    lap("anchors")
    mode = query.mode or profile.settings.traversal.mode
    reached = traverse(
        snapshot, query, mode, sought.intent, begun.rows, begun.normalised, cosines, sought.visible, profile
    )
    lap("graph")
    rows = reached.rows
    signals = _signals(snapshot, rows, terms, entities, cosines, reached)
    weights = _weights(sought, signals, profile, with_entities=bool(entities))
    scores = final_scores(signals, weights)
    best = in_order(snapshot, rows, scores)
    told = {name: float(getattr(weights, name)) for name in SIGNALS}
    hits = _hits(snapshot, sought, rows, best, scores, signals, told, reached, anchors, profile)
    lap("rerank")
    return RankingResult(hits, told, len(begun.rows), len(rows), mode, reached.seed, reached.draws)


def _cosines(snapshot: Snapshot, sought: RankingRequest, profile: Profile) -> Floats | None:
    if sought.vector is None:
        return None
    cosines = snapshot.dense.similarity_approximate(sought.vector, sought.visible)
    if not profile.settings.anchors.hypothetical:
        return cosines
    return with_hypothetical(snapshot, cosines, sought.vector, sought.embedder)


def _begun(
    snapshot: Snapshot,
    sought: RankingRequest,
    terms: list[str],
    cosines: Floats | None,
    entities: dict[str, float],
    profile: Profile,
) -> tuple[dict[str, Rows], Ranks]:
    """What each signal begins with, and all of it in one order."""
    if profile.fusion == "start_node":
        keyword, _ = snapshot.keyword(terms, profile.bm25)
        rows, scores = starts(snapshot, sought, keyword, cosines, profile)
        best = scores.max() if len(scores) else 1.0
        return {"keyword" if cosines is None else "vector": rows}, Ranks(rows, scores, scores / best)
    anchors = _anchors(snapshot, sought, terms, cosines, entities, profile)
    lists = [Ranking(rows, profile.shares.get(name, 1.0)) for name, rows in anchors.items() if len(rows)]
    return anchors, reciprocal_rank_fusion(snapshot, lists, profile.settings.anchors.rrf_k)


def _weights(sought: RankingRequest, signals: SignalArrays, profile: Profile, *, with_entities: bool) -> RerankWeights:
    if profile.fusion == "mem0":
        return available(mem0_weights(profile.settings), signals)
    return weights_of(sought.intent, with_vectors=signals.similarity is not None, with_entities=with_entities)


def _anchors(
    snapshot: Snapshot,
    sought: RankingRequest,
    terms: list[str],
    cosines: Floats | None,
    entities: dict[str, float],
    profile: Profile,
) -> dict[str, Rows]:
    """The best rows of each signal that takes part, best first."""
    wanted, most = sought.signals(profile), profile.settings.anchors.top_k
    found: dict[str, Rows] = {}
    if "keyword" in wanted:
        scores, _ = snapshot.keyword(terms, profile.bm25)
        found["keyword"] = _best(snapshot, scores, 0.0, sought, most)
    if "vector" in wanted and cosines is not None:
        found["vector"] = _best(snapshot, cosines, profile.settings.anchors.min_cosine, sought, most)
    if "entity" in wanted and entities:
        found["entity"] = entity_matches(snapshot, entities, sought.visible, most).rows
    if "recency" in wanted:
        found["recency"] = snapshot.newest_rows(sought.visible, most)
    return found


def _best(snapshot: Snapshot, scores: Floats, above: float, sought: RankingRequest, most: int) -> Rows:
    ranked = scores if sought.visible is None else np.where(sought.visible, scores, np.float32(-1.0))
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
    """Each in [0, 1] for every row reached (spec 7.10)."""
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
    sought: RankingRequest,
    rows: Rows,
    best: Rows,
    scores: TraversalScores,
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
    kept = distinct(snapshot, rows[best].tolist(), sought.query.limit)
    places = [ranked[number] for number in kept.places]
    worth = np.array([weights[name] for name in SIGNALS])
    for number, place in zip(kept.places, places, strict=True):
        row, path = int(rows[place]), reached.path(place)
        values = [0.0 if each is None else float(each[place]) for each in _each(signals)]
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
                explained(SIGNALS, worth * values) if sought.query.explain else None,
            )
        )
    return hits


def _each(signals: SignalArrays) -> tuple[Floating | None, ...]:
    return signals.keyword, signals.entity, signals.similarity, signals.graph


# What is known of a memory besides its text, as small factors on a score (spec 11.6). Each is off by default.


FACTOR = 1.05
PINNED_FACTOR = 1.10
RECENT_DAYS = 7.0
IMPORTANT_FROM = 4

_NO_RULES = RerankRulesSettings()

MOST = 1.0
"""No score is lifted above it."""


class Standing(msgspec.Struct, frozen=True):
    """What the rules ask of a memory: its age in days, at the time of the question; from 1 to 5 how important it is."""

    age_days: float
    importance: int
    own_scope: bool
    pinned: bool


def lifted(score: float, standing: Standing, rules: RerankRulesSettings) -> float:
    """`score` (0…1) times the factor of every rule that holds, at most 1. A memory of the future is not recent."""
    factor = 1.0
    if rules.recent and 0.0 <= standing.age_days <= RECENT_DAYS:
        factor *= FACTOR
    if rules.important and standing.importance >= IMPORTANT_FROM:
        factor *= FACTOR
    if rules.own_scope and standing.own_scope:
        factor *= FACTOR
    if rules.pinned and standing.pinned:
        factor *= PINNED_FACTOR
    return score if factor == 1.0 else min(MOST, score * factor)


# A reranker without a model: how well the words of a memory meet those of a question, one by one (spec 11.6).
#
# The same interface as a model's: a question and candidates in, a relevance in [0, 1] for each out. A model's is σ of
# its logit; this one is in [0, 1] by itself.


GRAM = 3
"""Characters of a gram."""


MAX_WORDS = 64
"""Words of a question that are compared, the first of a pasted text."""


class LexicalPolicy(msgspec.Struct, frozen=True):
    """What a word is worth that is met by another form of it, and what is added for order (spec 11.6).

    `least_alike`: the Jaccard of trigrams below which words have nothing in common; from there on it is the value.
    """

    stem: float = 0.9
    alias: float = 0.9
    least_alike: float = 0.5
    adjacency: float = 0.1


class _Word(NamedTuple):
    """Of one word: the term of the index, what it is another name of, its trigrams."""

    term: str
    name: str
    grams: frozenset[str]


def lexical_scores(
    question: Sequence[str],
    candidates: Sequence[Sequence[str]],
    idf: Callable[[str], float],
    aliases: Mapping[str, str] | None = None,
    policy: LexicalPolicy = LexicalPolicy(),  # noqa: B008 - frozen
) -> list[float]:
    """The relevance of each candidate, in [0, 1].

    `question` and `candidates` are tokens in order (`text.tokens.tokens`); `idf` weighs a token of the question, at
    least 0 and finite; `aliases` maps folded names to what they stand for, one word to one (the built-in ones if None).
    The mean over the question's different words of their best match, weighed by idf; where no word weighs anything, all
    weigh the same.
    `policy.adjacency` is added once if two neighbours of the question stand side by side in that order.
    """
    aliases = entity_lists().aliases if aliases is None else aliases
    scorer = _Scorer(question[:MAX_WORDS], idf, aliases, policy)
    return [scorer.score(tokens) for tokens in candidates]


class _Scorer:
    """One question. A word of the candidates is compared with it once, in however many of them it occurs."""

    def __init__(
        self, question: Sequence[str], idf: Callable[[str], float], aliases: Mapping[str, str], policy: LexicalPolicy
    ) -> None:
        weights = {token: idf(token) for token in question}
        total = sum(weights.values())
        self._weights = {token: weight / total if total else 1.0 / len(weights) for token, weight in weights.items()}
        self._pairs = set(pairwise(question))
        self._aliases = aliases
        self._policy = policy
        self._described = {token: self._word(token) for token in weights}
        self._holders: dict[str, list[str]] = {}
        self._of_term: dict[str, list[str]] = {}
        self._of_name: dict[str, list[str]] = {}
        for token, word in self._described.items():
            if word.term:
                self._of_term.setdefault(word.term, []).append(token)
            self._of_name.setdefault(word.name, []).append(token)
            for gram in word.grams:
                self._holders.setdefault(gram, []).append(token)
        self._met = cache(self._meets)

    def score(self, tokens: Sequence[str]) -> float:
        """The relevance of one candidate."""
        best: dict[str, float] = {}
        for token in set(tokens):
            for wanted, value in self._met(token).items():
                best[wanted] = max(value, best.get(wanted, 0.0))
        mean = sum(self._weights[wanted] * value for wanted, value in best.items())
        return min(1.0, mean + (self._policy.adjacency if self._is_in_order(tokens) else 0.0))

    def _is_in_order(self, tokens: Sequence[str]) -> bool:
        """Whether two neighbours of the question are neighbours here, in any form that is surely the same word."""
        return any(
            (first, second) in self._pairs
            for one, other in pairwise(tokens)
            for first in self._surely(one)
            for second in self._surely(other)
        )

    def _surely(self, token: str) -> list[str]:
        """The words of the question that a word is, or is another form of."""
        sure = min(self._policy.stem, self._policy.alias)
        return [wanted for wanted, value in self._met(token).items() if value >= sure]

    def _word(self, token: str) -> _Word:
        grams = frozenset(token[at : at + GRAM] for at in range(len(token) - GRAM + 1))
        return _Word(index_term(token), fold(self._aliases.get(token, token)), grams)

    def _meets(self, token: str) -> dict[str, float]:
        """What a word is worth to each word of the question that it meets."""
        word = self._word(token)
        found: dict[str, float] = {}
        for wanted, shared in Counter(held for gram in word.grams for held in self._holders.get(gram, ())).items():
            alike = shared / (len(word.grams) + len(self._described[wanted].grams) - shared)
            if alike >= self._policy.least_alike:
                found[wanted] = alike
        for wanted in self._of_term.get(word.term, ()):
            found[wanted] = max(self._policy.stem, found.get(wanted, 0.0))
        for wanted in self._of_name.get(word.name, ()):
            found[wanted] = max(self._policy.alias, found.get(wanted, 0.0))
        if token in self._weights:
            found[token] = 1.0
        return found


# The second look at what a recall found, where one is wanted: words met one by one, then what else is known (11.6).
#
# Off by default. It never loses a result and adds none: scores change, and with them the order.


Scorer = Callable[[Sequence[str], Sequence[Sequence[str]], Callable[[str], float]], Sequence[float]]
"""Tokens of a question and of candidates, the weight of a word → a relevance in [0, 1] for each candidate: that of
`lexical_scores`, or σ of a model's logits. Raises MnemonError when it cannot tell."""

MAX_READ = 2_000
"""Characters of a memory that are compared; a long one says what it is about at its beginning."""

MAX_LOOKED_AT = 100
"""So many results at most: what is behind them stays behind. A thousand texts took a second."""

SHORT_QUERY = "short_query"
"""Why there is no second look for too few words."""


class Asked(NamedTuple):
    """A question: its text, for whom, and when, in microseconds."""

    text: str
    scope: Scope
    now_us: int


class Reranked(NamedTuple):
    """Results in their new order, and whether a reranker had a say; if not, why."""

    hits: tuple[Hit, ...]
    applied: bool
    reason: str | None = None


def rerank(
    snapshot: Snapshot,
    asked: Asked,
    hits: Sequence[Hit],
    scorer: Scorer | None = lexical_scores,
    settings: RerankSettings = RerankSettings(),  # noqa: B008 - frozen
) -> Reranked:
    """`hits` with the scores (1 − β)·score + β·relevance, lifted by the rules that hold, best first.

    Before the cut, on all candidates. Equal scores stay in the order in which they came. Without a `scorer`, for a
    short question, and when the scorer fails, the rules alone have a say; where none is on, nothing changes.
    """
    scores, relevances, reason = _blended(snapshot, asked.text, hits, scorer, settings)
    if settings.rules != _NO_RULES:
        standings = (_standing(hit, asked) for hit in hits)
        scores = [lifted(score, each, settings.rules) for score, each in zip(scores, standings, strict=True)]
    changed = [_changed(*each) for each in zip(hits, scores, relevances, strict=True)]
    if reason is None or settings.rules != _NO_RULES:
        changed.sort(key=lambda hit: -hit.score)
    return Reranked(tuple(changed), reason is None, reason)


def _changed(hit: Hit, score: float, relevance: float | None) -> Hit:
    if relevance is not None:
        hit = msgspec.structs.replace(hit, signals=msgspec.structs.replace(hit.signals, rerank=six(relevance)))
    return hit if hit.score == score else msgspec.structs.replace(hit, score=score, first_score=hit.score)


def _weight_in(snapshot: Snapshot) -> Callable[[str], float]:
    """How rare a word is among the live rows, as for the first look."""

    def weight(token: str) -> float:
        return rarity(snapshot, snapshot.live_frequency(index_term(token)))

    return weight


def _blended(
    snapshot: Snapshot, text: str, hits: Sequence[Hit], scorer: Scorer | None, settings: RerankSettings
) -> tuple[list[float], list[float | None], str | None]:
    """The scores, what the second look says of each, and why the scores are those from before."""
    before = [hit.score for hit in hits]
    unseen: list[float | None] = [None] * len(hits)
    if scorer is None:
        return before, unseen, "off"
    words = tokens(text)
    if len(words) < settings.min_query_tokens:
        return before, unseen, SHORT_QUERY
    try:
        texts = [tokens(hit.insight.content[:MAX_READ]) for hit in hits[:MAX_LOOKED_AT]]
        found = scorer(words, texts, _weight_in(snapshot))
    except MnemonError as error:
        return before, unseen, error.message
    seen = [*found, *[0.0] * (len(before) - len(found))]
    share = settings.late_weight
    blended = [(1.0 - share) * score + share * said for score, said in zip(before, seen, strict=True)]
    return blended, [*found, *unseen[len(found) :]], None


def _standing(hit: Hit, asked: Asked) -> Standing:
    it = hit.insight
    age_days = (asked.now_us - parse_rfc3339(it.created_at)) / DAY_US
    return Standing(age_days, it.importance, it.scope == asked.scope != Scope(), it.pinned)
