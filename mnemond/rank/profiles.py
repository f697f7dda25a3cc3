"""Every number of the ranking, as data with a source."""

from __future__ import annotations

import msgspec

from mnemond.index.postings import Bm25


class Weights(msgspec.Struct, frozen=True):
    """What a signal is worth when its scores vary as much as the other's."""

    keyword: float
    vector: float


class Confidence(msgspec.Struct, frozen=True):
    """Evidence below `medium` is low, below `high` medium, else high."""

    medium: float
    high: float


class Profile(msgspec.Struct, frozen=True):
    """One complete set of numbers. `similarity_floor`: a cosine not above it is no evidence at all."""

    name: str
    bm25: Bm25
    weights: Weights
    similarity_floor: float
    confidence: Confidence
    sources: dict[str, str]


MNEMOND = Profile(
    name="mnemond",
    bm25=Bm25(k1=1.2, b=1.0),
    weights=Weights(keyword=0.45, vector=0.55),
    similarity_floor=0.10,
    confidence=Confidence(medium=0.25, high=0.60),
    sources={
        "bm25": "k1: Robertson and Zaragoza 2009; b: docs/decisions/0002, long messages and short turns in one store",
        "weights": "docs/decisions/0002: score fusion ahead of rank fusion on five data sets",
        "similarity_floor": "spec 11.2 (cosine > .10)",
        "confidence": "docs/decisions/0002: questions about something else mostly stay below .25",
    },
)
"""The default profile."""
