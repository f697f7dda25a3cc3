"""The published rankings to the letter: four anchors, rank fusion, a beam over four graphs, weights by intent (spec
11); the same from the few memories that a walk starts at; or with fixed weights.

Kept to be measured beside the default (docs/decisions/0015), and for whoever wants what the papers describe.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.index.postings import Floats
from mnemond.index.selection import Rows, at_least_kth
from mnemond.index.snapshot import Snapshot
from mnemond.model.recall import Hit, Signals
from mnemond.pipelines.asking import MOST_LOOKED_UP, question_terms
from mnemond.pipelines.explanation import explained
from mnemond.pipelines.hypothetical_search import raised
from mnemond.pipelines.naming import names_in, naming
from mnemond.pipelines.result_order import distinct
from mnemond.pipelines.sought import Found, Lap, Sought
from mnemond.pipelines.starts import starts
from mnemond.pipelines.traversal import Scores, Traversed, traverse
from mnemond.rank.confidence import label
from mnemond.rank.profiles import Profile
from mnemond.rank.rerank import SIGNALS, RerankWeights, available, final_scores, weights_of
from mnemond.rank.rerank import Signals as SignalArrays
from mnemond.rank.rrf import Ranking, Ranks, reciprocal_rank_fusion
from mnemond.rank.tie_order import in_order

Floating = npt.NDArray[np.floating]


def literal_hits(snapshot: Snapshot, sought: Sought, profile: Profile, lap: Lap) -> Found:
    """Results, best first."""
    query = sought.query
    terms = list(dict.fromkeys(question_terms(query.text)))[:MOST_LOOKED_UP]
    cosines = _cosines(snapshot, sought, profile)
    entities = names_in(snapshot, query.text)
    anchors, begun = _begun(snapshot, sought, terms, cosines, entities, profile)
    lap("anchors")
    mode = query.mode or profile.mode
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
    return Found(hits, told, len(begun.rows), len(rows), mode, reached.seed, reached.draws)


def _cosines(snapshot: Snapshot, sought: Sought, profile: Profile) -> Floats | None:
    if sought.vector is None:
        return None
    cosines = snapshot.similarity_approximate(sought.vector, sought.visible)
    return raised(snapshot, cosines, sought.vector, sought.embedder) if profile.hypothetical else cosines


def _begun(
    snapshot: Snapshot,
    sought: Sought,
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
    return anchors, reciprocal_rank_fusion(snapshot, lists, profile.rrf_k)


def _weights(sought: Sought, signals: SignalArrays, profile: Profile, *, with_entities: bool) -> RerankWeights:
    if profile.fusion == "mem0":
        return available(profile.weights, signals)
    return weights_of(sought.intent, with_vectors=signals.similarity is not None, with_entities=with_entities)


def _anchors(
    snapshot: Snapshot,
    sought: Sought,
    terms: list[str],
    cosines: Floats | None,
    entities: dict[str, float],
    profile: Profile,
) -> dict[str, Rows]:
    """The best rows of each signal that takes part, best first."""
    wanted, most = sought.signals(profile), profile.top_k
    found: dict[str, Rows] = {}
    if "keyword" in wanted:
        scores, _ = snapshot.keyword(terms, profile.bm25)
        found["keyword"] = _best(snapshot, scores, 0.0, sought, most)
    if "vector" in wanted and cosines is not None:
        found["vector"] = _best(snapshot, cosines, profile.similarity_floor, sought, most)
    if "entity" in wanted and entities:
        found["entity"] = naming(snapshot, entities, sought.visible, most).rows
    if "recency" in wanted:
        found["recency"] = snapshot.newest_rows(sought.visible, most)
    return found


def _best(snapshot: Snapshot, scores: Floats, above: float, sought: Sought, most: int) -> Rows:
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
    sought: Sought,
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
    kept = distinct(snapshot, rows[best].tolist(), sought.query.limit)
    places = [ranked[number] for number in kept.places]
    worth = np.array([weights[name] for name in SIGNALS])
    for number, place in zip(kept.places, places, strict=True):
        row, path = int(rows[place]), reached.path(place)
        values = [0.0 if each is None else float(each[place]) for each in _each(signals)]
        via = by_row.get(row) or ([path[-1].edge_type] if path else ["graph"])
        score = min(1.0, max(0.0, float(scores[place])))
        confidence = label(max(values[0], values[2]), profile.confidence)
        hits.append(
            Hit(
                snapshot.insight(row),
                score,
                confidence,
                tuple(via),
                Signals(*values),
                path,
                kept.also.get(number, ()),
                explained(SIGNALS, worth * values) if sought.query.explain else None,
            )
        )
    return hits


def _each(signals: SignalArrays) -> tuple[Floating | None, ...]:
    return signals.keyword, signals.entity, signals.similarity, signals.graph
