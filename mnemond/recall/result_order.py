"""From ranked results to the answer: equal texts once, cut to what is wanted, in the order that is asked for (11.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Embedder
from mnemond.index.arrays import Mask
from mnemond.index.columns import NO_EVENT, event_us, time_us
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import Explanation
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight
from mnemond.model.query import Hit, Intent, Query, Window
from mnemond.recall.causal_order import causal_links, causal_order
from mnemond.recall.profiles import Profile

# Why results stand where they do: the parts of each score, and by which of them it is above the next one shown.


PLAIN = 0.005
"""A part counts as larger from here on, in units of the ranking: less is shown as .00."""


def explained(names: Sequence[str], parts: npt.NDArray[np.floating]) -> Explanation:
    """Of one result whose score is the sum of `parts`, shape (names,); those of no weight are left out."""
    return Explanation({name: round(float(part), 4) for name, part in zip(names, parts, strict=True) if part}, ())


def compared(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The results that are shown, best first, each told what puts it above the next."""
    return (*(_above(hit, other) for hit, other in pairwise(hits)), *hits[-1:])


def _above(hit: Hit, other: Hit) -> Hit:
    own, next_ = hit.explanation, other.explanation
    if own is None or next_ is None:
        return hit
    found = _ahead(own.parts, next_.parts)
    return msgspec.structs.replace(hit, explanation=msgspec.structs.replace(own, above=found))


def _ahead(own: Mapping[str, float], other: Mapping[str, float]) -> tuple[str, ...]:
    """The largest difference first."""
    apart = ((own.get(name, 0.0) - other.get(name, 0.0), name) for name in dict.fromkeys([*own, *other]))
    ahead = sorted((each for each in apart if each[0] > PLAIN), key=lambda each: -each[0])
    return tuple(f"{name} +{by:.2f}" for by, name in ahead)


# A question on its way to an answer: what is known before rows are ranked, and what a ranking hands back.


Lap = Callable[[str], None]
"""Notes the time since the last call, under a name."""

SPARSE_RESULTS = "sparse_results"
"""Hint of an answer with fewer results than half of what was asked for (spec 11.8)."""


class RankingRequest(NamedTuple):
    """A question with everything that is known before rows are ranked."""

    query: Query
    intent: Intent
    window: Window | None
    vector: Vector | None
    embedder: Embedder | None
    visible: Mask | None

    def signals(self, profile: Profile) -> frozenset[str]:
        """Which take part."""
        return profile.anchors if self.query.anchors is None else self.query.anchors


class RankingResult(NamedTuple):
    """What a profile makes of it: results best first, more of them than are wanted, and how they came about."""

    hits: list[Hit]
    weights: dict[str, float]
    anchors: int
    traversed: int = 0
    mode: str = "none"
    seed: int | None = None
    draws: int = 0
    trust: float = 1.0


class Distinct(NamedTuple):
    """Positions in a ranking of the first row of each text, and for some of these the ids of later rows of the same."""

    places: list[int]
    also: dict[int, tuple[str, ...]]


def distinct(snapshot: Snapshot, rows: Sequence[int], limit: int) -> Distinct:
    """The first `limit` of `rows` (best first) that differ in their texts."""
    hashes = snapshot.text_hashes(rows)
    if len(set(hashes)) == len(rows):
        return Distinct(list(range(min(limit, len(rows)))), {})
    places: list[int] = []
    first: dict[int, int] = {}
    also: dict[int, tuple[str, ...]] = {}
    for place, (row, text) in enumerate(zip(rows, hashes, strict=True)):
        known = first.setdefault(text, place)
        if known != place:
            also[known] = (*also.get(known, ()), snapshot.insight(row).id)
        elif len(places) < limit:
            places.append(place)
    kept = set(places)
    return Distinct(places, {place: ids for place, ids in also.items() if place in kept})


def arranged(snapshot: Snapshot, hits: Sequence[Hit], sought: RankingRequest) -> tuple[Hit, ...]:
    """The answer, of `hits`, which are best first.

    A question why has every cause before its effects; one for the order of time, or whoever asks for it, the oldest
    first.
    """
    if sought.query.order == "time":
        return tuple(sorted(hits, key=lambda hit: (time_us(hit.insight), hit.insight.id)))
    return _causes_first(snapshot, hits) if sought.intent == "WHY" else tuple(hits)


def _causes_first(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    rows = [snapshot.row_of(hit.insight.id) for hit in hits]
    known = [row for row in rows if row is not None]
    if len(known) < len(hits):
        return tuple(hits)  # of an archive: what was retired has no links
    links = causal_links(snapshot, known)
    if not any(links.effects):
        return tuple(hits)
    times = [_event_us(hit.insight) for hit in hits]
    return tuple(hits[place] for place in causal_order([hit.score for hit in hits], times, links.effects))


def _event_us(insight: Insight) -> int | None:
    event = event_us(insight)
    return None if event == NO_EVENT else event[0]
