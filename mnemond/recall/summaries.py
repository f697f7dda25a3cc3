"""Summaries among the results: one is shown only if it beats its sources, or stands for them where room is short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import SUMMARIZED, derived_from
from mnemond.model.query import Hit
from mnemond.text.prompt_escape import quarters, token_count

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
