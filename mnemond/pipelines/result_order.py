"""From ranked results to the answer: equal texts once, cut to what is wanted, in the order that is asked for (11.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mnemond.graph.causal_order import causal_links, causal_order
from mnemond.index.snapshot import Snapshot
from mnemond.index.validity import NO_EVENT, event_us, time_us
from mnemond.model.insight import Insight
from mnemond.model.recall import Hit
from mnemond.pipelines.sought import Sought


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


def arranged(snapshot: Snapshot, hits: Sequence[Hit], sought: Sought) -> tuple[Hit, ...]:
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
