"""What may be related to a new memory, for a host to judge: causes and effects near it in the graph, and its like."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from mnemond.graph.causal import OVERLAP_DIGITS, cue_of
from mnemond.index.adjacency import CAUSAL
from mnemond.index.postings import Floats
from mnemond.index.snapshot import Snapshot
from mnemond.index.vicinity import Vicinity
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.insight import Insight
from mnemond.model.outcomes import Candidate
from mnemond.model.policy import CausalPolicy, SemanticPolicy
from mnemond.model.recall import Filter
from mnemond.model.timestamp import parse_rfc3339
from mnemond.text.causal_cues import CausalCue, direction
from mnemond.text.similarity import token_set

REMEMBERED_OVERLAPS = 1024
"""Pairs of counts whose overlap is known: texts have few words, and to round takes longer than to look up."""


class CausalCandidate(NamedTuple):
    """A possible cause (`from_candidate`) or effect; `signal` is the cue that speaks for it, if one does."""

    insight: Insight
    hop: int
    via: str
    signal: str | None
    sub_type: str
    way: Literal["from_candidate", "to_candidate"]
    overlap: float


def causal_candidates(snapshot: Snapshot, insight_id: str, policy: CausalPolicy) -> tuple[CausalCandidate, ...]:
    """At most `max_candidates` memories within `max_hops` edges: those with a signal first, then the nearer, then the
    ones that share more words (spec 8, step 4). Rows linked as cause or effect already are left out."""
    row = snapshot.row_of(insight_id)
    if row is None or not policy.max_candidates:
        return ()
    it = snapshot.insight(row)
    cue, words = cue_of(it), token_set(it.content)
    found = [
        _candidate(snapshot.insight(near), hop, EDGE_TYPES[kind], cue, words)
        for near, hop, kind in _near(snapshot, row, it, policy)
    ]
    found.sort(key=lambda each: (each.signal is None, each.hop, -each.overlap, each.insight.id))
    return tuple(found)


def semantic_candidates(
    around: Vicinity, by_meaning: bool, likeness: Floats | None, linked: Collection[str], policy: SemanticPolicy
) -> tuple[Candidate, ...]:
    """At most `max_candidates` memories that are somewhat like a new one, best first, those in `linked` left out.

    `likeness`: what Snapshot.likeness says of its terms, shape (rows,), for when it has no vector (`by_meaning`).
    """
    most = policy.max_candidates + len(linked)
    if by_meaning:
        alike = around.between(policy.review, policy.auto, most)
    else:
        alike = [] if likeness is None else around.by_words(likeness, policy.fallback_min, most)
    found = [(row, round(share, 6)) for row, share in alike if row not in linked][: policy.max_candidates]
    return tuple(Candidate(row, share if by_meaning else None, share) for row, share in found)


def _candidate(other: Insight, hop: int, via: str, cue: CausalCue | None, words: frozenset[str]) -> CausalCandidate:
    known = token_set(other.content)
    shared = _overlap(len(known & words), max(len(words), len(known)))
    previous = cue_of(other) if cue is None else None
    if (decided := cue or previous) is None:
        return CausalCandidate(other, hop, via, None, "causes", "from_candidate", shared)
    way: Literal["from_candidate", "to_candidate"] = (
        "to_candidate" if direction(cue, previous) == "new_to_previous" else "from_candidate"
    )
    return CausalCandidate(other, hop, via, decided.signal, decided.sub_type, way, shared)


@lru_cache(maxsize=REMEMBERED_OVERLAPS)
def _overlap(shared: int, larger: int) -> float:
    return round(shared / larger, OVERLAP_DIGITS) if larger else 0.0


def _near(snapshot: Snapshot, start: int, it: Insight, policy: CausalPolicy) -> list[tuple[int, int, int]]:
    """Rows, over how many edges they were reached, and the type of the last: breadth first, along heavier edges before
    lighter ones, until there are enough."""
    mask = snapshot.visible(Filter(scope=it.scope, now_us=parse_rfc3339(it.updated_at)))
    found: list[tuple[int, int, int]] = []
    own = _heaviest_first(snapshot, start)
    causal = {other for _, other, kind in own if kind == CAUSAL}
    ring: Iterable[tuple[float, int, int]] = own
    seen = {start}
    for hop in range(1, policy.max_hops + 1):
        reached: list[int] = []
        for _, other, kind in ring:
            if other in seen or (mask is not None and not mask[other]):
                continue
            seen.add(other)
            reached.append(other)
            if other not in causal:
                found.append((other, hop, kind))
                if len(found) == policy.max_candidates:
                    return found
        ring = chain.from_iterable(_heaviest_first(snapshot, row) for row in reached)
    return found


def _heaviest_first(snapshot: Snapshot, row: int) -> list[tuple[float, int, int]]:
    """Negative weight, row at the other end, and type of each link; of equal ones the smaller row first."""
    return sorted([(-weight, other, kind) for other, weight, kind, _ in snapshot.links_listed(row)])
