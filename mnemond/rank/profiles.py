"""Named bundles of the numbers of a ranking, as data with a source."""

from __future__ import annotations

import msgspec

from mnemond.index.postings import Bm25
from mnemond.model.recall import Mode
from mnemond.model.recall_policy import PathPolicy
from mnemond.rank.ranking import Ranking


class ConfidenceBounds(msgspec.Struct, frozen=True):
    """Evidence below `medium` is low, below `high` medium, else high."""

    medium: float
    high: float


class Profile(msgspec.Struct, frozen=True):
    """One complete set of numbers.

    `literal`: rank as published (spec 11), not as measured. `mode` and `path`: whether and how links are followed from
    what was found; what they reach counts for `graph` in units of the ranking. `hard_windows`: a question that names a
    time leaves out everything else. `similarity_floor`: a cosine not above it is no evidence at all.
    """

    name: str
    bm25: Bm25
    similarity_floor: float
    confidence: ConfidenceBounds
    sources: dict[str, str]
    literal: bool = False
    ranking: Ranking = Ranking()
    mode: Mode = "none"
    graph: float = 1.0
    path: PathPolicy = PathPolicy()
    hard_windows: bool = False


MNEMOND = Profile(
    name="mnemond",
    bm25=Bm25(k1=1.2, b=1.0),
    similarity_floor=0.10,
    confidence=ConfidenceBounds(medium=0.42, high=0.62),
    sources={
        "bm25": "k1: Robertson and Zaragoza 2009; b: docs/decisions/0002, long messages and short turns in one store",
        "similarity_floor": "spec 11.2 (cosine > .10)",
        "ranking, mode, hard_windows, confidence": "docs/decisions/0015-two-stage-ranking.md",
    },
)
"""The default: what the measurements speak for."""

MNEMON = Profile(
    name="mnemon",
    bm25=Bm25(k1=1.2, b=0.75),
    similarity_floor=0.10,
    confidence=ConfidenceBounds(medium=0.25, high=0.60),
    literal=True,
    mode="beam",
    path=PathPolicy(form="sum"),
    hard_windows=True,
    sources={"all": "spec 11 and 7.9 to 7.11 to the letter (S0)"},
)
"""The published ranking, for comparison."""

PROFILES_BY_NAME: dict[str, Profile] = {each.name: each for each in (MNEMOND, MNEMON)}
