"""Requests and results of a ranking, and from ranked results to the answer: equal texts once, order, explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from mnemond.embed.embedder import Embedder
from mnemond.index.arrays import Mask
from mnemond.index.columns import NO_EVENT, event_us, time_us
from mnemond.index.edges import EDGE_CODES
from mnemond.index.snapshot import Snapshot
from mnemond.memory.wordings import is_wording
from mnemond.model.answers import Explanation
from mnemond.model.changes import Vector
from mnemond.model.memory import SUMMARIZED, Insight, contradicting, derived_from, is_same_project
from mnemond.model.query import Hit, Intent, Query, Window
from mnemond.recall.causal_order import causal_links, causal_order
from mnemond.recall.profiles import Profile
from mnemond.recall.unasked import Reader
from mnemond.text.prompt_escape import quarters, token_count
from mnemond.text.tokens import index_terms

Lap = Callable[[str], None]
"""Records the time since the last call under a name."""

SPARSE_RESULTS = "sparse_results"
"""Hint of an answer with fewer results than half of the limit."""


class RankingRequest(NamedTuple):
    """A query with everything known before the ranking: intent, time window, vector, visible rows. `reader`: of traits
    by which results of the default ranking are ordered and judged, each read once."""

    query: Query
    intent: Intent
    window: Window | None
    vector: Vector | None
    embedder: Embedder | None
    visible: Mask | None
    reader: Reader | None = None

    def signals(self, profile: Profile) -> frozenset[str]:
        """Return the signals to use."""
        return profile.anchors if self.query.anchors is None else self.query.anchors


class RankingResult(NamedTuple):
    """Ranking by a profile: results best first, more than the limit, and details of the ranking. `missing`: what the
    question asks for and the first result lacks, in words; `known_share`: of the question in letters that the embedder
    knows."""

    hits: list[Hit]
    weights: dict[str, float]
    anchors: int
    traversed: int = 0
    mode: str = "none"
    seed: int | None = None
    draws: int = 0
    trust: float = 1.0
    missing: tuple[str, ...] = ()
    known_share: float = 1.0


class Distinct(NamedTuple):
    """Positions in a ranking of the first row of each statement, the ids of later rows with the same text or another
    wording of it, and the number of texts where there is more than one."""

    places: list[int]
    also: dict[int, tuple[str, ...]]
    wordings: dict[int, int]


LOOKED = 2
"""Times the limit: rows in which other wordings of the results are looked for."""

PAIRED = EDGE_CODES["semantic"]
"""The type of the links of pairs and of memories that are alike."""


def distinct(snapshot: Snapshot, rows: Sequence[int], limit: int, *, wordings: bool = False) -> Distinct:
    """Return the first `limit` of `rows` (best first) with different texts; with `wordings` also one of those that
    word one statement differently: paired ones, and what is linked to a pair."""
    hashes = snapshot.text_hashes(rows)
    linked = _linked_to_pairs(snapshot, rows[: LOOKED * limit]) if wordings else {}
    if len(set(hashes)) == len(rows) and not linked:
        return Distinct(list(range(min(limit, len(rows)))), {}, {})
    places: list[int] = []
    first: dict[int, int] = {}
    also: dict[int, tuple[str, ...]] = {}
    texts: dict[int, int] = {}
    group: dict[int, int] = {}
    for place, (row, text) in enumerate(zip(rows, hashes, strict=True)):
        known = first.get(text)
        if known is None and place in linked:
            known = _other_wording(snapshot, rows, place, linked[place], group)
            if known is not None:
                texts[known] = texts.get(known, 1) + 1
        known = first.setdefault(text, place if known is None else known)
        group[place] = known
        if known != place:
            also[known] = (*also.get(known, ()), snapshot.insight(row).id)
        elif len(places) < limit:
            places.append(place)
    kept = set(places)
    return Distinct(
        places,
        {place: ids for place, ids in also.items() if place in kept},
        {place: number for place, number in texts.items() if place in kept},
    )


def _linked_to_pairs(snapshot: Snapshot, rows: Sequence[int]) -> dict[int, set[int]]:
    """Return for positions of `rows` those that links lead to, directly or over others of them, where one end of each
    link is half of a pair."""
    seeds = [place for place, row in enumerate(rows) if snapshot.insight(row).paired_with is not None]
    if not seeds:
        return {}
    position = {row: place for place, row in enumerate(rows)}
    owners, links = snapshot.fan([rows[place] for place in seeds])
    alike = (links["type"] == PAIRED).nonzero()[0]
    found: dict[int, set[int]] = {}
    for owner, row in zip(owners[alike].tolist(), links["row"][alike].tolist(), strict=True):
        there = position.get(row)
        if there is not None:
            found.setdefault(seeds[owner], set()).add(there)
            found.setdefault(there, set()).add(seeds[owner])
    return _connected(found)


def _connected(links: dict[int, set[int]]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for start in links:
        if start in found:
            continue
        reached, waiting = {start}, [start]
        while waiting:
            new = links[waiting.pop()] - reached
            reached |= new
            waiting += new
        found.update(dict.fromkeys(reached, reached))
    return found


def _other_wording(
    snapshot: Snapshot, rows: Sequence[int], place: int, linked: set[int], group: dict[int, int]
) -> int | None:
    """Return the position of the result that a row words differently, if it is linked to one of its group. Memories
    that are noted to contradict each other are no wordings of one statement, however alike."""
    it = snapshot.insight(rows[place])
    for result in sorted({group[other] for other in linked if other in group}):
        other = snapshot.insight(rows[result])
        if not contradicting((it, other)) and is_wording(other, it):
            return result
    return None


def arranged(snapshot: Snapshot, hits: Sequence[Hit], query: Query, intent: Intent) -> tuple[Hit, ...]:
    """Order `hits`, which are best first: by time if the query says so; for WHY every cause before its effects. What
    may contradict another result is marked, and the newer of the two comes first."""
    pairs = contradicting([hit.insight for hit in hits])
    hits = _marked(hits, pairs) if pairs else hits
    if query.order == "time":
        return tuple(sorted(hits, key=lambda hit: (time_us(hit.insight), hit.insight.id)))
    return _causes_first(snapshot, hits) if intent == "WHY" else _newer_first(hits, pairs)


def _marked(hits: Sequence[Hit], pairs: Sequence[tuple[int, int]]) -> list[Hit]:
    """Mark both results of each pair of places, of which the newer contradicts the older."""
    others: dict[int, list[str]] = {}
    for newer, older in pairs:
        others.setdefault(newer, []).append(hits[older].insight.id)
        others.setdefault(older, []).append(hits[newer].insight.id)
    return [
        msgspec.structs.replace(hit, contradicts=tuple(others[place])) if place in others else hit
        for place, hit in enumerate(hits)
    ]


def _newer_first(hits: Sequence[Hit], pairs: Sequence[tuple[int, int]]) -> tuple[Hit, ...]:
    """Move the newer of each pair of places before the older ones that it contradicts, as far as needed."""
    ordered = list(range(len(hits)))
    for newer in sorted({newer for newer, _ in pairs}):
        held = {older for one, older in pairs if one == newer}
        place = ordered.index(newer)
        first = next((at for at, other in enumerate(ordered[:place]) if other in held), place)
        ordered.insert(first, ordered.pop(place))
    return tuple(hits[place] for place in ordered)


def _causes_first(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    rows = [snapshot.row_of(hit.insight.id) for hit in hits]
    known = [row for row in rows if row is not None]
    if len(known) < len(hits):
        return tuple(hits)  # from an archive: retired memories have no links
    links = causal_links(snapshot, known)
    if not any(links.effects):
        return tuple(hits)
    events = [event_us(hit.insight) for hit in hits]
    times = [None if event == NO_EVENT else event[0] for event in events]
    return tuple(hits[place] for place in causal_order([hit.score for hit in hits], times, links.effects))


AS_GOOD: Final = 0.5
"""Share of the evidence for a result of another project from which on one of the own project, or a general one, comes
before it. Two answers to one question are seldom further apart; what only shares a word with it has less."""


def with_own_project_first(hits: Sequence[Hit], here: str) -> Sequence[Hit]:
    """Move results (best first) of other projects than `here` behind those of this one, and general ones, for which
    there is as much evidence. A moved one has the score of the result before it."""
    others = [(project := hit.insight.scope.project) is not None and not is_same_project(project, here) for hit in hits]
    if not any(others):
        return hits
    evidence = [hit.signals.keyword + hit.signals.similarity for hit in hits]
    places: list[tuple[int, bool, int]] = []
    for place, other in enumerate(others):
        own = (at for at in range(len(hits) - 1, place, -1) if not others[at])
        last = next((at for at in own if evidence[at] >= AS_GOOD * evidence[place]), place) if other else place
        places.append((last, last > place, place))
    ordered: list[Hit] = []
    for _, moved, place in sorted(places):
        hit = hits[place]
        ordered.append(msgspec.structs.replace(hit, score=min(hit.score, ordered[-1].score)) if moved else hit)
    return ordered


UNSURE: Final = 2
"""Results of low confidence in an answer that has nothing better and is to have what is sure."""


def sure_hits(hits: Sequence[Hit], here: str) -> list[Hit]:
    """Return the results that can be relied on: those of other projects than `here` ("": unknown) only with high
    confidence, and those of low confidence only, at most UNSURE, if there are no others."""
    own = [
        hit for hit in hits
        if hit.confidence == "high" or not here or hit.insight.scope.project is None
        or is_same_project(hit.insight.scope.project, here)
    ]  # fmt: skip
    return [hit for hit in own if hit.confidence != "low"] or own[:UNSURE]


# Explanations: the parts of each score, and those by which a result is above the next


PLAIN = 0.005
"""Smallest difference of parts that counts, in units of the ranking: less is shown as .00."""


def explained(names: Sequence[str], parts: npt.NDArray[np.floating], cue: str | UnsetType = UNSET) -> Explanation:
    """Explain a score that is the sum of `parts`, shape (names,), without those that are 0."""
    return Explanation({name: round(float(part), 4) for name, part in zip(names, parts, strict=True) if part}, (), cue)


def matching_cue(it: Insight, weights: Mapping[str, float]) -> str | UnsetType:
    """Return the cue that has more of a question's words than the text of the memory, by the sum of their weights;
    UNSET if none has. `weights`: by index term of the question."""
    best: str | UnsetType = UNSET
    most = _share(it.content, weights) if it.cues else 0.0
    for cue in it.cues:
        if (found := _share(cue.text, weights)) > most:
            best, most = cue.text, found
    return best


def _share(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(term, 0.0) for term in set(index_terms(text)))


def compared(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Add to each result (best first) the parts that put it above the next."""
    return (*(_above(hit, other) for hit, other in pairwise(hits)), *hits[-1:])


def _above(hit: Hit, other: Hit) -> Hit:
    own, next_ = hit.explanation, other.explanation
    if own is None or next_ is None:
        return hit
    names = dict.fromkeys([*own.parts, *next_.parts])
    apart = ((own.parts.get(name, 0.0) - next_.parts.get(name, 0.0), name) for name in names)
    ahead = sorted((each for each in apart if each[0] > PLAIN), key=lambda each: -each[0])
    above = tuple(f"{name} +{by:.2f}" for by, name in ahead)
    return msgspec.structs.replace(hit, explanation=msgspec.structs.replace(own, above=above))


# ---------------------------------------------------------------- summaries among the results
#
# Summaries among the results: one is shown only if it beats its sources, or stands for them where room is short.


SHORT: Final = 0.5
"""Share of the budget from which the sources of one summary leave too little room for anything else."""

LEAST_SOURCES: Final = 2
"""Sources among the results that a summary may stand for."""


def with_summaries(snapshot: Snapshot, hits: Sequence[Hit], budget: int | None) -> Sequence[Hit]:
    """Return ranked results without summaries that a source of theirs beats. Where `budget` (tokens, None for no limit)
    is short, a summary takes the place of the first of its sources, and these are left out."""
    if not snapshot.has_channel(SUMMARIZED):
        return hits
    kept = list(hits)
    for hit in hits:
        sources = frozenset(derived_from(hit.insight))
        if sources:
            kept = _settled(kept, hit, sources, budget)
    return kept


def _settled(hits: list[Hit], summary: Hit, sources: frozenset[str], budget: int | None) -> list[Hit]:
    own = hits.index(summary)
    places = [place for place, hit in enumerate(hits) if hit.insight.id in sources]
    if budget is not None and len(places) >= LEAST_SOURCES:
        taken = sum(_tokens(hits[place]) for place in places)
        if taken > SHORT * budget and _tokens(summary) < taken:
            first = min(own, places[0])
            others = [hit for place, hit in enumerate(hits) if place != own and place not in places]
            before = sum(1 for place in range(first) if place != own and place not in places)
            return [*others[:before], summary, *others[before:]]
    if places and places[0] < own:
        return [hit for hit in hits if hit is not summary]
    return hits


def _tokens(hit: Hit) -> int:
    return token_count(quarters(hit.insight.content))
